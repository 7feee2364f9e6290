//! TLS between programs and servers: each server has a second port for it, with a certificate that is made for the
//! run. What passes the proxy is encrypted then: it can be held back, delayed and cut, and nobody knows what it says.

use std::ffi::OsString;
use std::io;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use locklab_history::Name;
use locklab_shim::ClockFile;
use locklab_values::units::NS_PER_S;

use super::ConfirmError;
use super::addresses::Addresses;

/// How much older than its run a certificate is, in nanoseconds: thirty days. The clocks of clients may be behind.
const AGE_NS: i64 = 30 * 24 * 3600 * NS_PER_S as i64;

/// How long it is valid, in days.
const VALID_DAYS: &str = "3650";

/// The port beside the plain one at which a server speaks TLS.
pub(super) fn encrypted(plain: SocketAddr) -> SocketAddr {
    (plain.ip(), plain.port() + 1).into()
}

/// The certificate of all servers in the folder of a run; it has signed itself, so it is also who vouches for it.
pub(super) fn certificate(folder: &Path) -> PathBuf {
    folder.join("tls.crt")
}

fn key(folder: &Path) -> PathBuf {
    folder.join("tls.key")
}

/// Makes the certificate, for the addresses of these servers. `clocked` is the environment of a program that sees the clock
/// of a file.
pub(super) fn create<'a>(
    servers: impl Iterator<Item = &'a Name>,
    addresses: &Addresses,
    clocked: impl FnOnce(&Path) -> Vec<(OsString, OsString)>,
    folder: &Path,
) -> Result<(), ConfirmError> {
    let past = folder.join("tls.clock");
    let mut clock = ClockFile::create(&past).map_err(ConfirmError::Folder)?;
    clock.step_wall(-AGE_NS).map_err(ConfirmError::Folder)?;
    let names = servers.map(|server| format!("IP:{}", addresses.ip(server)));
    let names: Vec<String> = names.collect();
    let made = Command::new("openssl")
        .args([
            "req",
            "-x509",
            "-newkey",
            "ec",
            "-pkeyopt",
            "ec_paramgen_curve:P-256",
            "-nodes",
        ])
        .args(["-days", VALID_DAYS, "-subj", "/CN=Locklab"])
        .arg("-addext")
        .arg(format!("subjectAltName={}", names.join(",")))
        .arg("-keyout")
        .arg(key(folder))
        .arg("-out")
        .arg(certificate(folder))
        .envs(clocked(&past))
        .stdin(Stdio::null())
        .output()
        .map_err(ConfirmError::NoOpenSsl)?;
    match made.status.success() {
        true => Ok(()),
        false => {
            let said = String::from_utf8_lossy(&made.stderr).into_owned();
            Err(ConfirmError::NoOpenSsl(io::Error::other(said)))
        }
    }
}

/// The lines of the configuration of a server with this folder, which is below that of the run.
pub(super) fn lines(plain: SocketAddr, folder: &Path) -> Vec<String> {
    let run = folder.parent().unwrap_or(folder);
    let (certificate, key) = (certificate(run), key(run));
    vec![
        format!("tls-port {}", encrypted(plain).port()),
        format!("tls-cert-file {}", certificate.display()),
        format!("tls-key-file {}", key.display()),
        format!("tls-ca-cert-file {}", certificate.display()),
        "tls-auth-clients no".into(),
    ]
}

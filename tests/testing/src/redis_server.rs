//! Real servers: `redis-server`, or the program that `LOCKLAB_REDIS_SERVER` names.

use std::ffi::{OsStr, OsString};
use std::io::{Read, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpStream};
use std::path::PathBuf;
use std::process::Command;
use std::time::Duration;
use std::{env, fs};

use crate::{Process, free_ports, until};

/// The program that tests start; `locklab run --on redis` reads the same variable.
pub fn program() -> OsString {
    let named = env::var_os("LOCKLAB_REDIS_SERVER").filter(|name| !name.is_empty());
    named.unwrap_or_else(|| "redis-server".into())
}

/// The product and the version that [`program`] reports: `redis` and `7.0.15`.
///
/// # Panics
///
/// If the program is missing, or reports no version.
pub fn server() -> [String; 2] {
    let output = Command::new(program()).arg("--version").output();
    let said = output.unwrap_or_else(|error| panic!("{}: {error}", how_to_get_it()));
    let said = String::from_utf8_lossy(&said.stdout).into_owned();
    let mut words = said.split_whitespace();
    let product = words.next().unwrap_or_default().to_ascii_lowercase();
    let version = words.find_map(|word| word.strip_prefix("v="));
    let version = version.unwrap_or_else(|| panic!("no version in {said:?}"));
    [product, version.to_owned()]
}

fn how_to_get_it() -> String {
    let program = program().display().to_string();
    format!("{program} does not start; get it with: apt-get install -y redis-server")
}

/// A server and its working folder. Dropping this removes both.
#[derive(Debug)]
pub struct RedisServer {
    process: Process,
    port: u16,
    folder: PathBuf,
}

impl RedisServer {
    /// Starts a server on a free port of the loopback, with these options and by default
    /// without persistence, and waits until it answers.
    ///
    /// # Panics
    ///
    /// If the program is missing or does not start.
    pub fn start<S: AsRef<OsStr>>(options: &[S]) -> Self {
        // Another process may take the port before the server does: then try the next port.
        (0..5)
            .find_map(|_| Self::start_on(free_ports::<1>()[0], options))
            .expect("a Redis server starts on one of five free ports")
    }

    fn start_on<S: AsRef<OsStr>>(port: u16, options: &[S]) -> Option<Self> {
        let folder = env::temp_dir().join(format!("locklab-{}-{port}", std::process::id()));
        fs::create_dir_all(&folder).expect("a temporary folder");
        let mut command = Command::new(program());
        command
            .args(["--port", &port.to_string(), "--bind", "127.0.0.1"])
            .args(["--save", "", "--appendonly", "no", "--dir"])
            .arg(&folder)
            .args(options);
        let process = Process::start(&mut command).unwrap_or_else(|error| {
            panic!("{}: {error}", how_to_get_it());
        });
        let mut server = RedisServer {
            process,
            port,
            folder,
        };
        let ours = until(|| match server.process_that_answers() {
            Some(id) => Ok(id == server.process.id()),
            None if server.has_ended() => Ok(false),
            None => Err("it neither answers nor ends"),
        });
        ours.then_some(server)
    }

    /// The process that answers on the port; it is another server if that one was there
    /// first.
    fn process_that_answers(&self) -> Option<u32> {
        let mut stream = TcpStream::connect(self.address()).ok()?;
        stream.set_read_timeout(Some(Duration::from_secs(1))).ok()?;
        stream.write_all(b"INFO server\r\nQUIT\r\n").ok()?;
        let mut info = String::new();
        stream.read_to_string(&mut info).ok()?;
        let mut lines = info.lines();
        lines.find_map(|line| line.strip_prefix("process_id:")?.parse().ok())
    }

    /// The address that it listens on.
    pub fn address(&self) -> SocketAddr {
        SocketAddr::from((Ipv4Addr::LOCALHOST, self.port))
    }

    /// The port of [`address`](RedisServer::address).
    pub fn port(&self) -> u16 {
        self.port
    }

    /// The process id.
    pub fn id(&self) -> u32 {
        self.process.id()
    }

    /// Whether the process has ended by itself.
    pub fn has_ended(&mut self) -> bool {
        self.process.has_ended()
    }
}

impl Drop for RedisServer {
    fn drop(&mut self) {
        self.process.end();
        let _ = fs::remove_dir_all(&self.folder);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn servers_are_apart_and_leave_nothing() {
        let [one, other] = [(); 2].map(|()| RedisServer::start(&["--databases", "1"]));
        assert_ne!(one.port(), other.port());
        assert_eq!(one.process_that_answers(), Some(one.id()));
        let (address, folder) = (one.address(), one.folder.clone());
        assert!(folder.is_dir());
        drop(one);
        assert!(TcpStream::connect(address).is_err());
        assert!(!folder.exists());
        assert_eq!(other.process_that_answers(), Some(other.id()));
    }

    #[test]
    fn a_version_is_numbers() {
        let [_, version] = server();
        assert!(
            version.split('.').all(|part| part.parse::<u32>().is_ok()),
            "{version}"
        );
    }
}

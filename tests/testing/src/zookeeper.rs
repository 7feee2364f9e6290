//! A real ZooKeeper, of one member.

use std::net::{Ipv4Addr, SocketAddr, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::{env, fs};

use crate::{Process, free_ports, until};

/// The class path of Debian's package; `locklab run --on redis` reads the same variable.
fn class_path() -> String {
    let named = env::var("LOCKLAB_ZOOKEEPER").ok();
    named
        .filter(|path| !path.is_empty())
        .unwrap_or_else(|| "/usr/share/java/zookeeper.jar:/usr/share/java/slf4j-simple.jar".into())
}

/// Why a test on a real ZooKeeper does not run; `None` if it does. It takes seconds and a large package,
/// so it runs with `LOCKLAB_LONG` only.
pub fn why_no_zookeeper() -> Option<&'static str> {
    if env::var_os("LOCKLAB_LONG").is_none() {
        return Some("LOCKLAB_LONG=1 runs it");
    }
    let version = Command::new("java")
        .args([
            "-cp",
            &class_path(),
            "org.apache.zookeeper.version.VersionInfoMain",
        ])
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status();
    match version {
        Ok(status) if status.success() => None,
        _ => Some("it needs ZooKeeper: apt-get install zookeeper default-jre-headless"),
    }
}

/// A server and its folder. Dropping this removes both.
#[derive(Debug)]
pub struct ZooKeeper {
    process: Process,
    port: u16,
    folder: PathBuf,
}

impl ZooKeeper {
    /// Starts a server that ends a session after this silence, and waits until it serves.
    ///
    /// # Panics
    ///
    /// If it is missing or does not start.
    pub fn start(session_ms: u64) -> Self {
        (0..5)
            .find_map(|_| Self::start_on(free_ports::<1>()[0], session_ms))
            .expect("ZooKeeper starts on one of five free ports")
    }

    fn start_on(port: u16, session_ms: u64) -> Option<Self> {
        let folder =
            env::temp_dir().join(format!("locklab-zookeeper-{}-{port}", std::process::id()));
        fs::create_dir_all(&folder).expect("a temporary folder");
        let process = start(&folder, port, session_ms);
        let mut server = ZooKeeper {
            process,
            port,
            folder,
        };
        let served = until(|| match server.serves() {
            true => Ok(true),
            false if server.process.has_ended() => Ok(false),
            false => Err("it neither serves nor ends"),
        });
        served.then_some(server)
    }

    /// Whether it answers `ruok`, which it does as soon as it serves.
    fn serves(&self) -> bool {
        use std::io::{Read, Write};
        let answer = || -> std::io::Result<String> {
            let mut stream = TcpStream::connect(self.address())?;
            stream.write_all(b"ruok")?;
            let mut answer = String::new();
            stream.read_to_string(&mut answer)?;
            Ok(answer)
        };
        answer().is_ok_and(|answer| answer == "imok")
    }

    /// The address that it listens on.
    pub fn address(&self) -> SocketAddr {
        SocketAddr::from((Ipv4Addr::LOCALHOST, self.port))
    }
}

fn start(folder: &Path, port: u16, session_ms: u64) -> Process {
    let lines = [
        format!("tickTime={}", session_ms.div_ceil(10)),
        format!("minSessionTimeout={session_ms}"),
        format!("maxSessionTimeout={session_ms}"),
        format!("dataDir={}", folder.display()),
        "clientPortAddress=127.0.0.1".into(),
        format!("clientPort={port}"),
        "admin.enableServer=false".into(),
        "4lw.commands.whitelist=ruok".into(),
    ];
    let file = folder.join("zoo.cfg");
    fs::write(&file, lines.join("\n")).expect("the folder is writable");
    let mut command = Command::new("java");
    command
        .args([
            "-Xmx64m",
            "-XX:+UseSerialGC",
            "-XX:TieredStopAtLevel=1",
            "-cp",
        ])
        .arg(class_path())
        .arg("org.apache.zookeeper.server.quorum.QuorumPeerMain")
        .arg(file);
    Process::start(&mut command).expect("Java starts")
}

impl Drop for ZooKeeper {
    fn drop(&mut self) {
        self.process.end();
        let _ = fs::remove_dir_all(&self.folder);
    }
}

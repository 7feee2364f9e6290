//! The files of a server after a power loss: only synced data survives.

use std::ffi::OsString;
use std::io;
use std::net::IpAddr;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use super::clocks::HostClocks;
use super::folder::Folder;
use super::{ConfirmError, Programs};
use locklab_history::Name;

/// The preloaded library through which a server's clocks and syncs go, and its files.
pub(super) struct Disks {
    library: PathBuf,
}

impl Disks {
    /// Writes the library into the folder of a run.
    pub(super) fn new(folder: &Folder) -> io::Result<Self> {
        let library = locklab_shim::install(folder.path())?;
        Ok(Self { library })
    }

    /// The environment of a server: its clocks, and the log of what it syncs.
    pub(super) fn environment(
        &self,
        server: &Name,
        folder: &Folder,
        clocks: &HostClocks,
    ) -> Vec<(OsString, OsString)> {
        let clock = clocks.file(server);
        let log = self.log(server, folder);
        locklab_shim::environment(&self.library, clock.as_deref(), Some(&log))
    }

    /// The environment of a server whose clocks are right, and whose syncs nobody has to know.
    pub(super) fn untouched(&self) -> Vec<(OsString, OsString)> {
        locklab_shim::environment(&self.library, None, None)
    }

    /// The environment of a program of the system that sees the clock of this file.
    pub(super) fn clocked(&self, clock: &Path) -> Vec<(OsString, OsString)> {
        locklab_shim::environment(&self.library, Some(clock), None)
    }

    /// The environment of a foreign program: its clocks, if they may be wrong, and the address from which
    /// it connects to servers that others tell it. What is linked statically takes no notice of it.
    pub(super) fn of_program(
        &self,
        client: &Name,
        folder: &Folder,
        clock: Option<PathBuf>,
        source: IpAddr,
    ) -> Vec<(OsString, OsString)> {
        let mut environment = locklab_shim::environment(&self.library, clock.as_deref(), None);
        environment.push(locklab_shim::failures_to(&self.failures(client, folder)));
        if let IpAddr::V4(source) = source {
            environment.push(locklab_shim::from_address(source));
        }
        environment
    }

    /// The file in which a foreign program says why it cannot suffer its faults; it exists only then.
    pub(super) fn failures(&self, client: &Name, folder: &Folder) -> PathBuf {
        folder.path().join(format!("{client}.failed"))
    }

    /// Declares everything durable that this server has written so far.
    pub(super) fn settle(&self, server: &Name, folder: &Folder) -> io::Result<()> {
        let files: &Path = &folder.of_host(server)?;
        locklab_shim::power::settle(files, &self.log(server, folder))
    }

    /// Discards the unsynced data of this server, whose process has ended.
    pub(super) fn lose_power(&self, server: &Name, folder: &Folder) -> io::Result<()> {
        let files: &Path = &folder.of_host(server)?;
        locklab_shim::power::lose_unsynced(files, &self.log(server, folder)).map(|_| ())
    }

    /// The file that says what this server has synced.
    pub(super) fn log(&self, server: &Name, folder: &Folder) -> PathBuf {
        folder.path().join(format!("{server}.synced"))
    }
}

/// See [`crate::preloads`]. The library ends a process whose clock it cannot read.
pub(super) fn preloads(programs: &Programs) -> Result<bool, ConfirmError> {
    const ENDED: i32 = 127;
    let folder = Folder::new(programs)?;
    let library = locklab_shim::install(folder.path()).map_err(ConfirmError::Folder)?;
    let absent = folder.path().join("absent.clock");
    let status = Command::new(&programs.redis_server)
        .arg("--version")
        .envs(locklab_shim::environment(&library, Some(&absent), None))
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status();
    let status = status.map_err(|source| ConfirmError::NoRedis {
        program: programs.redis_server.clone(),
        source,
    })?;
    Ok(status.code() == Some(ENDED))
}

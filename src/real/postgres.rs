//! PostgreSQL, for locks on a database: its programs, its server, and the driver through which a lock speaks to it.
//!
//! A lock on a database sends the statements of the simulator's database (`sim/services`, `database/statement.rs`), each
//! of which stands for one of SQL. In a real run a driver in the client's process translates them, and speaks
//! PostgreSQL's protocol on the connection through the proxy. So the code of the lock is the same, to the byte.

pub(super) mod driver;
pub(super) mod sql;
pub(super) mod wire;

use std::env;
use std::fs;
use std::path::PathBuf;
use std::process::{Command, Stdio};

use super::ConfirmError;

/// Where Debian and Ubuntu have it, one folder for each version.
const VERSIONS: &str = "/usr/lib/postgresql";

/// The programs of PostgreSQL.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Postgres {
    /// Their folder; if it is empty, they are searched for on the `PATH`.
    pub programs: PathBuf,
}

impl Postgres {
    /// The folder in `LOCKLAB_POSTGRES`, or that of the latest of Debian's packages, or the `PATH`.
    pub fn find() -> Self {
        let named = env::var_os("LOCKLAB_POSTGRES").filter(|path| !path.is_empty());
        let installed = || {
            let versions = fs::read_dir(VERSIONS).into_iter().flatten().flatten();
            let number = |path: &PathBuf| path.file_name()?.to_str()?.parse::<u32>().ok();
            let numbered = versions.filter_map(|it| Some((number(&it.path())?, it.path())));
            let folders = numbered.map(|(number, path)| (number, path.join("bin")));
            folders
                .filter(|(_, path)| path.join("initdb").exists())
                .max()
        };
        let programs = named
            .map(PathBuf::from)
            .or_else(|| installed().map(|(_, path)| path));
        Self {
            programs: programs.unwrap_or_default(),
        }
    }

    /// The path of one of its programs.
    pub(super) fn program(&self, name: &str) -> PathBuf {
        self.programs.join(name)
    }

    /// The product and its version: `PostgreSQL 15.18`.
    ///
    /// # Errors
    /// [`ConfirmError::NoPostgres`] if it is missing.
    pub fn version(&self) -> Result<String, ConfirmError> {
        let mut command = Command::new(self.program("postgres"));
        let command = command.arg("--version").stdin(Stdio::null());
        let answer = command.stderr(Stdio::null()).output();
        let answer = answer.map(|it| String::from_utf8_lossy(&it.stdout).into_owned());
        let version = answer.ok().and_then(|answer| find_version(&answer));
        version.ok_or(ConfirmError::NoPostgres)
    }
}

/// `postgres (PostgreSQL) 15.18 (Debian 15.18-0+deb12u1)`
fn find_version(answer: &str) -> Option<String> {
    let (_, version) = answer.split_once("(PostgreSQL) ")?;
    let version = version.split_whitespace().next()?;
    Some(format!("PostgreSQL {version}"))
}

/// Whether a line of its log says that it accepts connections.
#[cfg(target_os = "linux")]
pub(super) fn is_ready(line: &str) -> bool {
    line.contains("database system is ready to accept connections")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions() {
        let debian = "postgres (PostgreSQL) 15.18 (Debian 15.18-0+deb12u1)\n";
        assert_eq!(find_version(debian).as_deref(), Some("PostgreSQL 15.18"));
        let own = "postgres (PostgreSQL) 18beta1\n";
        assert_eq!(find_version(own).as_deref(), Some("PostgreSQL 18beta1"));
        assert_eq!(find_version("mysqld  Ver 8.0"), None);
    }
}

//! The programs of ZooKeeper.

use std::env;
use std::ffi::OsString;
use std::path::PathBuf;
use std::process::{Command, Stdio};

use super::ConfirmError;

/// The class that prints the version.
const VERSION: &str = "org.apache.zookeeper.version.VersionInfoMain";

/// Where Debian and Ubuntu have it, with a logger that writes to the standard output.
const CLASS_PATH: &str = "/usr/share/java/zookeeper.jar:/usr/share/java/slf4j-simple.jar";

/// The programs of ZooKeeper.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ZooKeeper {
    /// The Java runtime; a name without `/` is searched for on the `PATH`.
    pub java: PathBuf,
    /// The class path of ZooKeeper and of its logger.
    pub class_path: OsString,
}

impl ZooKeeper {
    /// `java`, and the class path in `LOCKLAB_ZOOKEEPER`, or that of Debian's package.
    pub fn find() -> Self {
        let class_path = env::var_os("LOCKLAB_ZOOKEEPER").filter(|path| !path.is_empty());
        Self {
            java: "java".into(),
            class_path: class_path.unwrap_or_else(|| CLASS_PATH.into()),
        }
    }

    /// The product and its version: `ZooKeeper 3.8.0`.
    ///
    /// # Errors
    /// [`ConfirmError::NoZooKeeper`] if Java or ZooKeeper is missing.
    pub fn version(&self) -> Result<String, ConfirmError> {
        let answer = Command::new(&self.java)
            .args(["-Xmx64m", "-cp"])
            .args([&self.class_path])
            .arg(VERSION)
            .stdin(Stdio::null())
            .stderr(Stdio::null())
            .output();
        let answer = answer.map(|it| String::from_utf8_lossy(&it.stdout).into_owned());
        let version = answer.ok().and_then(|answer| find_version(&answer));
        version.ok_or(ConfirmError::NoZooKeeper)
    }
}

/// `Apache ZooKeeper, version 3.8.0 2024-12-29 17:54 UTC`
fn find_version(answer: &str) -> Option<String> {
    let (_, version) = answer.split_once("ZooKeeper, version ")?;
    // Upstream's builds name a commit after it: `3.8.4-9316c2a7a97e1666d8f4593f34dd6fc36ecc436c`.
    let version = version.split(['-', ',', ' ', '\n']).next()?;
    Some(format!("ZooKeeper {version}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions() {
        let check = |answer, version: Option<&str>| {
            assert_eq!(find_version(answer).as_deref(), version);
        };
        check(
            "Apache ZooKeeper, version 3.8.0 2024-12-29 17:54 UTC\n",
            Some("ZooKeeper 3.8.0"),
        );
        check(
            "Apache ZooKeeper, version 3.8.4-9316c2a7a97e1666d8f4593f34dd6fc36ecc436c, built on",
            Some("ZooKeeper 3.8.4"),
        );
        check("Error: Could not find or load main class", None);
    }
}

//! Installs Slurm where that is possible: a test of `--long` starts a cluster of its own. It skips itself
//! elsewhere.

use std::process::Command;

use anyhow::Result;

use crate::tool::{is_on_path, is_root};

/// The programs of the controller, of a node, and of users.
const PROGRAMS: [&str; 3] = ["slurmctld", "slurmd", "sbatch"];

/// In Debian and its kin. The cluster of the test needs neither munge nor a database.
const COMMANDS: [&str; 2] = [
    "update",
    "install --yes --no-install-recommends slurmctld slurmd slurm-client",
];

/// Installs it if it is missing, and prints its version, or why there is none.
///
/// # Errors
///
/// If nobody can tell who this user is.
pub fn ensure() -> Result<()> {
    let is_there = || PROGRAMS.iter().all(|program| is_on_path(program));
    if !is_there() && is_on_path("apt-get") && is_root()? {
        for line in COMMANDS {
            println!("apt-get {line}");
            let mut command = Command::new("apt-get");
            command.env("DEBIAN_FRONTEND", "noninteractive");
            if !command.args(line.split(' ')).status()?.success() {
                break;
            }
        }
    }
    match is_there() {
        true => println!("slurmd: {}", version().unwrap_or_default()),
        false => {
            println!("SKIPPED: there is no Slurm; apt-get install slurmctld slurmd slurm-client")
        }
    }
    Ok(())
}

fn version() -> Option<String> {
    let asked = Command::new("slurmd").arg("-V").output().ok()?;
    Some(String::from_utf8_lossy(&asked.stdout).trim().to_owned())
}

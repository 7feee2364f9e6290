//! Makes sure that the servers are installed which the tests start: Redis, and where that is possible Slurm.

use std::process::Command;

use anyhow::{Context, Result, ensure};

use crate::tool::{install, is_on_path, said};

const REDIS: [&str; 6] = [
    "apt-get update",
    "apt-get install --yes redis-server",
    "dnf install --assumeyes redis",
    "apk add redis",
    "pacman --sync --refresh --noconfirm redis",
    "brew install redis",
];

const BY_HAND: &str = "redis-server is missing: install Redis 7 or later, \
    so that `redis-server --version` works";

/// In Debian and its kin. The cluster of the test needs neither munge nor a database.
const SLURM: [&str; 2] = [
    "apt-get update",
    "apt-get install --yes --no-install-recommends slurmctld slurmd slurm-client",
];

/// The programs of the controller, of a node, and of users.
const OF_SLURM: [&str; 3] = ["slurmctld", "slurmd", "sbatch"];

/// Installs `redis-server` if it is not on the path and `LOCKLAB_REDIS_SERVER` names no other
/// program, and prints the version that the tests will use.
/// Fails if it is missing and no package manager can install it: one line that says what to
/// install.
pub fn redis() -> Result<()> {
    let program = locklab_testing::program();
    if program == "redis-server" && !is_on_path("redis-server") {
        install(&REDIS).context(BY_HAND)?;
        ensure!(is_on_path("redis-server"), "{BY_HAND}");
    }
    let ([product, version], like) = (locklab_testing::server(), version_of_the_node()?);
    println!("{}: {product} {version}", program.display());
    if version != like {
        println!(
            "WARNING: the node is like {like}. The parity tests skip what they know to differ, \
             and say so; another difference fails."
        );
    }
    Ok(())
}

/// `locklab_redis::VERSION`, read from the source, because a dependency on the crate would
/// make this program slower to build.
fn version_of_the_node() -> Result<String> {
    let path = "sim/redis/src/lib.rs";
    let text = std::fs::read_to_string(path).with_context(|| format!("read {path}"))?;
    let after = text.split_once("pub const VERSION: &str = \"");
    let version = after.and_then(|(_, rest)| rest.split_once('"'));
    let (version, _) = version.with_context(|| format!("no VERSION in {path}"))?;
    Ok(version.to_owned())
}

/// Installs Slurm if it is missing, and prints its version, or why there is none: a test of `--long` starts a cluster
/// of its own, and skips itself elsewhere.
pub fn slurm() {
    let is_there = || OF_SLURM.iter().all(|program| is_on_path(program));
    if !is_there()
        && let Err(error) = install(&SLURM)
    {
        println!("{error:#}");
    }
    match is_there() {
        true => println!(
            "slurmd: {}",
            said(Command::new("slurmd").arg("-V"))
                .unwrap_or_default()
                .trim()
        ),
        false => println!("SKIPPED: there is no Slurm; {}", SLURM[1]),
    }
}

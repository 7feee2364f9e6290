//! Makes sure that `redis-server` is installed: the tests start real servers.

use std::process::Command;

use anyhow::{Context, Result, bail};

use crate::tool::{is_on_path, is_root};

/// A package manager of the system, and its commands to install Redis.
struct Manager {
    program: &'static str,
    /// The arguments of each invocation, in order.
    invocations: &'static [&'static [&'static str]],
    rights: Rights,
}

enum Rights {
    /// Installs system-wide, as root.
    Root,
    /// Installs for the user, and refuses to run as root.
    User,
}

const MANAGERS: &[Manager] = &[
    Manager {
        program: "apt-get",
        invocations: &[&["update"], &["install", "--yes", "redis-server"]],
        rights: Rights::Root,
    },
    Manager {
        program: "dnf",
        invocations: &[&["install", "--assumeyes", "redis"]],
        rights: Rights::Root,
    },
    Manager {
        program: "apk",
        invocations: &[&["add", "redis"]],
        rights: Rights::Root,
    },
    Manager {
        program: "pacman",
        invocations: &[&["--sync", "--refresh", "--noconfirm", "redis"]],
        rights: Rights::Root,
    },
    Manager {
        program: "brew",
        invocations: &[&["install", "redis"]],
        rights: Rights::User,
    },
];

const BY_HAND: &str = "redis-server is missing: install Redis 7 or later, \
    so that `redis-server --version` works";

/// Installs `redis-server` if it is not on the path and `LOCKLAB_REDIS_SERVER` names no other
/// program, and prints the version that the tests will use.
///
/// # Errors
///
/// If it is missing and no package manager can install it: one line that says what to
/// install.
pub fn ensure() -> Result<()> {
    let program = locklab_testing::program();
    if program == "redis-server" && !is_on_path("redis-server") {
        install()?;
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

fn install() -> Result<()> {
    let Some(manager) = MANAGERS.iter().find(|m| is_on_path(m.program)) else {
        bail!("{BY_HAND}");
    };
    for words in commands(manager, is_root()?) {
        println!("{}", words.join(" "));
        let status = Command::new(words[0])
            .args(&words[1..])
            .env("DEBIAN_FRONTEND", "noninteractive")
            .status();
        if !status.is_ok_and(|status| status.success()) {
            bail!("{BY_HAND} (`{}` failed)", words.join(" "));
        }
    }
    if !is_on_path("redis-server") {
        bail!("{BY_HAND} ({} did not install it)", manager.program);
    }
    Ok(())
}

/// The commands that install Redis; `sudo -n` fails instead of asking for a password.
fn commands(manager: &Manager, root: bool) -> Vec<Vec<&'static str>> {
    let prefix: &[_] = match manager.rights {
        Rights::Root if !root => &["sudo", "-n"],
        _ => &[],
    };
    let command = |arguments| [prefix, &[manager.program], arguments].concat();
    manager.invocations.iter().copied().map(command).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(program: &str, root: bool, expected: &[&str]) {
        let manager = MANAGERS.iter().find(|m| m.program == program).unwrap();
        let commands: Vec<_> = commands(manager, root)
            .iter()
            .map(|words| words.join(" "))
            .collect();
        assert_eq!(commands, expected);
    }

    #[test]
    fn root_needs_no_sudo_and_brew_wants_none() {
        check(
            "apt-get",
            true,
            &["apt-get update", "apt-get install --yes redis-server"],
        );
        check("apk", false, &["sudo -n apk add redis"]);
        check("brew", false, &["brew install redis"]);
    }
}

//! Real Redis servers and Sentinels: their version, their configuration, and what their log says.

use std::fs;
use std::io::{self, Read};
use std::net::SocketAddr;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use nix::sys::signal::{Signal, killpg};
use nix::unistd::Pid;

use super::ConfirmError;
use super::addresses::Addresses;
use super::{redis_cluster, tls};
use locklab_env::redis::MASTER;
use locklab_history::{Name, Role};
use locklab_model::scenario::{NodeSpec, Persistence, Scenario};

/// The time limit for a program to say its version, in seconds. It needs milliseconds.
const VERSION_S: u64 = 10;

/// No answer with a version is longer than this, in bytes.
const MAX_ANSWER: u64 = 4096;

/// The version that a server reports, as [`Header::redis`](locklab_results::recording::Header::redis)
/// has it.
pub(super) fn version(program: &Path) -> Result<String, ConfirmError> {
    let mut process = Command::new(program)
        .arg("--version")
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        // A process group of its own, so that its child processes can be killed with it.
        .process_group(0)
        .spawn()
        .map_err(|source| ConfirmError::NoRedis {
            program: program.into(),
            source,
        })?;
    let (answered, answer) = mpsc::channel();
    let mut out = process.stdout.take().map(|out| out.take(MAX_ANSWER));
    thread::spawn(move || {
        let mut answer = Vec::new();
        if let Some(out) = &mut out {
            // The part that could be read is the answer.
            let _ = out.read_to_end(&mut answer);
        }
        // No caller waits for a late answer.
        let _ = answered.send(answer);
    });
    let answer = answer.recv_timeout(Duration::from_secs(VERSION_S));
    // An error means that all of them have ended.
    let _ = killpg(Pid::from_raw(process.id().cast_signed()), Signal::SIGKILL);
    let _ = process.wait();
    let answer = answer.map_err(|_| ConfirmError::Silent {
        program: program.into(),
        seconds: VERSION_S,
    })?;
    let answer = String::from_utf8_lossy(&answer);
    find_version(&answer).ok_or_else(|| ConfirmError::NotRedis {
        program: program.into(),
        answer: answer.lines().next().unwrap_or_default().into(),
    })
}

/// Writes the configuration of this server into `folder`, where it keeps its files; returns the
/// arguments to start it with. A Sentinel that restarts has its own version of the file, with the
/// state it has stored.
pub(super) fn configure(
    scenario: &Scenario,
    server: &Name,
    role: &Role,
    addresses: &Addresses,
    folder: &Path,
) -> io::Result<Vec<String>> {
    let file = folder.join("redis.conf");
    let mut arguments = vec![file.display().to_string()];
    let sentinel = *role == Role::Sentinel;
    if sentinel {
        arguments.push("--sentinel".into());
    }
    if !(sentinel && file.exists()) {
        let mut lines = common(server, addresses, folder);
        lines.extend(match role {
            Role::Sentinel => of_sentinel(scenario, server, addresses),
            Role::Node => of_node(&scenario.node, server, None, addresses),
            Role::Replica { of } => {
                // In a cluster it knows its master from what all nodes know.
                let is_told = scenario.cluster.is_none();
                let master = is_told.then(|| addresses.public(&Name::from(&**of)));
                of_node(&scenario.node, server, master, addresses)
            }
        });
        if scenario.node.tls {
            lines.extend(tls::lines(addresses.hidden(server), folder));
        }
        if let Some(options) = &scenario.cluster {
            lines.extend(redis_cluster::lines(options, server, addresses));
            redis_cluster::introduce(&scenario.topology, server, addresses, folder)?;
        }
        fs::write(&file, lines.join("\n") + "\n")?;
    }
    Ok(arguments)
}

/// The common options: log to standard output, and accept other connections of this machine.
fn common(server: &Name, addresses: &Addresses, folder: &Path) -> Vec<String> {
    let hidden = addresses.hidden(server);
    vec![
        format!("bind {}", hidden.ip()),
        format!("port {}", hidden.port()),
        format!("bind-source-addr {}", addresses.ip(server)),
        format!("dir {}", folder.display()),
        "protected-mode no".into(),
        "daemonize no".into(),
        "logfile \"\"".into(),
    ]
}

fn of_node(
    spec: &NodeSpec,
    server: &Name,
    master: Option<SocketAddr>,
    addresses: &Addresses,
) -> Vec<String> {
    let public = addresses.public(server);
    let mut lines = vec![
        format!("replica-announce-ip {}", public.ip()),
        format!("replica-announce-port {}", public.port()),
        // Otherwise the first five seconds of a run would pass without replication.
        "repl-diskless-sync-delay 0".into(),
        format!("min-replicas-to-write {}", spec.min_replicas_to_write),
    ];
    if let Some(master) = master {
        lines.push(format!("replicaof {} {}", master.ip(), master.port()));
    }
    lines.extend(match spec.persistence {
        Persistence::None => ["save \"\"".into(), "appendonly no".into()],
        Persistence::Snapshot => ["save 3600 1 300 100 60 10000", "appendonly no"].map(Into::into),
        Persistence::AofAlways => append_only("always"),
        Persistence::AofEverysec => append_only("everysec"),
        Persistence::AofNo => append_only("no"),
    });
    if let Some(most) = spec.maxclients {
        lines.push(format!("maxclients {most}"));
    }
    if let Some(bytes) = spec.maxmemory {
        lines.push(format!("maxmemory {bytes}"));
    }
    if let Some(policy) = &spec.maxmemory_policy {
        lines.push(format!("maxmemory-policy {policy}"));
    }
    lines
}

/// Without snapshots, so that what survives is the append-only file.
fn append_only(fsync: &str) -> [String; 2] {
    [
        "save \"\"".into(),
        format!("appendonly yes\nappendfsync {fsync}"),
    ]
}

fn of_sentinel(scenario: &Scenario, server: &Name, addresses: &Addresses) -> Vec<String> {
    let options = &scenario.sentinel;
    let quorum = options
        .quorum
        .unwrap_or(scenario.topology.sentinels / 2 + 1);
    // A scenario with sentinels has one node.
    let master = addresses.public(&"n1".into());
    let public = addresses.public(server);
    let set =
        |what: &str, value: &dyn std::fmt::Display| format!("sentinel {what} {MASTER} {value}");
    vec![
        format!("sentinel announce-ip {}", public.ip()),
        format!("sentinel announce-port {}", public.port()),
        format!(
            "sentinel monitor {MASTER} {} {} {quorum}",
            master.ip(),
            master.port()
        ),
        set("down-after-milliseconds", &options.down_after_ms),
        set("failover-timeout", &options.failover_timeout_ms),
        set("parallel-syncs", &options.parallel_syncs),
    ]
}

/// The meaning of a line of a server's log for the testbed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum LogLine {
    /// The server accepts connections.
    Ready,
    /// A replica has its master's data, or a node finds its cluster whole.
    Synchronised,
    /// An event of a Sentinel: `+switch-master`, which also stands for a replica that the masters of a cluster elected.
    Notice(String),
    /// Something else.
    Other,
}

impl LogLine {
    /// Reads a line. The wordings have been the same since Redis 2.8; that of a server that is
    /// ready sometimes has a capital R, sometimes more text after it.
    pub(super) fn read(line: &str) -> LogLine {
        if line
            .to_ascii_lowercase()
            .contains("ready to accept connections")
        {
            return LogLine::Ready;
        }
        // MASTER in Redis, PRIMARY in Valkey.
        if line.contains(" <-> REPLICA sync: Finished with success")
            || line.contains(" Cluster state changed: ok")
        {
            return LogLine::Synchronised;
        }
        if line.contains(" Failover election won: ") {
            return LogLine::Notice("+switch-master".into());
        }
        // `7:X 21 Nov 2026 08:00:00.123 # +sdown master mymaster 127.0.0.1 6379`
        match line.split_whitespace().nth(6) {
            Some(word) if is_notice(word) => LogLine::Notice(word.into()),
            _ => LogLine::Other,
        }
    }
}

fn is_notice(word: &str) -> bool {
    let name = word.strip_prefix(['+', '-']);
    name.is_some_and(|name| name.starts_with(|c: char| c.is_ascii_lowercase()))
}

fn find_version(answer: &str) -> Option<String> {
    let mut words = answer.split_whitespace();
    let product = words.next()?;
    let version = words.find_map(|word| word.strip_prefix("v="))?;
    Some(match product {
        "Redis" => version.into(),
        other => format!("{other} {version}"),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_of_redis_and_its_relatives() {
        let check = |answer, version: Option<&str>| {
            assert_eq!(find_version(answer).as_deref(), version);
        };
        check(
            "Redis server v=7.0.15 sha=00000000:0 malloc=jemalloc-5.3.0 bits=64 build=d8ff",
            Some("7.0.15"),
        );
        check("Valkey server v=8.0.1 sha=00000000:0", Some("Valkey 8.0.1"));
        check("cat (GNU coreutils) 9.4", None);
    }

    #[test]
    fn lines_of_logs() {
        let check = |line, expected| assert_eq!(LogLine::read(line), expected, "{line}");
        check(
            "7:M 21 Nov 2026 08:00 * Ready to accept connections",
            LogLine::Ready,
        );
        check(
            "7:M 21 Nov 2026 08:00 * Ready to accept connections tcp",
            LogLine::Ready,
        );
        check(
            "* The server is now ready to accept connections on port 6379",
            LogLine::Ready,
        );
        check("* Server initialized", LogLine::Other);
        check(
            "7:S 22 Nov 2026 13:49:24.100 * MASTER <-> REPLICA sync: Finished with success",
            LogLine::Synchronised,
        );
        check(
            "7:S 22 Nov 2026 13:49:24.100 * PRIMARY <-> REPLICA sync: Finished with success",
            LogLine::Synchronised,
        );
        check(
            "7:M 22 Nov 2026 13:49:24.100 * Cluster state changed: ok",
            LogLine::Synchronised,
        );
        check(
            "7:S 22 Nov 2026 13:49:24.100 * Failover election won: I'm the new master.",
            LogLine::Notice("+switch-master".into()),
        );
        check(
            "7:X 22 Nov 2026 13:49:24.100 # +monitor master mymaster 127.1.2.3 6379 quorum 2",
            LogLine::Notice("+monitor".into()),
        );
        check(
            "7:X 22 Nov 2026 13:49:24.100 * Sentinel new configuration saved on disk",
            LogLine::Other,
        );
    }
}

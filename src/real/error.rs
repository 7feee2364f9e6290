//! The errors of a run on real Redis.

use std::io;
use std::path::PathBuf;

use thiserror::Error;

use locklab_history::{FaultKind, Name};
use locklab_redis::Imitated;
use locklab_values::untrusted;

/// Why a run on real Redis is impossible or failed, and what to do about it.
#[derive(Debug, Error)]
pub enum ConfirmError {
    /// The system lacks `PR_SET_PDEATHSIG`, the request to end a run's processes with the
    /// testbed.
    #[error(
        "a run on real Redis needs Linux, which ends the processes of a run together with it; \
         use `--on simulator` here"
    )]
    NotLinux,
    /// A fault on a host that the scenario does not have.
    #[error("fault `{fault}` strikes `{host}`, but the scenario has no host of this name")]
    UnknownHost {
        /// The fault's name.
        fault: Name,
        /// The host.
        host: Name,
    },
    /// Nodes with a clock that Redis does not have.
    #[error(
        "`node.clock = \"monotonic\"` asks what Redis would do if it expired keys by the monotonic \
         clock; a real one does not: leave it out, or use `--on simulator`"
    )]
    NodeClock,
    /// A fault strikes at a step that a real run does not see.
    #[error(
        "fault \"{fault}\" strikes at a step (`{step}`), which only the simulator sees; real servers \
         show \"c1 SET #1 arrives at n1\", \"c1 SET #1 reply arrives from n1\" and \"c1 holds\": place it \
         at one of these, with `at_ms` or `after`, or use `--on simulator`"
    )]
    Step {
        /// The fault.
        fault: Name,
        /// The step.
        step: String,
    },
    /// The servers are of another version than the scenario needs.
    #[error(
        "`node.imitate = \"{wanted}\"` needs a server of that version or later, and the installed one is \
         {version}: name another with --server, or use `--on simulator`"
    )]
    Version {
        /// The server that the scenario needs.
        wanted: Imitated,
        /// The installed one.
        version: String,
    },
    /// A drill ended before it was ready.
    #[error(
        "the drill of {0} ended before it wrote its first line, `{{\"event\":\"ready\",\"can\":[…]}}`: what it wrote \
         to standard error is above"
    )]
    Drill(Name),
    /// The Redis server cannot be executed.
    #[error(
        "cannot run `{}`: install Redis (`apt-get install redis-server`, or `brew install \
         redis`), or name its program with --server",
        program.display()
    )]
    NoRedis {
        /// The program that was tried.
        program: PathBuf,
        /// The cause.
        source: io::Error,
    },
    /// Java or ZooKeeper is missing.
    #[error(
        "cannot run ZooKeeper: install it (`apt-get install zookeeper default-jre-headless`), or name its class \
         path, with a logger that writes to standard output, in LOCKLAB_ZOOKEEPER"
    )]
    NoZooKeeper,
    /// PostgreSQL is missing.
    #[error(
        "cannot run PostgreSQL: install it (`apt-get install postgresql`), or name the folder of its programs in \
         LOCKLAB_POSTGRES"
    )]
    NoPostgres,
    /// No certificate can be made.
    #[error("cannot make a certificate for TLS: install OpenSSL (`apt-get install openssl`)")]
    NoOpenSsl(#[source] io::Error),
    /// The Redis server does not even print its version.
    #[error("`{} --version` did not answer within {seconds} s; name a Redis server with --server", program.display())]
    Silent {
        /// The program that was tried.
        program: PathBuf,
        /// The time limit, in seconds.
        seconds: u64,
    },
    /// The Redis server can be executed, but does not print its version.
    #[error("`{} --version` does not look like a Redis server: it answered {answer:?}; name one with --server", program.display())]
    NotRedis {
        /// The program that was tried.
        program: PathBuf,
        /// The first line of its output.
        answer: String,
    },
    /// The system does not report the path of Locklab's own program.
    #[error("cannot find Locklab's own program, which every client process runs")]
    OwnProgram(#[source] io::Error),
    /// There are too few free addresses.
    #[error(
        "cannot find free addresses in 127.0.0.0/8 for the hosts of a run, of which 254 have room"
    )]
    Addresses,
    /// The files of a run cannot be written.
    #[error("cannot write the files of a run to the system's folder for temporary files")]
    Folder(#[source] io::Error),
    /// The proxy does not work.
    #[error("cannot listen where the connections of a run should go through")]
    Proxy(#[source] io::Error),
    /// A server is not asked for its requests, or refuses to tell them.
    #[error("cannot watch with MONITOR what {server} is asked")]
    Monitor {
        /// The server.
        server: Name,
        /// The cause.
        source: io::Error,
    },
    /// The system refuses what a run needs beside its processes.
    #[error("the system gives no event loop or no socket to what measures and operates a run")]
    Machine(#[source] io::Error),
    /// The scenario has no Redis servers for programs of others.
    #[error(
        "a program of your own needs Redis servers, and this scenario has none: choose another one"
    )]
    NoServersOfRedis,
    /// A fault ends the resource, of which the value is nowhere else.
    #[error(
        "fault `{fault}` ends the resource, which keeps what programs write in memory only: strike another host"
    )]
    ResourceEnds {
        /// The fault's name.
        fault: Name,
    },
    /// The clock of a program cannot be made wrong.
    #[error(
        "{bends} cannot reach `{host}`: {program} {why}; choose faults that leave the clocks and threads of \
         clients alone, such as{}; docs/attack.md, Clocks, says which programs are reached",
        other_faults()
    )]
    Untranslated {
        /// The client.
        host: Name,
        /// Its program, or one that it has started.
        program: String,
        /// Why not.
        why: &'static str,
        /// The fault, or the part of the scenario, in words.
        bends: String,
    },
    /// A program could not suffer a fault.
    #[error(
        "the run shows nothing, since the process of `{host}` could not suffer its faults: {said}"
    )]
    Unsuffered {
        /// The client.
        host: Name,
        /// What the preloaded library says.
        said: String,
    },
    /// Nothing can be judged of a program.
    #[error(
        "the program neither used LOCKLAB_RESOURCE nor told when it holds the lock, and the wire shows nothing to \
         judge either: {why}; docs/attack.md says what a program can show and tell{}",
        in_lines(notes)
    )]
    Mute {
        /// Why nothing can be judged from the wire.
        why: String,
        /// How its processes ended, if they failed.
        notes: Vec<String>,
    },
    /// Several keys may be the lock of a program that tells nothing.
    #[error(
        "the program tells nothing, and several keys may be its lock: {}; name one with --key",
        in_ticks(keys)
    )]
    SeveralKeys {
        /// The keys.
        keys: Vec<String>,
    },
    /// The run was ended early.
    #[error("interrupted")]
    Stopped,
    /// A process could not be started.
    #[error("cannot start the process of `{host}`")]
    Start {
        /// The host of the process.
        host: Name,
        /// The cause.
        source: io::Error,
    },
    /// The clients of a measurement got no answer.
    #[error("the servers of a measurement did not answer")]
    Load(#[source] io::Error),
    /// A process did not become ready.
    #[error(
        "the process of `{host}` was not ready within {seconds} s; is the machine very busy, or is \
         its program not the one that is meant? --server, LOCKLAB_ZOOKEEPER and LOCKLAB_POSTGRES name others"
    )]
    NotReady {
        /// The host of the process.
        host: Name,
        /// The time limit, in seconds.
        seconds: u64,
    },
    /// A process ended without a fault.
    #[error("the process of `{host}` ended by itself ({status}); the end of its output: {said}")]
    Died {
        /// The host of the process.
        host: Name,
        /// How it ended.
        status: String,
        /// The end of its output.
        said: String,
    },
}

/// The most keys that an error names.
const MOST_KEYS: usize = 10;

fn in_ticks(keys: &[String]) -> String {
    let named = keys.iter().take(MOST_KEYS);
    let mut named: Vec<String> = named
        .map(|key| format!("`{}`", untrusted::line(key)))
        .collect();
    if keys.len() > MOST_KEYS {
        named.push(format!("and {} more", keys.len() - MOST_KEYS));
    }
    named.join(", ")
}

/// Options of `attack` for the usual faults that bend no clock.
fn other_faults() -> String {
    let kinds = FaultKind::ALL.iter();
    let others = kinds.filter(|kind| kind.is_usual() && !kind.is_preloaded());
    others
        .map(|kind| format!(" --fault {}", kind.name()))
        .collect()
}

fn in_lines(notes: &[String]) -> String {
    notes.iter().map(|note| format!("\n  {note}")).collect()
}

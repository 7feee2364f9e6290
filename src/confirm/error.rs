//! Why a run on real Redis did not come about.

use std::io;
use std::path::PathBuf;

use thiserror::Error;

use crate::history::Name;

/// Why a run on real Redis did not come about, and what to do.
#[derive(Debug, Error)]
pub enum ConfirmError {
    /// The system lacks the request that ends the processes of a run with it.
    #[error(
        "a run on real Redis needs Linux, which ends the processes of a run together with it; \
         use `--on world` here"
    )]
    NotLinux,
    /// A fault that signals cannot bring about.
    #[error(
        "fault `{fault}` is of kind `{kind}`, which real Redis cannot be given here: on real \
         Redis the kinds `pause` and `kill` work; `--on world` has every kind"
    )]
    FaultKind {
        /// The fault's name.
        fault: Name,
        /// Its kind, as a scenario spells it.
        kind: &'static str,
    },
    /// A fault on a host that the scenario does not have.
    #[error("fault `{fault}` strikes `{host}`, but the scenario has no host of this name")]
    UnknownHost {
        /// The fault's name.
        fault: Name,
        /// The host.
        host: Name,
    },
    /// Nodes with replicas, or with parameters of their own.
    #[error(
        "`topology.replicas` and `[node]` say how the nodes are to be run, but on real Redis \
         every node is one server without replicas, persistence and delay; `--on world` has all \
         of them"
    )]
    Node,
    /// A workload without a lock.
    #[error(
        "with `workload.kind = \"adds\"` clients add to a set, which needs a master and replicas \
         that real Redis is not given here; `--on world` has them"
    )]
    Workload,
    /// Clocks that are wrong from the beginning.
    #[error(
        "`clocks.host.{host}` sets a clock of its own, but on real Redis all processes share \
         the machine's clocks: leave `clocks` out, or use `--on world`"
    )]
    Clocks {
        /// The host.
        host: String,
    },
    /// There is no such Redis server.
    #[error(
        "cannot run `{}`: install Redis (`apt-get install redis-server`, or `brew install \
         redis`), or name the program in LOCKLAB_REDIS_SERVER",
        program.display()
    )]
    NoRedis {
        /// What was tried.
        program: PathBuf,
        /// What came of it.
        source: io::Error,
    },
    /// The Redis server is there, but does not tell its version.
    #[error("`{} --version` does not look like a Redis server: it answered {answer:?}", program.display())]
    NotRedis {
        /// What was tried.
        program: PathBuf,
        /// The first line of its output.
        answer: String,
    },
    /// The system does not say where Locklab's own program lies.
    #[error("cannot find Locklab's own program, which every client process runs")]
    OwnProgram(#[source] io::Error),
    /// No free port, or too few.
    #[error("cannot find a free port on 127.0.0.1 for `{host}`")]
    Port {
        /// Who would have listened there.
        host: Name,
    },
    /// The lock has other servers than Redis.
    #[error(
        "`{lock}` is no lock on Redis: it is there to be compared with, in the simulated world"
    )]
    Lock {
        /// The lock.
        lock: &'static str,
    },
    /// A process could not be started.
    #[error("cannot start the process of `{host}`")]
    Start {
        /// Whose process.
        host: Name,
        /// What came of it.
        source: io::Error,
    },
    /// A process did not become ready.
    #[error("the process of `{host}` was not ready within {seconds} s")]
    NotReady {
        /// Whose process.
        host: Name,
        /// How long it was given, in seconds.
        seconds: u64,
    },
    /// A process ended that no fault had struck.
    #[error("the process of `{host}` ended by itself ({status}); its last words: {said}")]
    Died {
        /// Whose process.
        host: Name,
        /// How it ended.
        status: String,
        /// The end of its output.
        said: String,
    },
}

//! The messages between the testbed and its processes over their standard input and output, one
//! line of JSON each.

use std::ffi::OsString;
use std::net::{IpAddr, SocketAddr};
use std::path::PathBuf;
use std::time::Duration;

use locklab_vecmap::{VecMap, VecSet};
use serde::{Deserialize, Serialize};

use super::account::Account;
use locklab_env::redis::ClientOptions;
use locklab_history::{Failpoint, Name, Record};
use locklab_locks::{LockSpec, Servers};
use locklab_model::workload::Workload;
use locklab_runner::workload::resource::Register;

/// The first line that a process reads: its job.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Job {
    /// The process id of the testbed: a process that has a different parent by now has lost it.
    pub(super) bench: u32,
    /// The role of the process.
    pub(super) role: Role,
}

/// The role of a process.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum Role {
    /// A client of the lock.
    Client(Box<ClientJob>),
    /// A client that is a program of somebody else.
    Foreign(ForeignJob),
    /// A program, or a lock of the catalogue, that follows orders.
    Drill(Box<DrillJob>),
    /// The protected resource.
    Resource(ResourceJob),
    /// Another program, which must end with the testbed.
    Guard(GuardJob),
    /// Deletes this folder when the testbed has ended, however it did.
    Janitor {
        /// The folder of the run.
        folder: PathBuf,
    },
}

/// The job of a client.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct ClientJob {
    /// Its name.
    pub(super) name: Name,
    /// The seed of the run.
    pub(super) seed: u64,
    /// The number of earlier starts of its process. Each start has its own random streams, so
    /// that it never mistakes a lock value of an earlier start for its own.
    pub(super) earlier_starts: u32,
    /// The lock.
    pub(super) lock: LockSpec,
    /// The workload of all clients, with what single ones do otherwise.
    pub(super) workload: Workload,
    /// The nodes of the lock.
    pub(super) nodes: Vec<Name>,
    /// How it treats its connections.
    pub(super) options: ClientOptions,
    /// How late its timers fire, beside the machine's own lateness.
    pub(super) timers_late: Duration,
    /// What the servers are.
    pub(super) kind: ServerKind,
    /// The sentinels that know which node is the master, if any.
    pub(super) sentinels: Vec<Name>,
    /// The addresses of all servers, and of the resource.
    pub(super) addresses: VecMap<Name, SocketAddr>,
    /// The source address of its own connections.
    pub(super) source: IpAddr,
    /// The file that sets its clocks, if they may be wrong.
    pub(super) clock: Option<PathBuf>,
    /// The points of the program at which a fault may be due.
    pub(super) watched: VecSet<Failpoint>,
    /// The number of its last call before this start.
    pub(super) calls: u32,
    /// The number of its last grant before this start.
    pub(super) grants: u32,
}

/// The job of the resource.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct ResourceJob {
    /// The address to listen on.
    pub(super) address: SocketAddr,
    /// The addresses to which foreign programs come, and whose each is.
    pub(super) gates: Vec<(SocketAddr, Name)>,
    /// Its initial state.
    pub(super) register: Register,
    /// The file that sets its clocks, if they may be wrong.
    pub(super) clock: Option<PathBuf>,
}

/// The job of a process that becomes a foreign client.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct ForeignJob {
    /// The program.
    pub(super) program: String,
    /// Its arguments.
    pub(super) arguments: Vec<String>,
    /// Additional environment variables.
    pub(super) environment: Vec<(OsString, OsString)>,
}

/// The job of a process that follows orders; see [`score`](super::score).
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct DrillJob {
    /// Additional environment variables.
    pub(super) environment: Vec<(OsString, OsString)>,
    /// What follows them.
    pub(super) is: Drilled,
}

/// What follows orders.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum Drilled {
    /// A program of somebody else.
    Program {
        /// Its name or path.
        name: String,
        /// Its arguments.
        arguments: Vec<String>,
    },
    /// A lock of the catalogue.
    Lock {
        /// The lock.
        lock: Box<Forms>,
        /// The addresses of its nodes.
        nodes: VecMap<Name, SocketAddr>,
        /// The name of the process.
        name: Name,
        /// The file that sets its clocks, if they may be wrong.
        clock: Option<PathBuf>,
    },
}

/// A lock in the forms in which it can be ordered.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Forms {
    /// With the lease that is asked for.
    pub(super) lock: LockSpec,
    /// With the lease that it has when none is asked for, if it has one.
    pub(super) plain: Option<LockSpec>,
    /// With the lease that is asked for, which it renews by itself, if it can.
    pub(super) keep: Option<LockSpec>,
}

/// The job of a process that becomes another program.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct GuardJob {
    /// The program.
    pub(super) program: OsString,
    /// Its arguments.
    pub(super) arguments: Vec<String>,
    /// The server that the program is, which says what its output means.
    pub(super) kind: ServerKind,
    /// The user that it runs as, if it is not that of this process.
    pub(super) account: Option<Account>,
    /// Additional environment variables.
    pub(super) environment: Vec<(OsString, OsString)>,
    /// The reading of the host's wall clock at which the program begins, in nanoseconds; 0:
    /// immediately. The testbed reads the clock when it starts the process, so a process that is
    /// late does not wait longer.
    pub(super) until_ns: u64,
    /// The file that sets its clocks, if they may be wrong.
    pub(super) clock: Option<PathBuf>,
}

/// A real server.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum ServerKind {
    /// A Redis server or a Sentinel.
    Redis,
    /// A member of a ZooKeeper service.
    ZooKeeper,
    /// A PostgreSQL server.
    Postgres,
}

impl ServerKind {
    /// The servers of this lock.
    pub(super) fn of(lock: &LockSpec) -> Self {
        match lock.servers() {
            Servers::Redis => ServerKind::Redis,
            Servers::Database => ServerKind::Postgres,
            Servers::Consensus => ServerKind::ZooKeeper,
        }
    }

    /// The user that it runs as, if that is another one.
    pub(super) fn account(self) -> Option<Account> {
        match self {
            ServerKind::Postgres => Account::unprivileged(),
            ServerKind::Redis | ServerKind::ZooKeeper => None,
        }
    }
}

/// A message from a process.
#[derive(Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum ChildMessage {
    /// The process is connected, or listens.
    Ready,
    /// An event. Its `at_ns` is the machine's monotonic clock.
    Record(Record),
    /// A foreign program has used the resource.
    Accessed(Accessed),
    /// The process is blocked at this watched point until [`Command::GoOn`].
    Reached(Failpoint),
    /// The process waited until it was to begin, and has begun. Both times are those of the machine's
    /// monotonic clock, in nanoseconds.
    Began {
        /// When it was to begin.
        due_ns: u64,
        /// When it began.
        at_ns: u64,
    },
    /// A client has finished its rounds.
    Finished,
    /// The process failed, for this reason.
    Failed(String),
}

/// An access of a foreign program to the resource.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct Accessed {
    /// The key.
    pub(super) key: Name,
    /// Its `at_ns` is the machine's monotonic clock.
    pub(super) record: Record,
}

/// A command to a process after its job.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum Command {
    /// Begin when the machine's monotonic clock reads this.
    Begin {
        /// Nanoseconds; 0: immediately.
        at_ns: u64,
    },
    /// The faults that were due at the failpoint have taken effect.
    GoOn,
}

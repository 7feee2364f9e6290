//! What the bench and its processes say to each other over their standard input and
//! output, a line of JSON each.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsString;
use std::net::SocketAddr;

use serde::{Deserialize, Serialize};

use crate::history::{Failpoint, Name, Record};
use crate::locks::LockSpec;
use crate::workload::Workload;
use crate::workload::resource::Register;

/// The first line that a process reads: what it is to do.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Job {
    /// The process id of the bench: whoever is another's child by now has lost it.
    pub(super) bench: u32,
    /// What to be.
    pub(super) role: Role,
}

/// What a process can be.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum Role {
    /// A client of the lock.
    Client(Box<ClientJob>),
    /// The protected resource.
    Resource {
        /// Where to listen.
        address: SocketAddr,
        /// What it holds.
        register: Register,
    },
    /// Another program, which is to end with the bench.
    Guard {
        /// The program.
        program: OsString,
        /// Its arguments.
        arguments: Vec<OsString>,
    },
}

/// All that a client needs to know.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct ClientJob {
    /// Its name.
    pub(super) name: Name,
    /// The seed of the run.
    pub(super) seed: u64,
    /// How often its process was started before. Each start draws from streams of its
    /// own, so that it never takes a lock value of an earlier one for its own.
    pub(super) earlier_starts: u32,
    /// The lock.
    pub(super) lock: LockSpec,
    /// What to do.
    pub(super) workload: Workload,
    /// The nodes of the lock.
    pub(super) nodes: Vec<Name>,
    /// Where nodes and resource listen.
    pub(super) addresses: BTreeMap<Name, SocketAddr>,
    /// The points of the program at which a fault may be due.
    pub(super) watched: BTreeSet<Failpoint>,
    /// The number of its last call before this start.
    pub(super) calls: u32,
    /// The number of its last grant before this start.
    pub(super) grants: u32,
}

/// What a process says.
#[derive(Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum ChildMessage {
    /// It is connected, or listens.
    Ready,
    /// Something happened. Its `at_ns` is the machine's monotonic clock.
    Record(Record),
    /// It stands at this watched point until it is told [`Command::GoOn`].
    Reached(Failpoint),
    /// A client has finished its rounds.
    Finished,
    /// It cannot do its work, and why.
    Failed(String),
}

/// What a process is told after its job.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum Command {
    /// Begin when the machine's monotonic clock reads this.
    Begin {
        /// Nanoseconds.
        at_ns: u64,
    },
    /// The faults that were due at the point have struck.
    GoOn,
}

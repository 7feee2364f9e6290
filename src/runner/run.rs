//! The result of a run, in the simulator or on real servers.

use locklab_check::Property;
use locklab_history::{Contents, History, Moment, Name};
use locklab_vecmap::VecMap;
use locklab_world::TraceEvent;

use super::steps::StepLog;

/// How late a machine wakes what waits: threads for their timers, and processes for messages.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Lateness {
    /// The longest delay of a timer, in nanoseconds.
    pub longest_ns: u64,
    /// 99 of 100 timers are late by at most this, in nanoseconds.
    pub timer_ns: u64,
    /// 99 of 100 messages between two processes are late by at most this, in nanoseconds.
    pub message_ns: u64,
    /// The longest delay with which a process began, in nanoseconds (a client at the beginning of the run, or a process
    /// that was restarted), or with which one was stopped or went on.
    pub start_ns: u64,
}

impl Lateness {
    /// The longest delay of a single timer or process, in nanoseconds.
    pub fn worst_ns(&self) -> u64 {
        self.longest_ns.max(self.start_ns)
    }
}

/// What a run shows of one of several locks of its programs.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct LockRun {
    /// The lock, as the program names it; empty if there is one.
    pub lock: Name,
    /// What happened around it, without messages.
    pub history: History,
    /// Why it does not show whether a property holds, beside [`Run::unshown`].
    pub unshown: VecMap<Property, String>,
}

/// A finished run.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Run {
    /// The history of the run.
    pub history: History,
    /// The same for each lock, if its programs have several; [`Run::history`] is the first one's then.
    pub locks: Vec<LockRun>,
    /// The hash of every event of the simulator, in order; 0 on real servers, where no two runs are
    /// equal.
    pub trace_hash: u64,
    /// These events, if they were kept.
    pub trace: Vec<TraceEvent>,
    /// The bytes of messages and the keys of nodes, if they were kept.
    pub contents: Option<Contents>,
    /// When it ended before its horizon because its history was full, in nanoseconds of true time.
    pub full_ns: Option<u64>,
    /// Its steps, if they were kept.
    pub steps: Option<StepLog>,
    /// How late the machine was during a real run; in the simulator nothing is late.
    pub lateness: Lateness,
    /// The command line of the clients, if they are a program of somebody else; else empty.
    pub program: Vec<String>,
    /// Why the history does not show whether a property holds, where its beliefs and calls are known in part
    /// only: a violation counts, and anything else is inconclusive.
    pub unshown: VecMap<Property, String>,
    /// The longest lease that such programs told, or gave the key of their lock, in nanoseconds.
    pub lease_ns: Option<u64>,
    /// What such programs did that makes no sense, or ended them, in words.
    pub notes: Vec<String>,
    /// Which of such programs renewed a lock that they did not have, in words.
    pub wrong_renewals: Vec<String>,
    /// The points that such programs came to, each with its true time in nanoseconds, in order.
    pub moments: Vec<(u64, Moment)>,
    /// The version of the servers if they are real: `7.0.15`.
    pub server_version: Option<String>,
}

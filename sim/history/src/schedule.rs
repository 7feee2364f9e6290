//! The fault schedule of a run, as data.

use serde::{Deserialize, Serialize};

use crate::Name;

/// All faults of one run, every number settled.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Schedule {
    /// In the order of their names.
    pub faults: Vec<Fault>,
}

/// One fault of a schedule.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Fault {
    /// Its name in the scenario.
    pub name: Name,
    /// When it takes effect.
    pub start: Start,
    /// For how long, in nanoseconds; `None`: to the end of the run. A step, a failover,
    /// a kill and a crash without restart are over at once.
    pub duration_ns: Option<u64>,
    /// What it does, and to whom.
    pub kind: FaultKind,
}

/// When a fault takes effect.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Start {
    /// At this true time in nanoseconds since the run began.
    At {
        /// Nanoseconds.
        at_ns: u64,
    },
    /// When `client` has reached `point` for the `nth` time, `delay_ns` later.
    After {
        /// The client.
        client: Name,
        /// The point of its program; one of [`POINTS`](crate::POINTS).
        point: Name,
        /// The first time is 1.
        nth: u32,
        /// Nanoseconds of true time; at 0 the client does nothing in between.
        delay_ns: u64,
    },
}

/// What a fault does.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum FaultKind {
    /// The host's process stands still; its kernel and both its clocks go on, as
    /// under SIGSTOP or a stop-the-world garbage collection.
    Pause {
        /// The hosts.
        hosts: Vec<Name>,
    },
    /// The whole machine stands still, its monotonic clock too; the wall clock has
    /// moved on when it resumes, as with a suspended virtual machine.
    Suspend {
        /// The hosts.
        hosts: Vec<Name>,
    },
    /// The process ends, the kernel closes its sockets; it starts again after the
    /// fault's duration, if it has one.
    Kill {
        /// The hosts.
        hosts: Vec<Name>,
    },
    /// Power loss: silence first, no FIN; memory is gone. Starts again after the
    /// fault's duration, if it has one.
    Crash {
        /// The hosts.
        hosts: Vec<Name>,
    },
    /// No packet from any of `from` reaches any of `to`; with `both_ways` neither
    /// does the reverse.
    Partition {
        /// One side.
        from: Vec<Name>,
        /// The other side.
        to: Vec<Name>,
        /// Whether the reverse direction is cut too.
        both_ways: bool,
    },
    /// Every packet between the two sides takes longer by this much, either way
    /// unless `both_ways` is false.
    SlowLink {
        /// One side.
        from: Vec<Name>,
        /// The other side.
        to: Vec<Name>,
        /// Whether the reverse direction is slow too.
        both_ways: bool,
        /// The extra one-way delay in nanoseconds.
        extra_ns: u64,
    },
    /// Each transmission between the two sides is lost with this probability; a lost
    /// one is repeated after the retransmission timeout.
    Loss {
        /// One side.
        from: Vec<Name>,
        /// The other side.
        to: Vec<Name>,
        /// Whether the reverse direction loses too.
        both_ways: bool,
        /// Between 0 and 1.
        probability: f64,
    },
    /// The wall clocks jump by this much, back if negative.
    ClockStep {
        /// The hosts.
        hosts: Vec<Name>,
        /// Nanoseconds.
        step_ns: i64,
    },
    /// Both clocks of the hosts run wrong by this rate while the fault lasts.
    ClockRate {
        /// The hosts.
        hosts: Vec<Name>,
        /// Parts per million; 100 000 is 10 % fast.
        drift_ppm: i64,
    },
    /// An operator asks for a failover, on these hosts: sentinels, masters, or replicas that
    /// are to be masters; what is typed there depends on which of these it is. It takes effect when the
    /// server says OK, and never if it does not.
    Failover {
        /// The hosts.
        hosts: Vec<Name>,
    },
}

impl FaultKind {
    /// How a scenario spells it.
    pub fn name(&self) -> &'static str {
        match self {
            FaultKind::Pause { .. } => "pause",
            FaultKind::Suspend { .. } => "suspend",
            FaultKind::Kill { .. } => "kill",
            FaultKind::Crash { .. } => "crash",
            FaultKind::Partition { .. } => "partition",
            FaultKind::SlowLink { .. } => "slow-link",
            FaultKind::Loss { .. } => "loss",
            FaultKind::ClockStep { .. } => "clock-step",
            FaultKind::ClockRate { .. } => "clock-rate",
            FaultKind::Failover { .. } => "failover",
        }
    }

    /// The hosts that it concerns; for a link fault those of both sides.
    pub fn hosts(&self) -> impl Iterator<Item = &Name> {
        let (one, other): (&[Name], &[Name]) = match self {
            FaultKind::Pause { hosts }
            | FaultKind::Suspend { hosts }
            | FaultKind::Kill { hosts }
            | FaultKind::Crash { hosts }
            | FaultKind::ClockStep { hosts, .. }
            | FaultKind::ClockRate { hosts, .. }
            | FaultKind::Failover { hosts } => (hosts, &[]),
            FaultKind::Partition { from, to, .. }
            | FaultKind::SlowLink { from, to, .. }
            | FaultKind::Loss { from, to, .. } => (from, to),
        };
        one.iter().chain(other)
    }
}

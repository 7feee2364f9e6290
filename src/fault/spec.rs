//! A fault as a scenario describes it, some of its numbers as distributions.

use serde::{Deserialize, Serialize};

use super::table::FaultTable;
use crate::history::Moment;
use crate::history::Name;
use locklab_world::dist::Dist;

/// One `[fault.NAME]` table.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "FaultTable", into = "FaultTable")]
pub struct FaultSpec {
    /// What it does, and to whom.
    pub effect: Effect,
    /// When it takes effect.
    pub placement: Placement,
    /// For how long, in milliseconds; `None`: to the end of the run.
    pub duration_ms: Option<Dist>,
}

impl FaultSpec {
    /// Forgets the hosts that are not there; says whether any remain to be struck.
    pub fn keep_hosts(&mut self, is_there: impl Fn(&str) -> bool) -> bool {
        let keep = |hosts: &mut Vec<Name>| {
            hosts.retain(|host| is_there(host));
            !hosts.is_empty()
        };
        match &mut self.effect {
            Effect::Pause { on }
            | Effect::Suspend { on }
            | Effect::Kill { on }
            | Effect::Crash { on }
            | Effect::ClockStep { on, .. }
            | Effect::ClockRate { on, .. }
            | Effect::Failover { on } => keep(on),
            Effect::Partition { link }
            | Effect::SlowLink { link, .. }
            | Effect::Loss { link, .. } => keep(&mut link.from) && keep(&mut link.to),
        }
    }
}

/// What a fault does; [`super::FaultKind`] says what each means.
#[derive(Debug, Clone, PartialEq)]
pub enum Effect {
    /// `pause`: the process stands still, clocks and kernel go on.
    Pause {
        /// The hosts.
        on: Vec<Name>,
    },
    /// `suspend`: the machine stands still.
    Suspend {
        /// The hosts.
        on: Vec<Name>,
    },
    /// `kill`: the process ends; with a duration it starts again after it.
    Kill {
        /// The hosts.
        on: Vec<Name>,
    },
    /// `crash`: power loss; with a duration it starts again after it.
    Crash {
        /// The hosts.
        on: Vec<Name>,
    },
    /// `partition`: nothing arrives.
    Partition {
        /// Which links.
        link: Link,
    },
    /// `slow-link`: everything takes longer.
    SlowLink {
        /// Which links.
        link: Link,
        /// The extra one-way delay in milliseconds, one for the whole fault.
        extra_ms: Dist,
    },
    /// `loss`: transmissions are lost.
    Loss {
        /// Which links.
        link: Link,
        /// 0 to 1.
        probability: f64,
    },
    /// `clock-step`: the wall clock jumps.
    ClockStep {
        /// The hosts.
        on: Vec<Name>,
        /// Milliseconds, back if negative.
        step_ms: f64,
    },
    /// `clock-rate`: both clocks run wrong.
    ClockRate {
        /// The hosts.
        on: Vec<Name>,
        /// Parts per million; 100 000 is 10 % fast.
        drift_ppm: i64,
    },
    /// `failover`: an operator asks for one.
    Failover {
        /// The sentinels or masters that are asked, or the replicas that are to be masters.
        on: Vec<Name>,
    },
}

/// The links from every host of one side to every host of the other.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Link {
    /// One side.
    pub from: Vec<Name>,
    /// The other side.
    pub to: Vec<Name>,
    /// Whether the way back is meant too.
    pub direction: Direction,
}

/// Which way of a link a fault concerns.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Direction {
    /// There and back.
    #[default]
    Both,
    /// Only `from` one side `to` the other.
    OneWay,
}

/// When a fault takes effect.
#[derive(Debug, Clone, PartialEq)]
pub enum Placement {
    /// `at_ms`: this long after the run began.
    At(Dist),
    /// `after`: when a client reached a point, and `delay_ms` later. Without delay
    /// the client does nothing in between.
    After {
        /// The moment.
        moment: Moment,
        /// Milliseconds of true time.
        delay_ms: Dist,
    },
    /// `between`: when the first moment has come, before the client's next step, and
    /// so before the second, which is a later point of the same round.
    Between {
        /// The moment at which the fault takes effect.
        first: Moment,
        /// The moment that it comes before.
        second: Moment,
    },
    /// `every_ms`: again and again. It takes effect first at `at_ms`, or one interval
    /// after the run began, then one interval after each start, and no more at
    /// `until_ms` or later.
    Every {
        /// Milliseconds; drawn anew for each interval, and taken as 1 ms if below.
        every_ms: Dist,
        /// Milliseconds since the run began.
        at_ms: Option<Dist>,
        /// Milliseconds since the run began.
        until_ms: f64,
    },
}

//! A fault as a scenario describes it, some of its numbers as distributions.

use locklab_world::dist::Dist;
use serde::{Deserialize, Serialize};

use super::table::FaultTable;
use crate::history::{Amounts, FaultKind, Moment, Target};

/// Amounts as a scenario has them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Described;

impl Amounts for Described {
    /// Milliseconds, drawn once for the whole fault.
    type Delay = Dist;
    /// 0 to 1.
    type Share = f64;
    /// Milliseconds, back if negative.
    type Step = f64;
    /// Parts per million; 100 000 is 10 % fast.
    type Rate = i64;
}

/// One `[fault.NAME]` table.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "FaultTable", into = "FaultTable")]
pub struct FaultSpec {
    /// What it does.
    pub kind: FaultKind<Described>,
    /// To whom.
    pub target: Target,
    /// When it takes effect.
    pub placement: Placement,
    /// For how long, in milliseconds; `None`: to the end of the run.
    pub duration_ms: Option<Dist>,
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

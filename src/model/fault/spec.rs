//! A fault as a scenario describes it, some of its numbers as distributions.

use locklab_history::{Effect, FaultKind, HostFault, LinkFault, Moment, Step};
use locklab_values::dist::{Dist, Signed};

/// A fault with its amount as written in a scenario: a step in milliseconds (negative:
/// backwards), a rate in whole parts per million (100 000 is 10 % fast), a delay in milliseconds,
/// a share from 0 to 1. What is a distribution is drawn once for the whole fault.
pub type Described = Effect<HostFault<Signed, Signed, String>, LinkFault<Dist, f64>>;

/// One `[fault.NAME]` table; `fault_table` reads and writes it.
#[derive(Debug, Clone, PartialEq)]
pub struct FaultSpec {
    /// Its kind and its targets.
    pub effect: Described,
    /// When it takes effect.
    pub placement: Placement,
    /// How long it lasts, in milliseconds; `None`: to the end of the run.
    pub duration_ms: Option<Dist>,
}

impl FaultSpec {
    /// The kind of the fault.
    pub fn kind(&self) -> FaultKind {
        self.effect.kind()
    }
}

/// When a fault takes effect.
#[derive(Debug, Clone, PartialEq)]
pub enum Placement {
    /// `at_ms`: this long after the run began.
    At(Dist),
    /// `after`: when a client has reached a point, and `delay_ms` later. Without a delay the
    /// client makes no step in between.
    After {
        /// The moment.
        moment: Moment,
        /// Milliseconds of true time.
        delay_ms: Dist,
    },
    /// `at_step`: at a step of the run, and `delay_ms` later. Without a delay it takes effect before
    /// the step's host acts on it.
    AtStep {
        /// The step.
        step: Step,
        /// Milliseconds of true time.
        delay_ms: Dist,
    },
    /// `between`: after the first moment and before the client's next step, and therefore
    /// before the second, which is a later point of the same round.
    Between {
        /// The moment at which the fault takes effect.
        first: Moment,
        /// The moment before which it takes effect.
        second: Moment,
    },
    /// `every_ms`: repeatedly. It first takes effect at `at_ms`, or one interval after the run
    /// began, then one interval after each start, and not at `until_ms` or later.
    Every {
        /// Milliseconds; drawn for each interval, with a minimum of 1 ms.
        every_ms: Dist,
        /// Milliseconds since the run began.
        at_ms: Option<Dist>,
        /// Milliseconds since the run began.
        until_ms: f64,
    },
}

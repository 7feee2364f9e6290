//! One way of making runs, alone or in turn with others.

use serde::Serialize;

use super::{Kinds, Strategy, Workload};

/// A strategy on a workload, which makes all runs of a search, or takes turns with others.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub(crate) struct Turn {
    pub(super) strategy: Strategy,
    #[serde(skip)] // A scenario has it.
    pub(crate) workload: Workload,
    /// Those that are placed at steps; what a campaign draws is in the scenario.
    pub(super) kinds: Kinds,
}

impl Turn {
    /// A strategy that is no mix.
    pub(crate) fn new(strategy: Strategy, workload: Workload, kinds: Kinds) -> Turn {
        Turn {
            strategy,
            workload,
            kinds,
        }
    }
}

//! One search, until a run shows the mechanism.

use std::ops::Range;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use anyhow::ensure;
use locklab_check::Property;
use locklab_runner::simulate::Keep;
use serde::{Deserialize, Serialize};

use super::cpu;
use super::way::Search;
use crate::museum::trial::Trial;

/// What a search took until it found something; `None` if it did not within its limit.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Start {
    /// Until a run violated the property, whatever the reason.
    pub(super) violated: Option<Cost>,
    /// Until a run showed the mechanism: it violated the property, and the same run of the mended lock did not.
    pub(super) shown: Option<Cost>,
}

/// What was spent.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Cost {
    /// Runs, with those that were made to choose others.
    pub(super) runs: u64,
    /// Processor time, in nanoseconds.
    pub(super) cpu_ns: u64,
}

impl Start {
    /// Searches with these seeds, and with as many runs at most. The runs of the mended lock are the museum's
    /// proof; they are no part of the search, and not counted.
    ///
    /// # Errors
    ///
    /// If a run has no result, or if the search is stopped before its end.
    pub(super) fn of(
        search: &Search,
        property: Property,
        seeds: Range<u64>,
        stop: &AtomicBool,
    ) -> anyhow::Result<Start> {
        let limit = seeds.end - seeds.start;
        let mut start = Start::default();
        let (mut runs, mut spent) = (0, Duration::ZERO);
        for seed in seeds {
            ensure!(!stop.load(Ordering::Relaxed), "the search was stopped");
            let began = cpu::of_this_thread();
            let chosen = search.choose(seed)?;
            let run = chosen.run(seed, Keep::default())?;
            spent += cpu::of_this_thread().saturating_sub(began);
            runs += 1 + chosen.rehearsals;
            if runs > limit {
                break;
            }
            if !run.violates(property) {
                continue;
            }
            let cost = Cost {
                runs,
                cpu_ns: u64::try_from(spent.as_nanos()).unwrap_or(u64::MAX),
            };
            start.violated.get_or_insert(cost);
            if search.mended(seed, &run, property)? == Trial::Mended {
                start.shown = Some(cost);
                break;
            }
        }
        Ok(start)
    }
}

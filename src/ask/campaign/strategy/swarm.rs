//! Each seed draws which kinds of fault may occur: A. Groce et al., "Swarm testing" (ISSTA 2012).
//!
//! With all kinds in every run, one kind may hide what another would show: nobody notices a late renewal of
//! a client that is killed a moment later. So each kind is left out of half of the seeds, and each seed draws
//! how long it is quiet between two faults.

use std::borrow::Cow;

use locklab_history::FaultKind;
use locklab_model::scenario::{Drawn, Scenario};
use locklab_values::random::Stream;

/// The quiet times are so many times those of the campaign.
const QUIET: [f64; 4] = [0.25, 0.5, 1.0, 2.0];

/// The run of this seed.
pub(super) fn choose(scenario: &Scenario, seed: u64) -> Drawn<'_> {
    let Some(campaign) = &scenario.campaign else {
        return scenario.drawn(seed);
    };
    let mut stream = Stream::new(seed, "search/swarm");
    let mut swarm = scenario.clone();
    let mut changed = campaign.clone();
    changed.faults = kinds(&campaign.faults, &mut stream);
    let quiet = QUIET[stream.below(QUIET.len() as u64) as usize];
    changed.quiet_ms = campaign.quiet_ms.times(quiet);
    swarm.campaign = Some(changed);
    let Drawn { scenario, schedule } = swarm.drawn(seed);
    Drawn {
        scenario: Cow::Owned(scenario.into_owned()),
        schedule,
    }
}

/// Each of the kinds with probability one half, and at least one.
fn kinds(all: &[FaultKind], stream: &mut Stream) -> Vec<FaultKind> {
    let certain = stream.below(all.len() as u64) as usize;
    let mut kinds = Vec::new();
    for (place, kind) in all.iter().enumerate() {
        if stream.chance(0.5) || place == certain {
            kinds.push(*kind);
        }
    }
    kinds
}

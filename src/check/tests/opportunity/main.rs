//! What a run could have shown: scenarios whose verdicts depend on what met what.

mod bounds;
mod strong;
mod untouched;
mod vacuous;

use locklab_check::{Property, Verdict};
use locklab_model::scenario::{Scenario, parse};
use locklab_runner::judged;
use locklab_runner::simulate::Keep;
use locklab_vecmap::VecMap;

fn scenario(text: &str) -> Scenario {
    parse("t.toml", text, &[]).unwrap_or_else(|error| panic!("{error}\n{text}"))
}

/// The verdicts of the run with this seed.
fn verdicts(scenario: &Scenario, seed: u64) -> VecMap<Property, Verdict> {
    let run = judged::run(scenario, seed, Keep::default()).expect("it ends");
    run.verdicts
}

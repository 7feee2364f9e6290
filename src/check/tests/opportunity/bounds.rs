//! A stricter bound ends no request.

use locklab_check::{Property, Verdict};
use locklab_model::scenario::parse;
use locklab_runner::judged;
use locklab_runner::simulate::Keep;

/// The holder dies with 2 s of its lease left, and three clients poll every 498 ms.
#[test]
fn pollers_are_in_vain_whatever_the_bound() {
    for bound_ms in [50, 100, 202, 300, 400, 500, 1_000] {
        let bound = [format!("bound_ms={bound_ms}")];
        let text = include_str!("deadlock-poll.toml");
        let scenario = parse("deadlock-poll.toml", text, &bound).expect("a sound scenario");
        for seed in 0..10 {
            let run = judged::run(&scenario, seed, Keep::default()).expect("it ends");
            let verdict = &run.verdicts[&Property::Deadlock];
            assert!(
                matches!(verdict, Verdict::Violated(_)),
                "{bound_ms} ms, seed {seed}: {verdict:?}"
            );
        }
    }
}

//! Scenarios that ship meet the situations that they are about.

use locklab_model::scenario::{Scenario, load, parse};
use locklab_runner::judged;
use locklab_runner::simulate::Keep;

use locklab_vecmap::VecSet;

use crate::Situation::{self, *};
use crate::{Subject, can_meet, met};

#[track_caller]
fn check(name: &str, expected: Situation) {
    let met = met_in(&load(name, &[]).expect("it ships"));
    assert!(met.contains(&expected), "{name}: {met:?}");
}

/// What a run meets, all of which its lock can meet.
#[track_caller]
fn met_in(scenario: &Scenario) -> VecSet<Situation> {
    let run = judged::run(scenario, 0, Keep::HELD).expect("it ends");
    let subject = Subject {
        history: &run.history,
        contents: run.contents.as_ref(),
        topology: &scenario.topology,
        lock: &scenario.lock,
    };
    let met = met(&subject);
    for situation in &met {
        let can = can_meet(*situation, &scenario.lock, &scenario.topology);
        assert!(can, "{} cannot meet {situation}", scenario.name);
    }
    met
}

#[test]
fn each_situation_is_met_by_a_scenario_about_it() {
    check("kleppmann/k1", LapsedWhileStopped);
    check("redisson/watchdog-partition", LapsedWhileCutOff);
    check("kleppmann/k10", ClockStepped);
    check("seeds/setnx-crash", HolderDied);
    check("redis-docs/r12-one-node", ForgottenGrant);
    check("redis-docs/r4", FailedOver);
    check("redisson/fenced-failover", TokenAfterRestart);
    check("redis-docs/r10", SplitNodes);
    check("problems/unnoticed-grant", UntoldGrant);
    check("redis-docs/r5", ForeignKeyMet);
    check("redisson/fair", WaiterWoke);
}

#[test]
fn a_clock_puts_nothing_to_the_test_without_a_lease() {
    for (lock, is_met) in [
        ("name = 'set-nx-px', ttl_ms = 1000", true),
        ("name = 'setnx'", false),
        ("name = 'database-unique'", false),
    ] {
        let text = format!(
            "title = 'A clock is stepped'\nlock = {{ {lock} }}\n\
             [fault.step]\nkind = 'clock-step'\non = 'c1'\nafter = 'c1 acquired'\nstep_ms = 500\n"
        );
        let scenario = parse("step.toml", &text, &[]).expect("a sound scenario");
        assert_eq!(met_in(&scenario).contains(&ClockStepped), is_met, "{lock}");
    }
}

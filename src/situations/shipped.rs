//! Scenarios that ship meet the situations that they are about.

use locklab_model::scenario::load;
use locklab_runner::judged;
use locklab_runner::simulate::Keep;

use crate::Situation::{self, *};
use crate::{Subject, can_meet, met};

#[track_caller]
fn check(name: &str, expected: Situation) {
    let scenario = load(name, &[]).expect("it ships");
    let run = judged::run(&scenario, 0, Keep::HELD).expect("it ends");
    let subject = Subject {
        history: &run.history,
        contents: run.contents.as_ref(),
        topology: &scenario.topology,
        lock: &scenario.lock,
    };
    let met = met(&subject);
    assert!(met.contains(&expected), "{name}: {met:?}");
    for situation in met {
        let can = can_meet(situation, &scenario.lock, &scenario.topology);
        assert!(can, "{name} cannot meet {situation}");
    }
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

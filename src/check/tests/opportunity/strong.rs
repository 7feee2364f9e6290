//! Runs in which the fault meets the opportunity: good locks hold, and weak ones are violated. So the rule is not
//! that everything is inconclusive.

use locklab_check::Property::{self, *};
use locklab_check::Verdict;

use crate::{scenario, verdicts};

/// Three clients that contend for a lock of 1 s, of which c1 has it first, with a fault; `lock` completes its
/// table.
fn contended(lock: &str, fault: &str) -> String {
    format!(
        "title = 'three clients'
         topology = {{ nodes = 1, clients = 3 }}
         lock = {{ ttl_ms = 1000, {lock} }}
         workload = {{ rounds = 3, hold_ms = 50, start_ms = {{ uniform = [10, 20] }}, client.c1.start_ms = 0 }}
         fault.it = {{ {fault} }}
         expect.lease = 'holds'"
    )
}

/// In at least this many of ten runs the property holds, and it is violated in none.
#[track_caller]
fn holds(text: &str, property: Property, runs: usize) {
    let scenario = scenario(text);
    let of_run = |seed| verdicts(&scenario, seed)[&property].clone();
    let all: Vec<Verdict> = (0..10).map(of_run).collect();
    let violated = all
        .iter()
        .find(|verdict| matches!(verdict, Verdict::Violated(_)));
    assert_eq!(violated, None, "{property}: {text}");
    let held = all
        .iter()
        .filter(|verdict| **verdict == Verdict::Holds)
        .count();
    assert!(
        held >= runs,
        "{property}: {held} of 10: {:?}: {text}",
        all[0]
    );
}

/// In at least this many of ten runs the property is violated.
#[track_caller]
fn violated(text: &str, property: Property, runs: usize) {
    let scenario = scenario(text);
    let is_violated =
        |&seed: &u64| matches!(verdicts(&scenario, seed)[&property], Verdict::Violated(_));
    let violated = (0..10).filter(is_violated).count();
    assert!(violated >= runs, "{property}: {violated} of 10: {text}");
}

const GOOD: &str = "name = 'set-nx-px'";

#[test]
fn a_good_lock_holds_under_faults_that_meet_it() {
    for fault in [
        "kind = 'pause', on = 'c1', after = 'c1 read', duration_ms = 300",
        "kind = 'suspend', on = 'c1', after = 'c1 read', duration_ms = 300",
        "kind = 'pause', on = 'n1', at_ms = 30, duration_ms = 200",
        "kind = 'reset', on = 'n1', at_ms = 30",
        "kind = 'partition', from = 'c1', to = 'n1', after = 'c1 acquiring', duration_ms = 300",
        "kind = 'slow-link', from = 'c1', to = 'n1', after = 'c1 acquiring', extra_ms = 20, duration_ms = 300",
        "kind = 'loss', from = ['c1', 'c2', 'c3'], to = 'n1', at_ms = 0, probability = 0.2, duration_ms = 500",
        "kind = 'slow-link', from = 'c1', to = 'resource', after = 'c1 read', extra_ms = 20, duration_ms = 100",
        "kind = 'pause', on = 'resource', at_ms = 30, duration_ms = 100",
        "kind = 'clock-rate', on = 'c1', after = 'c1 read', drift_ppm = 1000, duration_ms = 100",
        "kind = 'clock-step', on = 'c1', after = 'c1 read', step_ms = 10",
        "kind = 'kill', on = 'c1', after = 'c1 read'",
    ] {
        for property in [Lease, Resource, Deadlock] {
            holds(&contended(GOOD, fault), property, 5);
        }
    }
}

#[test]
fn a_fenced_resource_makes_progress_under_a_pause() {
    let text = contended(
        "name = 'set-nx-px', fencing_token = true",
        "kind = 'pause', on = 'c1', after = 'c1 read', duration_ms = 1500",
    );
    let fenced = format!("{text}\nresource.fencing = 'reads-and-writes'");
    for property in [Resource, TokenRegression, Progress] {
        holds(&fenced, property, 5);
    }
}

#[test]
fn a_weak_lock_is_violated_by_faults_that_meet_it() {
    let pause = "kind = 'pause', on = 'c1', after = 'c1 read', duration_ms = 1500";
    violated(&contended(GOOD, pause), Belief, 5);
    violated(&contended(GOOD, pause), Resource, 5);
    violated(
        &contended("name = 'set-nx-px', release = 'del'", pause),
        ForeignRelease,
        3,
    );
    let forgets = "kind = 'crash', on = 'n1', after = 'c1 read', duration_ms = 5";
    violated(&contended(GOOD, forgets), Lease, 3);
    let fast = "kind = 'clock-step', on = 'n1', after = 'c1 read', step_ms = 2000";
    violated(&contended(GOOD, fast), Lease, 5);
    let dies = "kind = 'kill', on = 'c1', after = 'c1 read'";
    let stuck = contended("name = 'setnx'", dies).replace("ttl_ms = 1000, ", "");
    violated(&stuck, Deadlock, 5);
}

//! Programs that neither show nor tell anything, judged by what the nodes saw.

use locklab_check::{Property, Verdict};
use locklab_history::Event;
use locklab_real::ConfirmError;
use locklab_runner::judged::JudgedRun;

use crate::bench::{Bench, LOCK, attack_that_counts};

fn judge(bench: Bench, scenario: &str, script: &str) -> Option<JudgedRun> {
    bench.judge(scenario, &format!("{LOCK}{script}"))
}

/// The clients of the grants that are certain, in order.
fn granted(run: &JudgedRun) -> Vec<&str> {
    let records = run.history.records.iter();
    let begun = records.filter(|it| matches!(it.event, Event::BeliefBegins { .. }));
    begun.map(|record| &*record.host).collect()
}

#[track_caller]
fn expect_violated(run: &JudgedRun, property: Property, clients: [&str; 2]) {
    let verdict = &run.verdicts[&property];
    let Verdict::Violated(violation) = verdict else {
        panic!("{property}: {verdict:?} of {:#?}", run.history.records);
    };
    let of: Vec<&str> = violation.clients.iter().map(|it| &**it).collect();
    assert_eq!(of, clients, "{violation:?}");
    for client in clients {
        assert!(violation.what.contains(client), "{}", violation.what);
    }
}

#[track_caller]
fn expect_not_violated(run: &JudgedRun) {
    for (property, verdict) in &run.verdicts {
        let is_violated = matches!(verdict, Verdict::Violated(_));
        assert!(
            !is_violated,
            "{property}: {verdict:?} of {:#?}",
            run.history.records
        );
    }
}

#[track_caller]
fn why_inconclusive(run: &JudgedRun, property: Property) -> &str {
    match &run.verdicts[&property] {
        Verdict::Inconclusive { why } => why,
        other => panic!("{property}: {other:?} of {:#?}", run.history.records),
    }
}

#[test]
fn a_lock_that_is_kept_is_seen_to_be_kept() {
    let script = "for round in 1 2 3; do take lock 1000; sleep 0.1; give lock; sleep 0.02; done";
    let Some(run) = judge(Bench::of(2), "horizon_ms = 5000", script) else {
        return;
    };
    expect_not_violated(&run);
    let granted = granted(&run);
    assert!(
        granted.contains(&"c1") && granted.contains(&"c2"),
        "{granted:?}"
    );
    for property in [Property::Belief, Property::Lease] {
        assert_eq!(run.verdicts[&property], Verdict::Holds, "{property}");
    }
    // A program may have given up waiting.
    for property in [Property::Deadlock, Property::Availability, Property::Fifo] {
        let why = why_inconclusive(&run, property);
        assert!(why.contains("the program tells nothing"), "{why}");
    }
}

/// c1 holds a lease of eight seconds, for four of them. Its node is restarted, and has forgotten the key.
#[test]
fn a_node_that_forgets_a_lease_lets_a_second_client_in() {
    const SCENARIO: &str = "
        horizon_ms = 8000
        [fault.oom]
        kind = 'kill'
        on = 'n1'
        after = 'c1 holds'
        delay_ms = 200
        duration_ms = 200";
    let script = r#"
        [ "$LOCKLAB_HOST" = c2 ] && sleep 0.6
        take lock 8000
        [ "$LOCKLAB_HOST" = c1 ] && sleep 4
        give lock
    "#;
    let Some(run) = judge(Bench::of(2), SCENARIO, script) else {
        return;
    };
    expect_violated(&run, Property::Lease, ["c1", "c2"]);
    expect_violated(&run, Property::Belief, ["c1", "c2"]);
}

/// c1 is stopped when it has read that it has the lock, and its lease ends before it goes on.
#[test]
fn what_a_program_relies_on_after_its_lease_is_not_on_the_wire() {
    const SCENARIO: &str = "
        horizon_ms = 5000
        [fault.gc]
        kind = 'pause'
        on = 'c1'
        after = 'c1 holds'
        delay_ms = 100
        duration_ms = 2500";
    let script = r#"
        [ "$LOCKLAB_HOST" = c2 ] && sleep 0.5
        take lock 1000
        sleep 0.6
        [ "$LOCKLAB_HOST" = c1 ] && give lock
    "#;
    let Some(run) = judge(Bench::of(2), SCENARIO, script) else {
        return;
    };
    for property in [Property::Belief, Property::Lease] {
        let is_violated = matches!(run.verdicts[&property], Verdict::Violated(_));
        assert!(!is_violated, "{property} of {:#?}", run.history.records);
    }
    let why = why_inconclusive(&run, Property::Belief);
    assert!(why.starts_with("c2 was granted the lock at "), "{why}");
    assert!(why.contains("and c1, granted it at "), "{why}");
}

/// c1 is late, and deletes the key that c2 has set.
#[test]
fn a_late_deletion_removes_the_lock_of_another_client() {
    let script = r#"
        [ "$LOCKLAB_HOST" = c2 ] && sleep 0.5
        case "$LOCKLAB_HOST" in
            c1) take lock 1000; sleep 2; redis "$REDIS_URL" DEL lock ;;
            c2) take lock 4000; sleep 2 ;;
        esac
    "#;
    let Some(run) = judge(Bench::of(2), "horizon_ms = 5000", script) else {
        return;
    };
    expect_violated(&run, Property::ForeignRelease, ["c1", "c2"]);
    let is_violated = matches!(run.verdicts[&Property::Lease], Verdict::Violated(_));
    assert!(!is_violated, "{:#?}", run.history.records);
}

/// The node grants c1 the lock, and its reply never arrives.
#[test]
fn a_client_whose_reply_is_lost_has_nothing() {
    const SCENARIO: &str = "
        horizon_ms = 3000
        [fault.cut]
        kind = 'partition'
        from = 'c1'
        to = 'n1'
        at_step = 'c1 SET #1 arrives at n1'";
    let script = r#"
        [ "$LOCKLAB_HOST" = c2 ] && sleep 0.5
        take lock 1000
        sleep 0.1
        give lock
    "#;
    let Some(run) = judge(Bench::of(2), SCENARIO, script) else {
        return;
    };
    assert_eq!(granted(&run), ["c2"], "{:#?}", run.history.messages);
    expect_not_violated(&run);
}

#[test]
fn of_several_keys_the_user_names_the_lock() {
    let script = format!("{LOCK} for key in a b a b; do take $key 500; give $key; done");
    let bench = Bench::of(2);
    let Some(run) = bench.try_run("horizon_ms = 4000", &script) else {
        return;
    };
    let error = run.map(drop).unwrap_err();
    assert!(
        matches!(error, ConfirmError::SeveralKeys { .. }),
        "{error:?}"
    );
    let told = error.to_string();
    assert!(told.contains("`a`, `b`; name one with --key"), "{told}");
    let named = |key| {
        Bench {
            key: Some(key),
            ..bench
        }
        .try_run("horizon_ms = 4000", &script)
    };
    let run = named("a").expect("there is a shell").expect("it is judged");
    let notes = run.notes.join("\n");
    assert!(
        notes.contains("`a` is taken for the key of its lock"),
        "{notes}"
    );
    let error = named("c").expect("there is a shell").map(drop).unwrap_err();
    let told = error.to_string();
    assert!(
        told.contains("no request made the key `c` exist as a lock does"),
        "{told}"
    );
}

/// With replicas nothing can be judged in any run. With a disk, only a run in which a server reads it says nothing.
#[test]
fn servers_of_which_nobody_knows_what_they_held_are_named_with_the_reason() {
    let script = format!("{LOCK} take lock 300; sleep 0.6; give lock");
    let replicated = "horizon_ms = 2000\nnode = { maxmemory = 10000000 }";
    let Some(run) = Bench::of(1).try_run(replicated, &script) else {
        return;
    };
    let told = run.map(drop).unwrap_err().to_string();
    let why = "it is not known what the nodes held: the server evicts keys of its own choice";
    assert!(told.contains(why), "{told}");
    const RESTARTED: &str = "
        horizon_ms = 3000
        node = { persistence = 'aof-always' }
        [fault.oom]
        kind = 'kill'
        on = 'n1'
        at_ms = 300
        duration_ms = 50";
    let run = judge(Bench::of(1), RESTARTED, &script).expect("there is a shell");
    let why = why_inconclusive(&run, Property::Lease);
    assert!(
        why.contains("n1 was restarted, and only the server knows"),
        "{why}"
    );
    let unharmed = "horizon_ms = 2000\nnode = { persistence = 'aof-always' }";
    let run = judge(Bench::of(1), unharmed, &script).expect("there is a shell");
    assert_eq!(granted(&run), ["c1"]);
}

/// The clients take the lock on two of three nodes at least. If two of them forget it, a second client has a majority.
#[test]
fn of_three_nodes_a_majority_grants_the_lock() {
    let three = Bench {
        nodes: 3,
        ..Bench::of(2)
    };
    let script = "for round in 1 2; do take lock 1500; sleep 0.3; give lock; sleep 0.1; done";
    let Some(run) = judge(three, "horizon_ms = 6000", script) else {
        return;
    };
    expect_not_violated(&run);
    let both = granted(&run);
    assert!(both.contains(&"c1") && both.contains(&"c2"), "{both:?}");
    const FORGET: &str = "
        horizon_ms = 8000
        [fault.oom]
        kind = 'kill'
        on = ['n1', 'n2']
        after = 'c1 holds'
        delay_ms = 400
        duration_ms = 200";
    let script = r#"
        [ "$LOCKLAB_HOST" = c2 ] && sleep 0.6
        take lock 8000
        [ "$LOCKLAB_HOST" = c1 ] && sleep 4.5 || sleep 0.5
        give lock
    "#;
    let run = judge(three, FORGET, script).expect("there is a shell");
    expect_violated(&run, Property::Lease, ["c1", "c2"]);
}

/// One run decides these predictions, if it can show anything. `resource` is not predicted, unless the user does so.
#[test]
fn a_silent_program_is_not_expected_to_show_a_resource() {
    let script = format!("{LOCK} while :; do take lock 1000; sleep 0.1; give lock; done");
    let options = [
        "--scenario",
        "attack/pause",
        "--set",
        "horizon_ms=4500",
        "--set",
        "fault.pause.after='c1 holds'",
        "--set",
        "fault.pause.delay_ms=20",
        "--set",
        "expect.lease={ verdict = 'holds', at_most = 0.8 }",
    ];
    let Some((code, told)) = attack_that_counts("silent-unpredicted", &options, &script) else {
        return;
    };
    assert_eq!(code, Some(0), "{told}");
    assert!(
        told.contains("note: resource is not predicted: no run could show a violation"),
        "{told}"
    );
    assert!(!told.contains("\n  resource "), "{told}");
    let predicted = [
        "--set",
        "expect.resource={ verdict = 'holds', at_most = 0.8 }",
    ];
    let options = [&options[..], &predicted].concat();
    let (code, told) =
        attack_that_counts("silent-predicted", &options, &script).expect("there is a shell");
    assert_eq!(code, Some(3), "{told}");
    assert!(told.contains("\n  resource "), "{told}");
    let why =
        "resource: inconclusive: the program does not use the resource, and the wire does not show";
    assert!(told.contains(why), "{told}");
}

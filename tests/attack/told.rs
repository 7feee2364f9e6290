//! What programs show and tell, and the faults that strike them.

use locklab_check::{Property, Verdict};
use locklab_history::{Access, Event, Phase, Record};
use locklab_runner::run::Run;

use crate::bench::{attack_that_counts, judged, run};

/// The accesses to the resource: client, whether it wrote, and the version.
fn accesses(run: &Run) -> Vec<(String, bool, u64)> {
    let accesses = run.history.records.iter().filter_map(|record| {
        let Event::Access { client, access, .. } = &record.event else {
            return None;
        };
        let (writes, version) = match access {
            Access::Read { version } => (false, *version),
            Access::Write { version, .. } => (true, *version),
        };
        Some((client.to_string(), writes, version))
    });
    accesses.collect()
}

/// The clients have no lock at all. c1 is paused by its first access, and overwrites what c2 wrote.
#[test]
fn a_program_that_only_shows_is_struck_by_its_access_and_loses_an_update() {
    const SCENARIO: &str = r#"
        horizon_ms = 6000
        [fault.pause]
        kind = "pause"
        on = "c1"
        after = "c1 acquired"
        duration_ms = 4000
    "#;
    let script = r#"
        [ "$LOCKLAB_HOST" = c2 ] && sleep 0.5
        redis "$LOCKLAB_RESOURCE" GET key
        redis "$LOCKLAB_RESOURCE" SET key "$reply+1"
    "#;
    let Some(run) = run(2, SCENARIO, script) else {
        return;
    };
    let expected = [
        ("c1", false, 0),
        ("c2", false, 0),
        ("c2", true, 1),
        ("c1", true, 2),
    ];
    let expected = expected.map(|(client, writes, version)| (client.to_owned(), writes, version));
    assert_eq!(accesses(&run), expected);
    let judged = judged(2, SCENARIO, run);
    for (property, is_violated) in [
        (Property::LostUpdate, true),
        (Property::Resource, true),
        // Nobody told when it was granted the lock.
        (Property::StaleWrite, false),
        (Property::Belief, false),
    ] {
        let verdict = &judged.verdicts[&property];
        assert_eq!(
            matches!(verdict, Verdict::Violated(_)),
            is_violated,
            "{property}: {verdict:?}"
        );
        assert_ne!(*verdict, Verdict::Holds, "{property}");
    }
}

/// c1 relies on its lease of 300 ms and is paused; c2 is granted the lock when that is over, or before.
#[test]
fn told_grants_are_judged_by_belief_and_by_lease() {
    let scenario = |ttl_ms: u32| {
        let script = format!(
            r#"
            [ "$LOCKLAB_HOST" = c2 ] && sleep 1.2
            tell acquired '"ttl_ms":{ttl_ms}'
            sleep 3
            tell releasing
            tell released
            "#
        );
        let run = run(2, "horizon_ms = 6000", &script)?;
        Some(judged(2, "horizon_ms = 6000", run))
    };
    let Some(judged) = scenario(300) else {
        return;
    };
    assert!(matches!(
        judged.verdicts[&Property::Belief],
        Verdict::Violated(_)
    ));
    assert!(!matches!(
        judged.verdicts[&Property::Lease],
        Verdict::Violated(_)
    ));
    let judged = scenario(3000).expect("there is a shell");
    assert!(matches!(
        judged.verdicts[&Property::Lease],
        Verdict::Violated(_)
    ));
}

/// It has left its group and its session, and uses the resource without a break.
#[test]
fn a_pause_reaches_what_a_program_has_started_wherever_it_went() {
    const SCENARIO: &str = r#"
        horizon_ms = 4000
        fault = { pause = { kind = "pause", on = "c1", at_ms = 1500, duration_ms = 1500 } }
    "#;
    let script = r#"
        export -f redis
        setsid /bin/bash -c 'while :; do redis "$LOCKLAB_RESOURCE" INCR key; sleep 0.05; done' &
        wait
    "#;
    let Some(run) = run(1, SCENARIO, script) else {
        return;
    };
    let is_access = |record: &&Record| matches!(record.event, Event::Access { .. });
    let times = run.history.records.iter().filter(is_access);
    let times: Vec<u64> = times.map(|record| record.at_ns / 1_000_000).collect();
    let within = |from_ms, to_ms| times.iter().any(|ms| (from_ms..to_ms).contains(ms));
    assert!(within(0, 1500) && within(3000, 4000), "{times:?}");
    assert!(!within(1700, 2900), "{times:?}");
}

/// c1 is killed when it has the lock for 4 s, and c2 asks for it in vain; the scenario has a lease of 1 s. Where c1 does not
/// tell its lease, the wire shows it.
#[test]
fn a_lease_of_its_own_is_told_or_seen() {
    let tenths = |acquired: &str| {
        const SCENARIO: &str = r#"
            horizon_ms = 1500
            fault = { kill = { kind = "kill", on = "c1", after = "c1 acquired" } }
        "#;
        let script = format!(
            r#"
            [ "$LOCKLAB_HOST" = c2 ] && sleep 0.5
            tell acquiring
            redis "$REDIS_URL" SET lock "$LOCKLAB_HOST" NX PX 4000
            [ "$reply" = +OK ] && {acquired}
            sleep 5
            "#
        );
        let run = run(2, SCENARIO, &script)?;
        // What a node has left of a time to live is less by what passed since.
        Some(run.lease_ns.map(|ns| (ns + 50_000_000) / 100_000_000))
    };
    let Some(told) = tenths(r#"tell acquired '"ttl_ms":3900'"#) else {
        return;
    };
    assert_eq!(told, Some(40));
    assert_eq!(tenths("tell acquired").flatten(), Some(40));
    let longer = tenths(r#"tell acquired '"ttl_ms":9000'"#);
    assert_eq!(longer.flatten(), Some(90));
}

/// The connections of each client lead through the proxy: what cuts off c1 does not cut off c2. A program that
/// is killed begins anew.
#[test]
fn faults_of_links_and_processes_strike_the_client_they_name() {
    const SCENARIO: &str = r#"
        horizon_ms = 3000
        [fault.cut]
        kind = "partition"
        from = "c1"
        to = "n1"
        at_ms = 0
        [fault.oom]
        kind = "kill"
        on = "c2"
        after = "c2 acquired"
        duration_ms = 100
    "#;
    // The link is cut when the run begins, and on a busy machine some milliseconds later.
    let script = r#"
        sleep 0.5
        redis "$REDIS_URL" SET "$LOCKLAB_HOST" "$REDIS_URLS"
        redis "$LOCKLAB_RESOURCE" INCR key
        tell acquired
        sleep 1
    "#;
    let Some(run) = run(2, SCENARIO, script) else {
        return;
    };
    // c2 twice, since it was killed; c1 waits for the node.
    let expected = [("c2", true, 1), ("c2", true, 2)];
    let expected = expected.map(|(client, writes, version)| (client.to_owned(), writes, version));
    assert_eq!(accesses(&run), expected);
    let oom: Vec<&Phase> = { run.history.records.iter() }
        .filter_map(|record| match &record.event {
            Event::Fault { fault, phase, .. } if **fault == *"oom" => Some(phase),
            _ => None,
        })
        .collect();
    assert_eq!(oom, [&Phase::Begins, &Phase::Ends]);
    let to_n1 = run.history.messages.iter().filter(|it| *it.to == *"n1");
    let from: Vec<&str> = to_n1.map(|message| &*message.from).collect();
    assert!(from.contains(&"c2"), "{from:?}");
    let arrived = run
        .history
        .messages
        .iter()
        .filter(|it| it.arrived_ns.is_some());
    assert!({ arrived }.all(|it| *it.from != *"c1"));
}

/// Without the resource, `resource` is not predicted, and what the clients noticed is measured nevertheless.
#[test]
fn a_program_that_only_tells_is_measured() {
    let script = r#"
        [ "$LOCKLAB_HOST" = c2 ] && sleep 0.4
        tell acquiring
        tell acquired '"ttl_ms":600'
        sleep 0.8
        tell lost
        sleep 1
    "#;
    let options = ["--scenario", "attack/pause", "--set", "horizon_ms=3000"];
    let Some((_, told)) = attack_that_counts("only-tells", &options, script) else {
        return;
    };
    assert!(told.contains("note: resource is not predicted: "), "{told}");
    assert!(
        told.contains("a holder lost its lock to another: "),
        "{told}"
    );
}

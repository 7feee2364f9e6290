//! Runs on a real PostgreSQL server, where it is installed: claim B24, and every fault that strikes a server.

use locklab_check::Property;
use locklab_history::{Event, FaultKind, Message};
use locklab_model::scenario::{Scenario, load, parse};
use locklab_real::Postgres;
use locklab_runner::judged::JudgedRun;

use super::{is_violated, phases};

/// A run on a real server; `None` where there is none.
fn run(scenario: &Scenario, seed: u64) -> Option<JudgedRun> {
    let why_not = Postgres::find().version().err();
    super::run(scenario, seed, "PostgreSQL ", why_not)
}

/// B24: a pause beyond the lease, with a resource that compares versions and with one that does not.
#[test]
fn version_of_the_row_is_a_fencing_token() {
    for (name, is_harmed) in [("baselines/cas", false), ("baselines/cas-unfenced", true)] {
        let scenario = load(name, &[]).expect("it ships");
        let Some(run) = run(&scenario, 1) else {
            return;
        };
        assert!(is_violated(&run, Property::Belief), "{name}");
        assert_eq!(is_violated(&run, Property::Resource), is_harmed, "{name}");
    }
}

/// Two clients take turns for the whole run.
const TURNS: &str = r#"
    title = "faults strike the database"
    lock = { name = "database-cas", ttl_ms = 1000 }
    topology = { clients = 2 }
    resource = { fencing = "reads-and-writes" }
    [workload]
    rounds = 100000
    hold_ms = 20
    think_ms = 20
"#;

const MS: u64 = 1_000_000;

/// When a fault begins, and how long it lasts, in milliseconds.
const FIRST_MS: u64 = 1500;
const EACH_MS: u64 = 2500;
const LASTS_MS: u64 = 1000;

#[test]
fn the_lock_survives_what_strikes_its_database() {
    let kinds = [
        FaultKind::Pause,
        FaultKind::Kill,
        FaultKind::Crash,
        FaultKind::Suspend,
        FaultKind::Partition,
    ];
    let begins_ms = |place: u64| FIRST_MS + place * EACH_MS;
    let faults = (0..).zip(kinds).map(|(place, kind)| {
        let hosts = match kind {
            FaultKind::Partition => "from = \"n1\"\nto = [\"c1\", \"c2\"]",
            _ => "on = \"n1\"",
        };
        let (kind, at_ms) = (kind.name(), begins_ms(place));
        format!("[fault.{kind}]\nkind = \"{kind}\"\n{hosts}\nat_ms = {at_ms}\nduration_ms = {LASTS_MS}\n")
    });
    let faults: String = faults.collect();
    let end_ms = begins_ms(kinds.len() as u64);
    let text = format!("horizon_ms = {end_ms}\n{TURNS}{faults}");
    let scenario = parse("t.toml", &text, &[]).expect("a sound scenario");
    let Some(run) = run(&scenario, 1) else {
        return;
    };
    for kind in kinds {
        let [begun, ended] = phases(&run.history)[kind.name()];
        assert!(begun > 0 && begun == ended, "{kind:?}: {begun}, {ended}");
    }
    assert!(!is_violated(&run, Property::Resource));
    // Not one of its processes answers meanwhile.
    let answers = |message: &&Message| &*message.from == "n1" && &*message.to != "resource";
    for (place, kind) in (0..).zip(kinds) {
        let since_ns = (begins_ms(place) + 100) * MS;
        let stands_still = since_ns..since_ns + (LASTS_MS - 200) * MS;
        let sent = { run.history.messages.iter().filter(answers) }
            .filter(|it| stands_still.contains(&it.sent_ns) && it.arrived_ns.is_some());
        assert_eq!(sent.count(), 0, "{kind:?}");
    }
    // After each fault the clients go on.
    let is_grant =
        |record: &&locklab_history::Record| matches!(record.event, Event::BeliefBegins { .. });
    let granted_ns = run.history.records.iter().filter(is_grant);
    let last_ns = granted_ns.map(|record| record.at_ns).max();
    assert!(last_ns >= Some((end_ms - 500) * MS), "{last_ns:?}");
}

/// The database tells the time: a step of its clock beyond the lease gives away a lock that is held.
#[test]
fn database_has_a_clock_of_its_own() {
    let text = r#"
        title = "the database's clock is set forward"
        lock = { name = "database-cas", ttl_ms = 3000 }
        topology = { clients = 2 }
        workload = { hold_ms = 1500, client.c2 = { start_ms = 500 } }
        [fault.step]
        kind = "clock-step"
        on = "n1"
        after = "c1 acquired"
        step_ms = 5000
    "#;
    let scenario = parse("t.toml", text, &[]).expect("a sound scenario");
    let Some(run) = run(&scenario, 1) else {
        return;
    };
    assert!(is_violated(&run, Property::Lease));
}

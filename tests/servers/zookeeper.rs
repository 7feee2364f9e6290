//! Runs on real ZooKeeper servers: claim K18, and every fault that strikes a server.
//!
//! They run with `LOCKLAB_LONG=1`, and if ZooKeeper is installed.

use locklab_check::Property;
use locklab_history::{Event, FaultKind};
use locklab_model::scenario::{Scenario, load, parse};
use locklab_runner::judged::JudgedRun;
use locklab_testing::why_no_zookeeper;

use super::{is_violated, phases};

/// A run on real members; `None` where there is no ZooKeeper.
fn run(scenario: &Scenario, seed: u64) -> Option<JudgedRun> {
    super::run(scenario, seed, "ZooKeeper 3.", why_no_zookeeper())
}

/// K18: the same faults, with a resource that compares tokens and with one that does not.
#[test]
fn fencing_protects_the_resource_of_a_session_that_is_over() {
    for (name, is_harmed) in [("kleppmann/k18", false), ("kleppmann/k18-unfenced", true)] {
        let scenario = load(name, &[]).expect("it ships");
        let Some(run) = run(&scenario, 1) else {
            return;
        };
        assert!(is_violated(&run, Property::Belief), "{name}");
        assert_eq!(is_violated(&run, Property::Resource), is_harmed, "{name}");
    }
}

/// Two clients take turns for the whole run; every second one member suffers something, and comes back.
const TURNS: &str = r#"
    title = "faults strike members"
    horizon_ms = 16000
    lock = { name = "consensus", session_ms = 1000 }
    [topology]
    nodes = 3
    clients = 2
    [workload]
    rounds = 100000
    hold_ms = 20
    think_ms = 20
    [resource]
    fencing = "reads-and-writes"
"#;

#[test]
fn the_service_survives_what_strikes_one_member_at_a_time() {
    let kinds = [
        (FaultKind::Pause, "n1"),
        (FaultKind::Kill, "n2"),
        (FaultKind::Crash, "n3"),
        (FaultKind::Suspend, "n1"),
        (FaultKind::Partition, "n2"),
    ];
    let faults = (1..).zip(kinds).map(|(place, (kind, member))| {
        let hosts = match kind {
            FaultKind::Partition => {
                let others = ["n1", "n2", "n3"].into_iter().filter(|it| *it != member);
                let others: Vec<String> = others.map(|it| format!("\"{it}\"")).collect();
                format!("from = \"{member}\"\nto = [{}]", others.join(", "))
            }
            _ => format!("on = \"{member}\""),
        };
        let kind = kind.name();
        let at_ms = place * 2500;
        format!("[fault.{kind}]\nkind = \"{kind}\"\n{hosts}\nat_ms = {at_ms}\nduration_ms = 1200\n")
    });
    let faults: String = faults.collect();
    let scenario = parse("t.toml", &format!("{TURNS}{faults}"), &[]).expect("a sound scenario");
    let Some(run) = run(&scenario, 1) else {
        return;
    };
    for (kind, _) in kinds {
        let [begun, ended] = phases(&run.history)[kind.name()];
        assert!(
            begun > 0 && begun == ended,
            "{}: {begun}, {ended}",
            kind.name()
        );
    }
    assert!(!is_violated(&run, Property::Resource));
    // No client waits for ever: every member is back after its fault, so two are always there.
    let granted =
        |record: &&locklab_history::Record| matches!(record.event, Event::BeliefBegins { .. });
    let last_ns = { run.history.records.iter() }
        .filter(granted)
        .map(|record| record.at_ns)
        .max();
    assert!(
        last_ns >= Some(15_000_000_000),
        "the last grant: {last_ns:?}"
    );
}

/// What members say to each other passes the proxy, so a partition cuts it.
#[test]
fn a_partition_separates_members() {
    let fault = "[fault.cut]\nkind = \"partition\"\nfrom = \"n3\"\nto = [\"n1\", \"n2\"]\n\
                 at_ms = 1000\nduration_ms = 3000\n";
    let scenario = parse(
        "t.toml",
        &format!("{TURNS}{fault}"),
        &["horizon_ms=5000".into()],
    );
    let Some(run) = run(&scenario.expect("a sound scenario"), 1) else {
        return;
    };
    // How many messages were sent in this time and arrived in it.
    let arrived = |from: &str, to: &str, since_ms: u64, until_ms: u64| {
        let time_ns = since_ms * 1_000_000..until_ms * 1_000_000;
        let of = |it: &&locklab_history::Message| {
            (&*it.from, &*it.to) == (from, to)
                && time_ns.contains(&it.sent_ns)
                && it.arrived_ns.is_some_and(|at_ns| time_ns.contains(&at_ns))
        };
        run.history.messages.iter().filter(of).count()
    };
    // The last member leads: it has the highest number.
    assert!(arrived("n3", "n1", 0, 900) > 0);
    assert_eq!(arrived("n3", "n1", 1100, 3900), 0);
    assert_eq!(arrived("n1", "n3", 1100, 3900), 0);
    // The other two elect a leader among themselves.
    assert!(arrived("n2", "n1", 2500, 3900) > 0);
}

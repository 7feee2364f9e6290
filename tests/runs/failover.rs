//! Failover in the simulator: fake nodes, our sentinels, and the locks' client.

use locklab_history::{Event, History, Op, Outcome, Phase, Point};
use locklab_model::fault::expand;
use locklab_model::scenario::parse;
use locklab_runner::simulate::{Keep, simulate};

/// The points that sentinels reach from the loss of the master until they have a new one.
const OF_A_FAILOVER: [&str; 11] = [
    "+try-failover",
    "+elected-leader",
    "+failover-state-select-slave",
    "+selected-slave",
    "+failover-state-send-slaveof-noone",
    "+failover-state-wait-promotion",
    "+promoted-slave",
    "+failover-state-reconf-slaves",
    "+slave-reconf-sent",
    "+slave-reconf-done",
    "+failover-end",
];

fn history(fault: &str) -> History {
    let text = format!(
        r#"
        title = "A failover"
        about = "The master is gone for a while."
        source = "this test"
        horizon_ms = 60_000
        topology = {{ nodes = 1, replicas = 2, sentinels = 3, clients = 2 }}
        lock = {{ name = "set-nx-px", ttl_ms = 1000, timeout_ms = 500 }}
        workload = {{ rounds = 60, hold_ms = 100, think_ms = 500, give_up_ms = 3000 }}
        sentinel = {{ down_after_ms = 1500, failover_timeout_ms = 6000 }}

        [fault.gone]
        {fault}
        "#
    );
    let scenario = parse("t.toml", &text, &[]).expect("a sound scenario");
    let schedule = expand(&scenario.fault, 1);
    simulate(&scenario, 1, &schedule, Keep::default())
        .expect("it ends")
        .history
}

/// The times at which this point was reached, in seconds.
fn times(history: &History, wanted: &str) -> Vec<f64> {
    let records = history.records.iter();
    let reached = records.filter(
        |record| matches!(&record.event, Event::Reached { point } if point.to_string() == wanted),
    );
    reached.map(|record| record.at_ns as f64 / 1e9).collect()
}

/// The first time at which this point was reached; panics with a list of points if it never
/// was.
fn first(history: &History, wanted: &str) -> f64 {
    let all = history
        .records
        .iter()
        .filter_map(|record| match &record.event {
            Event::Reached {
                point: Point::Notice(point),
            } => Some(format!(
                "{} {} {point}\n",
                record.at_ns / 1_000_000,
                record.host
            )),
            _ => None,
        });
    let seen = || panic!("{wanted} was never reached:\n{}", all.collect::<String>());
    times(history, wanted).first().copied().unwrap_or_else(seen)
}

/// The time of the first grant after `from_s`.
fn granted_after(history: &History, from_s: f64) -> f64 {
    let mut grants = history.records.iter().filter(|record| {
        matches!(record.event, Event::BeliefBegins { .. }) && record.at_ns as f64 / 1e9 > from_s
    });
    grants.next().expect("a grant").at_ns as f64 / 1e9
}

/// Sentinels that have been running for long know the replicas and one another, and name the
/// master at once.
#[test]
fn sentinels_have_been_running_when_a_run_begins() {
    let history = history("kind = \"crash\"\non = \"n1\"\nat_ms = 8000");
    for met in ["+slave", "+sentinel"] {
        assert!(times(&history, met).iter().all(|at_s| *at_s > 8.0), "{met}");
    }
    // To find the master by a sentinel takes three round trips of at most 10 ms and two
    // connections.
    let granted = granted_after(&history, 0.0);
    assert!(granted < 0.06, "{granted}");
}

#[test]
fn a_crashed_master_is_replaced_and_clients_find_the_new_one() {
    let history = history("kind = \"crash\"\non = \"n1\"\nat_ms = 8000");
    let firsts = OF_A_FAILOVER.map(|point| first(&history, point));
    assert!(firsts.is_sorted(), "{firsts:?}");
    let down = first(&history, "+sdown");
    // A PING from up to a second earlier stays unanswered for 1.5 s.
    assert!((8.5..11.5).contains(&down), "{down}");
    let switched = times(&history, "+switch-master");
    assert_eq!(
        switched.len(),
        3,
        "each sentinel says so once: {switched:?}"
    );
    let granted = granted_after(&history, 8.5);
    assert!(
        granted > firsts[6] && granted < firsts[6] + 4.0,
        "{granted} {firsts:?}"
    );
    assert!(times(&history, "+convert-to-slave").is_empty());
}

/// The old master is cut off from everything but one client, then comes back: there are two
/// masters for more than eight seconds, then the old one is demoted.
#[test]
fn an_old_master_that_comes_back_is_demoted_after_eight_seconds() {
    let history = history(
        "kind = \"partition\"\nfrom = [\"n1\", \"c1\"]\n\
         to = [\"n1r1\", \"n1r2\", \"s1\", \"s2\", \"s3\"]\nat_ms = 8000\nduration_ms = 10_000",
    );
    let switched = first(&history, "+switch-master");
    assert!((10.0..16.0).contains(&switched), "{switched}");
    let back = first(&history, "-sdown");
    assert!(back > 18.0, "{back}");
    let demoted = first(&history, "+convert-to-slave");
    assert!(
        demoted > back + 8.0 && demoted < back + 22.0,
        "{back} {demoted}"
    );
    assert!(!times(&history, "+role-change").is_empty());
}

/// An operator requests a failover: no server is down, there is no vote, and the old master
/// continues until the other sentinels detect that there is a second master.
#[test]
fn a_failover_can_be_asked_for() {
    let history = history("kind = \"failover\"\non = \"s2\"\nat_ms = 8000");
    let firsts = OF_A_FAILOVER.map(|point| first(&history, point));
    assert!(firsts.is_sorted(), "{firsts:?}");
    assert!((8.0..8.2).contains(&firsts[0]), "{firsts:?}");
    assert!(times(&history, "+sdown").is_empty());
    assert!(times(&history, "+vote-for-leader").len() <= 1);
    let switched = times(&history, "+switch-master");
    assert_eq!(switched.len(), 3, "{switched:?}");
    let demoted = first(&history, "+convert-to-slave");
    assert!(demoted > switched[0] + 8.0, "{demoted} {switched:?}");
}

/// The only replica is gone.
#[test]
fn a_failover_that_a_sentinel_refuses_is_missed() {
    let text = r#"
        title = "Nobody to promote"
        source = "this test"
        horizon_ms = 20_000
        topology = { nodes = 1, replicas = 1, sentinels = 3, clients = 2 }
        lock = { name = "set-nx-px", ttl_ms = 1000, timeout_ms = 500 }
        workload = { rounds = 60, hold_ms = 100, think_ms = 100 }
        sentinel = { down_after_ms = 1000 }
        fault.gone = { kind = "crash", on = "n1r1", at_ms = 3000 }
        fault.asked = { kind = "failover", on = "s1", at_ms = 8000 }
    "#;
    let scenario = parse("t.toml", text, &[]).expect("a sound scenario");
    let run =
        simulate(&scenario, 1, &expand(&scenario.fault, 1), Keep::default()).expect("it ends");
    let asked = run
        .history
        .records
        .iter()
        .find_map(|record| match &record.event {
            Event::Fault { fault, phase, .. } if &**fault == "asked" => Some(*phase),
            _ => None,
        });
    assert_eq!(asked, Some(Phase::Missed));
}

/// Sentinel made the promoted replica persist its role, and the sentinels have persisted the
/// new master: a restart of all of them does not undo the failover.
#[test]
fn a_failover_survives_the_restart_of_everybody() {
    let text = r#"
        title = "Power is lost after a failover"
        source = "this test"
        horizon_ms = 40_000
        topology = { nodes = 1, replicas = 1, sentinels = 3, clients = 2 }
        lock = { name = "set-nx-px", ttl_ms = 1000, timeout_ms = 500 }
        workload = { rounds = 200, hold_ms = 50, think_ms = 50, give_up_ms = 3000 }
        sentinel = { down_after_ms = 3000 }
        fault.master = { kind = "crash", on = "n1", at_ms = 3000 }
        fault.power = { kind = "crash", on = ["n1r1", "s1", "s2", "s3"], at_ms = 12_000, duration_ms = 500 }
    "#;
    let scenario = parse("t.toml", text, &[]).expect("a sound scenario");
    let run =
        simulate(&scenario, 1, &expand(&scenario.fault, 1), Keep::default()).expect("it ends");
    let switched = times(&run.history, "+switch-master");
    assert_eq!(switched.len(), 3, "{switched:?}");
    assert!(switched.iter().all(|at_s| *at_s < 12.0), "{switched:?}");
    let granted = granted_after(&run.history, 12.5);
    assert!(granted < 15.0, "{granted}");
}

/// The old master is cut off with c1 and its sentinel, and continues to acknowledge writes.
/// Writes that only it had are lost when it comes back: even it does not have them when it is
/// promoted again.
#[test]
fn writes_acknowledged_only_by_the_old_master_are_lost_when_it_returns() {
    let text = r#"
        title = "An old master comes back"
        source = "this test"
        horizon_ms = 90_000
        topology = { nodes = 1, replicas = 1, sentinels = 3, clients = 2 }
        lock = { name = "set-nx-px", ttl_ms = 1000 }
        workload = { kind = "adds", rounds = 400, think_ms = 50, give_up_ms = 500, read_ms = 80_000 }
        sentinel = { down_after_ms = 1500, failover_timeout_ms = 6000 }

        [fault.gone]
        kind = "partition"
        from = ["n1", "c1"]
        to = ["n1r1", "s1", "s2", "s3"]
        at_ms = 8000
        duration_ms = 10_000

        [fault.back]
        kind = "failover"
        on = "s1"
        at_ms = 60_000
    "#;
    let scenario = parse("t.toml", text, &[]).expect("a sound scenario");
    let run =
        simulate(&scenario, 1, &expand(&scenario.fault, 1), Keep::default()).expect("it ends");
    let history = &run.history;
    let switched = times(history, "+switch-master");
    assert_eq!(switched.len(), 6, "there and back: {switched:?}");
    let demoted = first(history, "+convert-to-slave");
    let adds = adds(history);
    let lost_of = |client: &str, from_s: f64, to_s: f64| {
        let of_it = adds
            .iter()
            .filter(|add| add.client == client && (from_s..to_s).contains(&add.acknowledged_s));
        let (kept, lost): (Vec<_>, Vec<_>) = of_it.partition(|add| add.is_member);
        (kept.len(), lost.len())
    };
    // An element needs time to be replicated from the master.
    assert_eq!(lost_of("c1", 0.0, 7.98).1 + lost_of("c2", 0.0, 7.98).1, 0);
    let (kept, lost) = lost_of("c1", 8.0, demoted);
    assert_eq!(kept, 0);
    assert!(lost > 100, "{lost}");
    // c2 has switched to the new master, and n1 has every write acknowledged by it.
    let (kept, lost) = lost_of("c2", switched[0] + 0.1, 60.0);
    assert_eq!(lost, 0);
    assert!(kept > 50, "{kept}");
}

/// An acknowledged add.
struct Add {
    client: String,
    acknowledged_s: f64,
    /// Whether the element was in the set when the set was read.
    is_member: bool,
}

fn adds(history: &History) -> Vec<Add> {
    let members = history
        .records
        .iter()
        .find_map(|record| match &record.event {
            Event::Members { members } => Some(members),
            _ => None,
        });
    let members = members.expect("the set was read");
    let adds = history
        .records
        .iter()
        .filter_map(|record| match record.event {
            Event::Complete {
                call,
                op: Op::Add,
                outcome: Outcome::Ok,
                ..
            } => Some(Add {
                client: record.host.to_string(),
                acknowledged_s: record.at_ns as f64 / 1e9,
                is_member: members
                    .get(&record.host)
                    .is_some_and(|calls| calls.contains(&call)),
            }),
            _ => None,
        });
    adds.collect()
}

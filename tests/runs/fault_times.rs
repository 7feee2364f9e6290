//! When faults of every kind begin and end in a run, to the nanosecond: at their moment and their delay
//! after it, and their duration after they began, whatever the delay was.

use locklab_history::{Aim, Event, FaultKind, History, Phase, Span};
use locklab_model::fault::expand;
use locklab_model::scenario::{Scenario, parse};
use locklab_runner::simulate::{Keep, simulate};

/// The table of a fault of this kind, without its place and its duration.
fn table(kind: FaultKind) -> String {
    let name = kind.name();
    let target = match kind {
        FaultKind::Partition => "from = 'c2', to = 'n1'",
        FaultKind::SlowLink => "from = 'c2', to = 'n1', extra_ms = 3",
        FaultKind::Loss => "from = 'c2', to = 'n1', probability = 0.5",
        FaultKind::ClockStep => "on = ['c2', 'n1'], step_ms = -7",
        FaultKind::ClockRate => "on = ['c2', 'n1'], drift_ppm = 100_000",
        _ => "on = ['c2', 'n1']",
    };
    format!("kind = '{name}', {target}")
}

fn scenario(fault: &str) -> Scenario {
    let text = format!(
        "headline = \"lease\"\ntitle = \"t\"\nabout = \"a\"\nsource = \"s\"\nhorizon_ms = 2000\n\
         topology = {{ nodes = 1, clients = 2 }}\nnetwork = {{ latency_ms = 1 }}\n\
         lock = {{ name = \"set-nx-px\", ttl_ms = 200 }}\n\
         [workload]\nrounds = 4\nhold_ms = 20\nthink_ms = 150\n\
         [workload.client.c2]\nrounds = 60\nhold_ms = 1\nthink_ms = 20\n[fault]\nf = {{ {fault} }}\n"
    );
    parse("t.toml", &text, &[]).unwrap_or_else(|error| panic!("{fault}: {error}"))
}

fn history(fault: &str) -> History {
    let scenario = scenario(fault);
    let schedule = expand(&scenario.fault, 0);
    let run = simulate(&scenario, 0, &schedule, Keep::default());
    run.unwrap_or_else(|error| panic!("{fault}: {error}"))
        .history
}

/// When the fault begins, or ends, on each of its hosts.
fn times_ns(history: &History, wanted: Phase) -> Vec<u64> {
    let records = history.records.iter();
    let found = records
        .filter(|record| matches!(&record.event, Event::Fault { phase, .. } if *phase == wanted));
    found.map(|record| record.at_ns).collect()
}

/// When c1 was granted the lock, in the order of its rounds.
fn granted_ns(history: &History) -> Vec<u64> {
    let records = history
        .records
        .iter()
        .filter(|record| *record.host == *"c1");
    let granted = records.filter(|record| matches!(record.event, Event::BeliefBegins { .. }));
    granted.map(|record| record.at_ns).collect()
}

/// The kinds that the injector begins by itself: an operator's order begins when its server obeys.
fn kinds() -> impl Iterator<Item = FaultKind> {
    let all = FaultKind::ALL.iter().copied();
    all.filter(|kind| !matches!(kind.aim(), Aim::Servers(_)))
}

const LASTS_NS: u64 = 60_000_007;

#[track_caller]
fn check(kind: FaultKind, placed: &str, began_ns: impl Fn(&History) -> u64) {
    let lasts = match kind.span() {
        Span::Momentary => "",
        Span::Lasting | Span::Down => ", duration_ms = 60.000007",
    };
    let fault = format!("{}, {placed}{lasts}", table(kind));
    let history = history(&fault);
    let began_ns = began_ns(&history);
    assert_eq!(times_ns(&history, Phase::Begins), [began_ns; 2], "{fault}");
    let ended: &[u64] = match kind.span() {
        Span::Momentary => &[],
        Span::Lasting | Span::Down => &[began_ns + LASTS_NS; 2],
    };
    assert_eq!(times_ns(&history, Phase::Ends), ended, "{fault}");
}

#[test]
fn every_kind_begins_at_its_time_and_lasts_its_duration() {
    for kind in kinds() {
        check(kind, "at_ms = 123.000009", |_| 123_000_009);
    }
}

#[test]
fn every_kind_begins_its_delay_after_its_moment_and_lasts_its_duration() {
    for kind in kinds() {
        for (delay, delay_ns) in [
            ("", 0),
            (", delay_ms = 0.000003", 3),
            (", delay_ms = 41.000003", 41_000_003),
        ] {
            let placed = format!("after = 'c1 acquired #2'{delay}");
            check(kind, &placed, |history| granted_ns(history)[1] + delay_ns);
        }
    }
}

/// The delays of two faults at one moment are their own.
#[test]
fn two_faults_of_one_moment_each_begin_their_own_delay_later() {
    let two = "kind = 'pause', on = 'c2', after = 'c1 acquired #2', delay_ms = 11, duration_ms = 5 }\n\
               g = { kind = 'partition', from = 'c2', to = 'n1', after = 'c1 acquired #2', delay_ms = 3, duration_ms = 40 }\n\
               h = { kind = 'loss', from = 'c2', to = 'n1', after = 'c1 acquired #2', probability = 1, duration_ms = 9";
    let history = history(two);
    let moment_ns = granted_ns(&history)[1];
    let after = |times_ns: Vec<u64>| -> Vec<u64> {
        times_ns
            .iter()
            .map(|at_ns| (at_ns - moment_ns) / 1_000_000)
            .collect()
    };
    assert_eq!(after(times_ns(&history, Phase::Begins)), [0, 0, 3, 3, 11]);
    assert_eq!(after(times_ns(&history, Phase::Ends)), [9, 9, 16, 43, 43]);
}

/// A process that had finished is spared, and nothing of the fault ends there either.
#[test]
fn a_fault_ends_where_it_began() {
    let fault = "kind = 'pause', on = ['c1', 'c2'], at_ms = 1200, duration_ms = 20";
    let history = history(fault);
    let hosts = |wanted: Phase| -> Vec<&str> {
        let records = history.records.iter();
        let found = records.filter(
            |record| matches!(&record.event, Event::Fault { phase, .. } if *phase == wanted),
        );
        found.map(|record| &*record.host).collect()
    };
    assert_eq!(hosts(Phase::Begins), ["c2"]);
    assert_eq!(hosts(Phase::Ends), ["c2"]);
}

/// A repeated fault lasts as long as was drawn for this occurrence, from its own beginning.
#[test]
fn every_occurrence_of_a_repeated_fault_is_as_its_schedule_says() {
    let fault = format!(
        "{}, every_ms = {{ uniform = [80, 200] }}, at_ms = 5, until_ms = 900, duration_ms = {{ uniform = [1, 70] }}",
        table(FaultKind::Partition)
    );
    let history = history(&fault);
    let schedule = expand(&scenario(&fault).fault, 0);
    assert!(schedule.faults.len() > 4);
    for fault in &schedule.faults {
        let of_fault = |wanted: Phase| {
            let records = history.records.iter();
            let mut found = records.filter(|record| {
                matches!(&record.event, Event::Fault { fault: name, phase, .. } if *phase == wanted && *name == fault.name)
            });
            found
                .next()
                .map(|record| record.at_ns)
                .expect("it begins and ends")
        };
        let began_ns = of_fault(Phase::Begins);
        let locklab_history::Start::At { at_ns } = fault.start else {
            panic!("it is placed by time");
        };
        assert_eq!(began_ns, at_ns);
        let lasts_ns = fault.duration_ns.expect("it was drawn");
        assert_eq!(of_fault(Phase::Ends), began_ns + lasts_ns);
    }
}

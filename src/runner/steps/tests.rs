//! Steps of actual runs, and faults that strike at them.

use locklab_history::{Event, Fault, History, Phase, Schedule};
use locklab_model::fault::expand;
use locklab_model::scenario::{Scenario, parse};

use super::StepLog;
use crate::run::Run;
use crate::simulate::{Keep, simulate};

/// Two clients that take the lock in turn.
const TWO: &str = r#"
    headline = "lease"
    title = "Two clients"
    about = "They take the lock in turn."
    source = "this test"
    topology = { nodes = 1, clients = 2 }
    lock = { name = "set-nx-px", ttl_ms = 1000 }
    workload = { hold_ms = 20, client = { c2 = { start_ms = 10 } } }
"#;

fn scenario(faults: &str) -> Scenario {
    parse("t.toml", &format!("{TWO}\n[fault]\n{faults}"), &[]).expect("a sound scenario")
}

fn run(faults: &str, keep: Keep) -> Run {
    let scenario = scenario(faults);
    let schedule = expand(&scenario.fault, 1);
    simulate(&scenario, 1, &schedule, keep).expect("it ends")
}

fn steps(run: &Run) -> &StepLog {
    run.steps.as_ref().expect("they were kept")
}

/// When the run took this step.
#[track_caller]
fn when(run: &Run, step: &str) -> u64 {
    let seen = { steps(run).steps.iter() }.find(|seen| seen.step.to_string() == step);
    seen.unwrap_or_else(|| panic!("no step {step}")).at_ns
}

/// When a fault began, if it did.
fn begins(history: &History) -> Option<u64> {
    let begins = |event: &Event| {
        matches!(
            event,
            Event::Fault {
                phase: Phase::Begins,
                ..
            }
        )
    };
    let record = history.records.iter().find(|record| begins(&record.event));
    record.map(|record| record.at_ns)
}

#[test]
fn a_client_takes_its_steps_in_the_order_of_its_work() {
    let run = run("", Keep::STEPS);
    let of_c1 = { steps(&run).steps.iter() }.map(|seen| seen.step.to_string());
    let of_c1 = of_c1.filter(|step| step.starts_with("c1 "));
    let of_c1: Vec<String> = of_c1.filter(|step| !step.contains("timer")).collect();
    assert_eq!(
        of_c1,
        [
            "c1 acquiring",
            "c1 SET #1 leaves for n1",
            "c1 SET #1 arrives at n1",
            "c1 SET #1 reply leaves n1",
            "c1 SET #1 reply arrives from n1",
            "c1 acquired",
            "c1 READ #1 leaves for resource",
            "c1 READ #1 arrives at resource",
            "c1 READ #1 reply leaves resource",
            "c1 READ #1 reply arrives from resource",
            "c1 read",
            "c1 WRITE #1 leaves for resource",
            "c1 WRITE #1 arrives at resource",
            "c1 WRITE #1 reply leaves resource",
            "c1 WRITE #1 reply arrives from resource",
            "c1 wrote",
            "c1 releasing",
            "c1 deleting",
            "c1 EVALSHA #1 leaves for n1",
            "c1 EVALSHA #1 arrives at n1",
            "c1 EVALSHA #1 reply leaves n1",
            "c1 EVALSHA #1 reply arrives from n1",
            "c1 EVAL #1 leaves for n1",
            "c1 EVAL #1 arrives at n1",
            "c1 EVAL #1 reply leaves n1",
            "c1 EVAL #1 reply arrives from n1",
            "c1 released",
        ]
    );
}

/// Everything that a run without faults at steps does is the same, whether it is watched or not.
#[test]
fn watching_changes_nothing() {
    let [watched, alone] = [Keep::STEPS, Keep::default()].map(|keep| run("", keep));
    assert_eq!(watched.history, alone.history);
    assert_eq!(watched.trace_hash, alone.trace_hash);
    assert_eq!(alone.steps, None);
}

/// Up to its step a run is the one without the fault; the fault begins at that very instant.
#[test]
fn a_fault_begins_when_its_step_happens() {
    let without = run("", Keep::STEPS);
    for seen in &steps(&without).steps {
        let step = seen.step.to_string();
        let fault =
            format!("f = {{ kind = 'pause', on = 'n1', duration_ms = 5, at_step = '{step}' }}");
        let with = run(&fault, Keep::STEPS);
        assert_eq!(begins(&with.history), Some(seen.at_ns), "{step}");
        let before = |run: &Run| {
            let steps = steps(run)
                .steps
                .iter()
                .take_while(|it| it.step != seen.step);
            steps.cloned().collect::<Vec<_>>()
        };
        assert_eq!(before(&with), before(&without), "{step}");
    }
}

#[test]
fn a_fault_strikes_at_its_step_in_a_run_that_does_not_keep_its_steps() {
    let fault =
        "f = { kind = 'pause', on = 'n1', duration_ms = 5, at_step = 'c1 SET #1 arrives at n1' }";
    let [kept, alone] = [Keep::STEPS, Keep::default()].map(|keep| run(fault, keep));
    assert!(begins(&alone.history).is_some());
    assert_eq!(kept.history, alone.history);
}

/// A node that syncs its file for every command, and sentinels that find it down.
const WATCHED: &str = r#"
    headline = "lease"
    title = "A master dies"
    about = "Its sentinels notice."
    source = "this test"
    horizon_ms = 5000
    topology = { nodes = 1, replicas = 1, sentinels = 3, clients = 1 }
    sentinel = { down_after_ms = 500 }
    node = { persistence = "aof-always" }
    lock = { name = "set-nx-px", ttl_ms = 1000 }
    workload = { start_ms = 100, hold_ms = 1500 }
    [fault]
    dies = { kind = "crash", on = "n1", at_ms = 300 }
"#;

fn watched(faults: &str) -> Run {
    let scenario = parse("t.toml", &format!("{WATCHED}{faults}"), &[]).expect("a sound scenario");
    let schedule = expand(&scenario.fault, 1);
    simulate(&scenario, 1, &schedule, Keep::STEPS).expect("it ends")
}

/// Every fault that can strike `host` at a step, from the shortest to one that a retransmission outlives.
fn faults_of(host: &str) -> Vec<String> {
    let other = if host == "n1" { "c1" } else { "n1" };
    let lasting = ["pause", "suspend", "kill", "crash"].into_iter();
    let lasting = lasting.flat_map(|kind| {
        [1, 700].map(|ms| format!("kind = '{kind}', on = '{host}', duration_ms = {ms}"))
    });
    let others = [
        format!("kind = 'reset', on = '{host}'"),
        format!("kind = 'clock-step', on = '{host}', step_ms = 500"),
        format!("kind = 'clock-rate', on = '{host}', drift_ppm = 500_000, duration_ms = 700"),
        format!("kind = 'partition', from = '{host}', to = '{other}', duration_ms = 700"),
        format!("kind = 'partition', from = '{host}', to = '{other}', duration_ms = 0"),
        format!(
            "kind = 'slow-link', from = '{host}', to = '{other}', extra_ms = 50, duration_ms = 700"
        ),
        format!(
            "kind = 'loss', from = '{host}', to = '{other}', probability = 0.5, duration_ms = 700"
        ),
    ];
    let failover = { host.starts_with('s') && host != "resource" }
        .then(|| format!("kind = 'failover', on = '{host}'"));
    lasting.chain(others).chain(failover).collect()
}

/// Runs every fault at every step of a run without it: a fault that takes effect begins once on each of its hosts, and
/// no step of the run has the name of another.
#[track_caller]
fn check_each_begins_once(run: impl Fn(&str) -> Run, strikes_at: impl Fn(&str) -> bool) {
    let without = run("");
    let mut began = 0;
    let all = { steps(&without).steps.iter() }.filter(|seen| strikes_at(&seen.step.to_string()));
    for seen in all {
        for fault in faults_of(seen.step.host()) {
            let with = run(&format!("f = {{ {fault}, at_step = '{}' }}", seen.step));
            let what = format!("{fault} at {}", seen.step);
            let mut hosts: Vec<String> = { with.history.records.iter() }
                .filter(|record| is_begin_of(&record.event, "f"))
                .map(|record| record.host.to_string())
                .collect();
            began += usize::from(!hosts.is_empty());
            let count = hosts.len();
            hosts.sort();
            hosts.dedup();
            assert_eq!(hosts.len(), count, "{what}");
            let mut names: Vec<String> = { steps(&with).steps.iter() }
                .map(|seen| seen.step.to_string())
                .collect();
            let count = names.len();
            names.sort();
            names.dedup();
            assert_eq!(names.len(), count, "{what}");
        }
    }
    assert!(began > 100, "only {began} faults began");
}

fn is_begin_of(event: &Event, name: &str) -> bool {
    matches!(event, Event::Fault { fault, phase: Phase::Begins, .. } if **fault == *name)
}

#[test]
fn a_fault_begins_once_whatever_it_does_to_the_message_at_whose_step_it_strikes() {
    check_each_begins_once(|fault| run(fault, Keep::STEPS), |_| true);
}

#[test]
fn a_fault_begins_once_at_steps_of_servers() {
    let strikes_at =
        |step: &str| step.contains(" sync ") || step.contains(" +") || step.starts_with("n1 ");
    check_each_begins_once(watched, strikes_at);
}

#[test]
fn a_message_that_a_fault_kept_away_arrives_again() {
    let crash = |step: &str| {
        format!("f = {{ kind = 'crash', on = 'n1', duration_ms = 1, at_step = '{step}' }}")
    };
    let first = run(&crash("c1 SET #1 arrives at n1"), Keep::STEPS);
    let again_ns = when(&first, "c1 SET #1 arrives at n1 #2");
    assert!(when(&first, "c1 SET #1 arrives at n1") < again_ns);
    let two = format!(
        "{}\ng = {{ kind = 'crash', on = 'n1', duration_ms = 1, at_step = 'c1 SET #1 arrives at n1 #2' }}",
        crash("c1 SET #1 arrives at n1")
    );
    let second = run(&two, Keep::STEPS);
    assert_eq!(second.history.faults_began_ns().get("g"), Some(&again_ns));
    assert!(when(&second, "c1 SET #1 arrives at n1 #3") > again_ns);
}

#[test]
fn a_fault_begins_when_a_server_syncs_its_file_or_a_sentinel_decides_something() {
    let without = watched("");
    let taken = |what: &str| {
        let seen = steps(&without).steps.iter();
        let mut seen = seen.map(|seen| (seen.step.to_string(), seen.at_ns));
        seen.find(|(step, _)| step.contains(what))
            .unwrap_or_else(|| panic!("no {what}"))
    };
    for (step, at_ns) in [taken("n1 sync"), taken("s1 +sdown"), taken("s2 +sdown")] {
        let with = watched(&format!(
            "f = {{ kind = 'pause', on = 'c1', duration_ms = 5, at_step = '{step}' }}"
        ));
        let began = with.history.faults_began_ns();
        assert_eq!(began.get("f"), Some(&at_ns), "{step}");
    }
}

#[test]
fn a_message_arrives_at_a_suspended_machine_once_when_it_wakes() {
    let fault = "f = { kind = 'suspend', on = 'n1', duration_ms = 500, at_step = 'c1 SET #1 leaves for n1' }";
    let run = run(fault, Keep::STEPS);
    let wakes_ns = when(&run, "c1 SET #1 leaves for n1") + 500_000_000;
    let arrives = { steps(&run).steps.iter() }
        .filter(|seen| seen.step.to_string() == "c1 SET #1 arrives at n1");
    assert_eq!(
        arrives.map(|seen| seen.at_ns).collect::<Vec<_>>(),
        [wakes_ns]
    );
}

#[test]
fn a_crash_when_a_message_arrives_comes_before_the_message() {
    // The node has no lock for c1: the SET was not executed, so it is sent again after the restart.
    let crash = |step: &str| {
        let fault =
            format!("f = {{ kind = 'crash', on = 'n1', duration_ms = 1, at_step = '{step}' }}");
        let run = run(&fault, Keep::STEPS);
        let has = |step: &str| {
            steps(&run)
                .steps
                .iter()
                .any(|it| it.step.to_string() == step)
        };
        (
            has("c1 SET #1 reply leaves n1"),
            has("c1 SET #1 reply arrives from n1"),
        )
    };
    assert_eq!(crash("c1 SET #1 arrives at n1"), (false, false));
    // The reply is not on the wire yet.
    assert_eq!(crash("c1 SET #1 reply leaves n1"), (true, false));
    // It is on the wire.
    assert_eq!(crash("c1 SET #1 reply arrives from n1"), (true, true));
}

#[test]
fn a_paused_client_does_not_act_on_what_arrives() {
    let fault = "f = { kind = 'pause', on = 'c1', duration_ms = 500, \
                 at_step = 'c1 SET #1 reply arrives from n1' }";
    let run = run(fault, Keep::STEPS);
    let arrives = when(&run, "c1 SET #1 reply arrives from n1");
    assert_eq!(when(&run, "c1 acquired"), arrives + 500_000_000);
}

/// A link fault without a duration meets what leaves at that instant, and nothing after it.
#[test]
fn one_message_alone_can_be_late() {
    let fault = "f = { kind = 'slow-link', from = 'c1', to = 'n1', direction = 'one-way', \
                 duration_ms = 0, extra_ms = 100, at_step = 'c1 SET #1 leaves for n1' }";
    let [late, usual] = [fault, ""].map(|faults| run(faults, Keep::STEPS));
    let takes = |run: &Run, command: &str| {
        let leaves = when(run, &format!("c1 {command} #1 leaves for n1"));
        when(run, &format!("c1 {command} #1 arrives at n1")) - leaves
    };
    assert_eq!(takes(&late, "SET"), takes(&usual, "SET") + 100_000_000);
    assert!(takes(&late, "EVALSHA") < 10_000_000);
}

#[test]
fn a_fault_follows_its_step_by_its_delay() {
    let fault = "f = { kind = 'pause', on = 'c1', duration_ms = 5, delay_ms = 3, \
                 at_step = 'c1 SET #1 arrives at n1' }";
    let run = run(fault, Keep::STEPS);
    let arrives = when(&run, "c1 SET #1 arrives at n1");
    assert_eq!(begins(&run.history), Some(arrives + 3_000_000));
}

#[test]
fn a_fault_at_a_step_that_never_comes_is_missed() {
    let run = run(
        "f = { kind = 'pause', on = 'c1', at_step = 'c1 SET #99 arrives at n1' }",
        Keep::default(),
    );
    let missed = |event: &Event| {
        matches!(
            event,
            Event::Fault {
                phase: Phase::Missed,
                ..
            }
        )
    };
    assert!(
        run.history
            .records
            .iter()
            .any(|record| missed(&record.event))
    );
}

/// Another client, and another latency, leave the names of a client's steps as they are.
#[test]
fn names_survive_a_change_elsewhere() {
    let names = |sets: &[&str]| {
        let sets: Vec<String> = sets.iter().map(|set| (*set).to_owned()).collect();
        let scenario = parse("t.toml", TWO, &sets).expect("a sound scenario");
        let run = simulate(&scenario, 1, &Schedule::default(), Keep::STEPS).expect("it ends");
        let steps = { steps(&run).steps.iter() }.map(|seen| seen.step.to_string());
        let own = steps.filter(|step| step.starts_with("c1 ") && !step.contains("timer"));
        let mut own: Vec<String> = own.collect();
        own.sort();
        own
    };
    let usual = names(&[]);
    let another = [
        "topology.clients=3",
        "workload.client.c3={ start_ms = 5000 }",
    ];
    assert_eq!(names(&another), usual);
    assert_eq!(names(&["network.latency_ms=2"]), usual);
}

/// A recording has the schedule as JSON.
#[test]
fn a_schedule_with_a_step_survives_being_written_and_read() {
    let scenario = scenario(
        "f = { kind = 'kill', on = 'n1', at_step = 'c1 SET #1 reply #2 leaves n1', delay_ms = 1 }",
    );
    let schedule = expand(&scenario.fault, 1);
    let text = serde_json::to_string(&schedule).expect("it is JSON");
    assert!(
        text.contains(r#""at-step":{"step":"c1 SET #1 reply #2 leaves n1","delay_ns":1000000}"#)
    );
    let again: Schedule = serde_json::from_str(&text).expect("it is a schedule");
    let _: &Vec<Fault> = &again.faults;
    assert_eq!(again, schedule);
}

//! One schedule, two fault injectors: one for simulated processes and one for real ones. Both
//! record the same phases of the same faults on the same hosts.
#![cfg(target_os = "linux")]

use locklab_history::{Event, FaultKind, History, Op, Outcome, Phase};
use locklab_model::fault::expand;
use locklab_model::scenario::parse;
use locklab_real::series::run_undisturbed;
use locklab_real::{Programs, RealRedis};
use locklab_results::recording::Environment;
use locklab_runner::backend::{Backend, World};
use locklab_runner::simulate::Keep;

use Phase::{Before, Begins, Ends, Missed};

/// Two clients of one node: c1 finishes immediately, c2 works for a second.
const CLIENTS: &str = r#"
    title = "faults strike processes"
    horizon_ms = 3000
    lock = { name = "set-nx-px", ttl_ms = 3000, retry_delay_ms = 10 }
    [workload.client.c2]
    start_ms = 300
    hold_ms = 1000
"#;

/// Runs a scenario with both injectors.
fn histories(text: &str) -> [(Environment, History); 2] {
    let scenario = parse("t.toml", text, &[]).expect("a sound scenario");
    let schedule = expand(&scenario.fault, 1);
    let programs = Programs {
        locklab: env!("CARGO_BIN_EXE_locklab").into(),
        ..Programs::find().expect("this program has a path")
    };
    let keep = Keep::default();
    let simulated = World.run(&scenario, 1, &schedule, keep).expect("it ends");
    let real = RealRedis::new(programs);
    let run = run_undisturbed(&real, &scenario, 1, &schedule, keep).expect("it ends");
    [
        (World.environment(), simulated.history),
        (real.environment(), run.history),
    ]
}

/// Runs two clients under `faults` with both injectors, and compares what each records of
/// every fault on every host with what is expected.
#[track_caller]
fn check(faults: &str, expected: &[(&str, &str, &[Phase])]) {
    for (environment, history) in histories(&format!("{CLIENTS}{faults}")) {
        let mut found: Vec<(String, String, Vec<Phase>)> = Vec::new();
        for record in &history.records {
            let Event::Fault { fault, phase, .. } = &record.event else {
                continue;
            };
            let known = found
                .iter_mut()
                .find(|(name, host, _)| **name == **fault && **host == *record.host);
            match known {
                Some((.., phases)) => phases.push(*phase),
                None => found.push((fault.to_string(), record.host.to_string(), vec![*phase])),
            }
        }
        found.sort_by(|one, other| (&one.0, &one.1).cmp(&(&other.0, &other.1)));
        let found: Vec<(&str, &str, &[Phase])> = found
            .iter()
            .map(|(fault, host, phases)| (&**fault, &**host, &**phases))
            .collect();
        assert_eq!(found, expected, "{environment:?}");
    }
}

#[test]
fn fault_skips_finished_processes_and_affects_the_rest() {
    check(
        r#"
        [fault.gc]
        kind = "pause"
        on = ["c1", "c2"]
        at_ms = 500
        duration_ms = 100
        [fault.oom]
        kind = "kill"
        on = ["c1", "c2"]
        at_ms = 700
        "#,
        &[("gc", "c2", &[Begins, Ends]), ("oom", "c2", &[Begins])],
    );
}

/// c1 dies with the lock, and c2 tries to the end.
#[test]
fn a_client_that_dies_for_good_leaves_the_others_at_work() {
    check(
        r#"
        [fault.gc]
        kind = "pause"
        on = "c2"
        at_ms = 700
        duration_ms = 100
        [fault.oom]
        kind = "kill"
        on = "c1"
        after = "c1 acquired"
        "#,
        &[("gc", "c2", &[Begins, Ends]), ("oom", "c1", &[Begins])],
    );
}

#[test]
fn a_process_that_is_down_cannot_be_struck() {
    check(
        r#"
        [fault.a]
        kind = "kill"
        on = "n1"
        at_ms = 200
        duration_ms = 600
        [fault.b]
        kind = "kill"
        on = "n1"
        at_ms = 300
        duration_ms = 10
        [fault.c]
        kind = "pause"
        on = "n1"
        at_ms = 400
        duration_ms = 10
        "#,
        &[
            ("a", "n1", &[Begins, Ends]),
            ("b", "n1", &[Missed]),
            ("c", "n1", &[Missed]),
        ],
    );
}

/// What a fault keeps from its receiver arrives again, and each of these faults begins once nevertheless.
#[test]
fn faults_at_arrivals_begin_once_on_every_kind_of_host() {
    check(
        r#"
        [fault.a-suspension]
        kind = "suspend"
        on = "c2"
        at_step = "c2 SET #1 reply arrives from n1"
        duration_ms = 200
        [fault.b-crash]
        kind = "crash"
        on = "n1"
        at_step = "c2 EVALSHA #1 arrives at n1"
        duration_ms = 1
        [fault.c-crash]
        kind = "crash"
        on = "resource"
        at_step = "c2 WRITE #1 arrives at resource"
        duration_ms = 50
        [fault.d-cut]
        kind = "partition"
        from = "c2"
        to = "resource"
        at_step = "c2 READ #1 arrives at resource"
        duration_ms = 50
        "#,
        &[
            ("a-suspension", "c2", &[Before, Begins, Before, Ends]),
            ("b-crash", "n1", &[Begins, Ends]),
            ("c-crash", "resource", &[Begins, Ends]),
            ("d-cut", "c2", &[Begins, Ends]),
            ("d-cut", "resource", &[Begins, Ends]),
        ],
    );
}

#[test]
fn fault_at_a_failpoint_begins_when_the_client_reaches_it() {
    check(
        r#"
        [fault.at-once]
        kind = "pause"
        on = ["c2", "n1"]
        after = "c2 acquired"
        duration_ms = 100
        [fault.later]
        kind = "kill"
        on = "c2"
        after = "c2 read"
        delay_ms = 200
        duration_ms = 50
        [fault.never]
        kind = "pause"
        on = "c2"
        after = "c2 acquiring #1000000"
        "#,
        &[
            ("at-once", "c2", &[Begins, Ends]),
            ("at-once", "n1", &[Begins, Ends]),
            ("later", "c2", &[Begins, Ends]),
            ("never", "c2", &[Missed]),
        ],
    );
}

#[test]
fn pauses_overlap_and_one_without_end_lasts_to_the_horizon() {
    check(
        r#"
        [fault.first]
        kind = "pause"
        on = "c2"
        at_ms = 200
        duration_ms = 300
        [fault.second]
        kind = "pause"
        on = "c2"
        at_ms = 300
        duration_ms = 100
        [fault.whole]
        kind = "pause"
        on = "n1"
        at_ms = 600
        "#,
        &[
            ("first", "c2", &[Begins, Ends]),
            ("second", "c2", &[Begins, Ends]),
            ("whole", "n1", &[Begins]),
        ],
    );
}

#[test]
fn faults_of_links_begin_and_end() {
    check(
        r#"
        [fault.cut]
        kind = "partition"
        from = "c2"
        to = "n1"
        at_ms = 300
        duration_ms = 100
        [fault.lossy]
        kind = "loss"
        from = ["c1", "c2"]
        to = "n1"
        probability = 0.5
        at_ms = 250
        duration_ms = 100
        [fault.slow]
        kind = "slow-link"
        from = "c2"
        to = "resource"
        extra_ms = 10
        at_ms = 200
        "#,
        &[
            ("cut", "c2", &[Begins, Ends]),
            ("cut", "n1", &[Begins, Ends]),
            ("lossy", "c1", &[Begins, Ends]),
            ("lossy", "c2", &[Begins, Ends]),
            ("lossy", "n1", &[Begins, Ends]),
            ("slow", "c2", &[Begins]),
            ("slow", "resource", &[Begins]),
        ],
    );
}

#[test]
fn clock_suspend_and_power_faults_are_recorded_the_same() {
    check(
        r#"
        [fault.rate]
        kind = "clock-rate"
        on = "c2"
        drift_ppm = 100_000
        at_ms = 200
        duration_ms = 300
        [fault.sleep]
        kind = "suspend"
        on = "c2"
        at_ms = 600
        duration_ms = 100
        [fault.power]
        kind = "crash"
        on = "n1"
        at_ms = 300
        duration_ms = 100
        [fault.step]
        kind = "clock-step"
        on = "n1"
        step_ms = 1000
        at_ms = 250
        "#,
        &[
            ("power", "n1", &[Begins, Ends]),
            ("rate", "c2", &[Before, Begins, Before, Ends]),
            ("sleep", "c2", &[Before, Begins, Before, Ends]),
            ("step", "n1", &[Before, Begins]),
        ],
    );
}

#[test]
fn an_operator_hands_the_master_over() {
    check(
        r#"
        [topology]
        replicas = 1
        [fault.by-hand]
        kind = "failover"
        on = "n1r1"
        at_ms = 300
        "#,
        &[("by-hand", "n1r1", &[Begins])],
    );
}

/// One that is refused never takes effect, and one to which the server is silent does.
#[test]
fn an_operator_enters_commands() {
    check(
        r#"
        [fault]
        flushed = { kind = "command", on = "n1", command = "SCRIPT FLUSH", after = "c1 acquired" }
        refused = { kind = "command", on = "n1", command = "SCRIPT FLUSH NOW", at_ms = 400 }
        silent = { kind = "command", on = "n1", command = "BLPOP nothing 1", at_ms = 500 }
        "#,
        &[
            ("flushed", "n1", &[Begins]),
            ("refused", "n1", &[Missed]),
            ("silent", "n1", &[Begins]),
        ],
    );
}

#[test]
fn a_reset_strikes_every_machine_and_has_no_end() {
    check(
        r#"
        [fault.firewall]
        kind = "reset"
        on = ["c1", "n1"]
        at_ms = 500
        "#,
        &[("firewall", "c1", &[Begins]), ("firewall", "n1", &[Begins])],
    );
}

#[test]
fn a_stall_strikes_clients_and_servers() {
    check(
        r#"
        [fault.hangs]
        kind = "stall"
        on = ["c2", "n1"]
        at_ms = 500
        duration_ms = 100
        "#,
        &[
            ("hangs", "c2", &[Begins, Ends]),
            ("hangs", "n1", &[Begins, Ends]),
        ],
    );
}

/// c1 stands still for two leases. Its watchdog keeps the lock for it, unless it stands still too.
#[test]
fn a_stalled_client_keeps_the_lock_that_another_task_renews() {
    for (kind, keeps) in [("stall", true), ("pause", false)] {
        let scenario = format!(
            "title = 'stands still'
             horizon_ms = 6000
             lock = {{ name = 'redisson', watchdog_ms = 900 }}
             workload = {{ hold_ms = 100, client = {{ c2 = {{ start_ms = 300 }} }} }}
             fault = {{ hangs = {{ kind = '{kind}', on = 'c1', after = 'c1 read', duration_ms = 1800 }} }}"
        );
        for (environment, history) in histories(&scenario) {
            let records = history.records.iter();
            let mut ends = records.skip_while(|it| !matches!(it.event, Event::BeliefEnds { .. }));
            let first = ends.next().expect("a client released the lock");
            assert_eq!(&*first.host == "c1", keeps, "{kind}, {environment:?}");
            assert!(!keeps || first.at_ns > 1_800_000_000, "{environment:?}");
        }
    }
}

/// What came of a client's first call of this kind; none if it did not end.
fn first(history: &History, client: &str, called: Op) -> Option<Outcome> {
    history
        .records
        .iter()
        .find_map(|record| match record.event {
            Event::Complete { op, outcome, .. } if op == called && &*record.host == client => {
                Some(outcome)
            }
            _ => None,
        })
}

/// What is sent to a machine without power, or over a link that is cut, is lost without an answer.
#[test]
fn what_is_cut_off_is_reached_again_when_the_fault_is_over() {
    let acquires = |fault: &str| {
        let scenario = format!(
            "title = 'cut off'
             horizon_ms = 3000
             lock = {{ name = 'set-nx-px', ttl_ms = 3000, retry_delay_ms = 10 }}
             workload = {{ client = {{ c1 = {{ start_ms = 1000 }}, c2 = {{ start_ms = 3000 }} }} }}
             fault = {{ cut-off = {{ {fault}, at_ms = 100 }} }}"
        );
        histories(&scenario).map(|(_, history)| first(&history, "c1", Op::Acquire))
    };
    for fault in [
        "kind = 'crash', on = 'n1'",
        "kind = 'partition', from = 'c1', to = 'n1'",
    ] {
        let briefly = format!("{fault}, duration_ms = 100");
        assert_eq!(acquires(&briefly), [Some(Outcome::Ok); 2], "{briefly}");
        assert_eq!(acquires(fault), [None; 2], "{fault}");
    }
}

/// A client that does not reconnect by itself cannot release what it holds.
#[test]
fn a_reset_breaks_the_connections_of_its_host_and_no_others() {
    let release = |struck: &str| {
        let faults = format!(
            "client = {{ resend = 0, on_close = \"fail\" }}\nfault = {{ firewall = {{ kind = \"reset\", on = \
             \"{struck}\", at_ms = 500 }} }}\n"
        );
        histories(&format!("{faults}{CLIENTS}")).map(|(_, history)| {
            first(&history, "c2", Op::Release).expect("it tries") == Outcome::Ok
        })
    };
    assert_eq!(release("c2"), [false, false]);
    assert_eq!(release("n1"), [false, false]);
    assert_eq!(release("resource"), [true, true]);
}

/// c1's lock is nowhere but in memory when it is granted. Nobody can release it, nor take it until there is room.
#[test]
fn a_full_disk_refuses_what_comes_after_it_was_noticed() {
    let scenario = r#"
        title = "a full disk"
        horizon_ms = 5000
        node = { persistence = "aof-everysec" }
        lock = { name = "set-nx-px", ttl_ms = 800, retry_delay_ms = 10 }
        workload = { client = { c1 = { start_ms = 300 }, c2 = { start_ms = 600 } } }
        fault = { disk = { kind = "disk-full", on = "n1", at_ms = 100, duration_ms = 1900 } }
    "#;
    for (environment, history) in histories(scenario) {
        let outcome = |client, op| first(&history, client, op);
        assert_eq!(
            outcome("c1", Op::Acquire),
            Some(Outcome::Ok),
            "{environment:?}"
        );
        let released = outcome("c1", Op::Release);
        assert!(
            released.is_some_and(|it| it != Outcome::Ok),
            "{environment:?}: {released:?}"
        );
        let taken = { history.records.iter() }
            .find(|it| *it.host == *"c2" && matches!(it.event, Event::BeliefBegins { .. }));
        let taken_ms = taken.expect("there is room").at_ns / 1_000_000;
        assert!(
            (2000..2600).contains(&taken_ms),
            "{environment:?}: {taken_ms}"
        );
    }
}

#[test]
fn both_injectors_are_compared_on_every_kind_of_fault() {
    let this = include_str!("injectors.rs");
    for kind in FaultKind::ALL {
        let name = kind.name();
        let is_compared = this.contains(&format!("kind = \"{name}\""));
        assert!(is_compared, "no test above has a fault of kind {name}");
    }
}

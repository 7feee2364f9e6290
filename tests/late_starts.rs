//! On real Redis: a run in which a process begins seconds late is discarded and counted. A fault may strike a process
//! before it is known that it was ready.
#![cfg(target_os = "linux")]

use std::error::Error;
use std::fs;
use std::path::{Path, PathBuf};

use locklab_history::{Event, Phase, Record, Schedule};
use locklab_model::fault::expand;
use locklab_model::scenario::{Scenario, parse};
use locklab_real::series::{LONGEST_STALL_NS, attempt};
use locklab_real::{Clients, Program, Programs, RealRedis};
use locklab_runner::backend::Backend;
use locklab_runner::simulate::Keep;
use locklab_testing::program;
use locklab_values::units::NS_PER_S;

/// One client, which holds the lock until a late node is back, and a node that is killed and starts again.
const SCENARIO: &str = r#"
    title = "a restart"
    horizon_ms = 4000
    topology = { nodes = 1, clients = 1 }
    lock = { name = "set-nx-px", ttl_ms = 3000, retry_delay_ms = 10 }
    workload = { hold_ms = 2600 }
    [fault.restart]
    kind = "kill"
    on = "n1"
    at_ms = 100
    duration_ms = 100
"#;

/// Executes Redis; two seconds late from the second start on.
const LATE_SERVER: &str = r#"
    case "$1" in --version) exec "$REDIS" "$@" ;; esac
    if [ -e "$FOLDER/started" ]; then sleep 2; fi
    : > "$FOLDER/started"
    exec "$REDIS" "$@"
"#;

/// Executes Redis. That the second one is ready is read a second late, from another group, which is not struck. A server
/// whose output ends is taken for dead.
const QUIET_SERVER: &str = r#"
    case "$1" in --version) exec "$REDIS" "$@" ;; esac
    echo >> "$FOLDER/starts"
    if [ "$(wc -l < "$FOLDER/starts")" != 2 ]; then exec "$REDIS" "$@"; fi
    setsid sh -c 'sleep 1; echo Ready to accept connections' &
    exec "$REDIS" "$@" 5>&1 > /dev/null
"#;

/// Executes Locklab. What it tells a client after the job, which is when to begin, is two seconds late.
const LATE_CLIENT: &str = r#"
    pass() {
        IFS= read -r job && printf '%s\n' "$job"
        case "$job" in *'"client":'*) IFS= read -r begin && sleep 2 && printf '%s\n' "$begin" ;; esac
        cat
    }
    exec 3<&0
    exec "$LOCKLAB" "$@" < <(pass <&3)
"#;

/// A folder for a test, with its programs. Dropping it removes it.
struct Folder(PathBuf);

impl Folder {
    fn new(test: &str) -> Self {
        let name = format!("late-{test}-{}", std::process::id());
        let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
        fs::create_dir_all(&folder).expect("a folder for the test");
        Self(folder)
    }

    /// A program that executes this script of bash.
    fn script(&self, script: &str) -> PathBuf {
        let path = self.0.join("program");
        let variables = format!(
            "REDIS={}\nLOCKLAB={}\nFOLDER={}\n",
            program().display(),
            env!("CARGO_BIN_EXE_locklab"),
            self.0.display()
        );
        locklab_testing::script(&path, &format!("#!/bin/bash\n{variables}{script}"));
        path
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

fn backend(change: impl FnOnce(&mut Programs)) -> RealRedis {
    let mut programs = Programs {
        locklab: env!("CARGO_BIN_EXE_locklab").into(),
        ..Programs::find().expect("this program has a path")
    };
    change(&mut programs);
    RealRedis::new(programs)
}

fn scenario(sets: &[String]) -> (Scenario, Schedule) {
    let scenario = parse("t.toml", SCENARIO, sets).expect("a sound scenario");
    let schedule = expand(&scenario.fault, 1);
    (scenario, schedule)
}

/// In each run a process has to begin late: otherwise a run could be discarded because the machine stalled.
#[track_caller]
fn is_discarded(backend: &RealRedis, sets: &[String]) {
    let (scenario, schedule) = scenario(sets);
    let run = || {
        let run = backend.run(&scenario, 1, &schedule, Keep::default())?;
        let lateness = run.lateness;
        assert!(lateness.start_ns > LONGEST_STALL_NS, "{lateness:?}");
        Ok::<_, Box<dyn Error + Send + Sync>>(run)
    };
    let attempt = attempt(run, LONGEST_STALL_NS);
    let attempt = attempt.expect("the runs end");
    assert!(attempt.run.is_none());
    assert_eq!(attempt.discarded, 3);
}

#[test]
fn a_run_whose_server_restarts_late_is_discarded() {
    let folder = Folder::new("server");
    let late = folder.script(LATE_SERVER);
    is_discarded(&backend(|programs| programs.redis_server = late), &[]);
}

#[test]
fn a_run_that_ends_while_its_server_is_late_is_discarded() {
    let folder = Folder::new("end");
    let late = folder.script(LATE_SERVER);
    let short = ["workload.hold_ms=600".to_owned()];
    is_discarded(&backend(|programs| programs.redis_server = late), &short);
}

#[test]
fn a_run_whose_client_begins_late_is_discarded() {
    let folder = Folder::new("client");
    let late = folder.script(LATE_CLIENT);
    is_discarded(&backend(|programs| programs.locklab = late), &[]);
}

#[test]
fn a_run_of_another_program_counts_however_late_its_server_restarts() {
    let folder = Folder::new("foreign");
    let late = folder.script(LATE_SERVER);
    let script = r#"echo '{"locklab":"acquired"}' >&"$LOCKLAB_FD"; sleep 3"#;
    let real = RealRedis {
        clients: Clients::Foreign(Program {
            name: "/bin/bash".into(),
            arguments: vec!["-c".into(), script.into()],
            key: None,
        }),
        ..backend(|programs| programs.redis_server = late)
    };
    let (scenario, schedule) = scenario(&[]);
    let run = real.run(&scenario, 1, &schedule, Keep::default());
    let run = run.expect("it ends");
    // The server is two seconds late; its client may be a little.
    assert!(run.lateness.start_ns < NS_PER_S, "{:?}", run.lateness);
    let is_end = |record: &&Record| {
        matches!(
            &record.event,
            Event::Fault {
                phase: Phase::Ends,
                ..
            }
        )
    };
    let end = run.history.records.iter().find(is_end);
    assert!(end.expect("it is back").at_ns > 2 * NS_PER_S);
}

/// It is dead, or stands still.
#[test]
fn a_server_that_was_struck_before_it_was_known_to_be_ready_is_asked_nothing() {
    // Of a server that is killed anew, the first restart does not end.
    for (kind, expected) in [("kill", (3, 1)), ("pause", (2, 2))] {
        let folder = Folder::new(kind);
        let quiet = folder.script(QUIET_SERVER);
        let second = format!(
            "fault.second={{ kind = '{kind}', on = 'n1', at_ms = 600, duration_ms = 1000 }}"
        );
        let (scenario, schedule) = scenario(&[second]);
        let keep = Keep {
            contents: true,
            ..Keep::default()
        };
        let backend = backend(|programs| programs.redis_server = quiet);
        let run = backend.run(&scenario, 1, &schedule, keep);
        let records = run.expect("it ends").history.records;
        let ends = records.iter().filter(|it| {
            let is_end = matches!(
                &it.event,
                Event::Fault {
                    phase: Phase::Ends,
                    ..
                }
            );
            is_end && *it.host == *"n1"
        });
        let starts = fs::read_to_string(folder.0.join("starts")).expect("it was started");
        assert_eq!((starts.lines().count(), ends.count()), expected, "{kind}");
    }
}

/// On a machine that is so busy that a start takes 1.1 s, this fails rightly.
#[test]
fn a_prompt_start_is_not_late() {
    // A node that waits before it starts again, when the run ends.
    let waits = ["fault.restart.at_ms=2000", "node.restart_delay_ms=1500"].map(str::to_owned);
    for sets in [&[][..], &waits] {
        let (scenario, schedule) = scenario(sets);
        let run = backend(|_| {}).run(&scenario, 1, &schedule, Keep::default());
        let lateness = run.expect("it ends").lateness;
        assert!(lateness.start_ns < NS_PER_S, "{sets:?}: {lateness:?}");
    }
}

//! `locklab score` on real servers: each experiment tells a lock that does a thing well from one that does it badly.

mod skeletons;

use std::fs;
use std::num::NonZero;
use std::path::PathBuf;
use std::process::Command;
use std::thread::available_parallelism;

use locklab_real::Programs;
use locklab_real::score::{Drill, Drilled, Experiment, OwnLock, Verdict, calls, experiments, play};
use locklab_testing::{at_once, program, server};

/// A lock that does everything well, or one thing badly.
const WITNESS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/score/witness.py");

fn programs() -> Programs {
    Programs {
        locklab: PathBuf::from(env!("CARGO_BIN_EXE_locklab")),
        redis_server: program().into(),
        ..Programs::find().expect("this program has a path")
    }
}

/// The witness, wrong where this experiment looks.
fn witness(wrong: Option<&str>) -> Drill {
    let arguments = [WITNESS].into_iter().chain(wrong);
    Drill {
        is: Drilled::Program {
            name: "python3".into(),
            arguments: arguments.map(str::to_owned).collect(),
        },
        lease_ms: 2000,
    }
}

/// Most of a play is waiting, and other tests wait beside these.
fn threads() -> usize {
    2 * available_parallelism().map_or(1, NonZero::get)
}

#[test]
fn each_experiment_tells_a_good_lock_from_a_bad_one() {
    server();
    let programs = programs();
    let can = calls(&programs, &witness(None)).expect("servers start");
    let jobs: Vec<(&Experiment, bool)> = { experiments().iter() }
        .flat_map(|experiment| [(experiment, true), (experiment, false)])
        .collect();
    let failed: Vec<String> = at_once(threads(), &jobs, |(experiment, is_good)| {
        let drill = witness((!is_good).then_some(&*experiment.id));
        let played = play(&programs, &drill, &can, experiment).expect("servers start");
        let good = match &played.verdict {
            Verdict::Is { good, .. } => *good != Some(false),
            other => panic!("{}: {other:?}, {:?}", experiment.id, played.facts),
        };
        (good != *is_good).then(|| {
            let facts = serde_json::to_string(&played.facts).expect("they have names");
            format!("{}, {is_good}: {:?} {facts}", experiment.id, played.verdict)
        })
    })
    .into_iter()
    .flatten()
    .collect();
    assert!(failed.is_empty(), "{}", failed.join("\n"));
}

#[test]
fn experiments_have_names_of_their_own_and_say_why() {
    let mut ids: Vec<&str> = experiments().iter().map(|it| &*it.id).collect();
    ids.sort_unstable();
    let all = ids.len();
    ids.dedup();
    assert_eq!(ids.len(), all);
    for experiment in experiments() {
        assert!(experiment.asks.ends_with('?'), "{}", experiment.id);
        assert!(experiment.why.ends_with('.'), "{}", experiment.id);
        for plan in &experiment.plans {
            let last = plan.verdicts.last().map(|rule| rule.when.is_empty());
            assert_eq!(
                last,
                Some(true),
                "{}: whatever is seen has a verdict",
                experiment.id
            );
        }
    }
}

/// What `locklab score` says of the witness: its exit code and its output.
fn score(options: &[&str], wrong: &[&str]) -> (Option<i32>, String) {
    let mut command = Command::new(env!("CARGO_BIN_EXE_locklab"));
    command.args(["score", "--times", "1"]).args(options);
    command.args(["--", "python3", WITNESS]);
    let output = command.args(wrong).output().expect("it starts");
    let said = [output.stdout, output.stderr].concat();
    (
        output.status.code(),
        String::from_utf8_lossy(&said).into_owned(),
    )
}

#[test]
fn a_must_that_is_not_kept_is_an_exit_code_and_a_red_badge() {
    server();
    let file = std::env::temp_dir().join(format!("locklab-badge-{}", std::process::id()));
    let options = ["O1", "O4", "A3", "--badge", &file.to_string_lossy()];
    for (wrong, expected, badge) in [
        (
            &[][..],
            0,
            r#""brightgreen","label":"redis lock","message":"2 of 2 musts""#,
        ),
        (
            &["O1"],
            2,
            r#""red","label":"redis lock","message":"1 of 2 musts""#,
        ),
    ] {
        let (code, said) = score(&options, wrong);
        assert_eq!(code, Some(expected), "{said}");
        let written = fs::read_to_string(&file).expect("it is written");
        fs::remove_file(&file).expect("it was written");
        assert!(written.contains(badge), "{written}");
    }
    // A fact is not.
    let (code, said) = score(&["A3"], &["A3"]);
    assert_eq!(code, Some(0), "{said}");
    let (code, said) = score(&["O9"], &[]);
    assert_eq!(code, Some(1), "{said}");
    assert!(said.contains("no experiment is called O9"), "{said}");
}

#[test]
fn a_drill_that_cannot_start_is_an_error_that_says_what_to_look_at() {
    server();
    let mut command = Command::new(env!("CARGO_BIN_EXE_locklab"));
    command.args(["score", "O1", "--times", "1", "--", "false"]);
    let output = command.output().expect("it starts");
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(1), "{said}");
    assert!(
        said.contains("ended before it wrote its first line"),
        "{said}"
    );
}

/// The numbers of the processes with this word on their command line.
fn running(word: &str) -> Vec<String> {
    let processes = fs::read_dir("/proc").expect("Linux has it").flatten();
    let has_word = |it: &fs::DirEntry| {
        let line = fs::read(it.path().join("cmdline")).unwrap_or_default();
        line.windows(word.len()).any(|part| part == word.as_bytes())
    };
    let meant = processes.filter(has_word);
    meant
        .filter_map(|it| it.file_name().into_string().ok())
        .collect()
}

#[test]
fn what_a_drill_has_started_ends_with_it() {
    server();
    // Longer than a play, with a number of its own, in a session of its own.
    let asleep = format!("600.{}", std::process::id());
    let starts = format!(
        "import os, subprocess, sys\n\
         subprocess.Popen(['sleep', '{asleep}'], start_new_session=True)\n\
         os.execv(sys.executable, [sys.executable, '{WITNESS}'])"
    );
    let drill = Drill {
        is: Drilled::Program {
            name: "python3".into(),
            arguments: vec!["-c".into(), starts],
        },
        lease_ms: 2000,
    };
    calls(&programs(), &drill).expect("it starts");
    let left = running(&asleep);
    for process in &left {
        // Not even a test that fails leaves it.
        let _ = Command::new("kill").arg(process).status();
    }
    assert_eq!(left, Vec::<String>::new());
}

#[test]
fn a_lock_of_the_catalogue_is_examined_as_libraries_are() {
    server();
    let programs = programs();
    let lock = |release: &str| {
        let spec = format!("{{\"name\":\"set-nx-px\",\"ttl_ms\":2000,\"release\":\"{release}\"}}");
        Drill {
            is: Drilled::Lock(
                OwnLock::of(serde_json::from_str(&spec).expect("a table")).expect("a lock"),
            ),
            lease_ms: 2000,
        }
    };
    let owners = experiments().iter().find(|it| it.id == "O1");
    let owners = owners.expect("it is there");
    for (release, expected) in [("compare-del", true), ("del", false)] {
        let lock = lock(release);
        let can = calls(&programs, &lock).expect("servers start");
        let played = play(&programs, &lock, &can, owners).expect("servers start");
        let Verdict::Is { good, .. } = played.verdict else {
            panic!("{:?}", played.verdict)
        };
        assert_eq!(good, Some(expected), "{release}");
    }
}

//! Programs that lie, flood, die, hang, or leave others behind.

use std::fs;
use std::path::Path;

use locklab_check::Verdict;
use locklab_history::Event;
use locklab_real::ConfirmError;
use locklab_testing::until;

use crate::bench::{attack, judged, run, try_run};

#[test]
fn a_run_with_hostile_programs_ends_with_words_and_leaves_nothing_behind() {
    let file = std::env::temp_dir().join(format!("locklab-attack-{}", std::process::id()));
    let script = format!(
        r#"
        case "$LOCKLAB_HOST" in
            c1) tell released; tell releasing; tell grabbed; echo '{{"locklab"'; echo {{}}; sleep 100 ;;
            c2) exec yes "$(printf '%01000d' 0)" ;;
            c3) tell acquired; head -c 100000 /dev/urandom; echo 'the end' >&2; kill -9 $$ ;;
            c4) setsid sh -c 'echo $$ > {file}; sleep 100' & tell acquired; exit ;;
            c5) address="${{LOCKLAB_RESOURCE#redis://}}"
                exec 9<>"/dev/tcp/${{address%:*}}/${{address#*:}}"
                for ((i = 0; i < 5000; i++)); do printf '*2\r\n$3\r\nGET\r\n$1\r\nk\r\n'; done >&9; sleep 100 ;;
            c6) address="${{LOCKLAB_RESOURCE#redis://}}"
                exec 9<>"/dev/tcp/${{address%:*}}/${{address#*:}}"
                head -c 100000 /dev/urandom >&9; tell lost; tell acquired '"ttl_ms":-1'; sleep 100 ;;
        esac
        "#,
        file = file.display()
    );
    let Some(run) = run(6, "horizon_ms = 2500", &script) else {
        return;
    };
    let notes = run.notes.join("\n");
    for expected in [
        "c1 told \"released\" without a lock",
        "c1 told \"releasing\" without a lock",
        "c1 told what is not in the protocol: unknown variant `grabbed`",
        "the process of `c2` ended by itself",
        "it wrote more than 16 MB, and was ended",
        "the process of `c3` ended by itself (signal: 9 (SIGKILL)); the end of its output: ",
    ] {
        assert!(notes.contains(expected), "{expected:?} is not in\n{notes}");
    }
    let believers = run.history.records.iter();
    let believers = believers.filter(|it| matches!(it.event, Event::BeliefBegins { .. }));
    let believers: Vec<&str> = believers.map(|record| &*record.host).collect();
    assert_eq!(believers.len(), 3, "{believers:?}");
    let number = fs::read_to_string(&file).expect("it was written");
    fs::remove_file(&file).expect("it is there");
    until(
        || match fs::read_to_string(format!("/proc/{}/stat", number.trim())) {
            Ok(stat) if !stat.contains(") Z ") => Err(stat),
            _ => Ok(()),
        },
    );
}

/// What programs do without end is kept up to a bound. The run ends there, says how much it dropped, and holds nothing
/// for shown.
#[test]
fn a_run_that_is_full_ends_and_shows_no_property_to_hold() {
    const FLOODS: [(&str, &str); 3] = [
        (
            "lines that the programs told",
            r#"exec yes '{"locklab":"acquiring"}'"#,
        ),
        (
            "accesses to the resource",
            r#"tell acquired; address="${LOCKLAB_RESOURCE#redis://}"; request='GET k'"#,
        ),
        (
            "commands at the servers",
            r#"tell acquired; address="${REDIS_URL#redis://}"; request='GET k'"#,
        ),
    ];
    const FLOOD: &str = r#"
        exec 9<>"/dev/tcp/${address%:*}/${address#*:}"
        cat <&9 > /dev/null &
        exec yes $'*2\r\n$3\r\nGET\r\n$1\r\nk\r' >&9
    "#;
    for (what, script) in FLOODS {
        let Some(run) = run(1, "horizon_ms = 60000", &format!("{script}{FLOOD}")) else {
            return;
        };
        let notes = run.notes.join("\n");
        assert!(notes.contains(&format!(" {what}, and ")), "{notes}");
        assert!(run.full_ns.is_some_and(|at_ns| at_ns < 60_000_000_000));
        assert_eq!(run.history.end_ns, run.full_ns.unwrap_or_default());
        assert!(run.history.records.len() < 300_000, "{what}");
        let verdicts = judged(1, "horizon_ms = 60000", run).verdicts;
        for (property, verdict) in verdicts {
            let Verdict::Inconclusive { why } = verdict else {
                panic!("{what}: {property:?} is {verdict:?}");
            };
            assert!(why.contains("dropped"), "{what}: {property:?}: {why}");
        }
    }
}

/// It has another parent, group, session and environment than its program, and so has its own child. Two runs end at
/// about the same time, and nobody can tell whose it is.
#[test]
fn a_process_that_hides_from_its_run_does_not_outlive_it() {
    let file = std::env::temp_dir().join(format!("locklab-hidden-{}", std::process::id()));
    // What survives, by a mistake, is gone soon.
    let seconds = format!("100.{}", std::process::id());
    let script = format!(
        r#"
        sleeps='sleep {seconds}; true'
        hides="(env -i setsid /bin/sh -c '$sleeps' &) ; echo hidden >> {file}; $sleeps"
        (env -i setsid /bin/sh -c "(env -i setsid /bin/sh -c \"$hides\" &)" &)
        tell acquired
        sleep 0.5
        "#,
        file = file.display()
    );
    let two = ["--seeds", "0..2", "--at-once", "8"];
    let options = ["--scenario", "attack/pause", "--set", "horizon_ms=1500"];
    let options = [options, two].concat();
    if attack("hidden", &options, &script).is_none() {
        return;
    }
    let written = fs::read_to_string(&file).expect("it was started");
    fs::remove_file(&file).expect("it is there");
    assert!(written.starts_with("hidden"), "{written}");
    until(|| {
        let processes = fs::read_dir("/proc").expect("this is Linux").flatten();
        let lines = processes.filter_map(|it| fs::read(it.path().join("cmdline")).ok());
        let lines = lines.map(|line| String::from_utf8_lossy(&line).into_owned());
        let left: Vec<String> = lines.filter(|line| line.contains(&seconds)).collect();
        match left.is_empty() {
            true => Ok(()),
            false => Err(format!("{left:?}")),
        }
    });
}

#[test]
fn a_command_says_that_its_run_was_full() {
    let script = r#"exec yes '{"locklab":"acquiring"}'"#;
    let Some((exit, said)) = attack("full", &["--scenario", "attack/pause"], script) else {
        return;
    };
    assert!(said.contains("lines that the programs told, and"), "{said}");
    assert!(!said.contains("does not use the resource"), "{said}");
    assert_eq!(exit, Some(3), "{said}");
}

#[test]
fn a_program_that_says_nothing_is_an_error_with_its_last_words() {
    let Some(run) = try_run(1, "horizon_ms = 2000", "echo no such module >&2; exit 3") else {
        return;
    };
    let error = run.map(drop).unwrap_err();
    assert!(matches!(error, ConfirmError::Mute { .. }), "{error:?}");
    let told = error.to_string();
    assert!(
        told.contains("(exit status: 3); the end of its output: no such module"),
        "{told}"
    );
    assert!(told.contains("docs/attack.md"), "{told}");
}

/// The last run that is under way ends whatever is nobody's. A run that begins meanwhile asks its server for its version.
#[test]
fn a_run_that_ends_does_not_end_what_the_next_one_has_started() {
    let server = Path::new(env!("CARGO_TARGET_TMPDIR")).join("a-slow-server");
    let program = locklab_testing::program();
    let slow = format!(
        "#!/bin/sh\n[ \"$1\" != --version ] || sleep 0.3\nexec {} \"$@\"\n",
        program.to_string_lossy()
    );
    locklab_testing::script(&server, &slow);
    let server = server.to_string_lossy();
    // Two runs begin, and end at the same time; so two more begin, and so on.
    let six = ["--seeds", "0..6", "--at-once", "8", "--server", &server];
    let options = ["--scenario", "attack/pause", "--set", "horizon_ms=1200"];
    let options = [&options[..], &six].concat();
    let Some((exit, said)) = attack("begins-meanwhile", &options, "tell acquired; sleep 5") else {
        return;
    };
    assert!(
        !said.contains("does not look like a Redis server"),
        "{said}"
    );
    assert_ne!(exit, Some(1), "{said}");
}

/// Runs that show nothing are left out, and the others count. If all of the first show nothing, the command ends.
#[test]
fn a_run_that_shows_nothing_does_not_end_the_others() {
    let script = "[ $LOCKLAB_SEED = 1 ] || tell acquired; sleep 5";
    let options = ["--scenario", "attack/pause", "--set", "horizon_ms=1500"];
    let three = [&options[..], &["--seeds", "0..3"]].concat();
    let Some((exit, said)) = attack("some-mute", &three, script) else {
        return;
    };
    assert!(
        said.contains("not judged, with seed 1: the program"),
        "{said}"
    );
    assert_ne!(exit, Some(1), "{said}");
    let six = [&options[..], &["--seeds", "0..6", "--at-once", "3"]].concat();
    let Some((exit, said)) = attack("all-mute", &six, "sleep 5") else {
        return;
    };
    assert!(
        said.contains("the program neither used LOCKLAB_RESOURCE"),
        "{said}"
    );
    assert_eq!(exit, Some(1), "{said}");
}

//! Programs that speak to their node over TLS: they are judged by what they tell, and nothing is said of the rest.

use crate::bench::attack_that_counts;
use crate::verdicts::LANGUAGES;

/// What an attack over TLS says of a program of `worker.py`, and its exit code.
fn told(out: &str, program: &str, sets: &[&str]) -> Option<(Option<i32>, String)> {
    let command = LANGUAGES[0].command()?;
    let sets = sets.iter().flat_map(|set| ["--set", set]);
    let options: Vec<&str> = ["--tls", "--scenario", "attack/pause"]
        .into_iter()
        .chain(sets)
        .collect();
    attack_that_counts(
        &format!("tls-{out}"),
        &options,
        &format!("{command} {program}"),
    )
}

#[test]
fn a_broken_lock_is_found_over_tls_and_a_correct_one_is_not_blamed() {
    let room = ["horizon_ms=7000", "topology.clients=4"];
    std::thread::scope(|scope| {
        for (program, is_broken) in [("set-without-nx", true), ("compares", false)] {
            scope.spawn(move || {
                if let Some((code, told)) = told(program, program, &room) {
                    assert_eq!(code == Some(2), is_broken, "{program}: {told}");
                    assert!(
                        matches!(code, Some(0 | 2 | 3)),
                        "{program}: {code:?} {told}"
                    );
                    // It stood still when it had said that it has the lock.
                    assert!(!told.contains("never took effect"), "{program}: {told}");
                }
            });
        }
    });
}

/// A client whose clock is behind still takes the certificate, which is older than the run.
#[test]
fn a_clock_that_is_an_hour_behind_is_no_obstacle() {
    let behind = "clocks.host.c1.offset_ms=-3600000";
    if let Some((_, told)) = told("behind", "compares", &[behind]) {
        assert!(!told.contains("never took effect"), "{told}");
    }
}

#[test]
fn of_a_program_that_tells_nothing_nothing_is_said_over_tls() {
    if let Some((code, told)) = told("silent", "silent", &[]) {
        assert_eq!(code, Some(1), "{told}");
        assert!(told.contains("encrypted"), "{told}");
    }
}

#[test]
fn a_fault_cannot_wait_for_what_is_encrypted() {
    if let Some((code, told)) = told("step", "compares", &["fault.pause.after=c1 SET"]) {
        assert_eq!(code, Some(1), "{told}");
        assert!(told.contains("nobody sees which request passes"), "{told}");
    }
}

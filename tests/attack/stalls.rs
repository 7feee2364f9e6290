//! One thread of a program stands still, and its others run.

use crate::bench::attack_that_counts;
use crate::verdicts::LANGUAGES;

/// What is told of a client that does not go on until another has been granted its lock.
const LOST: &str = "a holder lost its lock to another: once";

/// What an attack on a worker in a language says, if that is there: c1 stands still for two and a half leases when it
/// has the lock.
fn told(language: &str, program: &str, kind: &str) -> Option<String> {
    let mut languages = LANGUAGES.iter();
    let command = languages.find(|it| it.name == language)?.command()?;
    let sets = [
        "topology.clients=4",
        "horizon_ms=7000",
        &format!("fault.pause.kind='{kind}'"),
    ];
    let sets = sets.iter().flat_map(|set| ["--set", set]);
    let options: Vec<&str> = ["--scenario", "attack/pause"]
        .into_iter()
        .chain(sets)
        .collect();
    let out = format!("stall-{language}-{program}-{kind}");
    let (_, told) = attack_that_counts(&out, &options, &format!("{command} {program}"))?;
    Some(told)
}

/// The thread that uses the lock, whichever that is in a program of this language.
#[test]
fn a_stalled_thread_loses_its_lock() {
    std::thread::scope(|scope| {
        for language in ["python", "javascript", "java"] {
            scope.spawn(move || {
                if let Some(told) = told(language, "compares", "stall") {
                    assert!(told.contains(LOST), "{told}");
                }
            });
        }
    });
}

#[test]
fn a_lock_is_kept_by_another_thread_while_its_holder_is_stalled() {
    for (kind, lost) in [("stall", false), ("pause", true)] {
        if let Some(told) = told("python", "renews-in-a-thread", kind) {
            assert_eq!(told.contains(LOST), lost, "{kind}: {told}");
        }
    }
}

#[test]
fn threads_of_a_program_without_the_library_cannot_be_stalled() {
    if let Some(told) = told("go", "compares", "stall") {
        assert!(
            told.contains("fault `pause` (stall) cannot reach `c1`"),
            "{told}"
        );
    }
}

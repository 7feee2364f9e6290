//! Locks that are renewed by who does not have them.

use crate::bench::{LOCK, attack_that_counts, run};
use crate::verdicts::LANGUAGES;

#[test]
fn a_renewal_of_what_is_not_its_own_is_told() {
    let Some(command) = LANGUAGES[0].command() else {
        return;
    };
    let scenario = [
        "--scenario",
        "attack/pause",
        "--set",
        "fault.pause.duration_ms=300",
    ];
    let script = |program: &str| format!("{command} {program}");
    std::thread::scope(|scope| {
        for (program, expected) in [
            ("renews-any", Some("held (PEXPIRE)")),
            ("silent-renews-any", Some("held (PEXPIRE)")),
            (
                "renews-after-release",
                Some("after it had told that it released it (SET)"),
            ),
            ("renews-in-a-thread", None),
        ] {
            let script = script(program);
            scope.spawn(move || {
                let out = format!("renewal-{program}");
                let (code, told) =
                    attack_that_counts(&out, &scenario, &script).expect("there is a shell");
                let words = told.split_whitespace().collect::<Vec<_>>().join(" ");
                match expected {
                    Some(expected) => {
                        assert!(
                            words.contains("renewal ✗: c") && words.contains(expected),
                            "{program}: {told}"
                        );
                        assert_eq!(code, Some(2), "{program}: {told}");
                    }
                    None => assert!(!told.contains("renewal ✗"), "{program}: {told}"),
                }
            });
        }
    });
}

/// What a node came back with is not known, so neither is whose lock was renewed.
#[test]
fn a_run_that_cannot_judge_renewals_says_so() {
    let restarted = "horizon_ms = 2500
         node.persistence = 'aof-always'
         [fault.restart]
         kind = 'kill'
         on = 'n1'
         at_ms = 800
         duration_ms = 300";
    for (scenario, is_noted) in [(restarted, true), ("horizon_ms = 1000", false)] {
        let script = format!("{LOCK} tell acquired; while :; do take lock 500; give lock; done");
        let Some(run) = run(1, scenario, &script) else {
            return;
        };
        let notes = run.notes.join("\n");
        let has_note = notes.contains("renewals are not judged: ");
        assert_eq!(has_note, is_noted, "{scenario}: {notes}");
    }
}

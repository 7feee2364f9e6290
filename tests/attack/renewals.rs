//! Locks that are renewed by who does not have them.

use crate::bench::attack_that_counts;
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

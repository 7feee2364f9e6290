//! A slot of a real Redis Cluster that moves while its lock is held, and what servers answer to operators.

use crate::bench::attack_that_counts;
use crate::verdicts::LANGUAGES;

#[test]
fn a_lock_moves_with_its_slot_and_is_lost_if_its_key_stays() {
    let Some(command) = LANGUAGES[0].command() else {
        return;
    };
    let script = &format!("{command} works-long");
    let stays = ["--set", "fault.c-moves.command=\"PING\""];
    std::thread::scope(|scope| {
        for (name, sets, lost) in [("moves", &[][..], false), ("stays", &stays[..], true)] {
            scope.spawn(move || {
                let scenario = [&["--scenario", "attack/cluster-moves"], sets].concat();
                let (code, told) =
                    attack_that_counts(&format!("cluster-{name}"), &scenario, script)
                        .expect("there is a shell");
                // What an operator did is no fault of the program's.
                assert!(matches!(code, Some(0 | 3)), "{code:?}: {told}");
                assert!(!told.contains("never took effect"), "{name}: {told}");
                assert_eq!(told.contains("an operator"), lost, "{name}: {told}");
            });
        }
    });
}

#[test]
fn what_a_server_answers_to_a_command_that_it_refuses_is_told() {
    let Some(command) = LANGUAGES[0].command() else {
        return;
    };
    let refused =
        r#"fault.pause={ kind = "command", on = "n1", command = "SCRIPT FLUSH NOW", at_ms = 500 }"#;
    let options = [
        "--scenario",
        "attack/pause",
        "--set",
        refused,
        "--set",
        "horizon_ms=1500",
    ];
    let (_, told) = attack_that_counts("refused", &options, &format!("{command} plain"))
        .expect("there is a shell");
    let words = told.split_whitespace().collect::<Vec<_>>().join(" ");
    let expected = "fault pause did not strike: n1 answered: ERR SCRIPT FLUSH";
    assert!(words.contains(expected), "{told}");
}

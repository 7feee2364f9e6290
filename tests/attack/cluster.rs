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
                // The other client asked for the lock while it was held.
                let lease = told.lines().find(|line| line.starts_with("  lease "));
                let is_shown = lease.is_some_and(|line| !line.contains("all inconclusive"));
                assert!(is_shown, "{name}: {told}");
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
    for (line, answer) in [
        ("SCRIPT FLUSH NOW", "ERR SCRIPT FLUSH"),
        // The lock has another name.
        ("MIGRATE <n1> nothing 0 1000", "NOKEY"),
    ] {
        let refused = format!(
            "fault.pause={{ kind = \"command\", on = \"n1\", command = {line:?}, at_ms = 500 }}"
        );
        let scenario = ["--scenario", "attack/pause", "--set", &refused];
        let options = [&scenario[..], &["--set", "horizon_ms=1500"]].concat();
        let (_, told) = attack_that_counts("refused", &options, &format!("{command} plain"))
            .expect("there is a shell");
        let words = told.split_whitespace().collect::<Vec<_>>().join(" ");
        let expected = format!("fault pause did not strike: n1 answered: {answer}");
        assert!(words.contains(&expected), "{told}");
    }
}

//! A failover, by real sentinels, to a replica that is behind.

use crate::bench::attack_that_counts;
use crate::verdicts::LANGUAGES;

#[test]
fn a_fresh_lock_is_lost_unless_it_waited_for_the_replica() {
    let Some(command) = LANGUAGES[0].command() else {
        return;
    };
    std::thread::scope(|scope| {
        for (program, lost) in [("works-long", true), ("waits-for-a-replica", false)] {
            let script = format!("{command} {program}");
            scope.spawn(move || {
                let scenario = ["--scenario", "redis-docs/r4-fresh"];
                let (code, told) =
                    attack_that_counts(&format!("failover-{program}"), &scenario, &script)
                        .expect("there is a shell");
                // What no lock could have prevented is no fault of the program's.
                assert!(matches!(code, Some(0 | 3)), "{code:?}: {told}");
                let is_lost = told.contains("a replica became the master");
                assert_eq!(is_lost, lost, "{program}: {told}");
            });
        }
    });
}

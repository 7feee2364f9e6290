//! A failover, by real sentinels or the masters of a real cluster, to a replica that is behind.

use crate::bench::attack_that_counts;
use crate::verdicts::LANGUAGES;

#[test]
fn a_fresh_lock_is_lost_unless_it_waited_for_the_replica() {
    loses_what_has_not_waited("redis-docs/r4-fresh");
}

#[test]
fn a_fresh_lock_is_lost_in_a_cluster_whose_master_dies() {
    loses_what_has_not_waited("attack/cluster-behind");
}

#[test]
fn a_fresh_lock_is_lost_in_a_cluster_whose_master_is_cut_off() {
    loses_what_has_not_waited("attack/cluster-minority");
}

fn loses_what_has_not_waited(scenario: &str) {
    let Some(command) = LANGUAGES[0].command() else {
        return;
    };
    std::thread::scope(|scope| {
        for (program, lost) in [("works-long", true), ("waits-for-a-replica", false)] {
            let script = format!("{command} {program}");
            scope.spawn(move || {
                let folder = format!("failover-{}-{program}", scenario.replace('/', "-"));
                let (code, told) = attack_that_counts(&folder, &["--scenario", scenario], &script)
                    .expect("there is a shell");
                // What no lock could have prevented is no fault of the program's.
                assert!(matches!(code, Some(0 | 3)), "{code:?}: {told}");
                let is_lost = told.contains("a replica became the master");
                assert_eq!(is_lost, lost, "{program}: {told}");
            });
        }
    });
}

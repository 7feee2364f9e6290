//! Clocks with an offset, a wrong rate or a step, and the sleeps that follow them.

use std::time::Duration;

use locklab_world::clock::EPOCH_NS;
use locklab_world::{Config, Ending, Host, HostConfig, World};

use crate::setup::{Diary, MS, SECOND, ms};

/// Sleeps a second, twice, during `fault`, on a host whose clocks are off by `offset_ns` and drift
/// by `drift_ppm`.
#[track_caller]
fn check_sleeper(clocks: HostConfig, fault: impl FnOnce(&mut World), expected: &[&str]) {
    let mut world = World::new(Config::default(), &[clocks]);
    let host = world.hosts()[0];
    let diary = Diary::default();
    diary.start(&mut world, host, |host, diary| async move {
        for _ in 0..2 {
            host.sleep(ms(1_000)).await;
            let wall_ms = wall_ms(&host);
            let mono_ms = host.mono_ns() / MS;
            diary.note(&host, format_args!("wall {wall_ms} monotonic {mono_ms}"));
        }
    });
    fault(&mut world);
    diary.check(&mut world, expected);
}

/// The host's wall clock, relative to what a correct one showed at the start.
fn wall_ms(host: &Host) -> i64 {
    (i128::from(host.wall_ns()) - i128::from(EPOCH_NS)) as i64 / MS as i64
}

fn drift(drift_ppm: i64) -> HostConfig {
    HostConfig {
        drift_ppm,
        ..HostConfig::default()
    }
}

#[test]
fn right_clocks_show_true_time() {
    check_sleeper(
        drift(0),
        |_| {},
        &[
            "1000 wall 1000 monotonic 1000",
            "2000 wall 2000 monotonic 2000",
        ],
    );
}

/// With clocks 25 % fast a second of the host takes 0.8 s; 20 % slow, 1.25 s.
#[test]
fn a_sleep_lasts_by_the_clock_of_its_host() {
    check_sleeper(
        drift(250_000),
        |_| {},
        &[
            "800 wall 1000 monotonic 1000",
            "1600 wall 2000 monotonic 2000",
        ],
    );
    check_sleeper(
        drift(-200_000),
        |_| {},
        &[
            "1250 wall 1000 monotonic 1000",
            "2500 wall 2000 monotonic 2000",
        ],
    );
}

/// Half of the first second passes at the correct rate; the rest takes 0.4 s or 0.625 s.
#[test]
fn a_rate_that_changes_changes_the_sleeps_under_way() {
    let faster = |world: &mut World| {
        let host = world.hosts()[0];
        world.at(500 * MS, move |world| {
            assert_eq!(world.set_drift_ppm(host, 250_000), 0);
        });
    };
    check_sleeper(
        drift(0),
        faster,
        &[
            "900 wall 1000 monotonic 1000",
            "1700 wall 2000 monotonic 2000",
        ],
    );
    let slower = |world: &mut World| {
        let host = world.hosts()[0];
        world.at(500 * MS, move |world| {
            world.set_drift_ppm(host, -200_000);
        });
    };
    check_sleeper(
        drift(0),
        slower,
        &[
            "1125 wall 1000 monotonic 1000",
            "2375 wall 2000 monotonic 2000",
        ],
    );
}

#[test]
fn a_step_of_the_wall_clock_changes_no_sleep() {
    let back = |world: &mut World| {
        let host = world.hosts()[0];
        world.at(500 * MS, move |world| {
            world.step_wall(host, -10 * SECOND as i64);
        });
    };
    check_sleeper(
        drift(0),
        back,
        &[
            "1000 wall -9000 monotonic 1000",
            "2000 wall -8000 monotonic 2000",
        ],
    );
}

#[test]
fn a_wall_clock_can_be_off_from_the_start() {
    let ahead = HostConfig {
        offset_ns: 30 * SECOND as i64,
        ..HostConfig::default()
    };
    check_sleeper(
        ahead,
        |_| {},
        &[
            "1000 wall 31000 monotonic 1000",
            "2000 wall 32000 monotonic 2000",
        ],
    );
}

#[test]
fn a_suspended_clock_keeps_its_rate() {
    // 0.4 s of a second are left to sleep at 500 ms, when 0.625 s have passed.
    let suspension = |world: &mut World| {
        let host = world.hosts()[0];
        world.at(500 * MS, move |world| world.suspend(host));
        world.at(2_500 * MS, move |world| world.wake(host));
    };
    check_sleeper(
        drift(250_000),
        suspension,
        &[
            "2800 wall 3500 monotonic 1000",
            "3600 wall 4500 monotonic 2000",
        ],
    );
}

/// Half a year has 15 552 000 s; the sleep of 584 years is not over.
#[test]
fn endless_sleep_never_ends() {
    let mut world = World::new(Config::default(), &[drift(-500_000)]);
    let host = world.hosts()[0];
    let diary = Diary::default();
    diary.start(&mut world, host, |host, diary| async move {
        host.sleep(Duration::MAX).await;
        diary.note(&host, "awake");
    });
    world.at(SECOND, move |world| world.suspend(host));
    world.at(2 * SECOND, move |world| world.wake(host));
    assert_eq!(world.run(15_552_000 * SECOND), Ending::Horizon);
    assert!(diary.lines().is_empty());
}

/// A sleep until the wall clock shows a time, beside a program that looks at that clock ten times a second. A step alone
/// changes no look, so both wake at the same moment; after other changes they may look at different moments.
mod looks {
    use std::cell::Cell;
    use std::rc::Rc;

    use proptest::collection::vec;
    use proptest::prelude::*;

    use super::*;

    /// How often they look, in milliseconds.
    const EVERY_MS: u64 = 100;

    /// What changes the clocks of a host.
    #[derive(Clone, Copy, Debug)]
    enum Change {
        Step(i64),
        Rate(i64),
        Suspended(u64),
    }

    fn change() -> impl Strategy<Value = Change> {
        prop_oneof![
            (-3000_i64..3000).prop_map(Change::Step),
            (-300_000_i64..300_000).prop_map(Change::Rate),
            (1_u64..3000).prop_map(Change::Suspended),
        ]
    }

    /// When a program on a host with these changes of its clocks is over, in milliseconds; each begins so many
    /// milliseconds after the one before.
    fn ends_ms<F: Future<Output = ()> + 'static>(
        changes: &[(u64, Change)],
        program: impl Fn(Host) -> F + 'static,
    ) -> Option<u64> {
        let mut world = World::new(Config::default(), &[HostConfig::default()]);
        let host = world.hosts()[0];
        let end = Rc::new(Cell::new(None));
        let told = end.clone();
        let program = Rc::new(program);
        world.start(host, move |host| {
            let (program, told) = (program.clone(), told.clone());
            async move {
                program(host.clone()).await;
                told.set(Some(host.now_ns() / MS));
            }
        });
        let mut at_ms = 0;
        for &(after_ms, change) in changes {
            at_ms += after_ms;
            world.at(at_ms * MS, move |world| match change {
                Change::Step(ms) => world.step_wall(host, ms * MS as i64),
                Change::Rate(ppm) => {
                    world.set_drift_ppm(host, ppm);
                }
                Change::Suspended(ms) => {
                    world.suspend(host);
                    let until_ns = world.now_ns() + ms * MS;
                    world.at(until_ns, move |world| world.wake(host));
                }
            });
        }
        world.run(60 * SECOND);
        end.get()
    }

    proptest! {
        #![proptest_config(ProptestConfig {
            failure_persistence: None,
            ..ProptestConfig::default()
        })]

        #[test]
        fn a_sleep_ends_as_if_the_host_had_looked_at_its_wall_clock_all_the_time(
            lasts_ms in 1_u64..6000,
            changes in vec((1_u64..1500, change()), 0..4),
        ) {
            let until_ns = EPOCH_NS + lasts_ms * MS;
            let looking = ends_ms(&changes, move |host| async move {
                while host.wall_ns() < until_ns {
                    let left = Duration::from_nanos(until_ns - host.wall_ns());
                    host.sleep(left.min(ms(EVERY_MS))).await;
                }
            });
            let sleeping = ends_ms(&changes, move |host| async move {
                while host.wall_ns() < until_ns {
                    host.sleep_until_wall(until_ns, ms(EVERY_MS)).await;
                }
            });
            let (looking, sleeping) = (looking.expect("it ends"), sleeping.expect("it ends"));
            let tolerance = match &changes[..] {
                [] | [(_, Change::Step(_))] => 0,
                // A look takes longer on a slow clock.
                _ => EVERY_MS * 10 / 7 + 1,
            };
            prop_assert!(looking.abs_diff(sleeping) <= tolerance, "{looking} {sleeping}");
        }
    }
}

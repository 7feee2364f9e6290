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

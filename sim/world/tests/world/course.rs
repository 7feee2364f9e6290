//! The clocks of hosts under any sequence of faults, held to an integral in small pieces: how far each
//! clock advances in one millisecond, added up. So are the sleeps: a process wakes when the integral of
//! its monotonic clock comes to its deadline.
//!
//! Changes come at whole milliseconds, and a rate is in parts per million: so a clock advances by
//! a whole number of nanoseconds in each piece, and nothing is rounded.

use std::cell::RefCell;
use std::rc::Rc;
use std::time::Duration;

use locklab_world::clock::EPOCH_NS;
use locklab_world::{Config, HostConfig, HostId, World};
use proptest::collection::vec;
use proptest::prelude::*;

use crate::setup::MS;

/// How long a run lasts, in milliseconds.
const END_MS: u64 = 60;

/// What happens to a host at an instant.
#[derive(Debug, Clone, Copy)]
enum Change {
    Step(i64),
    Rate(i64),
    Suspend,
    Wake,
    Pause,
    Resume,
}

/// A change, its time in milliseconds, and the host that it strikes.
type Struck = (u64, usize, Change);

/// What a host's wall clock and its monotonic clock show at every millisecond.
type Shown = Vec<(u64, u64)>;

/// What one host's clocks show, added up piece by piece.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Clocks {
    wall_ns: u64,
    mono_ns: u64,
    drift_ppm: i64,
    suspended: u32,
    paused: u32,
}

impl Clocks {
    fn new(config: &HostConfig) -> Clocks {
        Clocks {
            wall_ns: EPOCH_NS.checked_add_signed(config.offset_ns).expect("far"),
            mono_ns: 0,
            drift_ppm: config.drift_ppm,
            suspended: 0,
            paused: 0,
        }
    }

    fn change(&mut self, change: Change) {
        match change {
            Change::Step(by_ns) => {
                self.wall_ns = self.wall_ns.checked_add_signed(by_ns).expect("far from 0");
            }
            Change::Rate(drift_ppm) => self.drift_ppm = drift_ppm,
            Change::Suspend => self.suspended += 1,
            Change::Wake => self.suspended -= 1,
            Change::Pause => self.paused += 1,
            Change::Resume => self.paused -= 1,
        }
    }

    /// How far the oscillator advances in a millisecond: a million nanoseconds, and one more or less
    /// for each millionth that it is wrong.
    fn piece_ns(&self) -> u64 {
        MS.checked_add_signed(self.drift_ppm).expect("it runs")
    }

    fn pass(&mut self) {
        self.wall_ns += self.piece_ns();
        if self.suspended == 0 {
            self.mono_ns += self.piece_ns();
        }
    }

    fn stands_still(&self) -> bool {
        self.suspended + self.paused > 0
    }

    /// How long after the beginning of a piece the monotonic clock shows this for the first time, if
    /// that is before the end of the piece and somebody can see it.
    fn reaches_ns(&self, mono_ns: u64) -> Option<u64> {
        let left_ns = mono_ns.saturating_sub(self.mono_ns);
        (!self.stands_still() && left_ns < self.piece_ns())
            .then(|| (left_ns * MS).div_ceil(self.piece_ns()))
            .filter(|&after_ns| after_ns < MS)
    }
}

/// The clocks of a host at every millisecond, after the changes of that instant.
fn integrated(host: usize, config: &HostConfig, changes: &[Struck]) -> Vec<Clocks> {
    let mut clocks = Clocks::new(config);
    let mut course = Vec::new();
    for now_ms in 0..=END_MS {
        for (_, _, change) in changes.iter().filter(|it| (it.0, it.1) == (now_ms, host)) {
            clocks.change(*change);
        }
        course.push(clocks);
        clocks.pass();
    }
    course
}

/// When a process wakes that began to sleep at `from_ns`; `None`: not before the end.
fn wakes_ns(course: &[Clocks], from_ns: u64, sleep_ns: u64) -> Option<u64> {
    let (first, into_ns) = ((from_ns / MS) as usize, from_ns % MS);
    let shown_ns = course[first].mono_ns + into_ns * course[first].piece_ns() / MS;
    let due_ns = shown_ns + sleep_ns;
    let pieces = (first as u64..).zip(&course[first..]);
    let mut reached =
        pieces.filter_map(|(at_ms, clocks)| Some(at_ms * MS + clocks.reaches_ns(due_ns)?));
    reached.next().filter(|at_ns| *at_ns <= END_MS * MS)
}

/// How late a sleeper may wake: by a nanosecond of its clock. A reading of a clock with a wrong rate
/// lacks the fraction of a nanosecond that has passed, and the sleep from it is as much longer.
fn slack_ns(course: &[Clocks]) -> u64 {
    let slowest_ns = course.iter().map(Clocks::piece_ns).min().expect("a piece");
    match course.iter().all(|clocks| clocks.drift_ppm == 0) {
        true => 0,
        false => MS.div_ceil(slowest_ns),
    }
}

/// The same in the world, and when a process wakes that sleeps for each of these durations.
fn simulated(
    configs: &[HostConfig],
    changes: &[Struck],
    sleeps_ns: &[u64],
) -> (Vec<Shown>, Vec<Vec<u64>>) {
    let mut world = World::new(Config::default(), configs);
    let hosts = world.hosts();
    let course = Rc::new(RefCell::new(vec![Vec::new(); hosts.len()]));
    let woken = Rc::new(RefCell::new(vec![Vec::new(); hosts.len()]));
    for &(at_ms, host, change) in changes {
        let host = hosts[host];
        world.at(at_ms * MS, move |world| strike(world, host, change));
    }
    for at_ms in 0..=END_MS {
        let (course, hosts) = (course.clone(), hosts.clone());
        world.at(at_ms * MS, move |world| {
            for host in hosts {
                let clocks = world.host(host);
                let shown = (clocks.wall_ns(), clocks.mono_ns());
                course.borrow_mut()[host.index()].push(shown);
            }
        });
    }
    for host in hosts {
        let (woken, sleeps_ns) = (woken.clone(), sleeps_ns.to_vec());
        world.start(host, move |host| {
            let (woken, sleeps_ns) = (woken.clone(), sleeps_ns.clone());
            async move {
                for sleep_ns in sleeps_ns {
                    host.sleep(Duration::from_nanos(sleep_ns)).await;
                    woken.borrow_mut()[host.id().index()].push(host.now_ns());
                }
            }
        });
    }
    world.run(END_MS * MS);
    drop(world);
    (course.take(), woken.take())
}

fn strike(world: &mut World, host: HostId, change: Change) {
    match change {
        Change::Step(by_ns) => world.step_wall(host, by_ns),
        Change::Rate(drift_ppm) => drop(world.set_drift_ppm(host, drift_ppm)),
        Change::Suspend => world.suspend(host),
        Change::Wake => world.wake(host),
        Change::Pause => world.pause(host),
        Change::Resume => world.resume(host),
    }
}

fn rate() -> impl Strategy<Value = i64> {
    prop_oneof![Just(0), -900_000..900_000_i64, Just(100_000)]
}

/// Changes of two hosts, in the order of time. A suspension ends, as does a pause, and each may overlap
/// others.
fn changes() -> impl Strategy<Value = Vec<Struck>> {
    let at_ms = || 1..END_MS;
    let lasting = |begins: Change, ends: Change| {
        (at_ms(), 0..2_usize, 1..20_u64).prop_map(move |(at_ms, host, lasts_ms)| {
            vec![(at_ms, host, begins), (at_ms + lasts_ms, host, ends)]
        })
    };
    let one = prop_oneof![
        (at_ms(), 0..2_usize, -5_000_000_001..5_000_000_001_i64)
            .prop_map(|(at_ms, host, by_ns)| vec![(at_ms, host, Change::Step(by_ns))]),
        (at_ms(), 0..2_usize, rate()).prop_map(|(at_ms, host, ppm)| vec![(
            at_ms,
            host,
            Change::Rate(ppm)
        )]),
        // A rate that begins while the machine is suspended.
        (at_ms(), 0..2_usize, rate(), 1..5_u64).prop_map(|(at_ms, host, ppm, lasts_ms)| {
            vec![
                (at_ms, host, Change::Suspend),
                (at_ms + 1, host, Change::Rate(ppm)),
                (at_ms + 1 + lasts_ms, host, Change::Wake),
            ]
        }),
        lasting(Change::Suspend, Change::Wake),
        lasting(Change::Pause, Change::Resume),
    ];
    vec(one, 0..10).prop_map(|all| {
        let mut all = all.concat();
        all.sort_by_key(|(at_ms, ..)| *at_ms);
        all
    })
}

fn configs() -> impl Strategy<Value = Vec<HostConfig>> {
    let config = (-5_000_000_000..5_000_000_000_i64, rate());
    let config = config.prop_map(|(offset_ns, drift_ppm)| HostConfig {
        offset_ns,
        drift_ppm,
    });
    vec(config, 2)
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: 800,
        failure_persistence: None,
        ..ProptestConfig::default()
    })]

    #[test]
    fn clocks_show_the_integral_of_their_rates_and_sleepers_wake_by_it(
        configs in configs(),
        changes in changes(),
        sleeps_ns in vec(1..15 * MS, 1..12),
    ) {
        let (shown, woke) = simulated(&configs, &changes, &sleeps_ns);
        for (host, config) in configs.iter().enumerate() {
            let course = integrated(host, config, &changes);
            let clocks: Vec<_> = course.iter().map(|clocks| (clocks.wall_ns, clocks.mono_ns)).collect();
            prop_assert_eq!(&clocks, &shown[host]);
            let mut from_ns = 0;
            for (place, &sleep_ns) in sleeps_ns.iter().enumerate() {
                let woke_ns = woke[host].get(place).copied();
                let wakes_ns = wakes_ns(&course, from_ns, sleep_ns);
                let [woke, wakes] = [woke_ns, wakes_ns].map(|at_ns| at_ns.unwrap_or(END_MS * MS));
                prop_assert!((wakes..=wakes + slack_ns(&course)).contains(&woke), "{place}: {wakes} {woke}");
                let Some(woke_ns) = woke_ns else { break };
                from_ns = woke_ns;
            }
        }
    }
}

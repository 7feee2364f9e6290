//! Correct locks are not blamed, and broken ones are: the exit code of an attack on each program of `worker.py`.
//! With `LOCKLAB_LONG=1` all of them, several times; else one of each.

use crate::bench::attack;
use crate::clocks::has;

/// What strikes a program.
#[derive(Debug, Clone, Copy)]
enum Under {
    /// The first of four clients stands still past its lease: whenever it wakes up, another one has the lock.
    Pause,
    /// The same, and the resource compares tokens.
    Fenced,
    /// The first client is killed while it holds the lock, and comes back.
    Kill,
    /// The second client is killed while the first holds the lock, and comes back meanwhile.
    WaiterKilled,
    /// The node loses its power for a second, with what it held.
    Crash,
    /// The first of four clients stands still for less than a lease.
    ShortPause,
    /// All messages take long.
    SlowLink,
}

impl Under {
    /// The overrides of `attack/pause`.
    fn sets(self) -> &'static [&'static str] {
        match self {
            Under::Pause => &["horizon_ms=7000", "topology.clients=4"],
            Under::Fenced => &["resource.fencing=writes"],
            Under::Kill => &[
                "fault={ kill = { kind = 'kill', on = 'c1', after = 'c1 acquired #2', duration_ms = 200 } }",
            ],
            Under::WaiterKilled => &[
                "fault={ kill = { kind = 'kill', on = 'c2', after = 'c1 acquired #2', duration_ms = 50 } }",
            ],
            Under::ShortPause => &[
                "horizon_ms=7000",
                "topology.clients=4",
                "fault.pause.duration_ms=300",
            ],
            Under::SlowLink => &[
                "horizon_ms=7000",
                "fault={ slow = { kind = 'slow-link', from = ['c1', 'c2'], to = 'n1', extra_ms = 70, at_ms = 200, duration_ms = 6500 } }",
            ],
            Under::Crash => &[
                "fault={ power = { kind = 'crash', on = 'n1', at_ms = 1500, duration_ms = 1000 } }",
            ],
        }
    }
}

/// Locks that do what a lock with a lease can do.
const CORRECT: [(&str, Under); 19] = [
    ("compares", Under::Pause),
    ("watches", Under::Pause),
    ("one-field", Under::Pause),
    ("tokens", Under::Pause),
    ("tokens", Under::Fenced),
    ("own-lease", Under::Kill),
    ("holds-long", Under::Pause),
    ("looks-at-its-deadline", Under::Pause),
    ("silent", Under::Pause),
    ("compares", Under::Kill),
    ("compares", Under::WaiterKilled),
    ("compares", Under::Crash),
    ("semaphore", Under::Pause),
    ("many-locks", Under::Pause),
    ("readers", Under::ShortPause),
    ("tasks", Under::Pause),
    ("children", Under::ShortPause),
    ("silent-leader", Under::SlowLink),
    ("silent-renews", Under::Pause),
];

/// Locks that do not.
const BROKEN: [(&str, Under); 16] = [
    ("set-without-nx", Under::Pause),
    ("deletes-any", Under::Pause),
    ("never-looks-at-the-reply", Under::Pause),
    ("looks-then-sets", Under::Pause),
    ("no-expiry", Under::Kill),
    ("promises-too-much", Under::Pause),
    ("one-token", Under::Fenced),
    ("one-value", Under::Pause),
    ("deletes-at-the-start", Under::WaiterKilled),
    ("fails-open", Under::Crash),
    ("semaphore-of-three", Under::Pause),
    ("many-locks-and-a-wrong-one", Under::Pause),
    ("readers-not-counted", Under::ShortPause),
    ("tasks-share", Under::Pause),
    ("silent-set-without-nx", Under::Pause),
    ("silent-renews-by-set", Under::Pause),
];

/// Attacks a program so many times; each time its exit code has to be right.
fn attacks(program: &str, under: Under, times: usize, is_right: fn(Option<i32>) -> bool) {
    let worker = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/attack/worker.py");
    let script = format!("exec python3 {worker} {program}");
    let out = format!("verdict-{program}-{under:?}");
    let sets = under.sets().iter().flat_map(|set| ["--set", set]);
    let options = ["--scenario", "attack/pause"].into_iter().chain(sets);
    let options: Vec<&str> = options.collect();
    for nth in 1..=times {
        let (code, told) = attack(&out, &options, &script).expect("there is a shell");
        assert!(
            is_right(code),
            "{program} under {under:?}, attack {nth}: {code:?}, {told}"
        );
    }
}

#[test]
fn the_innocent_are_not_blamed_and_the_guilty_are() {
    if !has("python3", "--version") {
        return;
    }
    let is_long = std::env::var_os("LOCKLAB_LONG").is_some();
    let (correct, broken, times) = match is_long {
        true => (&CORRECT[..], &BROKEN[..], 10),
        false => (&CORRECT[..1], &BROKEN[..1], 1),
    };
    type Case = (&'static str, Under, fn(Option<i32>) -> bool);
    let correct = correct
        .iter()
        .map(|&(program, under)| -> Case { (program, under, |code| matches!(code, Some(0 | 3))) });
    let broken = broken
        .iter()
        .map(|&(program, under)| -> Case { (program, under, |code| code == Some(2)) });
    let cases: Vec<Case> = correct.chain(broken).collect();
    // Most of an attack is waiting.
    for some in cases.chunks(8) {
        std::thread::scope(|scope| {
            for &(program, under, is_right) in some {
                scope.spawn(move || attacks(program, under, times, is_right));
            }
        });
    }
}

//! Correct locks are not blamed, and broken ones are: the exit code of an attack on each program of `worker.py`, and on
//! those that the workers in other languages have too. With `LOCKLAB_LONG=1` all of them, ten times; else one of each
//! in each language. A language that is not there is skipped.

use std::path::Path;
use std::process::Command;

use crate::bench::attack_that_counts;
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
    /// One thread of the first of four clients stands still past its lease, and its others run.
    Stall,
    /// All messages take long.
    SlowLink,
}

impl Under {
    /// The overrides of `attack/pause`.
    fn sets(self) -> &'static [&'static str] {
        match self {
            Under::Pause => &["horizon_ms=10_000", "topology.clients=4"],
            Under::Fenced => &["resource.fencing=writes"],
            Under::Kill => &[
                "horizon_ms=9000",
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
            Under::Stall => &[
                "horizon_ms=10_000",
                "topology.clients=4",
                "fault.pause.kind='stall'",
            ],
            Under::SlowLink => &[
                "horizon_ms=7000",
                "fault={ slow = { kind = 'slow-link', from = ['c1', 'c2'], to = 'n1', extra_ms = 70, at_ms = 200, duration_ms = 6500 } }",
            ],
            Under::Crash => &[
                "horizon_ms=9000",
                "fault={ power = { kind = 'crash', on = 'n1', at_ms = 3000, duration_ms = 1000 } }",
            ],
        }
    }
}

/// Locks that do what a lock with a lease can do.
const CORRECT: [(&str, Under); 26] = [
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
    ("compares", Under::Stall),
    ("renews-in-a-thread", Under::Stall),
    ("counts-from-before", Under::Pause),
    ("counts-from-before", Under::SlowLink),
    ("tells-later", Under::Pause),
    ("silent-hands-over", Under::Pause),
    ("silent-time-as-value", Under::ShortPause),
];

/// Locks that do not.
const BROKEN: [(&str, Under); 19] = [
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
    ("deletes-any", Under::Stall),
    ("renews-any", Under::ShortPause),
    ("renews-after-release", Under::ShortPause),
];

/// The programs that workers in all languages have.
const EVERYWHERE: [&str; 7] = [
    "compares",
    "tokens",
    "looks-at-its-deadline",
    "set-without-nx",
    "deletes-any",
    "never-looks-at-the-reply",
    "no-expiry",
];

/// How workers in a language are built and run, as lines of a shell in a folder of their own. `$ROOT` is the
/// repository. What workers tell, they tell with the file of that language in the book.
pub struct Language {
    pub name: &'static str,
    /// What it cannot do without, and the option that asks for its version.
    needs: (&'static str, &'static str),
    build: &'static str,
    run: &'static str,
}

pub const LANGUAGES: [Language; 4] = [
    Language {
        name: "python",
        needs: ("python3", "--version"),
        build: "",
        run: "python3 $ROOT/tests/attack/worker.py",
    },
    Language {
        name: "javascript",
        needs: ("node", "--version"),
        build: "",
        run: "node $ROOT/tests/attack/worker.mjs",
    },
    Language {
        name: "go",
        needs: ("go", "version"),
        build: "cp $ROOT/tests/attack/worker.go . &&
            sed 's/^package locklab/package main/' $ROOT/docs/attack/locklab_tell.go > tell.go &&
            go build -o worker worker.go tell.go",
        run: "./worker",
    },
    Language {
        name: "java",
        needs: ("javac", "--version"),
        build: "javac -d . $ROOT/tests/attack/Worker.java $ROOT/docs/attack/LocklabTell.java",
        run: "java -XX:TieredStopAtLevel=1 -XX:+UseSerialGC Worker",
    },
];

impl Language {
    /// Builds its workers and returns the beginning of their command; `None` if the language is not there.
    pub fn command(&self) -> Option<String> {
        if !has(self.needs.0, self.needs.1) {
            return None;
        }
        let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("worker-{}", self.name));
        std::fs::create_dir_all(&folder).expect("the folder can be made");
        let place = format!(
            "ROOT='{}'; cd '{}'",
            env!("CARGO_MANIFEST_DIR"),
            folder.display()
        );
        let mut shell = Command::new("sh");
        let shell = shell.args(["-c", &format!("{place}\n{}", self.build)]);
        assert!(
            shell.status().expect("it starts").success(),
            "{}",
            self.name
        );
        Some(format!("{place}; exec {}", self.run))
    }

    /// Whether it has a worker of this name, which this can strike: a Go program's threads cannot be stalled.
    fn knows(&self, program: &str, under: Under) -> bool {
        let is_reached = self.name != "go" || !matches!(under, Under::Stall);
        is_reached && (self.name == "python" || EVERYWHERE.contains(&program))
    }
}

/// An attack, and whether its exit code is right.
struct Case {
    language: &'static str,
    command: String,
    program: &'static str,
    under: Under,
    is_right: fn(Option<i32>) -> bool,
}

impl Case {
    /// Attacks the program so many times; says which exit code is not right.
    fn attack(&self, times: usize) -> Result<(), String> {
        let Case {
            language,
            program,
            under,
            ..
        } = self;
        let name = format!("{program} in {language} under {under:?}");
        // c1, which is struck, is the first to take the lock. Among several it might wait for most of the run.
        let script = format!(
            "[ $LOCKLAB_HOST = c1 ] || sleep 0.5; {} {program}",
            self.command
        );
        let out = format!("verdict-{language}-{program}-{under:?}");
        let sets = under.sets().iter().flat_map(|set| ["--set", set]);
        // The wire shows less than a program tells: two that renew by SET may seem to take turns for a whole run.
        let seeds = if program.starts_with("silent") {
            "3"
        } else {
            "1"
        };
        let options = ["--scenario", "attack/pause", "--seeds", seeds];
        let options = options.into_iter().chain(sets);
        let options: Vec<&str> = options.collect();
        for nth in 1..=times {
            let (code, told) =
                attack_that_counts(&out, &options, &script).expect("there is a shell");
            if !(self.is_right)(code) {
                return Err(format!("{name}, attack {nth}: {code:?}, {told}"));
            }
        }
        Ok(())
    }
}

#[test]
fn the_innocent_are_not_blamed_and_the_guilty_are() {
    let is_long = std::env::var_os("LOCKLAB_LONG").is_some();
    let mut cases = Vec::new();
    for (number, language) in LANGUAGES.iter().enumerate() {
        let Some(command) = language.command() else {
            continue;
        };
        let mut add = |programs: &[(&'static str, Under)], is_right: fn(Option<i32>) -> bool| {
            let known = programs
                .iter()
                .filter(|(name, under)| language.knows(name, *under));
            // Not the same in each language.
            let (skipped, taken) = if is_long {
                (0, usize::MAX)
            } else {
                (number, 1)
            };
            for &(program, under) in known.skip(skipped).take(taken) {
                cases.push(Case {
                    language: language.name,
                    command: command.clone(),
                    program,
                    under,
                    is_right,
                });
            }
        };
        add(&CORRECT, |code| matches!(code, Some(0 | 3)));
        add(&BROKEN, |code| code == Some(2));
    }
    // Most of an attack is waiting. In CI the release is built beside it.
    let at_once = if is_long { 8 } else { 4 };
    let times = if is_long { 10 } else { 1 };
    let mut wrong = Vec::new();
    for some in cases.chunks(at_once) {
        std::thread::scope(|scope| {
            let attacks = some.iter().map(|case| scope.spawn(|| case.attack(times)));
            let attacks: Vec<_> = attacks.collect();
            let ended = attacks
                .into_iter()
                .map(|it| it.join().expect("no attack panics"));
            wrong.extend(ended.filter_map(Result::err));
        });
    }
    let attacked = cases.len();
    assert!(
        wrong.is_empty(),
        "{} of {attacked}:\n{}",
        wrong.len(),
        wrong.join("\n\n")
    );
}

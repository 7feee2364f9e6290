//! How an experiment is to be run, the same for all: where results go, how many threads, which
//! shard, and how long.

use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{self, RecvTimeoutError, Sender};
use std::thread;
use std::time::{Duration, Instant};

use super::output::Stdout;
use super::{Program, Shard, Store};

/// How an experiment is to be run.
#[derive(Debug)]
pub struct Session {
    /// How this program is started.
    pub program: Program,
    /// The folder of results.
    pub store: Store,
    /// The number of threads for simulated runs.
    pub threads: usize,
    /// The shard of the work that is done here; `None`: all of it.
    pub shard: Option<Shard>,
    /// Discard what an interrupted command has finished.
    pub fresh: bool,
    /// What standard output has.
    pub stdout: Stdout,
    /// The ledgers of all shards, to be joined; if there are any, nothing is run.
    pub joined: Vec<PathBuf>,
    /// The command line without the program, for the ledger of a shard.
    pub words: Vec<String>,
    /// When to stop.
    pub stop: Stop,
}

impl Session {
    /// All of the work, begun anew or resumed, until it is done. Its results are told on standard
    /// error.
    pub fn new(program: Program, store: Store, threads: usize) -> Self {
        Session {
            program,
            store,
            threads,
            shard: None,
            fresh: false,
            stdout: Stdout::Nothing,
            joined: vec![],
            words: vec![],
            stop: Stop::never(),
        }
    }
}

/// How often the clock is read while there is a budget.
const TICK: Duration = Duration::from_millis(20);

/// When to stop: at the user's request, and when the budget of time is over.
#[derive(Debug)]
pub struct Stop {
    by_user: &'static AtomicBool,
    stop: &'static AtomicBool,
    /// Ends the thread that watches the time, when it is dropped.
    watch: Option<Sender<()>>,
}

impl Stop {
    /// When the user asks for it, which sets this flag.
    pub fn by_user(by_user: &'static AtomicBool) -> Self {
        let (stop, watch) = (by_user, None);
        Self {
            by_user,
            stop,
            watch,
        }
    }

    /// The same, and in any case after this time.
    pub fn within(by_user: &'static AtomicBool, budget: Option<Duration>) -> Self {
        let Some(budget) = budget else {
            return Self::by_user(by_user);
        };
        let stop = flag();
        let deadline = Instant::now() + budget;
        let (sender, watched) = mpsc::channel();
        thread::spawn(move || {
            while watched.recv_timeout(TICK) == Err(RecvTimeoutError::Timeout) {
                if by_user.load(Ordering::Relaxed) || Instant::now() >= deadline {
                    stop.store(true, Ordering::Relaxed);
                }
            }
        });
        let watch = Some(sender);
        Self {
            by_user,
            stop,
            watch,
        }
    }

    /// Never, unless there is an error.
    pub fn never() -> Self {
        Self::by_user(flag())
    }

    /// Set when no further run is to begin.
    pub fn flag(&self) -> &'static AtomicBool {
        self.stop
    }

    /// Whether no further run is to begin.
    pub fn is_set(&self) -> bool {
        self.stop.load(Ordering::Relaxed)
    }

    /// Whether the user asked for it.
    pub fn is_by_user(&self) -> bool {
        self.by_user.load(Ordering::Relaxed)
    }

    /// Whether there is a budget of time, of which something is left.
    pub fn has_time(&self) -> bool {
        self.watch.is_some() && !self.is_set()
    }

    /// Stops everything, because of an error.
    pub fn now(&self) {
        self.stop.store(true, Ordering::Relaxed);
    }
}

/// A flag that is not set. A command has at most one, which is never freed.
fn flag() -> &'static AtomicBool {
    Box::leak(Box::new(AtomicBool::new(false)))
}

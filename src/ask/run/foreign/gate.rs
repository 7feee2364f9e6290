//! How many runs of foreign programs there are at once: as many as the machine can bear.
//!
//! Most of a run is waiting, but what the programs themselves need is not known. So few runs begin; each that was on
//! time lets one more begin, and each that was late halves their number.

use std::error::Error;
use std::sync::{Condvar, Mutex, PoisonError};

use locklab_real::ConfirmError;
use locklab_real::series::LONGEST_STALL_NS;
use locklab_runner::pool::lock;
use locklab_runner::run::Run;

type Made = Result<Run, Box<dyn Error + Send + Sync>>;

/// Limits the number of runs that are under way.
pub(crate) struct Gate {
    /// The most at once.
    most: usize,
    runs: Mutex<Runs>,
    ended: Condvar,
}

struct Runs {
    /// So many may be under way.
    allowed: usize,
    under_way: usize,
    begun: u64,
}

/// A run that has begun.
struct Turn {
    /// The number of its beginning.
    number: u64,
    /// Whether others were under way then.
    had_others: bool,
}

/// How a run went.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Course {
    OnTime,
    Late,
    /// It showed nothing, or did not even begin.
    Starved,
}

impl Gate {
    /// At most so many runs at once.
    pub(crate) fn new(most: usize) -> Self {
        Self {
            most,
            runs: Mutex::new(Runs {
                allowed: most.div_ceil(4),
                under_way: 0,
                begun: 0,
            }),
            ended: Condvar::new(),
        }
    }

    /// Makes a run when it is its turn. A run beside others that shows nothing, or does not even begin, is made again.
    pub(crate) fn pass(&self, run: impl Fn() -> Made) -> Made {
        loop {
            let turn = self.begin();
            let made = run();
            let how = Course::of(&made);
            let had_others = self.end(&turn, how);
            if how != Course::Starved || !had_others {
                return made;
            }
        }
    }

    fn begin(&self) -> Turn {
        let mut runs = lock(&self.runs);
        while runs.under_way >= runs.allowed {
            // No run panics while it changes the numbers.
            runs = (self.ended.wait(runs)).unwrap_or_else(PoisonError::into_inner);
        }
        runs.under_way += 1;
        runs.begun += 1;
        Turn {
            number: runs.begun,
            had_others: runs.under_way > 1,
        }
    }

    /// Returns whether others were under way at any time of this run.
    fn end(&self, turn: &Turn, how: Course) -> bool {
        let mut runs = lock(&self.runs);
        runs.under_way -= 1;
        runs.allowed = match how {
            Course::OnTime => (runs.allowed + 1).min(self.most),
            Course::Late => (runs.allowed / 2).max(1),
            Course::Starved => 1,
        };
        self.ended.notify_all();
        turn.had_others || runs.begun > turn.number
    }
}

impl Course {
    fn of(made: &Made) -> Course {
        match made {
            Err(error) => match error.downcast_ref() {
                Some(ConfirmError::NotReady { .. } | ConfirmError::Mute { .. }) => Course::Starved,
                _ => Course::OnTime,
            },
            Ok(run) if run.lateness.worst_ns() > LONGEST_STALL_NS => Course::Late,
            Ok(_) => Course::OnTime,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use locklab_runner::run::Lateness;
    use std::cell::Cell;
    use std::sync::atomic::{AtomicUsize, Ordering};

    fn mute() -> Made {
        Err(ConfirmError::Mute {
            why: String::new(),
            notes: vec![],
        }
        .into())
    }

    fn late_by(longest_ns: u64) -> Made {
        Ok(Run {
            lateness: Lateness {
                longest_ns,
                ..Lateness::default()
            },
            ..Run::default()
        })
    }

    #[test]
    fn what_is_on_time_lets_one_more_begin_and_what_is_late_halves_their_number() {
        let gate = Gate::new(20);
        let allowed = |made: fn() -> Made| {
            let _ = gate.pass(made);
            lock(&gate.runs).allowed
        };
        let on_time: fn() -> Made = || late_by(LONGEST_STALL_NS);
        let late: fn() -> Made = || late_by(LONGEST_STALL_NS + 1);
        assert_eq!([allowed(on_time), allowed(on_time)], [6, 7]);
        assert_eq!([late, late, late].map(allowed), [3, 1, 1]);
        for _ in 0..30 {
            allowed(on_time);
        }
        assert_eq!(allowed(on_time), 20);
        assert_eq!(allowed(mute), 1);
    }

    /// Each run shows nothing if another one is under way.
    #[test]
    fn no_more_runs_are_under_way_than_are_allowed_and_none_fails_because_of_the_others() {
        let (under_way, most) = (AtomicUsize::new(0), AtomicUsize::new(0));
        let gate = Gate::new(4);
        let run = || {
            let now = under_way.fetch_add(1, Ordering::SeqCst) + 1;
            most.fetch_max(now, Ordering::SeqCst);
            (0..200).for_each(|_| std::thread::yield_now());
            match under_way.fetch_sub(1, Ordering::SeqCst) {
                1 if now == 1 => late_by(0),
                _ => mute(),
            }
        };
        std::thread::scope(|scope| {
            for _ in 0..12 {
                scope.spawn(|| (0..5).for_each(|_| assert!(gate.pass(run).is_ok())));
            }
        });
        assert!((1..=4).contains(&most.into_inner()));
    }

    #[test]
    fn what_shows_nothing_alone_shows_nothing_at_once() {
        let tried = Cell::new(0);
        let made = Gate::new(8).pass(|| {
            tried.set(tried.get() + 1);
            mute()
        });
        assert!(made.is_err());
        assert_eq!(tried.get(), 1);
    }
}

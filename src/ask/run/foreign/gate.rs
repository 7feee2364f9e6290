//! How many runs of foreign programs there are at once: as many as the machine can bear.
//!
//! Most of a run is waiting, but what the programs themselves need is not known. So few runs begin; each that was on
//! time lets one more begin. One that was late halves their number, once for all that were under way then: what made
//! it late may have made them late too. From then on it takes as many runs on time as there are at once for one more,
//! as in TCP's avoidance of congestion.

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
    /// How many had begun when their number was lowered the last time; 0 if it never was.
    lowered: u64,
    /// How many were on time since it last changed.
    on_time: usize,
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
                lowered: 0,
                on_time: 0,
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
        let half = runs.allowed / 2;
        match how {
            Course::OnTime => runs.raise(self.most),
            Course::Late => runs.lower(turn, half),
            Course::Starved => runs.lower(turn, 1),
        }
        self.ended.notify_all();
        turn.had_others || runs.begun > turn.number
    }
}

impl Runs {
    fn raise(&mut self, most: usize) {
        self.on_time += 1;
        if self.lowered == 0 || self.on_time >= self.allowed {
            self.allowed = (self.allowed + 1).min(most);
            self.on_time = 0;
        }
    }

    fn lower(&mut self, turn: &Turn, allowed: usize) {
        if turn.number > self.lowered {
            self.allowed = allowed.max(1);
            (self.lowered, self.on_time) = (self.begun, 0);
        }
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
        let all = |how: fn() -> Made, runs: usize| vec![how; runs].into_iter().map(allowed);
        assert!(all(on_time, 14).eq(6..20));
        assert_eq!(allowed(on_time), 20);
        assert!(all(late, 5).eq([10, 5, 2, 1, 1]));
        // From now on one more for each round.
        assert!(all(on_time, 6).eq([2, 2, 3, 3, 3, 4]));
        assert_eq!(allowed(mute), 1);
    }

    #[test]
    fn runs_that_are_late_together_halve_their_number_once() {
        let gate = Gate::new(20);
        lock(&gate.runs).allowed = 8;
        let turns: Vec<Turn> = (0..8).map(|_| gate.begin()).collect();
        let after = |turn: &Turn| {
            gate.end(turn, Course::Late);
            lock(&gate.runs).allowed
        };
        assert!(turns.iter().map(after).all(|allowed| allowed == 4));
        assert_eq!(after(&gate.begin()), 2);
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

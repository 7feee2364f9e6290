//! When to do the next thing, and when to end.

use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

/// The longest sleep without a look at the flag: Ctrl-C should not wait.
const LONGEST_SLEEP: Duration = Duration::from_millis(50);

/// The end of the measurements: a time, or a flag.
#[derive(Debug, Clone, Copy)]
pub(super) struct Until<'a> {
    begun: Instant,
    end: Instant,
    stop: &'a AtomicBool,
}

impl<'a> Until<'a> {
    /// After this time from now, or as soon as the flag is set.
    pub(super) fn after(lasts: Duration, stop: &'a AtomicBool) -> Self {
        let begun = Instant::now();
        Until {
            begun,
            end: begun + lasts,
            stop,
        }
    }

    pub(super) fn is_over(&self) -> bool {
        self.stop.load(Ordering::Relaxed) || Instant::now() >= self.end
    }

    /// How long it has taken so far.
    pub(super) fn passed(&self) -> Duration {
        self.begun.elapsed()
    }

    /// Sleeps for this time, or to the end.
    pub(super) fn sleep(&self, time: Duration) {
        let wake = (Instant::now() + time).min(self.end);
        while !self.stop.load(Ordering::Relaxed) {
            let left = wake.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return;
            }
            thread::sleep(left.min(LONGEST_SLEEP));
        }
    }
}

/// Turns at a fixed rate.
#[derive(Debug)]
pub(super) struct Pace {
    period: Duration,
    next: Instant,
}

impl Pace {
    /// The first turn is now.
    pub(super) fn every(period: Duration) -> Self {
        Pace {
            period,
            next: Instant::now(),
        }
    }

    /// Waits for the next turn. Turns that were missed are not made up for: a server that was slow is
    /// not asked in a hurry afterwards.
    pub(super) fn wait(&mut self, until: &Until<'_>) {
        let now = Instant::now();
        until.sleep(self.next.saturating_duration_since(now));
        self.next = (self.next + self.period).max(now);
    }

    /// Whether it is time for the next turn; if so, it is taken.
    pub(super) fn is_due(&mut self) -> bool {
        let now = Instant::now();
        let is_due = now >= self.next;
        if is_due {
            self.next = (self.next + self.period).max(now);
        }
        is_due
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_flag_ends_a_long_sleep() {
        let stop = AtomicBool::new(true);
        let until = Until::after(Duration::from_secs(3600), &stop);
        until.sleep(Duration::from_secs(3600));
        assert!(until.is_over());
    }

    #[test]
    fn turns_that_were_missed_are_not_made_up_for() {
        let mut pace = Pace::every(Duration::from_secs(3600));
        pace.next = Instant::now()
            .checked_sub(Duration::from_secs(36_000))
            .expect("a machine that runs for hours");
        assert!(pace.is_due());
        assert!(
            pace.next
                >= Instant::now()
                    .checked_sub(Duration::from_secs(1))
                    .expect("seconds")
        );
    }
}

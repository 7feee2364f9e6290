//! How much a run keeps of what programs of others do, and how much came after that.
//!
//! A run that is full ends: what it shows until then counts, and nothing after that is judged.

use std::sync::atomic::{AtomicU64, Ordering};

use locklab_bounds::Kept as Most;

use super::clients::Clients;

/// Counts what a run keeps. Its threads share it.
#[derive(Debug)]
pub(super) struct Kept {
    pub(super) lines: Counter,
    pub(super) accesses: Counter,
    pub(super) commands: Counter,
    pub(super) command_bytes: Counter,
}

/// Counts what is kept of one kind.
#[derive(Debug)]
pub(super) struct Counter {
    most: u64,
    taken: AtomicU64,
    dropped: AtomicU64,
    /// The earliest time at which something may have happened that was dropped.
    full_ns: AtomicU64,
}

impl Kept {
    /// Locklab's own clients end by themselves, so all that they do is kept.
    pub(super) fn of(clients: &Clients) -> Kept {
        match clients {
            Clients::Own => Kept::at_most(Most {
                lines: u64::MAX,
                accesses: u64::MAX,
                commands: u64::MAX,
                command_bytes: u64::MAX,
            }),
            Clients::Foreign(_) => Kept::at_most(Most::RUN),
        }
    }

    fn at_most(most: Most) -> Kept {
        Kept {
            lines: Counter::new(most.lines),
            accesses: Counter::new(most.accesses),
            commands: Counter::new(most.commands),
            command_bytes: Counter::new(most.command_bytes),
        }
    }

    fn all(&self) -> [(&Counter, &'static str); 4] {
        [
            (&self.lines, "lines that the programs told"),
            (&self.accesses, "accesses to the resource"),
            (&self.commands, "commands at the servers"),
            (&self.command_bytes, "bytes of commands at the servers"),
        ]
    }

    /// Up to when all is kept, in nanoseconds of the machine's monotonic clock; `None` if the run is not full.
    pub(super) fn full_ns(&self) -> Option<u64> {
        let full = { self.all().into_iter() }.filter_map(|(counter, _)| counter.full_ns());
        full.min()
    }

    /// What was dropped, in words.
    pub(super) fn dropped(&self) -> Vec<String> {
        let full = { self.all().into_iter() }.filter(|(counter, _)| counter.full_ns().is_some());
        let words = full.map(|(counter, what)| {
            let dropped = counter.dropped.load(Ordering::Relaxed);
            let most = counter.most;
            format!("a run keeps {most} {what}, and {dropped} more were dropped")
        });
        words.collect()
    }
}

impl Counter {
    fn new(most: u64) -> Counter {
        Counter {
            most,
            taken: AtomicU64::new(0),
            dropped: AtomicU64::new(0),
            full_ns: AtomicU64::new(u64::MAX),
        }
    }

    /// Whether there is room for so much more, that happened at this time or later. Once there is none, there is none
    /// for anything.
    pub(super) fn take(&self, amount: u64, at_ns: u64) -> bool {
        let taken = self.taken.fetch_add(amount, Ordering::Relaxed);
        let is_kept = taken.saturating_add(amount) <= self.most;
        if !is_kept {
            self.dropped.fetch_add(amount, Ordering::Relaxed);
            self.full_ns.fetch_min(at_ns, Ordering::Relaxed);
        }
        is_kept
    }

    fn full_ns(&self) -> Option<u64> {
        let at_ns = self.full_ns.load(Ordering::Relaxed);
        (at_ns < u64::MAX).then_some(at_ns)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kept() -> Kept {
        Kept::at_most(Most {
            lines: 2,
            accesses: 9,
            commands: 9,
            command_bytes: 10,
        })
    }

    #[test]
    fn what_exceeds_a_bound_is_dropped_and_counted() {
        let kept = kept();
        assert!(kept.lines.take(1, 5) && kept.lines.take(1, 6));
        assert_eq!((kept.full_ns(), kept.dropped()), (None, vec![]));
        assert!(!kept.lines.take(1, 8) && !kept.lines.take(1, 7));
        assert_eq!(kept.full_ns(), Some(7));
        let expected = "a run keeps 2 lines that the programs told, and 2 more were dropped";
        assert_eq!(kept.dropped(), [expected]);
    }

    #[test]
    fn nothing_is_kept_after_something_was_dropped() {
        let kept = kept();
        assert!(kept.command_bytes.take(9, 1));
        assert!(!kept.command_bytes.take(2, 2) && !kept.command_bytes.take(1, 3));
        assert!(kept.lines.take(1, 4), "the other kinds have room");
        assert_eq!(kept.full_ns(), Some(2));
    }

    #[test]
    fn all_of_our_own_clients_is_kept() {
        let kept = Kept::of(&Clients::Own);
        assert!(kept.accesses.take(Most::RUN.accesses + 1, 1));
        assert_eq!(kept.full_ns(), None);
    }
}

//! When each client believed that it held the lock, and when two did at once.

use crate::history::{ClockKind, Deadline, Event, History, Record};

/// One grant as its client saw it, in true time.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Hold<'a> {
    pub(super) client: &'a str,
    pub(super) from_ns: u64,
    /// When the client's own clock reached the deadline, if that was before it ended.
    pub(super) deadline_ns: Option<u64>,
    /// When the client stopped believing of itself, or died, or the run ended.
    pub(super) until_ns: u64,
    pub(super) token: Option<u64>,
    /// Whether it is a reader's.
    pub(super) shared: bool,
}

impl Hold<'_> {
    /// The end of the part that the lease covers.
    pub(super) fn covered_until_ns(&self) -> u64 {
        self.deadline_ns.unwrap_or(self.until_ns)
    }
}

/// A stretch in which two clients believe at once.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Overlap<'a> {
    pub(super) clients: [&'a str; 2],
    pub(super) from_ns: u64,
    pub(super) until_ns: u64,
    /// Whether one of the two is past its own deadline.
    pub(super) past_deadline: bool,
}

/// All grants of the history, in the order in which they began.
pub(super) fn holds(history: &History) -> Vec<Hold<'_>> {
    let mut holds = Vec::new();
    for (index, record) in history.records.iter().enumerate() {
        let Event::BeliefBegins {
            grant,
            deadline,
            token,
            shared,
        } = record.event
        else {
            continue;
        };
        let later = &history.records[index..];
        let ends = (later.iter()).find(|end| {
            let is_over = end.event == Event::BeliefEnds { grant } || end.event.is_death();
            end.host == record.host && is_over
        });
        let until_ns = ends.map_or(history.end_ns.max(record.at_ns), |end| end.at_ns);
        holds.push(Hold {
            client: &record.host,
            from_ns: record.at_ns,
            deadline_ns: deadline
                .and_then(|deadline| reached_ns(later, deadline))
                .filter(|&reached_ns| reached_ns < until_ns),
            until_ns,
            token,
            shared,
        });
    }
    holds
}

/// The true time at which the clock of the first record's host first reads the
/// deadline. Between two records of a host its clocks run straight; after the last,
/// like true time.
fn reached_ns(records: &[Record], deadline: Deadline) -> Option<u64> {
    let reading = |record: &Record| match deadline.clock {
        ClockKind::Wall => record.wall_ns,
        ClockKind::Monotonic => record.mono_ns,
    };
    let first = records.first()?;
    let mut before = first;
    for record in records.iter().filter(|record| record.host == first.host) {
        if reading(record) >= deadline.at_ns {
            let whole = reading(record).saturating_sub(reading(before));
            let part = deadline.at_ns.saturating_sub(reading(before));
            let elapsed = record.at_ns.saturating_sub(before.at_ns);
            let share = part as f64 / whole.max(1) as f64;
            return Some(before.at_ns.saturating_add((elapsed as f64 * share) as u64));
        }
        before = record;
    }
    let rest = deadline.at_ns - reading(before);
    before.at_ns.checked_add(rest)
}

/// The overlaps of holds of different clients that are not both readers, covered and
/// uncovered parts apart.
pub(super) fn overlaps<'a>(holds: &[Hold<'a>]) -> Vec<Overlap<'a>> {
    let mut overlaps = Vec::new();
    for (index, earlier) in holds.iter().enumerate() {
        for later in &holds[index + 1..] {
            let is_shared = earlier.shared && later.shared;
            if earlier.client == later.client || is_shared {
                continue;
            }
            let from_ns = earlier.from_ns.max(later.from_ns);
            let until_ns = earlier.until_ns.min(later.until_ns);
            let covered = earlier.covered_until_ns().min(later.covered_until_ns());
            let covered_ns = covered.clamp(from_ns, until_ns.max(from_ns));
            let clients = [earlier.client, later.client];
            for (from_ns, until_ns, past_deadline) in
                [(from_ns, covered_ns, false), (covered_ns, until_ns, true)]
            {
                if from_ns < until_ns {
                    overlaps.push(Overlap {
                        clients,
                        from_ns,
                        until_ns,
                        past_deadline,
                    });
                }
            }
        }
    }
    overlaps
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hold(client: &str, from_ns: u64, deadline_ns: Option<u64>, until_ns: u64) -> Hold<'_> {
        Hold {
            client,
            from_ns,
            deadline_ns,
            until_ns,
            token: None,
            shared: false,
        }
    }

    fn check(holds: &[Hold], expected: &[(u64, u64, bool)]) {
        let found = overlaps(holds);
        let found: Vec<_> = (found.iter())
            .map(|overlap| (overlap.from_ns, overlap.until_ns, overlap.past_deadline))
            .collect();
        assert_eq!(found, expected);
    }

    #[test]
    fn overlap_is_split_at_the_deadline() {
        let (first, second) = (hold("c1", 0, Some(10), 20), hold("c2", 5, None, 30));
        check(&[first, second], &[(5, 10, false), (10, 20, true)]);
    }

    #[test]
    fn one_after_the_other_is_no_overlap() {
        let (first, second) = (hold("c1", 0, None, 5), hold("c2", 5, None, 30));
        check(&[first, second], &[]);
    }

    #[test]
    fn readers_do_not_overlap_one_another() {
        let reader = |hold| Hold {
            shared: true,
            ..hold
        };
        let (first, second) = (hold("c1", 0, None, 9), hold("c2", 5, None, 30));
        check(&[reader(first), reader(second)], &[]);
        check(&[reader(first), second], &[(5, 9, false)]);
    }

    #[test]
    fn a_client_does_not_overlap_with_itself() {
        check(&[hold("c1", 0, None, 9), hold("c1", 5, None, 30)], &[]);
    }

    #[test]
    fn a_hold_ends_with_its_process_at_the_latest() {
        let record = |at_ns, host: &str, event| Record {
            at_ns,
            host: host.into(),
            wall_ns: at_ns,
            mono_ns: at_ns,
            event,
        };
        let begins = Event::BeliefBegins {
            grant: 1,
            deadline: None,
            token: None,
            shared: false,
        };
        let crash = || Event::Fault {
            fault: "power".into(),
            kind: "crash".into(),
            phase: crate::history::Phase::Begins,
        };
        let history = History {
            records: vec![
                record(5, "c1", begins),
                record(7, "c2", crash()),
                record(9, "c1", crash()),
            ],
            end_ns: 30,
            ..History::default()
        };
        assert_eq!(holds(&history), [hold("c1", 5, None, 9)]);
    }

    /// A suspension stops the monotonic clock: the deadline comes later in true time.
    #[test]
    fn a_deadline_is_on_the_clients_own_clock() {
        let record = |at_ns, mono_ns| Record {
            at_ns,
            host: "c1".into(),
            wall_ns: at_ns,
            mono_ns,
            event: Event::Reached {
                point: "checked".into(),
            },
        };
        let records = [
            record(0, 0),
            record(40, 40),
            record(90, 40),
            record(100, 50),
        ];
        let deadline = |clock, at_ns| Deadline { clock, at_ns };
        let monotonic = reached_ns(&records, deadline(ClockKind::Monotonic, 45));
        let wall = reached_ns(&records, deadline(ClockKind::Wall, 45));
        let after_all = reached_ns(&records, deadline(ClockKind::Monotonic, 60));
        assert_eq!(
            (monotonic, wall, after_all),
            (Some(95), Some(45), Some(110))
        );
    }
}

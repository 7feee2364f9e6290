//! When clients asked for the lock, so that a binary search finds whether one did during a grant.

use std::cell::OnceCell;

use crate::effects::Reach;
use locklab_history::timeline::{Grant, Timeline};
use locklab_history::{Event, Failpoint, Op, Outcome};

/// The attempts in the order of their beginnings.
pub(super) struct Attempts {
    attempts: Vec<Attempt>,
    /// Per attempt the longest up to it.
    all: OnceCell<Vec<Longest>>,
    /// The same of clients that do not only read.
    exclusive: OnceCell<Vec<Longest>>,
}

/// Until when the attempt lasts that lasts longest, its host, and the same of any other host.
#[derive(Default, Clone, Copy)]
struct Longest {
    until_ns: u64,
    host: usize,
    others_until_ns: u64,
}

impl Longest {
    fn with(self, attempt: &Attempt) -> Longest {
        let Attempt { host, to_ns, .. } = *attempt;
        let is_own = host == self.host;
        match to_ns > self.until_ns {
            true => Longest {
                until_ns: to_ns,
                host,
                others_until_ns: if is_own {
                    self.others_until_ns
                } else {
                    self.until_ns
                },
            },
            false if is_own => self,
            false => Longest {
                others_until_ns: to_ns.max(self.others_until_ns),
                ..self
            },
        }
    }
}

impl Attempts {
    pub(super) fn of(timeline: &Timeline, reach: &Reach) -> Attempts {
        Attempts {
            attempts: attempts(timeline, reach),
            all: OnceCell::new(),
            exclusive: OnceCell::new(),
        }
    }

    fn longest(&self, counts: impl Fn(&Attempt) -> bool) -> Vec<Longest> {
        let mut longest = Longest::default();
        let so_far = self.attempts.iter().map(|attempt| {
            if counts(attempt) {
                longest = longest.with(attempt);
            }
            longest
        });
        so_far.collect()
    }

    /// The latest end of an attempt that began before this time, of another client than the holder of
    /// the grant, who could not share the lock with it; 0 if there is none.
    pub(super) fn last_until(&self, before_ns: u64, grant: &Grant) -> u64 {
        let has_begun = |attempt: &Attempt| attempt.from_ns < before_ns;
        let begun = self.attempts.partition_point(has_begun);
        let Some(last) = begun.checked_sub(1) else {
            return 0;
        };
        let longest = match grant.shared {
            true => self
                .exclusive
                .get_or_init(|| self.longest(|attempt| !attempt.shared)),
            false => self.all.get_or_init(|| self.longest(|_| true)),
        };
        let longest = longest[last];
        match longest.host == grant.host {
            true => longest.others_until_ns,
            false => longest.until_ns,
        }
    }
}

/// A call of `acquire`.
struct Attempt {
    host: usize,
    from_ns: u64,
    to_ns: u64,
    /// Whether its client only ever reads, and shares the lock with other readers.
    shared: bool,
    /// Whether it was answered, or is no call.
    is_answered: bool,
}

impl Attempt {
    /// Whether some server could have granted the client the lock.
    fn is_possible(&self, reach: &Reach) -> bool {
        let is_unanswered = !self.is_answered && reach.is_left_alone(self.host, self.to_ns);
        !is_unanswered && !reach.is_cut_off(self.host, (self.from_ns, self.to_ns))
    }
}

/// Every call of `acquire`, and every time in which a client listens for its turn (`waiting`) until
/// it calls again or gives up. What never ends lasts to its client's death or the end of the run. A
/// grant without a call is one by itself. An attempt that reached no server is none.
fn attempts(timeline: &Timeline, reach: &Reach) -> Vec<Attempt> {
    let mut attempts: Vec<Attempt> = Vec::new();
    let mut open: Vec<Option<usize>> = vec![None; timeline.hosts];
    for (_, host, record) in timeline.records() {
        let at_ns = record.at_ns;
        let is_call = matches!(
            record.event,
            Event::Invoke {
                op: Op::Acquire,
                ..
            }
        );
        let is_return = matches!(
            record.event,
            Event::Complete {
                op: Op::Acquire,
                ..
            }
        );
        let waits = record.event.is_reached(Failpoint::Waiting);
        let gives_up = record.event.is_reached(Failpoint::GivingUp);
        let is_grant = matches!(record.event, Event::BeliefBegins { .. });
        let is_instant = is_grant && open[host].is_none();
        if (is_call || is_return || waits || gives_up || record.event.is_death())
            && let Some(attempt) = open[host].take()
        {
            attempts[attempt].to_ns = at_ns;
            attempts[attempt].is_answered |= is_answer(&record.event);
        }
        if is_call || waits || is_instant {
            open[host] = (!is_instant).then_some(attempts.len());
            attempts.push(Attempt {
                host,
                from_ns: at_ns,
                to_ns: if is_instant { at_ns } else { u64::MAX },
                shared: false,
                is_answered: !is_call,
            });
        }
    }
    attempts.retain(|attempt| attempt.is_possible(reach));
    let mut only_reads: Vec<Option<bool>> = vec![None; timeline.hosts];
    for grant in &timeline.grants {
        *only_reads[grant.host].get_or_insert(true) &= grant.shared;
    }
    for attempt in &mut attempts {
        attempt.shared = only_reads[attempt.host] == Some(true);
    }
    attempts
}

/// Whether a call of `acquire` returned with an answer.
fn is_answer(event: &Event) -> bool {
    matches!(
        event,
        Event::Complete {
            op: Op::Acquire,
            outcome: Outcome::Ok | Outcome::Failed,
            ..
        }
    )
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::random::{BOUNDS, histories};

    proptest! {
        #![proptest_config(ProptestConfig {
            failure_persistence: None,
            ..ProptestConfig::default()
        })]

        #[test]
        fn a_grant_is_contended_if_any_attempt_contends(history in histories()) {
            let timeline = Timeline::of(&history);
            let reach = Reach::of(&timeline, &BOUNDS);
            let of_all = Attempts::of(&timeline, &reach);
            let attempts = attempts(&timeline, &reach);
            let instants = || timeline.all_records().iter().map(|record| record.at_ns);
            for (grant, until_ns) in timeline.grants.iter().flat_map(|grant| instants().map(move |at_ns| (grant, at_ns))) {
                let contends = attempts.iter().any(|attempt| {
                    attempt.host != grant.host
                        && !(attempt.shared && grant.shared)
                        && attempt.from_ns < until_ns
                        && attempt.to_ns > grant.begins_ns
                });
                prop_assert_eq!(of_all.last_until(until_ns, grant) > grant.begins_ns, contends);
            }
        }
    }
}

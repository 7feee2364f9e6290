//! A free lock is taken again within its bound while a client requests it.
//!
//! It is violated by a stretch of true time, longer than the bound, throughout which
//!
//! - no client held the lock: none believed in it, each to the deadline of its lease (so a
//!   client that died holds nothing, and one that is partitioned holds the lock no longer than
//!   its lease; without deadline, to its release);
//! - one particular client requested it: from its first call of `acquire` until it is granted the lock,
//!   gives up (it reaches `giving-up`) or dies, however long it waits between two attempts, and
//!   whatever the bound. A client that is refused and does not ask again in this history has requested
//!   the lock up to that refusal ([`Timeline::asks_again`]);
//! - no fault hindered that client.
//!
//! A fault hinders a client only if it can cause the wait:
//!
//! - A client that is paused, suspended or dead requests nothing.
//! - A server of the lock that is paused, suspended or dead does not reply. The resource is a
//!   server of the lock only if the lock's tokens come from it.
//! - A link on which nothing gets through, in either direction, matters if it is between the
//!   client and a server of the lock, or between two servers.
//! - Such a link may also only delay packets: a slow link adds its extra delay to every
//!   round trip in the bound, once for each slow direction. A lossy one adds the delay of one
//!   transmission in a million, [`retransmission_ns`]. The bound is extended by that for every
//!   stretch that such a fault touches before the bound is exceeded. If the delay exceeds the
//!   client's timeout for a reply, the link counts as cut.
//! - Where connections are reset, of the client or of a server, a request that was not answered never
//!   is: the client waits for its timeouts.
//! - Faults of other clients excuse nothing; the lock must survive those. Nor do faults of
//!   clocks: a lock that outlives its lease because a clock was set back is a violation. A
//!   manual failover ends immediately: the bound has to cover its duration, as with any other
//!   command.
//!
//! A fault is in effect from its beginning to its end, if it has one; a kill or a crash ends
//! with the restart. Delayed packets arrive later: TCP doubles its timeout before each
//! retransmission, so after a silence (a cut, a crash) the next transmission comes within the
//! same time again plus a second; and a client whose request was lost waits for its own
//! timeouts ([`Bounds::time_outs_ns`]). The excuse lasts until then. If the next silence begins
//! earlier, the request may not have got through between them, so both count as one. Then the
//! stretch starts again, so the bound must cover a client's worst wait: the lease of a holder that
//! died, the wait between two attempts, and the attempts. Clients that keep each other from the
//! lock for ever (live-lock) violate this as much as a key that no client deletes.
//!
//! A wait beyond the bound that is excused only by faults does not violate the property if a grant
//! ended it: the lock was available once the faults were over. Otherwise the cause of the wait is
//! unknown, and the verdict is inconclusive.
//!
//! A run proves nothing in which no client wanted the free lock, after a fault met a client if there
//! are faults ([`Effects`]), for long enough that the wait could have exceeded its bound.
//!
//! Availability ([`Excuse::OwnHost`]) counts only faults of the client's own host and of its
//! links to the servers. Servers that do not answer cost it timeouts, which its bound covers.

mod excuse;

use std::mem;

pub(super) use self::excuse::Excuse;
pub use self::excuse::retransmission_ns;

use self::excuse::{Obstacle, Silence, kind_of};
use super::effects::Effects;
use super::{Bounds, Ms, Verdict, Violation};
use locklab_history::timeline::Timeline;
use locklab_history::{Event, Failpoint, Name, Op, Outcome, Phase, Record, Span};

pub(super) fn check(
    timeline: &Timeline,
    bounds: &Bounds,
    effects: &Effects,
    excuse: Excuse,
) -> Verdict {
    let bounds = Bounds {
        deadlock_ns: match excuse {
            Excuse::OwnHost => bounds.deadlock_ns + bounds.time_outs_ns,
            Excuse::Servers | Excuse::Nothing => bounds.deadlock_ns,
        },
        ..*bounds
    };
    let excused = RequestTracker::over(timeline, bounds, excuse);
    if let Some(wait) = excused.first(0, |_| true) {
        return Verdict::Violated(wait.violation());
    }
    if excused.has_excused {
        let all = RequestTracker::over(timeline, bounds, Excuse::Nothing);
        let unended = |wait: &Wait| !wait.is_ended_by_grant;
        if let Some(wait) = all.first(0, unended) {
            return Verdict::Inconclusive {
                why: format!("{}; a fault may be the cause", wait.what()),
            };
        }
    }
    match excused.is_long_enough(effects) {
        true => Verdict::Holds,
        false => Verdict::Inconclusive {
            why: "no wait for the free lock began early enough to exceed its bound".into(),
        },
    }
}

/// The first wait whose part from `since_ns` on exceeds the bound, regardless of faults.
pub(super) fn first_unexcused(
    timeline: &Timeline,
    bounds: &Bounds,
    since_ns: u64,
) -> Option<Violation> {
    let all = RequestTracker::over(timeline, *bounds, Excuse::Nothing);
    let wait = all.first(since_ns, |_| true)?;
    Some(wait.violation())
}

/// A stretch of true time, in nanoseconds.
#[derive(Clone, Copy)]
struct Interval {
    from_ns: u64,
    to_ns: u64,
}

/// When no client held the lock.
fn free(timeline: &Timeline) -> Vec<Interval> {
    let mut free = Vec::new();
    let mut from_ns = 0;
    for grant in &timeline.grants {
        if grant.begins_ns > from_ns {
            free.push(Interval {
                from_ns,
                to_ns: grant.begins_ns,
            });
        }
        from_ns = from_ns.max(grant.lapses_ns);
    }
    if timeline.end_ns > from_ns {
        free.push(Interval {
            from_ns,
            to_ns: timeline.end_ns,
        });
    }
    free
}

/// A client's wait for a free lock.
struct Wait<'h> {
    client: &'h Name,
    stretch: Interval,
    /// When it reached its bound, or would have.
    exceeds_ns: u64,
    /// Whether the client or another one was finally granted the lock.
    is_ended_by_grant: bool,
}

impl Wait<'_> {
    fn what(&self) -> String {
        format!(
            "{} tried in vain to acquire the lock from {} to {} although no client held it",
            self.client,
            Ms(self.stretch.from_ns),
            Ms(self.stretch.to_ns),
        )
    }

    fn violation(&self) -> Violation {
        Violation {
            at_ns: self.exceeds_ns,
            until_ns: self.stretch.to_ns,
            clients: vec![self.client.clone()],
            what: self.what(),
        }
    }
}

/// A period in which a client requested the lock unhindered.
struct RequestPeriod<'h> {
    client: &'h Name,
    stretch: Interval,
    /// Whether it ended with a grant. On a real machine the client holds the lock a moment after that.
    is_granted: bool,
    /// Each larger than those before.
    delays: Vec<Delay>,
}

/// A delay that faults add to a client's wait.
#[derive(Clone, Copy)]
struct Delay {
    /// Since when.
    at_ns: u64,
    by_ns: u64,
}

struct RequestTracker<'h> {
    bounds: Bounds,
    excuse: Excuse,
    /// Per host.
    wanting: Vec<Requester<'h>>,
    obstacles: Vec<Obstacle<'h>>,
    /// Whether any fault ever excused a client that could request the lock.
    has_excused: bool,
    wanted: Vec<RequestPeriod<'h>>,
    /// When no client held the lock.
    free: Vec<Interval>,
    /// When the run ended.
    end_ns: u64,
}

#[derive(Default)]
struct Requester<'h> {
    /// The host's name, if it is a client's.
    client: Option<&'h Name>,
    /// Since when it has requested the lock unhindered.
    since_ns: Option<u64>,
    /// Whether it requests the lock, hindered or not.
    requests: bool,
    /// The number of faults in effect that hinder it.
    hindered: usize,
    /// The time until which faults that have ended still hinder it, in nanoseconds.
    hindered_until_ns: u64,
    /// The silence in which its packets were last lost.
    silence: Silence,
    /// The delay that the faults in effect add to its wait.
    delay_ns: u64,
    /// Such delays since `since_ns`, each larger than those before.
    delays: Vec<Delay>,
}

impl Requester<'_> {
    /// Faults in effect add so much more to its wait from now on.
    fn delay(&mut self, at_ns: u64, by_ns: u64) {
        self.delay_ns = self.delay_ns.saturating_add(by_ns);
        self.note_delay(at_ns);
    }

    fn note_delay(&mut self, at_ns: u64) {
        let by_ns = self.delay_ns;
        if by_ns > self.delays.last().map_or(0, |delay| delay.by_ns) {
            self.delays.push(Delay { at_ns, by_ns });
        }
    }
}

impl<'h> RequestTracker<'h> {
    /// All requests for the lock in a history.
    fn over(timeline: &Timeline<'h>, bounds: Bounds, excuse: Excuse) -> RequestTracker<'h> {
        let mut watch = RequestTracker {
            bounds,
            excuse,
            wanting: (0..timeline.hosts).map(|_| Requester::default()).collect(),
            obstacles: Vec::new(),
            has_excused: false,
            wanted: Vec::new(),
            free: free(timeline),
            end_ns: timeline.end_ns,
        };
        for (_, host, record) in timeline.records() {
            if let Event::Invoke { .. } | Event::BeliefBegins { .. } | Event::RunEnds = record.event
            {
                watch.wanting[host].client = Some(&record.host);
            }
        }
        for (index, host, record) in timeline.records() {
            let asks_again = || timeline.asks_again(index);
            watch.take(host, record, asks_again);
        }
        for host in 0..watch.wanting.len() {
            watch.close(host, timeline.end_ns, false);
        }
        watch
    }

    /// `asks_again` says whether the client goes on requesting the lock after this record.
    fn take(&mut self, host: usize, record: &'h Record, asks_again: impl Fn() -> bool) {
        let now_ns = record.at_ns;
        match &record.event {
            Event::Invoke {
                op: Op::Acquire, ..
            } => {
                self.wanting[host].requests = true;
                self.open(host, now_ns);
            }
            Event::Complete {
                op: Op::Acquire,
                outcome,
                ..
            } if !asks_again() => {
                self.close(host, now_ns, *outcome == Outcome::Ok);
                self.wanting[host].requests = false;
            }
            // It waits for its turn and does not retry.
            event if event.is_reached(Failpoint::Waiting) => {
                self.wanting[host].requests = true;
                self.open(host, now_ns);
            }
            event if event.is_reached(Failpoint::GivingUp) => {
                self.close(host, now_ns, false);
                self.wanting[host].requests = false;
            }
            Event::Fault {
                fault,
                kind,
                phase: Phase::Begins,
                links,
            } => {
                self.begin(fault, host, kind_of(*kind, links.as_deref()), record);
                if kind.span() == Span::Momentary {
                    self.end(fault, host, now_ns);
                }
                if record.event.is_death() {
                    self.wanting[host].requests = false;
                }
            }
            Event::Fault {
                fault,
                phase: Phase::Ends,
                ..
            } => self.end(fault, host, now_ns),
            _ => {}
        }
    }

    /// Starts a stretch, unless one has started or a fault hinders the client.
    fn open(&mut self, host: usize, now_ns: u64) {
        let wanting = &mut self.wanting[host];
        if wanting.hindered == 0 && wanting.since_ns.is_none() {
            wanting.since_ns = Some(now_ns.max(wanting.hindered_until_ns));
            wanting.delays.clear();
            wanting.note_delay(now_ns);
        }
    }

    /// Ends a stretch.
    fn close(&mut self, host: usize, to_ns: u64, is_granted: bool) {
        let wanting = &mut self.wanting[host];
        let (Some(client), Some(from_ns)) = (wanting.client, wanting.since_ns.take()) else {
            return;
        };
        if from_ns < to_ns {
            self.wanted.push(RequestPeriod {
                client,
                stretch: Interval { from_ns, to_ns },
                is_granted,
                delays: mem::take(&mut wanting.delays),
            });
        }
    }

    /// The first wait that exceeded its bound and for which `is_wanted` is true. The time before
    /// `since_ns` does not count.
    fn first(&self, since_ns: u64, is_wanted: impl Fn(&Wait<'h>) -> bool) -> Option<Wait<'h>> {
        self.waits(since_ns)
            .filter(|wait| wait.stretch.to_ns > wait.exceeds_ns && is_wanted(wait))
            .min_by_key(|wait| wait.exceeds_ns)
    }

    /// Whether the run was long enough to show a violation: a client wanted the free lock, from some
    /// time on that is longer than the bound before the end of the run. If the lock was granted then,
    /// the client counts as one that would have gone on to the horizon. In a run with faults, one
    /// mattered before that time.
    fn is_long_enough(&self, effects: &Effects) -> bool {
        let Some(since_ns) = effects.first_ns() else {
            return false;
        };
        self.waits(since_ns).any(|wait| {
            let to_ns = match wait.is_ended_by_grant {
                true => self.bounds.horizon_ns.max(self.end_ns),
                false => wait.stretch.to_ns,
            };
            to_ns > wait.exceeds_ns
        })
    }

    /// When a wait exceeds its bound. What begins to delay it later is no excuse.
    fn exceeds_ns(&self, from_ns: u64, delays: &[Delay]) -> u64 {
        let bound_ns = from_ns.saturating_add(self.bounds.deadlock_ns);
        delays.iter().fold(bound_ns, |exceeds_ns, delay| {
            match delay.at_ns <= exceeds_ns {
                true => bound_ns.saturating_add(delay.by_ns),
                false => exceeds_ns,
            }
        })
    }

    /// Every wait for the free lock, however short. The time before `since_ns` does not count.
    fn waits(&self, since_ns: u64) -> impl Iterator<Item = Wait<'h>> {
        let (free, end_ns) = (&self.free[..], self.end_ns);
        self.wanted.iter().flat_map(move |wanted| {
            let Interval { from_ns, to_ns } = wanted.stretch;
            let past = free.partition_point(|free| free.to_ns <= from_ns);
            let of_interest = { free[past..].iter() }.take_while(move |free| free.from_ns < to_ns);
            of_interest.filter_map(move |free| {
                let both = Interval {
                    from_ns: free.from_ns.max(from_ns).max(since_ns),
                    to_ns: free.to_ns.min(to_ns),
                };
                (both.from_ns < both.to_ns).then(|| Wait {
                    client: wanted.client,
                    stretch: both,
                    exceeds_ns: self.exceeds_ns(both.from_ns, &wanted.delays),
                    is_ended_by_grant: match free.to_ns <= to_ns {
                        true => free.to_ns < end_ns,
                        false => wanted.is_granted,
                    },
                })
            })
        })
    }
}

#[cfg(test)]
mod tests;

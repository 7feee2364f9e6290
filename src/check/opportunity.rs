//! Whether a run could have violated a property.
//!
//! A property that holds in a run shows something only if the run contained what a violation needs.
//! A release that finds its key gone is no test of whose key it would have deleted. So each property
//! has its [`Opportunity`], and without it the verdict is inconclusive. A violation is an opportunity by
//! itself.
//!
//! In a run with faults an opportunity counts only while a fault mattered: it must come after the fault has met a
//! client, and not too long after the fault's end ([`Effects`]). So what was over before the fault, and what
//! bystanders do, shows nothing. And a client that faults kept from all servers has asked nobody for the
//! lock ([`Reach`]).

mod attempts;

use std::cell::OnceCell;

use self::attempts::Attempts;
use super::Bounds;
use super::effects::{Effects, Reach};
use locklab_history::timeline::{Grant, Holder, Timeline};
use locklab_history::{Access, Event, Failpoint, Op, Outcome, Record};
use locklab_vecmap::VecSet;

/// What a run must contain so that it could have violated a property.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Opportunity {
    /// A client asked for the lock, or listened for its turn, while another believed that it held it.
    AskedWhileBelieved,
    /// The same, within the time that the other's validity promised.
    AskedWithinLease,
    /// A client whom another had followed wrote, was refused a write, or stopped before it because it saw
    /// that its lease was over.
    LateWrite,
    /// The same, or another client asked for the lock between the grant of a client and its write.
    ContendedUpdate,
    /// An access came with a token after another grant's had been accepted.
    SecondToken,
    /// That of any part of `resource`.
    ContendedUpdateOrSecondToken,
    /// A client that could rely on the lock accessed a resource that refuses some: the access had a token and the
    /// resource compares them, or it refused an access in this run.
    Refusal,
    /// A release was answered, and throughout its call another client could rely on the lock.
    LateRelease,
    /// An add was acknowledged before the end of the last fault that struck a server, or a link to one, while
    /// clients added.
    AddAtRisk,
    /// The rule of the property finds it, and is inconclusive without it. For `deadlock` and `availability`:
    /// from some time on a client requested the free lock, and the run lasted longer than the bound from then;
    /// after a fault met a client, if there are any.
    JudgedByRule,
}

/// The opportunities of a run.
pub(super) struct Opportunities<'t, 'h> {
    timeline: &'t Timeline<'h>,
    bounds: &'t Bounds,
    effects: &'t Effects,
    attempts: OnceCell<Attempts>,
}

impl<'t, 'h> Opportunities<'t, 'h> {
    pub(super) fn of(timeline: &'t Timeline<'h>, bounds: &'t Bounds, effects: &'t Effects) -> Self {
        Self {
            timeline,
            bounds,
            effects,
            attempts: OnceCell::new(),
        }
    }

    /// Why this run lacks the opportunity, if it does.
    pub(super) fn missing(&self, wanted: Opportunity) -> Option<&'static str> {
        let (had, why) = match wanted {
            Opportunity::AskedWhileBelieved => (
                self.is_asked_for(|grant| grant.ends_ns),
                "no client asked for the lock while another held it",
            ),
            Opportunity::AskedWithinLease => (
                self.is_asked_for(|grant| grant.lapses_ns),
                "no client asked for the lock while another could rely on it",
            ),
            Opportunity::LateWrite => (
                self.comes_to_write(&|grant, index, _| self.is_followed(grant, index)),
                "no client was about to write after another had been granted the lock",
            ),
            Opportunity::ContendedUpdate => (
                self.is_update_contended(),
                "no client asked for the lock between another's grant and its write",
            ),
            Opportunity::SecondToken => (
                self.has_second_token(),
                "the resource never saw the tokens of two grants",
            ),
            Opportunity::ContendedUpdateOrSecondToken => (
                self.is_update_contended() || self.has_second_token(),
                "no client asked for the lock between another's grant and its write",
            ),
            Opportunity::Refusal => (
                self.can_be_refused(),
                match self.bounds.compares_tokens {
                    true => "no client showed a token, and the resource refused nothing",
                    false => "the resource compares no tokens, and refused nothing",
                },
            ),
            Opportunity::LateRelease => (
                self.has_late_release(),
                "no release was answered while another client could rely on the lock",
            ),
            Opportunity::AddAtRisk => (
                self.is_add_at_risk(),
                "no add was acknowledged before the end of a fault of its servers",
            ),
            Opportunity::JudgedByRule => return None,
        };
        (!had).then_some(why)
    }

    /// Whether a client asked for the lock while another held it, from its grant up to the time that
    /// `until_ns` gives.
    fn is_asked_for(&self, until_ns: impl Fn(&Grant) -> u64) -> bool {
        let grants = self.timeline.grants.iter();
        { grants }.any(|grant| self.is_contended(grant, until_ns(grant)))
    }

    /// Whether another client asked for the lock between the beginning of this grant and this time, while a
    /// fault mattered.
    fn is_contended(&self, grant: &Grant, until_ns: u64) -> bool {
        let of_all = || Attempts::of(self.timeline, &Reach::of(self.timeline, self.bounds));
        let attempts = self.attempts.get_or_init(of_all);
        let mut times = self.effects.times();
        times.any(|(from_ns, to_ns)| {
            let (from_ns, to_ns) = (from_ns.max(grant.begins_ns), to_ns.min(until_ns));
            from_ns < to_ns && attempts.last_until(to_ns, grant) > from_ns
        })
    }

    /// Whether a client that may not hold the lock together with this one was granted it later, and
    /// before the record at `index`. A client's own later grant counts, too, but no later stretch of
    /// the same grant.
    fn is_followed(&self, grant: &Grant, index: usize) -> bool {
        let grants = &self.timeline.grants;
        let later = grants.partition_point(|other| other.began <= grant.began);
        let so_far = grants.partition_point(|other| other.began < index);
        let later = grants.get(later..so_far).unwrap_or_default();
        let is_same = |other: &Grant| (other.host, other.number) == (grant.host, grant.number);
        let may_hold_together = |other: &Grant| other.shared && grant.shared;
        later
            .iter()
            .any(|other| !may_hold_together(other) && !is_same(other))
    }

    /// The records at which a fault mattered: all of them without faults.
    fn records_that_matter(&self) -> impl Iterator<Item = (usize, usize, &'h Record)> {
        let records = self.timeline.records();
        records.filter(|(index, _, record)| self.effects.matter_at(*index, record.at_ns))
    }

    /// Whether a client wrote, was refused a write, or stopped before it, under a grant for which
    /// `is_risky` with the index and the time of that record.
    fn comes_to_write(&self, is_risky: &dyn Fn(&Grant, usize, u64) -> bool) -> bool {
        let timeline = self.timeline;
        self.records_that_matter()
            .any(|(index, host, record)| match &record.event {
                Event::Access {
                    client,
                    grant,
                    access: Access::Write { .. },
                    ..
                } => {
                    let under = timeline.grant_of((client, *grant));
                    under
                        .is_some_and(|under| is_risky(&timeline.grants[under], index, record.at_ns))
                }
                event if event.is_reached(Failpoint::Stopped) => {
                    let under = timeline.believed(host, index).last();
                    under.is_some_and(|under| is_risky(under, index, record.at_ns))
                }
                _ => false,
            })
    }

    fn is_update_contended(&self) -> bool {
        self.comes_to_write(&|grant, index, at_ns| {
            // A client may hold the lock twice, and write under the inner grant.
            let mut outer = self.timeline.believed(grant.host, index);
            self.is_followed(grant, index)
                || self.is_contended(grant, at_ns)
                || outer.any(|outer| self.is_contended(outer, at_ns))
        })
    }

    fn has_second_token(&self) -> bool {
        let mut first: Option<Holder> = None;
        let mut records = self.timeline.records();
        records.any(|(index, _, record)| match &record.event {
            Event::Access {
                client,
                grant,
                token: Some(_),
                accepted,
                ..
            } => {
                let holder = (client, *grant);
                let is_second = first.is_some_and(|first| first != holder);
                if *accepted {
                    first.get_or_insert(holder);
                }
                is_second && self.effects.matter_at(index, record.at_ns)
            }
            _ => false,
        })
    }

    fn can_be_refused(&self) -> bool {
        self.records_that_matter()
            .any(|(index, _, record)| match &record.event {
                Event::Access {
                    accepted: false, ..
                } => true,
                Event::Access {
                    client,
                    grant,
                    token: Some(_),
                    ..
                } if self.bounds.compares_tokens => {
                    let mut held = self.timeline.stretches((client, *grant));
                    held.any(|held| held.began < index && record.at_ns < held.lapses_ns)
                }
                _ => false,
            })
    }

    fn has_late_release(&self) -> bool {
        let timeline = self.timeline;
        // Per host: the grant that it releases, and when it called release, or sent the command
        // that deletes.
        let mut releasing: Vec<Option<(u32, u64)>> = vec![None; timeline.hosts];
        // The hosts that believe just before a record.
        let mut believing: VecSet<usize> = VecSet::new();
        let mut last: Option<(usize, usize)> = None;
        let mut records = timeline.records();
        records.any(|(index, host, record)| {
            let at_ns = record.at_ns;
            if let Some((before, host)) = last.replace((index, host)) {
                match timeline.believed(host, before + 1).next() {
                    Some(_) => believing.insert(host),
                    None => believing.remove(&host),
                };
            }
            let called = &mut releasing[host];
            match record.event {
                Event::BeliefEnds { grant } => *called = Some((grant, at_ns)),
                ref event if event.is_reached(Failpoint::Deleting) => {
                    *called = called.map(|(grant, _)| (grant, at_ns));
                }
                Event::Complete {
                    op: Op::Release,
                    outcome: Outcome::Ok | Outcome::Failed,
                    ..
                } => {
                    let called = called.take();
                    let own = called.and_then(|(grant, _)| timeline.grant(host, grant));
                    let matters = self.effects.matter_at(index, at_ns);
                    return matters
                        && own.zip(called).is_some_and(|(own, (_, called_ns))| {
                            let own = &timeline.grants[own];
                            let mut hosts = believing.iter();
                            hosts.any(|&host| {
                                timeline.believed(host, index).any(|other| {
                                    other.excludes(own)
                                        && other.begins_ns <= called_ns
                                        && other.lapses_ns >= at_ns
                                })
                            })
                        });
                }
                _ => {}
            }
            false
        })
    }

    fn is_add_at_risk(&self) -> bool {
        let is_acknowledged = |event: &Event| {
            matches!(
                event,
                Event::Complete {
                    op: Op::Add,
                    outcome: Outcome::Ok,
                    ..
                }
            )
        };
        let last_ns = self.effects.last_of_servers_ns();
        let mut records = self.timeline.all_records().iter();
        records.any(|record| is_acknowledged(&record.event) && Some(record.at_ns) <= last_ns)
    }
}

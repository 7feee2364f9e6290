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

#[cfg(test)]
mod tests {
    use crate::Property::*;
    use crate::history_builder::HistoryBuilder;
    use locklab_history::ClockKind::Wall;
    use locklab_history::Outcome;

    /// c1 is granted the lock for 100 ms from 10 ms on.
    fn held() -> HistoryBuilder {
        HistoryBuilder::default()
            .tries(0, "c1")
            .granted_for(10, "c1", Wall, 100)
    }

    /// c1 holds the lock to 110 ms, and c2 takes it over at 130 ms.
    fn taken_over() -> HistoryBuilder {
        held().tries(120, "c2").granted_for(130, "c2", Wall, 100)
    }

    #[test]
    fn a_belief_needs_one_who_asks_and_a_lease_one_who_asks_within_it() {
        let asked = |ms| {
            held()
                .tries(ms, "c2")
                .fails(ms + 1, "c2")
                .releases(200, "c1")
        };
        asked(50).expect_shown(Lease);
        asked(150).expect_shown(Belief);
        asked(150).expect_inconclusive(
            Lease,
            "no client asked for the lock while another could rely on it",
        );
        // Both ask at once, before either has it.
        HistoryBuilder::default()
            .tries(0, "c1")
            .tries(1, "c2")
            .fails(2, "c2")
            .granted(10, "c1")
            .expect_inconclusive(Belief, "no client asked for the lock while another held it");
    }

    /// A Redlock whose validity is 15 of 500 ms.
    #[test]
    fn what_was_not_promised_cannot_be_broken() {
        let asked = |ms| {
            HistoryBuilder::default()
                .tries(0, "c1")
                .granted_for(10, "c1", Wall, 15)
                .tries(ms, "c2")
                .fails(ms + 2, "c2")
                .releases(700, "c1")
        };
        asked(20).expect_shown(Lease);
        let why = "no client asked for the lock while another could rely on it";
        asked(30).expect_inconclusive(Lease, why);
    }

    #[test]
    fn a_client_that_listens_for_its_turn_asks_for_the_lock() {
        let refused = HistoryBuilder::default()
            .tries(0, "c2")
            .tries(1, "c1")
            .fails(5, "c2");
        refused
            .clone()
            .waits(6, "c2")
            .granted(10, "c1")
            .expect_shown(Lease);
        let why = "no client asked for the lock while another could rely on it";
        refused.granted(10, "c1").expect_inconclusive(Lease, why);
    }

    #[test]
    fn readers_are_no_danger_to_readers() {
        let reader = |builder: HistoryBuilder| builder.tries(20, "c2").granted_to_read(30, "c2");
        let first = HistoryBuilder::default().tries(0, "c1");
        let why = "no client asked for the lock while another held it";
        reader(first.clone().granted_to_read(10, "c1")).expect_inconclusive(Belief, why);
        let writer = reader(first.granted_to_read(10, "c1"))
            .tries(40, "c3")
            .fails(50, "c3");
        writer.expect_shown(Belief);
    }

    #[test]
    fn a_stale_write_needs_one_who_was_followed_and_comes_to_write() {
        taken_over().writes(150, "c1", 0).expect_shown(StaleWrite);
        taken_over()
            .refused_writing(150, "c1", 0)
            .expect_shown(StaleWrite);
        taken_over().stops(150, "c1").expect_shown(StaleWrite);
        let why = "no client was about to write after another had been granted the lock";
        taken_over()
            .writes(150, "c2", 0)
            .expect_inconclusive(StaleWrite, why);
        taken_over()
            .stops(150, "c2")
            .expect_inconclusive(StaleWrite, why);
        taken_over().expect_inconclusive(StaleWrite, why);
    }

    /// c1 prolongs its lease when it is over: that is the same grant, and nobody has followed it.
    #[test]
    fn a_later_stretch_of_the_same_grant_follows_nobody() {
        let why = "no client was about to write after another had been granted the lock";
        held()
            .tries(20, "c2")
            .fails(30, "c2")
            .prolongs(150, "c1", Wall, 100)
            .writes(160, "c1", 0)
            .expect_inconclusive(StaleWrite, why);
    }

    #[test]
    fn an_update_is_lost_only_if_another_asks_before_the_write() {
        let asks = |ms| held().tries(ms, "c2").fails(ms + 5, "c2");
        asks(20).writes(50, "c1", 0).expect_shown(LostUpdate);
        asks(20).writes(50, "c1", 0).expect_shown(Resource);
        let why = "no client asked for the lock between another's grant and its write";
        asks(20).expect_inconclusive(LostUpdate, why);
        let early = held().writes(20, "c1", 0).tries(30, "c2").fails(40, "c2");
        early.expect_inconclusive(Resource, why);
    }

    #[test]
    fn tokens_are_compared_only_if_there_are_two() {
        let tokens = |first, second| {
            HistoryBuilder::default()
                .tries(0, "c1")
                .granted_with_token(10, "c1", first)
                .tries(20, "c2")
                .granted_with_token(30, "c2", second)
                .writes(40, "c1", 0)
        };
        tokens(33, 34)
            .writes(50, "c2", 1)
            .expect_shown(TokenRegression);
        tokens(33, 34).expect_inconclusive(
            TokenRegression,
            "the resource never saw the tokens of two grants",
        );
    }

    #[test]
    fn a_resource_that_refuses_nobody_cannot_refuse_a_rightful_holder() {
        let asked = |builder: HistoryBuilder| builder.tries(20, "c2").fails(30, "c2");
        let why = "no client showed a token, and the resource refused nothing";
        asked(held())
            .writes(50, "c1", 0)
            .expect_inconclusive(Progress, why);
        let with_token = HistoryBuilder::default()
            .tries(0, "c1")
            .granted_with_token(10, "c1", 33);
        asked(with_token).writes(50, "c1", 0).expect_shown(Progress);
        let refused = taken_over()
            .writes(140, "c2", 0)
            .refused_writing(150, "c1", 0);
        refused.expect_shown(Progress);
    }

    /// `release = "del"` with a pause: every DEL found the key gone.
    #[test]
    fn a_release_that_finds_no_key_of_another_is_no_test_of_whose_it_deletes() {
        let released = |from_ms, to_ms, removed| {
            taken_over()
                .releases(from_ms, "c1")
                .released(to_ms, "c1", removed)
        };
        released(150, 160, 0).expect_shown(ForeignRelease);
        let why = "no release was answered while another client could rely on the lock";
        // c2's lease was over, or might have been, when it arrived.
        released(240, 250, 0).expect_inconclusive(ForeignRelease, why);
        released(220, 240, 0).expect_inconclusive(ForeignRelease, why);
        taken_over()
            .releases(150, "c1")
            .expect_inconclusive(ForeignRelease, why);
        // A command that was sent late counts from then.
        let looked = held()
            .releases(100, "c1")
            .tries(120, "c2")
            .granted_for(130, "c2", Wall, 100);
        looked
            .deletes(150, "c1")
            .released(160, "c1", 0)
            .expect_shown(ForeignRelease);
    }

    /// A lease of 100 s in a run of 60 s, whose holder is killed.
    #[test]
    fn a_wait_that_the_run_cannot_exceed_shows_no_freedom_from_deadlock() {
        let killed = |horizon_ms| {
            HistoryBuilder::default()
                .deadlock_after(100_000)
                .until(horizon_ms)
                .tries(0, "c1")
                .holds(10, "c1")
                .tries(20, "c2")
                .fails(30, "c2")
                .fault_begins(40, "c1", "kill")
                .tries(50, "c2")
        };
        let why = "no wait for the free lock began early enough to exceed its bound";
        killed(60_000)
            .ends(60_000)
            .expect_inconclusive(Deadlock, why);
        killed(60_000)
            .granted(55_000, "c2")
            .expect_inconclusive(Deadlock, why);
        killed(60_000)
            .granted(55_000, "c2")
            .expect_inconclusive(Availability, why);
        // The run is over once c2 is done; it could have lasted longer.
        killed(200_000)
            .granted(90_000, "c2")
            .releases(90_010, "c2")
            .expect_shown(Deadlock);
    }

    #[test]
    fn a_wait_before_the_fault_shows_nothing_of_it() {
        let why = "no wait for the free lock began early enough to exceed its bound";
        HistoryBuilder::default()
            .deadlock_after(50)
            .until(200)
            .tries(0, "c2")
            .holds(10, "c1")
            .fails(30, "c2")
            .fault_begins(40, "c1", "pause")
            .tries(50, "c2")
            .fails(60, "c2")
            .expect_inconclusive(Deadlock, why);
    }

    #[test]
    fn an_add_is_at_risk_until_the_last_fault_is_over() {
        let added = |ms| {
            HistoryBuilder::default()
                .fault_begins(50, "n1", "crash")
                .fault_ends(100, "n1", "crash")
                .adds(ms, "c1", Outcome::Ok)
        };
        let read = |builder: HistoryBuilder| builder.members(200, "c1", &[("c1", 1)]);
        let why = "no add was acknowledged before the end of a fault of its servers";
        read(added(150)).expect_inconclusive(AcknowledgedLost, why);
        let during = HistoryBuilder::default()
            .fault_begins(50, "n1", "crash")
            .adds(70, "c1", Outcome::Ok)
            .fault_ends(100, "n1", "crash");
        read(during).expect_shown(AcknowledgedLost);
        let without = HistoryBuilder::default().adds(70, "c1", Outcome::Ok);
        read(without).expect_shown(AcknowledgedLost);
    }

    #[test]
    fn an_order_is_shown_by_a_grant_to_one_of_two_who_wait() {
        let queued = || {
            held()
                .tries(20, "c2")
                .fails(30, "c2")
                .tries(40, "c3")
                .fails(50, "c3")
                .releases(60, "c1")
        };
        queued()
            .tries(70, "c2")
            .granted(80, "c2")
            .expect_shown(Fifo);
        let why = "the lock was never granted while an earlier and a later client waited";
        queued().expect_inconclusive(Fifo, why);
        let gone = queued()
            .gives_up(65, "c3")
            .tries(70, "c2")
            .granted(80, "c2");
        gone.expect_inconclusive(Fifo, why);
    }
}

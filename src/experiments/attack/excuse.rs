//! Violations that no lock of this kind could have prevented.
//!
//! A lock with a lease promises nothing beyond its assumptions: that the clocks of servers and of its holder run at the
//! same rate, that servers remember what they granted, that replicas have what their master had. And whoever stands
//! still past its lease may write afterwards: only the resource can refuse that, by a fencing token. What an attack
//! shows after such a fault is a fact about locks, and no fault of the program's.

use std::fmt;

use locklab_check::{Property, Verdict, Violation};
use locklab_history::timeline::{Grant, Timeline};
use locklab_history::{Access, Event, FaultKind, Name, RESOURCE, Record, Role};
use locklab_model::scenario::{Persistence, Scenario};
use locklab_model::workload::Fencing;
use locklab_runner::judged::JudgedRun;
use locklab_situations::{Period, is_switch, periods};
use locklab_values::units::ns_from_ms;

/// Why no lock of this kind could have prevented a violation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Excuse {
    /// The clock of a server was set, or ran wrong, while the lock was held.
    ServerClock,
    /// The clock of a holder ran wrong.
    HolderClock,
    /// The machine of a holder was suspended.
    HolderSuspended,
    /// A holder stood still, which renews its lease and is told no deadline.
    HolderStopped,
    /// A server lost what it held.
    MemoryLost,
    /// A replica became the master.
    FailedOver,
    /// The writer stood still.
    WriterStopped,
    /// The write was late.
    WriteDelayed,
}

impl fmt::Display for Excuse {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Excuse::ServerClock => {
                "the clock of a server was set or ran wrong, and no lock with a lease survives that"
            }
            Excuse::HolderClock => {
                "the clock of a holder ran wrong, and no lock with a lease survives that"
            }
            Excuse::HolderSuspended => {
                "the machine of a holder was suspended, so that its monotonic clock stood still, and no lock with a \
                 lease by that clock survives that"
            }
            Excuse::HolderStopped => {
                "a holder that renews its lease stood still and could not, and until it goes on it cannot know"
            }
            Excuse::MemoryLost => {
                "a server lost what it held, and no lock on it survives that"
            }
            Excuse::FailedOver => {
                "a replica became the master, which need not have what its master had"
            }
            Excuse::WriterStopped => {
                "the writer stood still past its lease, and only fencing tokens keep it from writing then"
            }
            Excuse::WriteDelayed => {
                "the write came late, after its lease, and only fencing tokens keep it out then"
            }
        })
    }
}

/// The violated properties of a run of `scenario`, each with the reason why no lock of this kind could have prevented
/// the violation; `None` if the lock should have.
pub(crate) fn excuses(run: &JudgedRun, scenario: &Scenario) -> Vec<(Property, Option<Excuse>)> {
    let timeline = &Timeline::of(&run.history);
    let faults = &periods(&run.history);
    let violated = run.verdicts.iter().filter_map(|(property, verdict)| {
        let Verdict::Violated(violation) = verdict else {
            return None;
        };
        let case = Case {
            violation,
            run,
            scenario,
            timeline,
            faults,
        };
        Some((*property, case.excuse(*property)))
    });
    violated.collect()
}

/// Of a run with several locks, the one that is told: with most violations that it should have prevented, with most
/// violations, of which most is known.
pub(crate) fn worst(of_locks: Vec<JudgedRun>, scenario: &Scenario) -> JudgedRun {
    let badness = |run: &JudgedRun| {
        let violated = excuses(run, scenario);
        let blamed = violated.iter().filter(|(_, excuse)| excuse.is_none());
        let decided = run.verdicts.keys().filter(|it| run.decides(**it));
        (blamed.count(), violated.len(), decided.count())
    };
    // The first of several.
    let mut of_locks = of_locks.into_iter().rev();
    let last = of_locks.next().expect("a run has a lock");
    of_locks.fold(last, |worst, run| match badness(&run) >= badness(&worst) {
        true => run,
        false => worst,
    })
}

/// A violation, and what happened before it.
struct Case<'a> {
    violation: &'a Violation,
    run: &'a JudgedRun,
    scenario: &'a Scenario,
    timeline: &'a Timeline<'a>,
    faults: &'a [Period<'a>],
}

impl Case<'_> {
    fn excuse(&self, property: Property) -> Option<Excuse> {
        match property {
            Property::Lease => {
                let of_the_lock = self.servers().or_else(|| self.holders());
                of_the_lock.or_else(|| self.stopped_holder())
            }
            Property::Progress => self.forgets(0),
            Property::TokenRegression => self.forgets(0).or_else(|| self.late(|_| true)),
            Property::StaleWrite | Property::LostUpdate => {
                let of_the_lock = self.servers().or_else(|| self.holders());
                of_the_lock.or_else(|| self.late(|it| matches!(it, Access::Write { .. })))
            }
            // It is violated where the first of its parts is.
            Property::Resource => {
                let at_once = |part: &Property| match self.run.verdicts.get(part) {
                    Some(Verdict::Violated(part)) => part.at_ns == self.violation.at_ns,
                    _ => false,
                };
                let part = Property::PARTS_OF_RESOURCE.into_iter().find(at_once)?;
                self.excuse(part)
            }
            _ => None,
        }
    }

    /// The last grant of a client at this time.
    fn grant(&self, client: &Name, at_ns: u64) -> Option<&Grant<'_>> {
        let mut grants = self.timeline.grants.iter().rev();
        grants.find(|it| it.client == client && it.begins_ns <= at_ns)
    }

    /// When the first of the grants began that the violation is about.
    fn begins_ns(&self) -> u64 {
        let at_ns = self.violation.at_ns;
        let clients = self.violation.clients.iter();
        let grants = clients.filter_map(|it| self.grant(it, at_ns));
        let asked_ns = |grant: &Grant<'_>| {
            let asked = grant
                .asked
                .map(|asked| self.timeline.all_records()[asked].at_ns);
            asked.unwrap_or(grant.begins_ns)
        };
        grants.map(asked_ns).min().unwrap_or(0)
    }

    /// Whether such a fault struck from this time on, before the violation.
    fn has(&self, from_ns: u64, is: impl Fn(&Period<'_>) -> bool) -> bool {
        let before = self
            .faults
            .iter()
            .filter(|it| it.from_ns <= self.violation.at_ns && from_ns <= it.until_ns);
        { before }.any(is)
    }

    fn servers(&self) -> Option<Excuse> {
        let from_ns = self.begins_ns();
        let is_clock =
            |it: &Period<'_>| matches!(it.kind, FaultKind::ClockStep | FaultKind::ClockRate);
        match self.has(from_ns, |it| is_clock(it) && self.is_server(it.host)) {
            true => Some(Excuse::ServerClock),
            false => self.forgets(from_ns),
        }
    }

    /// Whether a server forgot something from this time on.
    fn forgets(&self, from_ns: u64) -> Option<Excuse> {
        let is_lost = |kind: FaultKind| match self.scenario.node.persistence {
            Persistence::AofAlways => false,
            Persistence::AofEverysec | Persistence::AofNo => kind == FaultKind::Crash,
            Persistence::None | Persistence::Snapshot => kind.ends_process(),
        };
        // Until it is back it grants nothing again.
        let is_back = |it: &Period<'_>| it.until_ns <= self.violation.at_ns;
        if self.has(from_ns, |it| {
            is_lost(it.kind) && is_back(it) && self.is_server(it.host)
        }) {
            return Some(Excuse::MemoryLost);
        }
        let between = from_ns..=self.violation.at_ns;
        let switches = |it: &Record| is_switch(it) && between.contains(&it.at_ns);
        let is_failover = self.has(from_ns, |it| it.kind == FaultKind::Failover)
            || self.timeline.all_records().iter().any(switches);
        is_failover.then_some(Excuse::FailedOver)
    }

    fn holders(&self) -> Option<Excuse> {
        let from_ns = self.begins_ns();
        let is_one = |it: &Period<'_>| self.violation.clients.contains(it.host);
        // One that is set does not move the monotonic clock, by which a lease is to be measured.
        if self.has(from_ns, |it| it.kind == FaultKind::ClockRate && is_one(it)) {
            return Some(Excuse::HolderClock);
        }
        let is_suspended = self.has(from_ns, |it| it.kind == FaultKind::Suspend && is_one(it));
        is_suspended.then_some(Excuse::HolderSuspended)
    }

    /// The earlier holder, which has no deadline, stood still for long enough to miss a renewal when the other was granted
    /// the lock, and did not go on with it for another lease afterwards.
    fn stopped_holder(&self) -> Option<Excuse> {
        let lease_ns = self.lease_ns()?;
        let at_ns = self.violation.at_ns;
        let earlier = self.violation.clients.first()?;
        let grant = self.grant(earlier, at_ns)?;
        let has_deadline = grant.lapses_ns < grant.ends_ns;
        let is_it = |fault: &Period<'_>| {
            let lasts = fault.from_ns.saturating_add(lease_ns / 4)..=fault.until_ns;
            let is_told_in_time = grant.ends_ns <= fault.until_ns.saturating_add(lease_ns);
            fault.kind.stands_still()
                && fault.host == earlier
                && lasts.contains(&at_ns)
                && is_told_in_time
        };
        let is_stopped = !has_deadline && self.faults.iter().any(is_it);
        is_stopped.then_some(Excuse::HolderStopped)
    }

    /// The lease of the program, or that of the scenario.
    fn lease_ns(&self) -> Option<u64> {
        let of_scenario = self.scenario.lock.facts().lease_ms.map(ns_from_ms);
        self.run.lease_ns.or(of_scenario)
    }

    /// One of the clients was kept from its last access, or its last write, until its lease was over: the violation is
    /// that, or it overwrites that unseen.
    fn late(&self, counts: fn(&Access) -> bool) -> Option<Excuse> {
        let clients = &self.violation.clients;
        clients
            .iter()
            .find_map(|client| self.late_access(client, counts))
    }

    /// Why the last such access of a client came after its lease. Where the resource compares its token, that is no
    /// excuse.
    fn late_access(&self, writer: &Name, counts: fn(&Access) -> bool) -> Option<Excuse> {
        let accessed = |record: &&Record| {
            let is_before = record.at_ns <= self.violation.at_ns;
            is_before
                && matches!(&record.event, Event::Access { client, access, accepted: true, .. }
                    if client == writer && counts(access))
        };
        let write = { self.timeline.all_records().iter().rev() }.find(accessed)?;
        let Event::Access { access, token, .. } = &write.event else {
            return None;
        };
        let compares = match (self.scenario.resource.fencing, access) {
            (Fencing::None, _) | (Fencing::Writes | Fencing::SameToken, Access::Read { .. }) => {
                false
            }
            (Fencing::ReadsAndWrites, _) | (_, Access::Write { .. }) => true,
        };
        if token.is_some() && compares {
            return None;
        }
        let at_ns = write.at_ns;
        let grant = self.grant(writer, at_ns);
        // Of one that does not tell its grants, from its own read on.
        let from_ns = match grant {
            Some(grant) => grant.begins_ns,
            None => self.read_ns(writer, at_ns)?,
        };
        let lease_ns = self.lease_ns()?;
        // Of a program that does not tell its grants it is not known when its lease was over.
        let late_ns = match grant {
            Some(grant) => at_ns.checked_sub(self.lapse_ns(grant, at_ns, lease_ns))?,
            None => lease_ns,
        };
        let (mut stopped_ns, mut is_delayed) = (0, false);
        for fault in self.faults {
            let lasts_ns = fault
                .until_ns
                .min(at_ns)
                .checked_sub(fault.from_ns.max(from_ns));
            let stops = fault.kind.stands_still() && fault.host == writer;
            stopped_ns += lasts_ns.filter(|_| stops).unwrap_or(0);
            is_delayed |= lasts_ns.is_some() && delays(fault, writer);
        }
        // Without the time that it stood still it would have come within its lease.
        match stopped_ns > 0 && stopped_ns >= late_ns {
            true => Some(Excuse::WriterStopped),
            false => is_delayed.then_some(Excuse::WriteDelayed),
        }
    }

    /// When a client last read the resource before this time.
    fn read_ns(&self, reader: &Name, before_ns: u64) -> Option<u64> {
        let is_read = |record: &&Record| {
            let is_before = record.at_ns < before_ns;
            is_before
                && matches!(&record.event, Event::Access { client, access: Access::Read { .. }, .. } if client == reader)
        };
        let read = { self.timeline.all_records().iter().rev() }.find(is_read)?;
        Some(read.at_ns)
    }

    /// When the lease of a grant was over, of which the client did something at `at_ns`: when it said, or a lease after
    /// it was granted or extended last.
    fn lapse_ns(&self, grant: &Grant<'_>, at_ns: u64, lease_ns: u64) -> u64 {
        if grant.lapses_ns < grant.ends_ns {
            return grant.lapses_ns;
        }
        let mut records = self.timeline.all_records()[grant.began..].iter().rev();
        let begins = |record: &&Record| {
            let is_its_own = matches!(record.event, Event::BeliefBegins { grant: number, .. } if number == grant.number);
            is_its_own && record.host == *grant.client && record.at_ns <= at_ns
        };
        let last_ns = records.find(begins).map_or(grant.begins_ns, |it| it.at_ns);
        last_ns.saturating_add(lease_ns)
    }

    fn is_server(&self, host: &Name) -> bool {
        matches!(
            self.scenario.topology.role(host),
            Some(Role::Node | Role::Replica { .. })
        )
    }
}

/// Whether a fault is of the link from a client to the resource.
fn delays(fault: &Period<'_>, client: &str) -> bool {
    let has = |side: &[Name], name: &str| side.iter().any(|it| **it == *name);
    fault.links.is_some_and(|links| {
        has(&links.from, client) && has(&links.to, RESOURCE)
            || links.both_ways && has(&links.to, client) && has(&links.from, RESOURCE)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use locklab_check::history_builder::{HistoryBuilder, MS};
    use locklab_history::{ClockKind, PacketFault, Schedule};
    use locklab_model::scenario::parse;
    use locklab_runner::run::Run;

    /// The excuse for a property that such a history violates.
    fn excused(property: Property, history: HistoryBuilder, extra: &str) -> Option<Excuse> {
        let text = format!(
            "title = \"a program\"\nhorizon_ms = 5000\ntopology = {{ nodes = 1, clients = 2 }}\n\
             lock.name = \"set-nx-px\"\nlock.ttl_ms = 1000\n{extra}"
        );
        let scenario = parse("t.toml", &text, &[]).expect("a sound scenario");
        let run = Run {
            history: history.ends(3000).history(),
            ..Run::default()
        };
        let run = JudgedRun::of(run, Schedule::default(), &scenario);
        let all = excuses(&run, &scenario);
        let found = all.iter().find(|(violated, _)| *violated == property);
        found
            .unwrap_or_else(|| panic!("{property} is not violated"))
            .1
    }

    fn granted(history: HistoryBuilder, ms: u64, client: &'static str) -> HistoryBuilder {
        let history = history.tries(ms - 5, client).granted(ms, client);
        history.holds_for(ms, client, ClockKind::Monotonic, 1000)
    }

    /// c1 is granted the lock, this happens, and c2 is granted it within c1's lease.
    fn overlap(happens: impl Fn(HistoryBuilder) -> HistoryBuilder, extra: &str) -> Option<Excuse> {
        let before = granted(HistoryBuilder::default().tries(1, "n1"), 100, "c1");
        excused(Property::Lease, granted(happens(before), 900, "c2"), extra)
    }

    #[test]
    fn a_lease_does_not_survive_what_its_servers_or_its_holder_suffer() {
        assert_eq!(overlap(|history| history, ""), None);
        let step = |history: HistoryBuilder| history.steps(300, "n1", 2000);
        assert_eq!(overlap(step, ""), Some(Excuse::ServerClock));
        let of_client = |history: HistoryBuilder| history.steps(300, "c1", 2000);
        assert_eq!(overlap(of_client, ""), None);
        let slow = |history: HistoryBuilder| history.drifts(300, "c1", -300_000);
        assert_eq!(overlap(slow, ""), Some(Excuse::HolderClock));
        let suspend = |history: HistoryBuilder| history.suspends(300, "c1").resumes(800, "c1");
        assert_eq!(overlap(suspend, ""), Some(Excuse::HolderSuspended));
        let failover = |history: HistoryBuilder| history.fault_begins(300, "n1", "failover");
        assert_eq!(overlap(failover, ""), Some(Excuse::FailedOver));
        let pause = |history: HistoryBuilder| {
            history
                .fault_begins(300, "c1", "pause")
                .fault_ends(800, "c1", "pause")
        };
        assert_eq!(overlap(pause, ""), None);
    }

    /// c1 renews its lease of a second until it is paused, and c2 is granted the lock.
    #[test]
    fn who_cannot_renew_its_lease_cannot_know_that_it_is_over() {
        let excuse = |paused_ms: u64, goes_on_ms: u64, released_ms: u64| {
            let before = HistoryBuilder::default().tries(95, "c1").granted(100, "c1");
            let paused = before.fault_begins(paused_ms, "c1", "pause");
            let goes_on = |history: HistoryBuilder| history.fault_ends(goes_on_ms, "c1", "pause");
            let history = match goes_on_ms < 1500 {
                true => granted(goes_on(paused), 1500, "c2"),
                false => goes_on(granted(paused, 1500, "c2")),
            };
            let history = history.releases(released_ms, "c1");
            excused(Property::Lease, history, "")
        };
        assert_eq!(excuse(600, 2500, 2520), Some(Excuse::HolderStopped));
        // Too short to miss a renewal; over by then; and it goes on for more than a lease.
        assert_eq!(excuse(1300, 2500, 2520), None);
        assert_eq!(excuse(600, 1490, 1600), None);
        assert_eq!(excuse(600, 1600, 2700), None);
        // One with a deadline knows.
        let pause = |history: HistoryBuilder| history.fault_begins(300, "c1", "pause");
        assert_eq!(overlap(pause, ""), None);
    }

    #[test]
    fn what_a_server_keeps_it_does_not_forget() {
        let fault = |kind: &'static str| {
            move |history: HistoryBuilder| {
                history
                    .fault_begins(300, "n1", kind)
                    .fault_ends(400, "n1", kind)
            }
        };
        for (kept, kill, crash) in [
            ("none", true, true),
            ("aof-everysec", false, true),
            ("aof-always", false, false),
        ] {
            let kept = format!("node.persistence = \"{kept}\"");
            let lost = |is_lost: bool| is_lost.then_some(Excuse::MemoryLost);
            assert_eq!(overlap(fault("kill"), &kept), lost(kill), "{kept}");
            assert_eq!(overlap(fault("crash"), &kept), lost(crash), "{kept}");
        }
    }

    #[test]
    fn what_is_granted_while_the_server_is_down_it_has_not_granted() {
        let crash = |history: HistoryBuilder| history.fault_begins(300, "n1", "crash");
        assert_eq!(overlap(crash, ""), None);
    }

    #[test]
    fn a_fault_before_the_grant_excuses_nothing() {
        let before = HistoryBuilder::default().steps(10, "n1", 2000);
        let history = granted(granted(before, 100, "c1"), 900, "c2");
        assert_eq!(excused(Property::Lease, history, ""), None);
    }

    /// c1 reads, this happens, c2 is granted the lock after c1's lease and writes, and so does c1.
    fn late_write(
        happens: impl Fn(HistoryBuilder) -> HistoryBuilder,
        ends: impl Fn(HistoryBuilder) -> HistoryBuilder,
    ) -> Option<Excuse> {
        let before = granted(HistoryBuilder::default(), 100, "c1").reads(110, "c1", 0);
        let taken = granted(happens(before), 1200, "c2").reads(1210, "c2", 0);
        let written = ends(taken.writes(1220, "c2", 0)).writes(1600, "c1", 0);
        excused(Property::Resource, written, "")
    }

    #[test]
    fn who_stood_still_past_its_lease_may_write_and_who_did_not_may_not() {
        let nothing = |history: HistoryBuilder| history;
        assert_eq!(late_write(nothing, nothing), None);
        let pauses = |history: HistoryBuilder| history.fault_begins(200, "c1", "pause");
        let resumes = |history: HistoryBuilder| history.fault_ends(1590, "c1", "pause");
        assert_eq!(late_write(pauses, resumes), Some(Excuse::WriterStopped));
        let sides = ["c1", RESOURCE];
        let slow = PacketFault::Slow {
            extra_ns: 1000 * MS,
        };
        let slows = |history: HistoryBuilder| history.links_fail(200, "slow", sides, slow);
        assert_eq!(late_write(slows, nothing), Some(Excuse::WriteDelayed));
        let other = |history: HistoryBuilder| history.fault_begins(200, "c2", "pause");
        assert_eq!(late_write(other, nothing), None);
    }

    /// c1 tells no grants; it is paused while it works, or in an earlier round.
    #[test]
    fn a_pause_excuses_the_write_of_its_own_round_only() {
        let written = |paused_ms, resumes_ms, reads_ms| {
            let paused = HistoryBuilder::default()
                .reads(50, "c1", 0)
                .fault_begins(paused_ms, "c1", "pause");
            let resumes = |history: HistoryBuilder| history.fault_ends(resumes_ms, "c1", "pause");
            let history = match resumes_ms < reads_ms {
                true => resumes(paused)
                    .reads(reads_ms, "c1", 0)
                    .reads(reads_ms + 10, "c2", 0),
                false => resumes(
                    paused
                        .reads(reads_ms, "c1", 0)
                        .reads(reads_ms + 10, "c2", 0),
                ),
            };
            let history = history.writes(3100, "c2", 0).writes(3200, "c1", 0);
            excused(Property::LostUpdate, history, "")
        };
        assert_eq!(written(60, 3050, 60), Some(Excuse::WriterStopped));
        assert_eq!(written(60, 3000, 3020), None);
    }

    #[test]
    fn a_short_stop_does_not_excuse_long_work() {
        let pauses = |history: HistoryBuilder| history.fault_begins(200, "c1", "pause");
        let resumes = |ms| move |history: HistoryBuilder| history.fault_ends(ms, "c1", "pause");
        // It pauses at 200 ms, and its write at 1,600 ms is 500 ms late.
        let paused_until = |ms| {
            let pauses = |history| resumes(ms)(pauses(history));
            late_write(pauses, |history| history)
        };
        assert_eq!(paused_until(699), None);
        assert_eq!(paused_until(700), Some(Excuse::WriterStopped));
    }

    #[test]
    fn a_lease_that_was_extended_or_released_is_not_over() {
        let write = |before: HistoryBuilder| {
            let paused = before.fault_begins(920, "c1", "pause");
            let resumed = paused.fault_ends(1190, "c1", "pause");
            let taken = granted(resumed, 1200, "c2").reads(1210, "c2", 0);
            let written = taken.writes(1220, "c2", 0).writes(1250, "c1", 0);
            excused(Property::LostUpdate, written, "")
        };
        let before = granted(HistoryBuilder::default(), 100, "c1").reads(110, "c1", 0);
        let is_late = Some(Excuse::WriterStopped);
        assert_eq!(write(before.clone()), is_late);
        let extended = before.prolongs(900, "c1", ClockKind::Monotonic, 1000);
        assert_eq!(write(extended.clone()), None);
        let released = extended.releases(910, "c1");
        assert_eq!(write(released), None);
    }

    /// c2 has read before c1's late write, and writes after it.
    #[test]
    fn who_overwrites_a_late_write_is_not_blamed_either() {
        let overwrites = |pauses: bool| {
            let before = granted(HistoryBuilder::default(), 100, "c1").reads(110, "c1", 0);
            let before = match pauses {
                true => before.fault_begins(200, "c1", "pause"),
                false => before,
            };
            let read = granted(before, 1200, "c2").reads(1210, "c2", 0);
            let late = match pauses {
                true => read.fault_ends(1215, "c1", "pause"),
                false => read,
            };
            let history = late.writes(1220, "c1", 0).writes(1300, "c2", 0);
            excused(Property::LostUpdate, history, "")
        };
        assert_eq!(overwrites(true), Some(Excuse::WriterStopped));
        assert_eq!(overwrites(false), None);
    }

    #[test]
    fn a_token_that_the_resource_compares_leaves_no_excuse() {
        let history = |token| {
            let before = HistoryBuilder::default().tries(95, "c1");
            let before = match token {
                Some(token) => before.granted_with_token(100, "c1", token),
                None => before.granted(100, "c1"),
            };
            let paused = before.reads(110, "c1", 0).fault_begins(200, "c1", "pause");
            let taken = granted(paused, 1200, "c2").reads(1210, "c2", 0);
            taken
                .writes(1220, "c2", 0)
                .fault_ends(1590, "c1", "pause")
                .writes(1600, "c1", 0)
        };
        let fencing = "lock.fencing_token = true\nresource.fencing = \"writes\"";
        let of = |token, extra| excused(Property::LostUpdate, history(token), extra);
        assert_eq!(of(Some(1), fencing), None);
        assert_eq!(of(Some(1), ""), Some(Excuse::WriterStopped));
        assert_eq!(of(None, fencing), Some(Excuse::WriterStopped));
        // A read is not compared, and the write after it would be refused.
        let regresses = |extra, accesses: fn(HistoryBuilder) -> HistoryBuilder| {
            let before = HistoryBuilder::default()
                .tries(95, "c1")
                .granted_with_token(100, "c1", 1)
                .fault_begins(200, "c1", "pause")
                .tries(1190, "c2")
                .granted_with_token(1200, "c2", 2)
                .writes(1220, "c2", 0)
                .fault_ends(1590, "c1", "pause");
            excused(Property::TokenRegression, accesses(before), extra)
        };
        let writes = |history: HistoryBuilder| history.writes(1600, "c1", 1);
        let reads = |history: HistoryBuilder| history.reads(1600, "c1", 1);
        assert_eq!(regresses("", writes), Some(Excuse::WriterStopped));
        assert_eq!(regresses(fencing, reads), Some(Excuse::WriterStopped));
        assert_eq!(regresses(fencing, writes), None);
    }
}

//! Violations that no lock of this kind could have prevented.
//!
//! A lock with a lease promises nothing beyond its assumptions: that the clocks of servers and of its holder run at the
//! same rate, that servers remember what they granted, that replicas have what their master had. And whoever stands
//! still past its lease may write afterwards: only the resource can refuse that, by a fencing token. What a run
//! shows after such a fault is a fact about locks, and no fault of the one that was run.

use std::fmt;

use locklab_check::{Property, Verdict, Violation};
use locklab_history::timeline::{Grant, Timeline};
use locklab_history::{
    Access, Effect, Event, FaultKind, History, HostFault, Name, RESOURCE, Record, Role, Schedule,
    is_harmless,
};
use locklab_locks::Servers;
use locklab_model::scenario::{Commit, Persistence, Scenario};
use locklab_model::workload::Fencing;
use locklab_results::recording::Recording;
use locklab_runner::judged::JudgedRun;
use locklab_situations::{Period, is_switch, periods};
use locklab_values::units::ns_from_ms;
use locklab_vecmap::VecMap;

/// Why no lock of this kind could have prevented a violation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Excuse {
    /// The clock of a server was set, or ran wrong, while the lock was held.
    ServerClock,
    /// The clock of a holder ran wrong.
    HolderClock,
    /// The machine of a holder was suspended.
    HolderSuspended,
    /// A holder stood still that is told no deadline.
    HolderStopped,
    /// A server lost what it held.
    MemoryLost,
    /// A replica became the master.
    FailedOver,
    /// An operator changed what a server holds.
    Operator,
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
                "the holder, which is told no deadline, stood still, and could neither renew its lease nor notice that it \
                 was over"
            }
            Excuse::MemoryLost => {
                "a server lost what it held, and no lock on it survives that"
            }
            Excuse::FailedOver => {
                "a replica became the master, which need not have what its master had"
            }
            Excuse::Operator => {
                "an operator changed what a server holds, and no lock on it survives that"
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

impl Excuse {
    /// The same as a sentence, with what does help.
    pub(super) fn sentence(self) -> String {
        let remedy = match self {
            Excuse::ServerClock => {
                "let clocks be slewed and never set, and the resource compare fencing tokens"
            }
            Excuse::HolderClock | Excuse::HolderSuspended | Excuse::HolderStopped => {
                "let the resource compare fencing tokens"
            }
            Excuse::MemoryLost => {
                "let servers sync each write before they answer it (`appendfsync always`), or stay away for longer than a \
                 lease"
            }
            Excuse::FailedOver => {
                "take the lock on several independent servers, or let the resource compare tokens of its own"
            }
            Excuse::Operator => "keep operators away from the keys of locks",
            Excuse::WriterStopped | Excuse::WriteDelayed => {
                "let the resource compare the token of each access"
            }
        };
        let why = self.to_string();
        let (first, rest) = why.split_at(1);
        format!("{}{rest}: {remedy}.", first.to_uppercase())
    }
}

/// What is known of a run.
#[derive(Clone, Copy)]
pub(crate) struct Shown<'a> {
    history: &'a History,
    schedule: &'a Schedule,
    verdicts: &'a VecMap<Property, Verdict>,
    lease_ns: Option<u64>,
}

impl<'a> From<&'a JudgedRun> for Shown<'a> {
    fn from(run: &'a JudgedRun) -> Self {
        Shown {
            history: &run.history,
            schedule: &run.schedule,
            verdicts: &run.verdicts,
            lease_ns: run.lease_ns,
        }
    }
}

impl<'a> From<&'a Recording> for Shown<'a> {
    fn from(run: &'a Recording) -> Self {
        Shown {
            history: &run.history,
            schedule: &run.header.schedule,
            verdicts: &run.footer.verdicts,
            lease_ns: run.header.lease_ns,
        }
    }
}

/// The violated properties of a run of `scenario`, each with the reason why no lock of this kind could have prevented
/// the violation; `None` if the lock should have.
pub(crate) fn excuses(run: Shown<'_>, scenario: &Scenario) -> Vec<(Property, Option<Excuse>)> {
    let timeline = &Timeline::of(run.history);
    let faults = &periods(run.history);
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

/// How bad a run is: how much it violates that its lock should have prevented, how much it violates, and of how much that
/// is known.
pub(crate) fn badness(run: &JudgedRun, scenario: &Scenario) -> (usize, usize, usize) {
    let violated = excuses(run.into(), scenario);
    let blamed = violated.iter().filter(|(_, excuse)| excuse.is_none());
    let decided = run.verdicts.keys().filter(|it| run.decides(**it));
    (blamed.count(), violated.len(), decided.count())
}

/// A violation, and what happened before it.
struct Case<'a> {
    violation: &'a Violation,
    run: Shown<'a>,
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
        let node = &self.scenario.node;
        // What a node could not append is in its memory alone.
        let was_full = |it: &Period<'_>| {
            self.faults.iter().any(|full| {
                let while_it_was = full.from_ns <= it.from_ns && it.from_ns <= full.until_ns;
                full.kind == FaultKind::DiskFull && full.host == it.host && while_it_was
            })
        };
        let is_lost = |it: &Period<'_>| match self.scenario.lock.servers() {
            Servers::Redis => match node.persistence {
                Persistence::AofAlways => false,
                Persistence::AofEverysec | Persistence::AofNo => {
                    it.kind == FaultKind::Crash || (it.kind.ends_process() && was_full(it))
                }
                Persistence::None | Persistence::Snapshot => it.kind.ends_process(),
            },
            Servers::Database => node.commit == Commit::Asynchronous && it.kind.ends_process(),
            Servers::Consensus => false,
        };
        // Until it is back it grants nothing again.
        let is_back = |it: &Period<'_>| it.until_ns <= self.violation.at_ns;
        if self.has(from_ns, |it| {
            is_lost(it) && is_back(it) && self.is_server(it.host)
        }) {
            return Some(Excuse::MemoryLost);
        }
        let between = from_ns..=self.violation.at_ns;
        let switches = |it: &Record| is_switch(it) && between.contains(&it.at_ns);
        let is_failover = self.has(from_ns, |it| it.kind == FaultKind::Failover)
            || self.timeline.all_records().iter().any(switches);
        if is_failover {
            return Some(Excuse::FailedOver);
        }
        let is_harmful =
            |it: &Period<'_>| it.kind == FaultKind::Command && !self.is_harmless(it.fault);
        self.has(from_ns, is_harmful).then_some(Excuse::Operator)
    }

    /// Whether the command that an operator entered leaves every lock as it is.
    fn is_harmless(&self, fault: &Name) -> bool {
        self.run.schedule.faults.iter().any(|it| match &it.effect {
            Effect::Hosts {
                fault: HostFault::Command { line },
                ..
            } => it.name == *fault && is_harmless(line),
            _ => false,
        })
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

    /// Why the last such access of a client came after its lease. Where it has a token, and the resource compares those,
    /// that is no excuse, whether it showed it or not.
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
        let at_ns = write.at_ns;
        let grant = self.grant(writer, at_ns);
        let had_token = token.is_some() || grant.is_some_and(|grant| grant.token.is_some());
        if had_token && compares {
            return None;
        }
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
mod tests;

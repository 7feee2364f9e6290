//! The end of a run: what its processes recorded and told, and what passed the proxy, become its history.

use std::collections::VecDeque;
use std::fs;

use locklab_check::{Ms, Property};
use locklab_history::{
    ClockKind, Contents, Event, History, Message, Name, Phase, RESOURCE, Record, Role,
};
use locklab_proxy::{MAX_MESSAGES, Segment};
use locklab_runner::key_log::Keys;
use locklab_runner::label;
use locklab_runner::run::LockRun;
use locklab_values::untrusted;
use locklab_vecmap::{VecMap, VecSet};

use super::Testbed;
use crate::child_protocol::Accessed;
use crate::child_protocol::ServerKind;
use crate::foreign::answers::Answers;
use crate::foreign::inferred;
use crate::foreign::locks::{self, Part};
use crate::foreign::records::{self, Converted};
use crate::foreign::told::{News, Told};
use crate::replay::{self, Repeated, Unknown, Wire};
use crate::{Clients, ConfirmError, postgres_server, zookeeper_server};

/// What a run has left.
pub(crate) struct Finished {
    /// From the beginning to the end, in the order of true time; of programs with several locks, the first one's.
    pub(crate) history: History,
    /// The histories of all of their locks, if there are several; without the messages.
    pub(crate) locks: Vec<LockRun>,
    /// When it ended before its horizon because it was full, in nanoseconds since it began.
    pub(crate) full_ns: Option<u64>,
    /// What foreign programs did that makes no sense, or ended them, in words.
    pub(crate) notes: Vec<String>,
    /// Which of them renewed a lock that they did not have, in words.
    pub(crate) wrong_renewals: Vec<String>,
    /// If they were kept.
    pub(crate) contents: Option<Contents>,
    /// Why the history does not show whether a property holds.
    pub(crate) unshown: VecMap<Property, String>,
    /// The longest lease that foreign programs told, or gave the key of their lock, in nanoseconds.
    pub(crate) lease_ns: Option<u64>,
}

impl Testbed<'_> {
    /// Ends all processes; returns what happened from the beginning to `end_ns`, or until the run was full.
    ///
    /// # Errors
    ///
    /// If nothing can be judged of a foreign program, or it could not suffer its faults.
    pub(crate) fn finish(mut self, end_ns: u64) -> Result<Finished, ConfirmError> {
        self.refuse(self.watch.look())?;
        self.hosts.clear();
        for client in &self.plan.clients {
            let failures = self.plan.disks.failures(client, &self.plan.folder);
            if let Ok(said) = fs::read_to_string(failures) {
                let first = said.lines().next().unwrap_or_default();
                return Err(ConfirmError::Unsuffered {
                    host: client.clone(),
                    said: untrusted::line(first).to_string(),
                });
            }
        }
        let monitors = self.monitors.take();
        let origin_ns = self.origin_ns;
        let unlogged = { self.proxy.dropped() }.filter(|_| self.has_foreign_clients());
        let full_ns = [self.kept.full_ns(), unlogged.map(|it| it.sent_ns)];
        let full_ns = full_ns.into_iter().flatten().min();
        let full_ns = full_ns.map(|at_ns| at_ns.saturating_sub(origin_ns).min(end_ns));
        let end_ns = full_ns.unwrap_or(end_ns);
        let mut shared = std::mem::take(&mut *self.collector.records());
        shared.sort_by_key(|record| record.at_ns);
        let accesses = std::mem::take(&mut *self.collector.accesses());
        let told = std::mem::take(&mut *self.collector.told());
        let segments = self.proxy.take_messages();
        let answers = self.answers(&segments);
        let mut converted = records::convert(&told, &answers, &self.plan.clocks);
        let silent = self.silent(&accesses, &converted);
        let parts = match self.has_foreign_clients() {
            true => locks::parts(&shared, accesses, &mut converted),
            false => vec![Part::own(shared)],
        };
        let notes = [std::mem::take(&mut self.notes), converted.notes].concat();
        let locks = parts.into_iter().map(|part| self.lock_run(part, end_ns));
        let mut locks: Vec<LockRun> = locks.collect();
        let is_one = locks.len() == 1;
        let mut history = match is_one {
            true => std::mem::take(&mut locks[0].history),
            false => locks[0].history.clone(),
        };
        history.messages = self.messages(&segments, end_ns);
        let leases_ns =
            { locks.iter().map(|it| &it.history).chain([&history]) }.filter_map(told_lease_ns);
        let mut finished = Finished {
            lease_ns: leases_ns.max().filter(|_| self.has_foreign_clients()),
            history,
            unshown: match is_one {
                true => locks.remove(0).unshown,
                false => VecMap::new(),
            },
            locks,
            full_ns,
            notes,
            wrong_renewals: vec![],
            contents: None,
        };
        if self.has_foreign_clients() {
            let histories = finished.locks.iter().map(|it| &it.history);
            let unused = inferred::without_resource(histories.chain([&finished.history]));
            finished.unshown.extend(unused);
        }
        if let Some(full_ns) = full_ns {
            let mut dropped = self.kept.dropped();
            dropped.extend(unlogged.map(|it| {
                let dropped = it.segments;
                format!("the proxy keeps {MAX_MESSAGES} segments with data, or 256 MiB, and {dropped} more were dropped")
            }));
            finished.end_at(full_ns, &dropped);
            return Ok(finished);
        }
        let keys = match &self.plan.are {
            Clients::Foreign(program) => match &program.key {
                Some(key) => Keys::One(key.clone()),
                None => Keys::All,
            },
            Clients::Own => Keys::OfLock,
        };
        let Some(monitors) = monitors else {
            return Ok(finished);
        };
        let wire = Wire {
            history: &finished.history,
            segments: &segments,
            executed: monitors.finish(),
            dialled: self.proxy.dialled(),
            origin_ns,
            clocks: &|host, at_ns| self.plan.clocks.at(host, at_ns),
        };
        let repeated = replay::repeat(&wire, self.plan.scenario, &keys);
        if self.has_foreign_clients() {
            // Of several locks it is not known which key is whose.
            if is_one {
                self.infer(&mut finished, &silent, &told, repeated)?;
            }
            return Ok(finished);
        }
        let run_ns = origin_ns..=origin_ns + end_ns;
        let kept = segments.iter().filter(|it| run_ns.contains(&it.sent_ns));
        finished.contents = Some(Contents {
            payloads: kept.map(|it| it.payload.to_vec()).collect(),
            unknown: repeated.as_ref().err().map(Unknown::to_string),
            snapshots: repeated.map(|it| it.snapshots).unwrap_or_default(),
            visits: Vec::new(),
        });
        Ok(finished)
    }

    fn messages(&self, segments: &[Segment], end_ns: u64) -> Vec<Message> {
        let origin_ns = self.origin_ns;
        let run_ns = origin_ns..=origin_ns + end_ns;
        let kept = segments.iter().filter(|it| run_ns.contains(&it.sent_ns));
        let are_foreign = self.has_foreign_clients();
        let mut handshakes = Handshakes::default();
        let is_encrypted = |segment: &Segment| {
            let ends = [&segment.from, &segment.to];
            self.plan.scenario.node.tls && ends.iter().all(|end| ***end != *RESOURCE)
        };
        let message = |segment: &Segment| Message {
            sent_ns: segment.sent_ns - origin_ns,
            arrived_ns: (segment.arrived_ns)
                .map(|at_ns| at_ns - origin_ns)
                .filter(|at_ns| *at_ns <= end_ns),
            from: segment.from.clone(),
            to: segment.to.clone(),
            label: match self.plan.kind {
                ServerKind::Redis if is_encrypted(segment) => "(encrypted)".to_owned(),
                ServerKind::Redis if are_foreign && handshakes.has(segment, &self.plan.clients) => {
                    Message::HANDSHAKE.to_owned() + &label::of(&segment.payload)
                }
                ServerKind::Redis => label::of(&segment.payload),
                ServerKind::ZooKeeper => zookeeper_server::label(segment),
                ServerKind::Postgres => postgres_server::label(segment),
            },
        };
        kept.map(message).collect()
    }

    /// The history of a part of the run, from its beginning to `end_ns`.
    fn lock_run(&self, part: Part, end_ns: u64) -> LockRun {
        let Part {
            lock,
            mut records,
            unshown,
        } = part;
        if self.has_foreign_clients() {
            records::forget_reads_of_earlier_grants(&mut records);
        }
        records.retain(|record| record.at_ns >= self.origin_ns);
        for record in &mut records {
            record.at_ns -= self.origin_ns;
            if ends_with_run(&record.event) {
                record.at_ns = record.at_ns.min(end_ns);
            }
        }
        records.retain(|record| record.at_ns <= end_ns);
        LockRun {
            lock,
            history: History {
                records,
                messages: vec![],
                end_ns,
            },
            unshown,
        }
    }

    /// The foreign programs that have neither told nor shown anything.
    fn silent(&self, accesses: &[Accessed], converted: &Converted) -> VecSet<Name> {
        let told = converted.locks.values().flat_map(|lock| &lock.records);
        let told =
            told.filter(|it| matches!(it.event, Event::BeliefBegins { .. } | Event::Invoke { .. }));
        let told = told.map(|it| records::program_of(&it.host));
        let shown = accesses.iter().filter_map(|it| match &it.record.event {
            Event::Access { client, .. } => Some(&**client),
            _ => None,
        });
        let spoke: VecSet<&str> = told.chain(shown).collect();
        let clients = self.plan.clients.iter();
        clients
            .filter(|it| !spoke.contains(&***it))
            .cloned()
            .collect()
    }

    /// What the nodes answered programs of others. A lock in a cluster is granted by the one that has its slot.
    fn answers<'s>(&self, segments: &'s [Segment]) -> Answers<'s> {
        if !self.has_foreign_clients() {
            return Answers::default();
        }
        let scenario = self.plan.scenario;
        let need = match scenario.cluster {
            Some(_) => 1,
            None => scenario.topology.nodes as usize / 2 + 1,
        };
        let is_node = |name: &Name| {
            let role = self.plan.servers.get(name);
            matches!(role, Some(Role::Node | Role::Replica { .. }))
        };
        Answers::of(segments, is_node, need)
    }

    /// Adds what the wire shows of programs that say nothing, and what the releases of the others deleted. If all
    /// programs are silent, it has to show something.
    fn infer(
        &self,
        finished: &mut Finished,
        silent: &VecSet<Name>,
        told: &[Told],
        repeated: Result<Repeated, Unknown>,
    ) -> Result<(), ConfirmError> {
        let origin_ns = self.origin_ns;
        let key = match &self.plan.are {
            Clients::Foreign(program) => program.key.as_deref(),
            Clients::Own => None,
        };
        let ended = told.iter().filter(|told| told.news == News::Ended);
        let ended: Vec<(Name, u64)> = ended
            .map(|told| (told.host.clone(), told.after_ns.saturating_sub(origin_ns)))
            .collect();
        let all_are_silent = silent.len() == self.plan.clients.len();
        let repeated = match repeated {
            Ok(repeated) => repeated,
            Err(Unknown::Unrepeatable(_)) if !all_are_silent => return Ok(()),
            Err(why) if !all_are_silent => {
                let note = format!("renewals are not judged: {why}");
                finished.notes.push(note);
                return Ok(());
            }
            Err(why @ Unknown::Unrepeatable(_)) => {
                let why = inferred::Blind::Unknown(why.to_string());
                return Err(mute(&why, &mut finished.notes));
            }
            // Another run of the same scenario may show something.
            Err(why) => {
                let why = inferred::Blind::Unknown(why.to_string()).to_string();
                let all = Property::ALL.into_iter();
                finished.unshown = all.map(|property| (property, why.clone())).collect();
                return Ok(());
            }
        };
        let found = inferred::infer(&inferred::Seen {
            history: &finished.history,
            exchanges: &repeated.exchanges,
            ended: &ended,
            nodes: self.plan.scenario.topology.nodes as usize,
            silent,
            key,
            clocks: &self.plan.clocks,
            origin_ns,
        });
        match found {
            Ok(found) => {
                let records = &mut finished.history.records;
                records.extend(found.records);
                records.extend(found.removals);
                records.sort_by_key(|record| record.at_ns);
                finished.lease_ns = finished.lease_ns.max(found.lease_ns);
                finished.wrong_renewals = found.wrong_renewals;
                if !silent.is_empty() {
                    finished.notes.push(found.note);
                    finished.unshown.extend(found.unshown);
                }
                Ok(())
            }
            Err(_) if !all_are_silent => Ok(()),
            Err(inferred::Blind::SeveralKeys(keys)) => Err(ConfirmError::SeveralKeys { keys }),
            Err(why) => Err(mute(&why, &mut finished.notes)),
        }
    }
}

/// By what client libraries get to know a server, and keep a connection.
const HANDSHAKES: [&str; 9] = [
    "AUTH", "CLIENT", "COMMAND", "CONFIG", "HELLO", "INFO", "PING", "READONLY", "SELECT",
];

/// The requests on each connection that are not answered yet, whether they are handshakes.
#[derive(Default)]
struct Handshakes(VecMap<u64, VecDeque<bool>>);

impl Handshakes {
    /// Whether this segment is a handshake or its answer. Segments come in the order in which they left.
    fn has(&mut self, segment: &Segment, clients: &[Name]) -> bool {
        let open = self.0.entry(segment.connection).or_default();
        if !clients.contains(&segment.from) {
            return open.pop_front().unwrap_or(false);
        }
        let command = label::command(&segment.payload);
        let is_one = command.is_some_and(|command| HANDSHAKES.contains(&&*command));
        open.push_back(is_one);
        is_one
    }
}

/// The longest time for which a client said that it may rely on its lock, in nanoseconds by the clock it named.
fn told_lease_ns(history: &History) -> Option<u64> {
    let left_ns = |record: &Record| match &record.event {
        Event::BeliefBegins { deadline, .. } => {
            let deadline = deadline.as_ref()?;
            let now_ns = match deadline.clock {
                ClockKind::Monotonic => record.mono_ns,
                ClockKind::Wall => record.wall_ns,
            };
            deadline.at_ns.checked_sub(now_ns)
        }
        _ => None,
    };
    history.records.iter().filter_map(left_ns).max()
}

/// Whether an event is recorded when a run ends, whenever that is.
fn ends_with_run(event: &Event) -> bool {
    let is_missed =
        |event: &Event| matches!(event, Event::Fault { phase, .. } if *phase == Phase::Missed);
    *event == Event::RunEnds || is_missed(event)
}

impl Finished {
    /// The run ended at this time, and all that came later was dropped. So nothing but a violation counts, and
    /// nothing is taken from the wire, of which a part may be missing.
    fn end_at(&mut self, full_ns: u64, dropped: &[String]) {
        let at = Ms(full_ns);
        let why = format!(
            "the run is judged up to {at}: {}; a program that waits between its calls, or a shorter horizon_ms, needs less",
            dropped.join("; ")
        );
        self.unshown = Property::ALL.map(|property| (property, why.clone())).into();
        self.notes.push(why);
    }
}

fn mute(why: &inferred::Blind, notes: &mut Vec<String>) -> ConfirmError {
    ConfirmError::Mute {
        why: why.to_string(),
        notes: std::mem::take(notes),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_handshake_and_its_answer_are_one() {
        let mut handshakes = Handshakes::default();
        let mut is_one = |connection, from: &str, payload: &'static str| {
            let segment = Segment {
                sent_ns: 0,
                arrived_ns: None,
                from: from.into(),
                to: "".into(),
                connection,
                payload: payload.as_bytes().into(),
            };
            handshakes.has(&segment, &["c1".into()])
        };
        let hello = "*2\r\n$5\r\nhello\r\n$1\r\n3\r\n";
        let get = "*2\r\n$3\r\nGET\r\n$1\r\nk\r\n";
        assert!(is_one(1, "c1", hello));
        assert!(!is_one(1, "c1", get));
        assert!(!is_one(2, "c1", get));
        // Each answer belongs to the first open request of its connection.
        assert!(!is_one(2, "n1", "$-1\r\n"));
        assert!(is_one(1, "n1", "+OK\r\n"));
        assert!(!is_one(1, "n1", "$-1\r\n"));
        assert!(!is_one(1, "n1", "a message\r\n"));
    }
}

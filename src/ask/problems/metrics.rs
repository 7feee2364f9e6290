//! Measurements of a run, taken from its history alone.

use locklab_evidence::quantile;
use locklab_values::units::fractional_ms_from_ns;
use serde::{Deserialize, Serialize};

use locklab_history::timeline::Timeline;
use locklab_history::{Event, Failpoint, History, Message, Op, RESOURCE};

/// A quantity to measure.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Measure {
    /// Messages on the network per grant, from the first request for it to the end of its
    /// release; messages to and from the resource are not counted.
    MessagesPerGrant,
    /// Milliseconds from the first request to the grant: the median.
    AcquireMedianMs,
    /// Milliseconds from the first request to the grant: the 99th percentile.
    #[serde(rename = "acquire-p99-ms")]
    AcquireP99Ms,
    /// Milliseconds from the call of release to its return: the median.
    ReleaseMedianMs,
    /// The share of grants that began while another client still believed in a grant that
    /// excludes it (two readers do not exclude each other), in percent: duplicated work.
    DoubledPercent,
    /// Milliseconds from the death of a holder to the next grant: the median.
    RecoveryMedianMs,
    /// Milliseconds from the death of a holder to the next grant: the maximum.
    RecoveryMaxMs,
    /// The share of grants that overtook a client with an earlier request, in percent.
    OvertakingPercent,
    /// The longest wait for a grant, in milliseconds.
    AcquireMaxMs,
    /// The longest wait of a client that is not a reader, in milliseconds. A client that still
    /// waits at the end counts with its wait so far.
    WriterWaitMaxMs,
}

impl Measure {
    /// Whether it is the maximum of all values, for which there is no confidence interval.
    pub fn is_a_maximum(self) -> bool {
        matches!(
            self,
            Measure::AcquireMaxMs | Measure::RecoveryMaxMs | Measure::WriterWaitMaxMs
        )
    }
}

/// The counts and samples of one run, or of several.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Sample {
    grants: u64,
    /// Grants while another client believed.
    doubled: u64,
    /// Grants that overtook a client with an earlier request.
    overtaking: u64,
    messages: u64,
    acquire_ns: Vec<u64>,
    release_ns: Vec<u64>,
    recovery_ns: Vec<u64>,
    /// The waits of the clients that are not readers.
    writers_ns: Vec<u64>,
}

impl Sample {
    /// The sample of one run. Its history must include messages.
    pub fn of(history: &History) -> Sample {
        let mut sample = Sample {
            messages: history.messages.iter().filter(|m| is_the_locks(m)).count() as u64,
            ..Sample::default()
        };
        let timeline = Timeline::of(history);
        let mut clients: Vec<Client> = Vec::new();
        clients.resize_with(timeline.hosts, Client::default);
        let mut orphaned_ns = None;
        for (index, host, record) in timeline.records() {
            let now_ns = record.at_ns;
            match &record.event {
                Event::Invoke {
                    op: Op::Acquire, ..
                } => {
                    clients[host].asked_ns.get_or_insert(now_ns);
                }
                Event::BeliefBegins { .. } => {
                    let Some(grant) = timeline.granted(index) else {
                        // The grant is extended, not a new one.
                        continue;
                    };
                    let asked_ns = clients[host].asked_ns.take().unwrap_or(now_ns);
                    let waited_ns = now_ns - asked_ns;
                    sample.grants += 1;
                    sample.acquire_ns.push(waited_ns);
                    if !grant.shared {
                        sample.writers_ns.push(waited_ns);
                    }
                    let asked = clients.iter().filter_map(|other| other.asked_ns);
                    sample.overtaking += u64::from(asked.min().is_some_and(|ns| ns < asked_ns));
                    let mut held =
                        (0..timeline.hosts).flat_map(|other| timeline.believed(other, index));
                    sample.doubled += u64::from(held.any(|held| held.excludes(grant)));
                    let orphaned_ns = orphaned_ns.take();
                    sample
                        .recovery_ns
                        .extend(orphaned_ns.map(|from: u64| now_ns - from));
                }
                event if event.is_reached(Failpoint::GivingUp) => {
                    clients[host].asked_ns = None;
                }
                Event::Invoke {
                    op: Op::Release, ..
                } => clients[host].releasing_ns = Some(now_ns),
                Event::Complete {
                    op: Op::Release, ..
                } => {
                    let began_ns = clients[host].releasing_ns.take();
                    sample.release_ns.extend(began_ns.map(|from| now_ns - from));
                }
                event if event.is_death() => {
                    clients[host] = Client::default();
                    if timeline.believed(host, index).next().is_some() {
                        orphaned_ns = Some(now_ns);
                    }
                }
                _ => {}
            }
        }
        for (host, client) in clients.iter().enumerate() {
            if let Some(from_ns) = client.asked_ns
                && !reads(&timeline, host)
            {
                let waited_ns = history.end_ns.saturating_sub(from_ns);
                sample.writers_ns.push(waited_ns);
            }
        }
        sample
    }

    /// Adds the sample of other runs.
    pub fn merge(&mut self, other: Sample) {
        self.grants += other.grants;
        self.doubled += other.doubled;
        self.overtaking += other.overtaking;
        self.messages += other.messages;
        self.acquire_ns.extend(other.acquire_ns);
        self.release_ns.extend(other.release_ns);
        self.recovery_ns.extend(other.recovery_ns);
        self.writers_ns.extend(other.writers_ns);
    }

    /// The value of a measure over the sample; `None` if there is nothing to measure it from.
    pub fn measure(&mut self, measure: Measure) -> Option<f64> {
        let share = |count: u64, all: u64| (all > 0).then(|| count as f64 / all as f64);
        let percent = |count, all| share(count, all).map(|share| share * 100.0);
        match measure {
            Measure::MessagesPerGrant => share(self.messages, self.grants),
            Measure::AcquireMedianMs => quantile_ms(&mut self.acquire_ns, 0.5),
            Measure::AcquireP99Ms => quantile_ms(&mut self.acquire_ns, 0.99),
            Measure::AcquireMaxMs => quantile_ms(&mut self.acquire_ns, 1.0),
            Measure::ReleaseMedianMs => quantile_ms(&mut self.release_ns, 0.5),
            Measure::WriterWaitMaxMs => quantile_ms(&mut self.writers_ns, 1.0),
            Measure::DoubledPercent => percent(self.doubled, self.grants),
            Measure::RecoveryMedianMs => quantile_ms(&mut self.recovery_ns, 0.5),
            Measure::RecoveryMaxMs => quantile_ms(&mut self.recovery_ns, 1.0),
            Measure::OvertakingPercent => percent(self.overtaking, self.grants),
        }
    }
}

#[derive(Default)]
struct Client {
    /// The time of its first request for the lock.
    asked_ns: Option<u64>,
    releasing_ns: Option<u64>,
}

/// Whether a client is a reader: its last grant was a reader's. A client without a grant counts
/// as a writer, because no history says which kind it requested.
fn reads(timeline: &Timeline, host: usize) -> bool {
    let mut grants = timeline.grants.iter().rev();
    let last = grants.find(|grant| grant.host == host);
    last.is_some_and(|grant| grant.shared)
}

/// Whether a message belongs to the lock's protocol.
fn is_the_locks(message: &Message) -> bool {
    &*message.from != RESOURCE && &*message.to != RESOURCE
}

/// The quantile of these samples, in milliseconds.
fn quantile_ms(samples_ns: &mut [u64], share: f64) -> Option<f64> {
    samples_ns.sort_unstable();
    quantile(samples_ns, share).map(fractional_ms_from_ns)
}

#[cfg(test)]
mod tests {
    use super::*;
    use locklab_history::{FaultKind, Outcome, Phase, Record};

    use locklab_values::units::NS_PER_MS as MS;

    fn at(at_ms: u64, host: &str, event: Event) -> Record {
        Record {
            at_ns: at_ms * MS,
            host: host.into(),
            wall_ns: 0,
            mono_ns: 0,
            event,
        }
    }

    fn asks(at_ms: u64, host: &str) -> Record {
        let op = Op::Acquire;
        at(at_ms, host, Event::Invoke { call: 1, op })
    }

    fn gets(at_ms: u64, host: &str) -> Record {
        let event = Event::BeliefBegins {
            grant: 1,
            deadline: None,
            token: None,
            shared: false,
        };
        at(at_ms, host, event)
    }

    fn releases(from_ms: u64, to_ms: u64, host: &str) -> [Record; 3] {
        let (call, op) = (2, Op::Release);
        [
            at(from_ms, host, Event::BeliefEnds { grant: 1 }),
            at(from_ms, host, Event::Invoke { call, op }),
            at(
                to_ms,
                host,
                Event::Complete {
                    call,
                    op,
                    outcome: Outcome::Ok,
                    detail: String::new(),
                },
            ),
        ]
    }

    fn check(records: Vec<Record>, measure: Measure, expected: Option<f64>) {
        let history = History {
            records,
            end_ns: 100 * MS,
            ..History::default()
        };
        assert_eq!(
            Sample::of(&history).measure(measure),
            expected,
            "{measure:?}"
        );
    }

    #[test]
    fn waits_begin_with_the_first_request() {
        let records = vec![asks(0, "c1"), asks(200, "c1"), gets(210, "c1")];
        check(records, Measure::AcquireMedianMs, Some(210.0));
        check(vec![asks(0, "c1")], Measure::AcquireMedianMs, None);
    }

    #[test]
    fn releases_are_timed() {
        let mut records = vec![asks(0, "c1"), gets(5, "c1")];
        records.extend(releases(10, 14, "c1"));
        check(records, Measure::ReleaseMedianMs, Some(4.0));
    }

    #[test]
    fn who_asked_first_and_gets_second_was_overtaken() {
        let mut records = vec![asks(0, "c1"), asks(1, "c2"), gets(5, "c2")];
        check(records.clone(), Measure::OvertakingPercent, Some(100.0));
        records.extend(releases(6, 7, "c2"));
        records.push(gets(8, "c1"));
        check(records, Measure::OvertakingPercent, Some(50.0));
    }

    #[test]
    fn a_grant_beside_another_doubles_the_work() {
        let mut records = vec![asks(0, "c1"), gets(1, "c1"), asks(2, "c2")];
        records.extend([gets(3, "c2"), gets(4, "c2")]);
        check(records, Measure::DoubledPercent, Some(50.0));
    }

    #[test]
    fn two_readers_at_once_double_nothing() {
        let reads = |at_ms, host| {
            let mut record = gets(at_ms, host);
            if let Event::BeliefBegins { shared, .. } = &mut record.event {
                *shared = true;
            }
            record
        };
        let readers = vec![reads(1, "c1"), reads(2, "c2")];
        check(readers.clone(), Measure::DoubledPercent, Some(0.0));
        let and_a_writer = [readers, vec![gets(3, "c3")]].concat();
        check(
            and_a_writer,
            Measure::DoubledPercent,
            Some(1.0 / 3.0 * 100.0),
        );
    }

    #[test]
    fn recovery_is_from_a_holders_death_to_the_next_grant() {
        let dies = |host| {
            let event = Event::Fault {
                fault: "dies".into(),
                kind: FaultKind::Kill,
                phase: Phase::Begins,
                links: None,
            };
            at(10, host, event)
        };
        let records = |dead| vec![asks(0, "c1"), gets(5, "c1"), dies(dead), gets(900, "c3")];
        check(records("c1"), Measure::RecoveryMaxMs, Some(890.0));
        check(records("c2"), Measure::RecoveryMaxMs, None);
    }

    #[test]
    fn a_writer_that_never_gets_it_waits_to_the_end() {
        let reads = |at_ms| {
            let mut record = gets(at_ms, "c2");
            if let Event::BeliefBegins { shared, .. } = &mut record.event {
                *shared = true;
            }
            record
        };
        let mut records = vec![asks(0, "c2"), reads(70), asks(80, "c1")];
        check(records.clone(), Measure::WriterWaitMaxMs, Some(20.0));
        records.push(gets(95, "c1"));
        check(records, Measure::WriterWaitMaxMs, Some(15.0));
    }
}

//! The events of a history that follow from the answers on the wire, and what the wire leaves open.

use locklab_vecmap::VecMap;

use super::grants::{Answer, Grant};
use crate::{ClockKind, Deadline, Event, Failpoint, Name, Op, Outcome};

/// An event, its true time in nanoseconds since the run began, and the client.
pub type At = (u64, Name, Event);

/// The events of these answers, in the order of true time. `mono_ns` is the reading of a client's monotonic clock.
///
/// A program may ask once more for a lock that it was refused, or do something else: each refused attempt ends
/// with `giving-up`.
pub fn events(answers: &[Answer], mono_ns: impl Fn(&Name, u64) -> u64) -> Vec<At> {
    let mut programs: VecMap<&Name, Program> = VecMap::new();
    let mut events = Vec::new();
    for answer in answers {
        match answer {
            Answer::Refused {
                client,
                from_ns,
                to_ns,
            } => {
                let program = programs.entry(client).or_default();
                if let Some(call) = program.call(*from_ns, *to_ns) {
                    let mut push = |at_ns, event| events.push((at_ns, client.clone(), event));
                    push(*from_ns, invoke(call, Op::Acquire));
                    push(*to_ns, complete(call, Op::Acquire, Outcome::Failed));
                    push(*to_ns, Event::reached(Failpoint::GivingUp));
                }
            }
            Answer::Granted(grant) if grant.is_certain() => {
                let program = programs.entry(&grant.client).or_default();
                let has_end = grant.lapse_ns < u64::MAX;
                let deadline = has_end.then(|| Deadline {
                    clock: ClockKind::Monotonic,
                    at_ns: mono_ns(&grant.client, grant.lapse_ns),
                });
                program.gets(grant, deadline, &mut events);
            }
            Answer::Granted(_) => {}
        }
    }
    events.sort_by_key(|(at_ns, ..)| *at_ns);
    events
}

fn invoke(call: u32, op: Op) -> Event {
    Event::Invoke { call, op }
}

fn complete(call: u32, op: Op, outcome: Outcome) -> Event {
    Event::Complete {
        call,
        op,
        outcome,
        detail: String::new(),
    }
}

/// The numbers of a program's calls and grants.
#[derive(Default)]
struct Program {
    calls: u32,
    grants: u32,
    /// When its last call returned: calls of one client do not overlap.
    returned_ns: u64,
}

impl Program {
    /// The number of a call at these times, unless it overlaps with another one.
    fn call(&mut self, from_ns: u64, to_ns: u64) -> Option<u32> {
        if from_ns < self.returned_ns {
            return None;
        }
        self.returned_ns = to_ns;
        self.calls += 1;
        Some(self.calls)
    }

    fn gets(&mut self, grant: &Grant, deadline: Option<Deadline>, events: &mut Vec<At>) {
        let mut push = |at_ns, event| events.push((at_ns, grant.client.clone(), event));
        if let Some(call) = self.call(grant.asked_ns, grant.from_ns) {
            push(grant.asked_ns, invoke(call, Op::Acquire));
            push(grant.from_ns, complete(call, Op::Acquire, Outcome::Ok));
        }
        self.grants += 1;
        let number = self.grants;
        let begins = Event::BeliefBegins {
            grant: number,
            deadline,
            token: None,
            shared: false,
        };
        push(grant.from_ns, begins);
        if grant.until_ns < u64::MAX {
            push(grant.until_ns, Event::BeliefEnds { grant: number });
        }
        let Some(release) = grant.release else {
            return;
        };
        let Some(answered_ns) = release.answered_ns else {
            return;
        };
        if let Some(call) = self.call(release.sent_ns, answered_ns) {
            push(release.sent_ns, invoke(call, Op::Release));
            push(release.sent_ns, Event::reached(Failpoint::Deleting));
            push(answered_ns, complete(call, Op::Release, Outcome::Ok));
            if let Some(removed) = release.removed {
                let grant = number;
                push(answered_ns, Event::Released { grant, removed });
            }
        }
    }
}

/// Two grants of which the wire does not show that they did not overlap.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Possible<'a> {
    /// The grant that may have lasted longer than is certain.
    pub earlier: &'a Grant,
    /// The grant of another client.
    pub later: &'a Grant,
}

/// The first two grants that may have overlapped, the earlier one from its reply to the time that `until_ns` gives,
/// and of which that is not certain.
pub fn possible(answers: &[Answer], until_ns: impl Fn(&Grant) -> u64) -> Option<Possible<'_>> {
    let grants: Vec<&Grant> = { answers.iter() }
        .filter_map(|answer| match answer {
            Answer::Granted(grant) => Some(grant),
            Answer::Refused { .. } => None,
        })
        .collect();
    let mut open: Vec<&Grant> = Vec::new();
    grants.into_iter().find_map(|later| {
        open.retain(|earlier| later.from_ns < until_ns(earlier));
        let is_certain = |earlier: &Grant| later.from_ns < earlier.until_ns && later.is_certain();
        let may_overlap = until_ns(later) > later.from_ns;
        let mut others = open.iter().filter(|it| it.client != later.client);
        let earlier = others
            .find(|earlier| may_overlap && !is_certain(earlier))
            .copied();
        open.push(later);
        Some(Possible {
            earlier: earlier?,
            later,
        })
    })
}

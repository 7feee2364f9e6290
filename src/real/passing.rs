//! The steps of a real run: what passes its proxy, by the names of [`Step`].
//!
//! A request has its name also if its program writes it in pieces: the segment that completes its command is
//! named. Only arrivals are steps here at which a fault can strike: `c1 SET #1 arrives at n1`,
//! `c1 SET #1 reply arrives from n1`, `c1 holds`. What arrives waits in the proxy, and its receiver sends and gets nothing, until the
//! faults have struck that are placed there.

pub(super) mod grants;
#[cfg(test)]
mod tests;

use std::collections::VecDeque;
use std::sync::mpsc::Sender;

use locklab_history::{Leg, Name, Request, Schedule, Step};
use locklab_proxy::{Passing, Proxy, Ruling, Watch};
use locklab_runner::label::command;
use locklab_runner::nemesis::trigger::{DueFault, StepTriggers};
use locklab_vecmap::{VecMap, VecSet};

use self::grants::Grants;
use super::child::{ChildEvent, ProcessId};
use super::clients::Clients;
use super::plan::Plan;

/// Lets the events of a run tell when the faults of its schedule are due that are placed at steps, and when foreign
/// clients are granted the lock: of one that says nothing, no other point is known.
pub(super) fn watch(
    proxy: &Proxy,
    schedule: &Schedule,
    plan: &Plan<'_>,
    events: &Sender<(ProcessId, ChildEvent)>,
) {
    // What is encrypted has no steps.
    if plan.scenario.node.tls {
        return;
    }
    let triggers = StepTriggers::new(schedule);
    let tells_grants = matches!(plan.are, Clients::Foreign(_));
    if !triggers.is_empty() || tells_grants {
        let (clients, events) = (plan.clients.clone(), events.clone());
        proxy.watch(move || Box::new(Steps::new(&clients, triggers, tells_grants, events)));
    }
}

/// More bytes than a request has up to the end of its first command.
const LONGEST_BEGINNING: usize = 64;

/// A flow of segments: the number of its connection, and its sender.
type Flow = (u64, Name);

/// A segment on its way; `None` if it has no name.
type Message = Option<(Request, Leg)>;

/// Names what passes, and reports the steps at which faults are placed.
struct Steps {
    clients: VecSet<Name>,
    triggers: StepTriggers,
    /// Whether the grants of clients are reported.
    tells_grants: bool,
    events: Sender<(ProcessId, ChildEvent)>,
    /// The beginning of a request in each flow, up to its first command.
    begun: VecMap<Flow, Vec<u8>>,
    /// How many requests there were from one host to another, by command.
    requests: VecMap<(Name, Name, Name), u32>,
    /// What is on its way in each flow, the first first.
    under_way: VecMap<Flow, VecDeque<Message>>,
    /// The last request that has arrived over each connection, and how many replies have left since.
    answered: VecMap<u64, (Request, u32)>,
    grants: Grants,
    /// How often each client was granted the lock.
    granted: VecMap<Name, u32>,
}

impl Steps {
    /// Reports these faults of a run with these clients, and perhaps their grants.
    fn new(
        clients: &[Name],
        triggers: StepTriggers,
        tells_grants: bool,
        events: Sender<(ProcessId, ChildEvent)>,
    ) -> Self {
        Self {
            clients: clients.iter().cloned().collect(),
            triggers,
            tells_grants,
            events,
            begun: VecMap::new(),
            requests: VecMap::new(),
            under_way: VecMap::new(),
            answered: VecMap::new(),
            grants: Grants::default(),
            granted: VecMap::new(),
        }
    }

    fn request(&mut self, passing: &Passing<'_>) -> Option<Request> {
        let command = self.command(passing)?;
        let (from, to) = (passing.from.clone(), passing.to.clone());
        let of_kind = (from.clone(), to.clone(), command.clone());
        let nth = self.requests.entry(of_kind).or_default();
        *nth += 1;
        Some(Request {
            from,
            command,
            nth: *nth,
            to,
        })
    }

    /// The command of a request, with the segment that completes its name: a program may write a request in
    /// pieces.
    fn command(&mut self, passing: &Passing<'_>) -> Option<Name> {
        let begun = self.begun.entry((passing.connection, passing.from.clone()));
        let begun = begun.or_default();
        begun.extend_from_slice(passing.payload);
        let command = command(begun);
        if command.is_some() || begun.len() > LONGEST_BEGINNING || !begun.starts_with(b"*") {
            begun.clear();
        }
        command
    }

    fn reply(&mut self, connection: u64) -> Option<(Request, Leg)> {
        let (request, replies) = self.answered.get_mut(&connection)?;
        *replies += 1;
        let reply = *replies;
        Some((request.clone(), Leg::ReplyArrives { reply, nth: 1 }))
    }

    /// The steps that the arrival of a segment is.
    fn steps(&self, passing: &Passing<'_>, message: Message) -> Vec<Step> {
        let message = message.map(|(request, leg)| Step::Message { request, leg });
        let client = passing.to;
        let holds = (self.grants.is_reply(client, passing.connection)).then(|| Step::Holds {
            client: client.clone(),
            nth: self.granted.get(client).copied().unwrap_or(0) + 1,
        });
        message.into_iter().chain(holds).collect()
    }

    /// Notes that a segment has arrived.
    fn has_arrived(&mut self, passing: &Passing<'_>, message: Message) {
        if self.clients.contains(passing.from) {
            if let Some((request, _)) = message {
                self.answered.insert(passing.connection, (request, 0));
            }
            self.grants.executes(passing);
        } else if self.grants.take_reply(passing.to, passing.connection) {
            let client = passing.to;
            *self.granted.entry(client.clone()).or_default() += 1;
            if self.tells_grants {
                let who = ProcessId {
                    host: client.clone(),
                    start: 0,
                };
                // If nobody listens, the run is over.
                let _ = self
                    .events
                    .send((who, ChildEvent::Granted(passing.from.clone())));
            }
        }
    }
}

impl Watch for Steps {
    fn leaves(&mut self, passing: Passing<'_>) {
        let message = if self.clients.contains(passing.from) {
            self.request(&passing)
                .map(|request| (request, Leg::Arrives { nth: 1 }))
        } else if self.clients.contains(passing.to) {
            self.reply(passing.connection)
        } else {
            return;
        };
        let flow = (passing.connection, passing.from.clone());
        self.under_way.entry(flow).or_default().push_back(message);
    }

    fn arrives(&mut self, passing: Passing<'_>) -> Ruling {
        let flow = (passing.connection, passing.from.clone());
        let Some(message) = { self.under_way.get(&flow) }.and_then(|flow| flow.front().cloned())
        else {
            return Ruling::Arrives;
        };
        let steps = self.steps(&passing, message.clone());
        let due: Vec<DueFault> = { steps.iter() }
            .flat_map(|step| self.triggers.take(step))
            .collect();
        if !due.is_empty() {
            let who = ProcessId {
                host: passing.to.clone(),
                start: 0,
            };
            // If nobody listens, the run is over.
            return match self.events.send((who, ChildEvent::AtStep(due))) {
                Ok(()) => Ruling::Waits,
                Err(_) => Ruling::Arrives,
            };
        }
        if let Some(flow) = self.under_way.get_mut(&flow) {
            flow.pop_front();
        }
        self.has_arrived(&passing, message);
        Ruling::Arrives
    }
}

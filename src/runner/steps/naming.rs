//! Gives what happens in a world the names of [`Step`](locklab_history::Step).

use locklab_history::{Leg, Name, Request, Role, Step, Topology};
use locklab_vecmap::VecMap;
use locklab_world::{HostId, Moment, Segment};

use crate::label::command;

/// One end of a connection.
type End = (HostId, u16);

/// What a host is, as far as the names of its messages depend on it.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Client,
    /// A node that has replicas, or a replica.
    Replicates,
    Other,
}

pub(super) struct Naming {
    hosts: Vec<(Name, Kind)>,
    /// How many requests there were of each command from one host to another.
    requests: VecMap<(HostId, HostId, Name), u32>,
    /// The last request that arrived over each connection, from one end at the other, and how many
    /// replies have left since.
    answered: VecMap<(End, End), (Request, u32)>,
    /// The messages under way and before, by their numbers, and how often each has arrived; `None` for those
    /// without a name.
    messages: Vec<Option<(Message, u32)>>,
    /// How often each host did anything else.
    counts: VecMap<(Name, String), u32>,
}

#[derive(Clone)]
enum Message {
    Request(Request),
    Reply(Request, u32),
}

impl Naming {
    pub(super) fn new(names: &[Name], topology: &Topology) -> Self {
        let kind = |place: usize, name: &Name| match topology.role(name) {
            _ if place < topology.clients as usize => Kind::Client,
            Some(Role::Node | Role::Replica { .. }) if topology.replicas > 0 => Kind::Replicates,
            _ => Kind::Other,
        };
        let hosts = names.iter().enumerate();
        Self {
            hosts: hosts
                .map(|(place, name)| (name.clone(), kind(place, name)))
                .collect(),
            requests: VecMap::new(),
            answered: VecMap::new(),
            messages: Vec::new(),
            counts: VecMap::new(),
        }
    }

    /// The step that is about to happen, if it has a name.
    pub(super) fn step(&mut self, moment: &Moment<'_>) -> Option<Step> {
        match moment {
            Moment::Leaves(segment) => {
                let message = self.name(segment);
                self.messages
                    .push(message.clone().map(|message| (message, 0)));
                Some(match message? {
                    Message::Request(request) => step(request, Leg::Leaves),
                    Message::Reply(request, reply) => step(request, Leg::ReplyLeaves(reply)),
                })
            }
            Moment::Arrives(segment) => {
                let (message, arrivals) =
                    self.messages.get_mut(segment.number as usize)?.as_mut()?;
                *arrivals += 1;
                let nth = *arrivals;
                Some(match message.clone() {
                    Message::Request(request) => {
                        let connection = (segment.from, segment.to);
                        self.answered.insert(connection, (request.clone(), 0));
                        step(request, Leg::Arrives { nth })
                    }
                    Message::Reply(request, reply) => {
                        step(request, Leg::ReplyArrives { reply, nth })
                    }
                })
            }
            Moment::Timer(host) => {
                let (name, kind) = self.hosts[host.index()].clone();
                (kind == Kind::Client).then(|| {
                    let nth = self.count(&name, "timer");
                    Step::Timer { host: name, nth }
                })
            }
            Moment::Transmits(..) | Moment::Receives(_) | Moment::Continues(_) => None,
        }
    }

    /// Counts one more of what `host` does.
    pub(super) fn count(&mut self, host: &Name, what: &str) -> u32 {
        let count = self.counts.entry((host.clone(), what.to_owned()));
        let count = count.or_default();
        *count += 1;
        *count
    }

    fn name(&mut self, segment: &Segment<'_>) -> Option<Message> {
        let ((from, _), (to, _)) = (segment.from, segment.to);
        let (sender, receiver) = (self.hosts[from.index()].1, self.hosts[to.index()].1);
        match (sender, receiver) {
            (Kind::Client, _) => {
                let command = command(segment.payload)?;
                Some(Message::Request(self.request(from, command, to)))
            }
            (_, Kind::Client) => {
                let (request, replies) = self.answered.get_mut(&(segment.to, segment.from))?;
                *replies += 1;
                Some(Message::Reply(request.clone(), *replies))
            }
            (Kind::Replicates, Kind::Replicates) => {
                let command = command(segment.payload).filter(|command| is_replicated(command))?;
                Some(Message::Request(self.request(from, command, to)))
            }
            _ => None,
        }
    }

    fn request(&mut self, from: HostId, command: Name, to: HostId) -> Request {
        let nth = self
            .requests
            .entry((from, to, command.clone()))
            .or_default();
        *nth += 1;
        Request {
            from: self.hosts[from.index()].0.clone(),
            command,
            nth: *nth,
            to: self.hosts[to.index()].0.clone(),
        }
    }
}

fn step(request: Request, leg: Leg) -> Step {
    Step::Message { request, leg }
}

/// Whether a command between a node and a replica carries data, and does not only keep up the
/// connection.
fn is_replicated(command: &str) -> bool {
    !matches!(command, "PING" | "REPLCONF" | "PSYNC" | "AUTH" | "INFO")
}

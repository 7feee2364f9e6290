//! What the nodes of a real run held, derived from the messages that passed the proxy.
//!
//! Nobody can look into a `redis-server` at every instant. But all that changes a node's keys is on the
//! wire, and so is what the server answered. So the requests are executed once more, on a node of the
//! simulator, at the times at which the real server executed them, by that server's clock. The keys of
//! this node are those of the server if *every reply is the same*; otherwise nothing is said.
//!
//! The server itself says in which order it executes them, and when ([`monitor`](super::monitor)).
//!
//! Not every run can be repeated; [`why_not_repeated`] says why.

mod same_reply;
#[cfg(test)]
mod tests;

use std::collections::VecDeque;
use std::fmt;

use bytes::{Buf, Bytes, BytesMut};
use locklab_check::Ms;
use locklab_history::wire::{self, Exchange};
use locklab_history::{Deadline, History, KeySnapshot, Name};
use locklab_locks::Servers;
use locklab_model::scenario::{Persistence, Scenario};
use locklab_proxy::Segment;
use locklab_redis::resp::next_words;
use locklab_redis::{ConnId, Effect, Imitated, Node, NodeConfig};
use locklab_runner::key_log::{KeyLog, Keys, Moment};
use locklab_shim::Readings;
use locklab_values::units::NS_PER_US;
use locklab_vecmap::VecMap;

use self::same_reply::{first_difference, first_reply, is_apart, same_replies};
use super::monitor::Executed;

/// Why the nodes of a run of this scenario cannot be repeated from its messages, whatever happens in it.
pub fn why_not_repeated(scenario: &Scenario) -> Option<&'static str> {
    let is_on_disk = scenario.node.persistence != Persistence::None;
    why_never_repeated(scenario).or_else(|| is_on_disk.then_some(FROM_DISK))
}

/// The reason of a server that was restarted, and reads its disk.
const FROM_DISK: &str = "only the server knows what it has read from its disk";

/// Why the nodes of no run of this scenario can be repeated from its messages.
pub(super) fn why_never_repeated(scenario: &Scenario) -> Option<&'static str> {
    let node = &scenario.node;
    if scenario.lock.servers() != Servers::Redis {
        return Some("the servers are not Redis");
    }
    if scenario.cluster.is_some() {
        return Some("the servers are a cluster, and a failover changes who is the master");
    }
    if scenario.node.tls {
        return Some("what passes between programs and servers is encrypted");
    }
    if scenario.topology.replicas > 0 || scenario.topology.sentinels > 0 {
        return Some("servers replicate, and a failover changes who is the master");
    }
    if node.maxclients.is_some() {
        return Some("the server refuses connections of its own choice");
    }
    if node.maxmemory.is_some() || node.other_writes_every_ms.is_some() {
        return Some("the server evicts keys of its own choice");
    }
    None
}

/// What is known of a run.
pub(super) struct Wire<'a> {
    /// Its history.
    pub(super) history: &'a History,
    /// All segments since the nodes were started, in the order in which they left; times are
    /// nanoseconds of the machine's monotonic clock.
    pub(super) segments: &'a [Segment],
    /// What each server says it has executed.
    pub(super) executed: VecMap<Name, Vec<Executed>>,
    /// The port from which each connection comes.
    pub(super) dialled: VecMap<u64, u16>,
    /// When the run began, by the same clock.
    pub(super) origin_ns: u64,
    /// The clocks of a host at a time of the same clock.
    pub(super) clocks: &'a dyn Fn(&Name, u64) -> Readings,
}

impl Wire<'_> {
    /// Whether another process of a server has taken the place of one that executed something.
    fn is_restarted(&self, host: &Name) -> bool {
        let executed = self.executed.get(host).into_iter().flatten();
        let mut processes = executed.map(|it| it.process);
        let first = processes.next();
        processes.any(|process| Some(process) != first)
    }

    fn moment(&self, host: &Name, at_ns: u64) -> Moment {
        let Readings { wall_ns, mono_ns } = (self.clocks)(host, at_ns);
        Moment {
            at_ns: at_ns.saturating_sub(self.origin_ns),
            wall_ns,
            mono_ns,
        }
    }
}

/// Why nobody knows what a server held.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Unknown {
    /// The run cannot be repeated.
    Unrepeatable(&'static str),
    /// A reply of a server is another than that of its repetition.
    Differs {
        /// The server.
        node: Name,
        /// When the request was executed, in nanoseconds since the run began.
        at_ns: u64,
        /// The reply that was sent.
        real: String,
        /// The reply of the repetition.
        repeated: String,
    },
    /// A server has executed a command that the repetition does not know.
    Command {
        /// The server.
        node: Name,
        /// When it was executed, in nanoseconds since the run began.
        at_ns: u64,
        /// The command, in capitals.
        command: String,
    },
    /// A server was restarted, and has read its disk.
    Restarted(Name),
    /// A client has sent what are no commands.
    NoCommands(Name),
    /// The server has executed commands that nobody sent through the proxy.
    Others(Name),
}

impl fmt::Display for Unknown {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Unknown::Unrepeatable(why) => f.write_str(why),
            Unknown::Differs {
                node,
                at_ns,
                real,
                repeated,
            } => {
                let at = Ms(*at_ns);
                write!(
                    f,
                    "at {at} {node} replied {real}, and its repetition {repeated}"
                )
            }
            Unknown::Command {
                node,
                at_ns,
                command,
            } => write!(
                f,
                "{node} executed {command} at {}, which the simulated node does not have",
                Ms(*at_ns)
            ),
            Unknown::Restarted(node) => write!(f, "{node} was restarted, and {FROM_DISK}"),
            Unknown::NoCommands(node) => {
                write!(f, "a client sent {node} what is no command of Redis")
            }
            Unknown::Others(node) => write!(f, "{node} has executed commands of others"),
        }
    }
}

/// What follows from the messages of a run.
#[derive(Debug, Default)]
pub(super) struct Repeated {
    /// The snapshots of all nodes, in the order of true time.
    pub(super) snapshots: Vec<KeySnapshot>,
    /// All requests of clients; those of one node in the order in which it executed them.
    pub(super) exchanges: Vec<Exchange>,
}

/// Repeats what the nodes of a run executed, and notes these keys.
///
/// # Errors
///
/// Why it is not known what they held.
pub(super) fn repeat(wire: &Wire, scenario: &Scenario, keys: &Keys) -> Result<Repeated, Unknown> {
    if let Some(why) = why_never_repeated(scenario) {
        return Err(Unknown::Unrepeatable(why));
    }
    let mut all = Repeated::default();
    for node in scenario.topology.servers() {
        let (name, imitated) = (Name::from(node.name), scenario.node.imitate.into());
        if scenario.node.persistence != Persistence::None && wire.is_restarted(&name) {
            return Err(Unknown::Restarted(name));
        }
        let of_node = of_node(wire, &name, imitated, keys)?;
        all.snapshots.extend(of_node.snapshots);
        all.exchanges.extend(of_node.exchanges);
    }
    all.snapshots.sort_by_key(|snapshot| snapshot.at_ns);
    Ok(all)
}

/// The whole commands that one segment completes.
struct Request<'a> {
    from: &'a Name,
    connection: u64,
    /// When the first byte left.
    sent_ns: u64,
    bytes: Bytes,
    commands: Vec<Vec<Bytes>>,
    /// When the last byte arrived, if it did.
    arrived_ns: Option<u64>,
}

impl Request<'_> {
    fn exchange(&self, node: &Name, wire: &Wire) -> Exchange {
        let words = |words: &Vec<Bytes>| words.iter().map(|word| word.to_vec()).collect();
        Exchange {
            client: self.from.clone(),
            node: node.clone(),
            sent_ns: self.sent_ns.saturating_sub(wire.origin_ns),
            commands: self.commands.iter().map(words).collect(),
            executed: None,
        }
    }
}

/// A request that a server says it has executed.
struct Execution<'a> {
    request: Request<'a>,
    /// When the server had executed it at the latest.
    by_ns: u64,
    /// Its place in what the server says it has executed, and what it says.
    place: usize,
    executed: Executed,
}

type Replies<'a> = VecMap<u64, Vec<&'a Segment>>;

fn of_node(wire: &Wire, name: &Name, imitated: Imitated, keys: &Keys) -> Result<Repeated, Unknown> {
    let mut replies = Replies::new();
    for segment in wire.segments.iter().filter(|it| it.from == *name) {
        replies.entry(segment.connection).or_default().push(segment);
    }
    let (executions, others) = executions(wire, name, &replies)?;
    // Whatever was executed before another request was executed before the reply to that one.
    let mut times_ns: Vec<u64> = executions.iter().map(|it| it.by_ns).collect();
    for place in (1..times_ns.len()).rev() {
        times_ns[place - 1] = times_ns[place - 1].min(times_ns[place]);
    }
    let differs = |at_ns, (real, repeated): (String, String)| {
        let (node, unknown) = (name.clone(), unknown_command(&repeated));
        match unknown.filter(|_| unknown_command(&real).is_none()) {
            Some(command) => Unknown::Command {
                node,
                at_ns,
                command: command.to_ascii_uppercase(),
            },
            None => Unknown::Differs {
                node,
                at_ns,
                real,
                repeated,
            },
        }
    };
    let mut exchanges: Vec<Exchange> = { others.iter() }
        .map(|request| request.exchange(name, wire))
        .collect();
    let mut sent = Sent::of(&replies);
    let mut log = KeyLog::of(keys.clone());
    log.begin(name);
    let mut process = Process::new(0, imitated);
    for (execution, at_ns) in executions.iter().zip(times_ns) {
        let Execution {
            request, executed, ..
        } = execution;
        if executed.process != process.number {
            process = Process::new(executed.process, imitated);
            log.begin(name);
        }
        // The request was executed at this time at the latest. Whether a key had expired, the server
        // decided by its clock when it executed the request, which may have been long before.
        let moment = Moment {
            wall_ns: executed.wall_us * NS_PER_US,
            ..wire.moment(name, at_ns)
        };
        let replied = process.execute(execution, &mut sent);
        let replied = replied.map_err(|replies| differs(moment.at_ns, replies))?;
        let (node, by) = (&process.node, Some(request.from));
        let changed = log
            .update(name, moment, node, by, Deadline::of_key)
            .to_vec();
        let answered_ns = replied.then(|| sent.arrived_ns(request.connection));
        exchanges.push(Exchange {
            executed: Some(wire::Executed {
                at_ns: moment.at_ns,
                wall_ns: moment.wall_ns,
                mono_ns: moment.mono_ns,
                process: executed.process,
                changed,
                answered_ns: answered_ns
                    .flatten()
                    .map(|at_ns| at_ns.saturating_sub(wire.origin_ns)),
            }),
            ..request.exchange(name, wire)
        });
    }
    let end_ns = wire.history.end_ns;
    sent.is_repeated()
        .map_err(|replies| differs(end_ns, replies))?;
    Ok(Repeated {
        snapshots: log.finish(|name| wire.moment(name, wire.origin_ns + end_ns)),
        exchanges,
    })
}

/// The requests that a server says it has executed, in its order; and all others.
type Executions<'a> = (Vec<Execution<'a>>, Vec<Request<'a>>);

fn executions<'a>(
    wire: &Wire<'a>,
    name: &Name,
    replies: &Replies,
) -> Result<Executions<'a>, Unknown> {
    let mut executed: VecMap<u16, VecDeque<(usize, Executed)>> = VecMap::new();
    for (place, it) in wire.executed.get(name).into_iter().flatten().enumerate() {
        let of_port = executed.entry(it.port).or_default();
        of_port.push_back((place, it.clone()));
    }
    let (mut executions, mut others): (Vec<Execution>, _) = (Vec::new(), Vec::new());
    // The last execution of each connection.
    let mut last: VecMap<u64, (usize, Executed)> = VecMap::new();
    for request in requests(wire, name)? {
        let port = wire.dialled.get(&request.connection);
        let said = port.and_then(|port| executed.get_mut(port));
        let (Some(said), Some(arrived_ns)) = (said, request.arrived_ns) else {
            others.push(request);
            continue;
        };
        let own = { request.commands.iter() }.filter_map(|words| {
            // The server does not say everything: not what it rejects, and not what operators ask.
            let is_next = said
                .front()
                .is_some_and(|(_, it)| is_same_command(words, &it.words));
            is_next.then(|| said.pop_front()).flatten()
        });
        let own = own.last().or_else(|| {
            let is_unsaid = request.commands.iter().all(|words| is_apart(words));
            let beside = last.get(&request.connection).or(said.front());
            beside.filter(|_| is_unsaid).cloned()
        });
        let Some((place, executed)) = own else {
            // Its process ended before.
            others.push(request);
            continue;
        };
        last.insert(request.connection, (place, executed.clone()));
        let replied_ns = replies.get(&request.connection).and_then(|replies| {
            let place = replies.partition_point(|it| it.sent_ns < arrived_ns);
            Some(replies.get(place)?.sent_ns)
        });
        executions.push(Execution {
            by_ns: replied_ns.unwrap_or(u64::MAX).min(executed.read_ns),
            request,
            place,
            executed,
        });
    }
    if executed.values().any(|left| !left.is_empty()) {
        return Err(Unknown::Others(name.clone()));
    }
    executions.sort_by_key(|it| it.place);
    Ok((executions, others))
}

/// Whether a server says that it has executed this command. It may keep a password for itself.
fn is_same_command(sent: &[Bytes], said: &[Vec<u8>]) -> bool {
    let is_same = |(sent, said): (&Bytes, &Vec<u8>)| {
        sent.eq_ignore_ascii_case(said) || **said == *b"(redacted)"
    };
    sent.len() == said.len() && sent.iter().zip(said).all(is_same)
}

/// What clients sent to a server, by whole commands. A program may write a command in pieces.
fn requests<'a>(wire: &Wire<'a>, name: &Name) -> Result<Vec<Request<'a>>, Unknown> {
    // Per connection: what has begun, and when its first byte left.
    let mut begun: VecMap<u64, (BytesMut, u64)> = VecMap::new();
    let mut requests = Vec::new();
    for segment in wire.segments.iter().filter(|it| it.to == *name) {
        let start = || (BytesMut::new(), segment.sent_ns);
        let (bytes, sent_ns) = begun.entry(segment.connection).or_insert_with(start);
        if bytes.is_empty() {
            *sent_ns = segment.sent_ns;
        }
        bytes.extend_from_slice(&segment.payload);
        let mut left = bytes.clone();
        let mut commands = Vec::new();
        let no_commands = |_| Unknown::NoCommands(name.clone());
        while let Some(words) = next_words(&mut left).map_err(no_commands)? {
            commands.push(words);
        }
        if commands.is_empty() {
            continue;
        }
        let whole = bytes.split_to(bytes.len() - left.len());
        requests.push(Request {
            from: &segment.from,
            connection: segment.connection,
            sent_ns: *sent_ns,
            bytes: whole.freeze(),
            commands,
            arrived_ns: segment.arrived_ns,
        });
        *sent_ns = segment.sent_ns;
    }
    Ok(requests)
}

/// What a server has sent on each connection, and its repetition has not.
struct Sent(VecMap<u64, Stream>);

/// What a server has sent on a connection.
#[derive(Default)]
struct Stream {
    left: Bytes,
    /// How many bytes its repetition has sent, too.
    taken: usize,
    /// Of each segment, the byte after its last, and when it had arrived.
    ends: Vec<(usize, Option<u64>)>,
}

impl Sent {
    fn of(replies: &Replies) -> Sent {
        let sent = replies.iter().map(|(connection, segments)| {
            let (mut left, mut ends) = (BytesMut::new(), Vec::new());
            for segment in segments {
                left.extend_from_slice(&segment.payload);
                ends.push((left.len(), segment.arrived_ns));
            }
            let (left, taken) = (left.freeze(), 0);
            (*connection, Stream { left, taken, ends })
        });
        Sent(sent.collect())
    }

    /// Notes what the repetition sends in reply to these commands. Fails with both replies, if the server's is known
    /// and differs.
    fn repeat(
        &mut self,
        connection: u64,
        commands: &[Vec<Bytes>],
        repeated: &[u8],
    ) -> Result<(), (String, String)> {
        let Some(Stream { left, taken, .. }) = self.0.get_mut(&connection) else {
            // The client's connection was closed before the reply, or the server died.
            return Ok(());
        };
        match same_replies(commands, left, repeated) {
            Some(length) => {
                left.advance(length);
                *taken += length;
            }
            None => return Err(first_difference(commands, left, repeated)),
        }
        Ok(())
    }

    /// How many bytes both have sent on a connection.
    fn taken(&self, connection: u64) -> usize {
        self.0.get(&connection).map_or(0, |stream| stream.taken)
    }

    /// When the last byte had arrived that both have sent on a connection.
    fn arrived_ns(&self, connection: u64) -> Option<u64> {
        let Stream { taken, ends, .. } = self.0.get(&connection)?;
        let place = ends.partition_point(|(end, _)| end < taken);
        ends.get(place)?.1
    }

    /// Fails if the server has sent more than its repetition.
    fn is_repeated(&self) -> Result<(), (String, String)> {
        let mut more = self.0.values().filter(|stream| !stream.left.is_empty());
        let first = more.next();
        first.map_or(Ok(()), |more| {
            Err((first_reply(&more.left), "nothing".to_owned()))
        })
    }
}

/// The repetition of one process of a server.
struct Process {
    number: usize,
    node: Node,
    connections: VecMap<u64, ConnId>,
}

impl Process {
    fn new(number: usize, imitated: Imitated) -> Process {
        let config = NodeConfig {
            imitated,
            ..NodeConfig::default()
        };
        Process {
            number,
            node: Node::new(config),
            connections: VecMap::new(),
        }
    }

    /// Executes a request; returns whether the server has replied. Fails with a reply of the server and its
    /// repetition, if they differ.
    fn execute(
        &mut self,
        execution: &Execution,
        sent: &mut Sent,
    ) -> Result<bool, (String, String)> {
        let (node, request) = (&mut self.node, &execution.request);
        let conn = *(self.connections)
            .entry(request.connection)
            .or_insert_with(|| node.accept());
        let before = sent.taken(request.connection);
        let mut effects = Vec::new();
        let wall_us = execution.executed.wall_us;
        node.receive(conn, &request.bytes, wall_us, &mut effects);
        let mut replies = Vec::new();
        for effect in effects {
            match effect {
                Effect::Send { conn: to, bytes } if to == conn => replies.extend_from_slice(&bytes),
                Effect::Send { conn: to, bytes } => {
                    let of_conn = self.connections.iter().find(|(_, id)| **id == to);
                    if let Some((connection, _)) = of_conn {
                        sent.repeat(*connection, &[], &bytes)?;
                    }
                }
                _ => {}
            }
        }
        sent.repeat(request.connection, &request.commands, &replies)?;
        Ok(sent.taken(request.connection) > before)
    }
}

/// The command that a reply says it does not know.
fn unknown_command(reply: &str) -> Option<&str> {
    let command = reply.strip_prefix("-ERR unknown command '")?;
    Some(command.split_once('\'')?.0)
}

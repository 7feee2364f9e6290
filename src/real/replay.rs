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

use std::collections::{BTreeMap, VecDeque};
use std::fmt;

use bytes::{Bytes, BytesMut};
use locklab_check::Ms;
use locklab_history::{History, KeySnapshot, Name};
use locklab_locks::Servers;
use locklab_model::scenario::{Persistence, Scenario};
use locklab_proxy::Segment;
use locklab_redis::resp::next_words;
use locklab_redis::{ConnId, Effect, Imitated, Node, NodeConfig};
use locklab_runner::key_log::{KeyLog, Moment, wall_deadline};
use locklab_shim::Readings;
use locklab_values::units::NS_PER_US;

use self::same_reply::same_start;
use super::monitor::Executed;

/// Why the nodes of a run of this scenario cannot be repeated from its messages.
pub fn why_not_repeated(scenario: &Scenario) -> Option<&'static str> {
    let node = &scenario.node;
    if scenario.lock.servers() != Servers::Redis {
        return Some("the servers are not Redis");
    }
    if scenario.topology.replicas > 0 || scenario.topology.sentinels > 0 {
        return Some("servers replicate, and a failover changes who is the master");
    }
    if node.persistence != Persistence::None {
        return Some("only the server knows what it has read from its disk");
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
    pub(super) executed: BTreeMap<Name, Vec<Executed>>,
    /// The port from which each connection comes.
    pub(super) dialled: BTreeMap<u64, u16>,
    /// When the run began, by the same clock.
    pub(super) origin_ns: u64,
    /// The clocks of a host at a time of the same clock.
    pub(super) clocks: &'a dyn Fn(&Name, u64) -> Readings,
}

impl Wire<'_> {
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
    /// A segment has a part of a command.
    Parts(Name),
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
            Unknown::Parts(node) => write!(f, "a segment to {node} has a part of a command"),
            Unknown::Others(node) => write!(f, "{node} has executed commands of others"),
        }
    }
}

/// The snapshots of all nodes of a run, in the order of true time.
///
/// # Errors
///
/// Why this is not known.
pub(super) fn snapshots(wire: &Wire, scenario: &Scenario) -> Result<Vec<KeySnapshot>, Unknown> {
    if let Some(why) = why_not_repeated(scenario) {
        return Err(Unknown::Unrepeatable(why));
    }
    let mut all = Vec::new();
    for node in scenario.topology.servers() {
        all.extend(of_node(
            wire,
            &node.name.into(),
            scenario.node.imitate.into(),
        )?);
    }
    all.sort_by_key(|snapshot| snapshot.at_ns);
    Ok(all)
}

/// A request, or several in one segment.
struct Request<'a> {
    from: &'a Name,
    connection: u64,
    bytes: &'a Bytes,
    /// When the server had executed it at the latest.
    by_ns: u64,
    /// Its place in what the server says it has executed, and what it says.
    place: usize,
    executed: Executed,
}

type Replies<'a> = BTreeMap<u64, Vec<&'a Segment>>;

fn of_node(wire: &Wire, name: &Name, imitated: Imitated) -> Result<Vec<KeySnapshot>, Unknown> {
    let mut replies = Replies::new();
    for segment in wire.segments.iter().filter(|it| it.from == *name) {
        replies.entry(segment.connection).or_default().push(segment);
    }
    let requests = requests(wire, name, &replies)?;
    // Whatever was executed before another request was executed before the reply to that one.
    let mut times_ns: Vec<u64> = requests.iter().map(|it| it.by_ns).collect();
    for place in (1..times_ns.len()).rev() {
        times_ns[place - 1] = times_ns[place - 1].min(times_ns[place]);
    }
    let differs = |at_ns, (real, repeated)| Unknown::Differs {
        node: name.clone(),
        at_ns,
        real,
        repeated,
    };
    let mut sent = Sent::of(&replies);
    let mut log = KeyLog::default();
    log.begin(name);
    let mut process = Process::new(0, imitated);
    for (request, at_ns) in requests.iter().zip(times_ns) {
        if request.executed.process != process.number {
            process = Process::new(request.executed.process, imitated);
            log.begin(name);
        }
        // The request was executed at this time at the latest. Whether a key had expired, the server
        // decided by its clock when it executed the request, which may have been long before.
        let moment = Moment {
            wall_ns: request.executed.wall_us * NS_PER_US,
            ..wire.moment(name, at_ns)
        };
        let executed = process.execute(request, &mut sent);
        executed.map_err(|replies| differs(moment.at_ns, replies))?;
        let (node, by) = (&process.node, Some(request.from));
        log.update(name, moment, node, by, wall_deadline);
    }
    let end_ns = wire.history.end_ns;
    sent.is_repeated()
        .map_err(|replies| differs(end_ns, replies))?;
    Ok(log.finish(|name| wire.moment(name, wire.origin_ns + end_ns)))
}

/// The requests that a server says it has executed, in its order.
fn requests<'a>(
    wire: &Wire<'a>,
    name: &Name,
    replies: &Replies,
) -> Result<Vec<Request<'a>>, Unknown> {
    let mut executed: BTreeMap<u16, VecDeque<(usize, Executed)>> = BTreeMap::new();
    for (place, it) in wire.executed.get(name).into_iter().flatten().enumerate() {
        executed.entry(it.port).or_default().push_back((place, *it));
    }
    let mut requests = Vec::new();
    for segment in wire.segments.iter().filter(|it| it.to == *name) {
        let Some(arrived_ns) = segment.arrived_ns else {
            continue;
        };
        let count = count_commands(&segment.payload).ok_or_else(|| Unknown::Parts(name.clone()))?;
        let port = wire.dialled.get(&segment.connection);
        let said = port.and_then(|port| executed.get_mut(port));
        let Some((place, executed)) =
            said.and_then(|said| said.drain(..count.min(said.len())).next_back())
        else {
            // Its process ended before.
            continue;
        };
        let left = replies.get(&segment.connection).into_iter().flatten();
        let replied_ns = left.map(|it| it.sent_ns).find(|at_ns| *at_ns >= arrived_ns);
        requests.push(Request {
            from: &segment.from,
            connection: segment.connection,
            bytes: &segment.payload,
            by_ns: replied_ns.unwrap_or(u64::MAX).min(executed.read_ns),
            place,
            executed,
        });
    }
    if executed.values().any(|left| !left.is_empty()) {
        return Err(Unknown::Others(name.clone()));
    }
    requests.sort_by_key(|it| it.place);
    Ok(requests)
}

/// The number of commands; `None` if it is not a whole number.
fn count_commands(bytes: &[u8]) -> Option<usize> {
    let mut left = BytesMut::from(bytes);
    let mut count = 0;
    while next_words(&mut left).ok()?.is_some() {
        count += 1;
    }
    left.is_empty().then_some(count)
}

/// What a server has sent on each connection, and its repetition has not.
struct Sent(BTreeMap<u64, Vec<u8>>);

impl Sent {
    fn of(replies: &Replies) -> Sent {
        let sent = replies.iter().map(|(connection, segments)| {
            let bytes = segments.iter().flat_map(|it| it.payload.iter().copied());
            (*connection, bytes.collect())
        });
        Sent(sent.collect())
    }

    /// Notes what the repetition sends. Fails with both replies, if the server's is known and differs.
    fn repeat(&mut self, connection: u64, repeated: &[u8]) -> Result<(), (String, String)> {
        let Some(left) = self.0.get_mut(&connection) else {
            // The client's connection was closed before the reply, or the server died.
            return Ok(());
        };
        match same_start(left, repeated) {
            Some(length) => drop(left.drain(..length)),
            None => {
                let real = &left[..left.len().min(repeated.len())];
                return Err((text(real), text(repeated)));
            }
        }
        Ok(())
    }

    /// Fails if the server has sent more than its repetition.
    fn is_repeated(&self) -> Result<(), (String, String)> {
        let mut more = self.0.values().filter(|left| !left.is_empty());
        let first = more.next();
        first.map_or(Ok(()), |more| Err((text(more), "nothing".to_owned())))
    }
}

/// The repetition of one process of a server.
struct Process {
    number: usize,
    node: Node,
    connections: BTreeMap<u64, ConnId>,
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
            connections: BTreeMap::new(),
        }
    }

    /// Executes a request. Fails with a reply of the server and its repetition, if they differ.
    fn execute(&mut self, request: &Request, sent: &mut Sent) -> Result<(), (String, String)> {
        let node = &mut self.node;
        let conn = *(self.connections)
            .entry(request.connection)
            .or_insert_with(|| node.accept());
        let mut effects = Vec::new();
        node.receive(conn, request.bytes, request.executed.wall_us, &mut effects);
        for effect in effects {
            let Effect::Send { conn, bytes } = effect else {
                continue;
            };
            let of_conn = self.connections.iter().find(|(_, id)| **id == conn);
            if let Some((connection, _)) = of_conn {
                sent.repeat(*connection, &bytes)?;
            }
        }
        Ok(())
    }
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).escape_debug().to_string()
}

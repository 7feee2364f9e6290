//! The keys of the lock on the nodes, as spans of true time that end by the node's own clock: what a
//! node held, and for whom. No check reads this, as no history contains it.

use locklab_vecmap::{VecMap, VecSet};

use super::timeline::reached;
use super::{
    ClockKind, Contents, Deadline, History, KeySnapshot, KeyState, Name, RESOURCE, Topology,
};

/// A period in which a node held a key with one value.
#[derive(Debug, Clone, PartialEq)]
pub struct Lease<'a> {
    /// The node.
    pub node: &'a Name,
    /// The name of the key.
    pub key: &'a str,
    /// Its value, as readable text.
    pub value: &'a str,
    /// The client whose request set it, if it is known.
    pub owner: Option<&'a Name>,
    /// True time at which the node had the value, in nanoseconds since the run began.
    pub from_ns: u64,
    /// True time at which it no longer did.
    pub until_ns: u64,
    /// Why it no longer did.
    pub end: End,
    /// The host whose request ended it, if one did.
    pub ended_by: Option<&'a Name>,
    /// When its time to live is over by the node's clock; `None` if it has none.
    pub lives: Option<Deadline>,
}

/// Why a node no longer holds a key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum End {
    /// By the node's clock its time to live was over.
    Expired,
    /// A command deleted it.
    Deleted,
    /// A command gave it another value.
    Replaced,
    /// The node's process ended.
    Lost,
    /// The run ended.
    Run,
}

impl End {
    /// The reason in words.
    pub fn name(self) -> &'static str {
        match self {
            End::Expired => "expired by the node's clock",
            End::Deleted => "deleted",
            End::Replaced => "replaced",
            End::Lost => "lost with the node's process",
            End::Run => "held at the end of the run",
        }
    }
}

/// All spans on the nodes, in the order of their beginnings.
pub fn leases<'a>(
    history: &'a History,
    contents: &'a Contents,
    topology: &Topology,
) -> Vec<Lease<'a>> {
    let mut open: VecMap<(&Name, &str), Lease> = VecMap::new();
    let mut closed = Vec::new();
    let clocks = Clocks::of(history, contents);
    let mut owners = Owners::of(history, contents, topology);
    let deaths = history.records.iter().filter(|r| r.event.is_death());
    let mut deaths = deaths.peekable();
    for snapshot in &contents.snapshots {
        while let Some(death) = deaths.next_if(|death| death.at_ns <= snapshot.at_ns) {
            let lost: Vec<_> = open
                .keys()
                .filter(|(node, _)| **node == death.host)
                .copied()
                .collect();
            closed.extend((lost.into_iter()).filter_map(|place| {
                Some(close(
                    open.remove(&place)?,
                    (death.at_ns, End::Lost, None),
                    &clocks,
                ))
            }));
        }
        let (at_ns, node, by) = (snapshot.at_ns, &snapshot.host, snapshot.by.as_ref());
        for change in &snapshot.changed {
            let place = (node, change.key.as_str());
            let before = open.remove(&place);
            let Some(state) = &change.now else {
                closed.extend(before.map(|it| close(it, (at_ns, End::Deleted, by), &clocks)));
                continue;
            };
            let new = begin(snapshot, &change.key, state, &mut owners);
            let lease = match before.map(|it| close(it, (at_ns, End::Replaced, by), &clocks)) {
                // Its time to live was set again.
                Some(before) if before.value == new.value && before.end != End::Expired => Lease {
                    from_ns: before.from_ns,
                    owner: before.owner,
                    ..new
                },
                before => {
                    closed.extend(before);
                    new
                }
            };
            open.insert(place, lease);
        }
    }
    let lost = |lease: &Lease| {
        let death = deaths.clone().find(|death| death.host == *lease.node);
        death.map_or((history.end_ns, End::Run), |death| (death.at_ns, End::Lost))
    };
    closed.extend(open.into_values().map(|lease| {
        let (at_ns, end) = lost(&lease);
        close(lease, (at_ns, end, None), &clocks)
    }));
    closed.sort_by_key(|lease| lease.from_ns);
    closed
}

fn begin<'a>(
    snapshot: &'a KeySnapshot,
    key: &'a str,
    state: &'a KeyState,
    owners: &mut Owners<'a>,
) -> Lease<'a> {
    Lease {
        node: &snapshot.host,
        key,
        value: &state.value,
        owner: owners.of_value(&state.value, snapshot),
        from_ns: snapshot.at_ns,
        until_ns: snapshot.at_ns,
        end: End::Run,
        ended_by: None,
        lives: state.expires,
    }
}

/// Ends a lease at this true time, for this reason and by this host; or earlier if the node's clock
/// has reached the end of its time to live before.
fn close<'a>(
    lease: Lease<'a>,
    (at_ns, end, by): (u64, End, Option<&'a Name>),
    clocks: &Clocks,
) -> Lease<'a> {
    let over_ns = (lease.lives).and_then(|deadline| clocks.reach(&lease, deadline, at_ns));
    let (until_ns, end, ended_by) = match over_ns {
        Some(over_ns) if over_ns < at_ns => (over_ns, End::Expired, None),
        _ => (at_ns, end, by),
    };
    Lease {
        until_ns,
        end,
        ended_by,
        ..lease
    }
}

/// The readings of the nodes' clocks, by true time: wall clock and monotonic clock.
struct Clocks<'a>(VecMap<&'a Name, [Vec<(u64, u64)>; 2]>);

impl<'a> Clocks<'a> {
    fn of(history: &'a History, contents: &'a Contents) -> Self {
        let mut clocks: VecMap<&Name, [Vec<(u64, u64)>; 2]> = VecMap::new();
        for look in &contents.snapshots {
            let [wall, monotonic] = clocks.entry(&look.host).or_default();
            wall.push((look.at_ns, look.wall_ns));
            monotonic.push((look.at_ns, look.mono_ns));
        }
        for record in &history.records {
            if let Some([wall, monotonic]) = clocks.get_mut(&record.host) {
                wall.push((record.at_ns, record.wall_ns));
                monotonic.push((record.at_ns, record.mono_ns));
            }
        }
        for readings in clocks.values_mut().flatten() {
            readings.sort_by_key(|&(at_ns, _)| at_ns);
        }
        Clocks(clocks)
    }

    /// The true time, up to `to_ns`, at which the clock of the lease's node shows its deadline.
    fn reach(&self, lease: &Lease, deadline: Deadline, to_ns: u64) -> Option<u64> {
        let [wall, monotonic] = self.0.get(lease.node)?;
        let readings = match deadline.clock {
            ClockKind::Wall => wall,
            ClockKind::Monotonic => monotonic,
        };
        let start = readings.partition_point(|&(at_ns, _)| at_ns < lease.from_ns);
        // A clock that is set back before anybody asks for an expired key revives it.
        let end = readings.partition_point(|&(at_ns, _)| at_ns <= to_ns);
        let last = readings[..end].last();
        if last.is_some_and(|&(at_ns, now_ns)| at_ns == to_ns && now_ns < deadline.at_ns) {
            return None;
        }
        let pairs = readings[start..].windows(2);
        let mut pairs = pairs.take_while(|pair| pair[0].0 <= to_ns);
        pairs.find_map(|pair| reached(deadline.at_ns, pair[0], pair[1]))
    }
}

/// Which client a value belongs to.
struct Owners<'a> {
    /// The hosts that are no clients.
    others: VecSet<String>,
    known: VecMap<&'a str, &'a Name>,
    /// The requests of clients, by their receiver, in the order of their arrival.
    requests: VecMap<&'a str, Vec<Request<'a>>>,
}

struct Request<'a> {
    arrived_ns: u64,
    client: &'a Name,
    payload: &'a [u8],
}

impl<'a> Owners<'a> {
    /// How many requests are searched for a value: those that a node may have received and not
    /// yet read when it was busy or paused.
    const MOST: usize = 100;
    /// A shorter value, such as a counter, identifies no client.
    const SHORTEST: usize = 8;

    fn of(history: &'a History, contents: &'a Contents, topology: &Topology) -> Self {
        let servers = topology.servers().into_iter().map(|server| server.name);
        let others: VecSet<String> = servers.chain([RESOURCE.to_owned()]).collect();
        let mut requests: VecMap<&str, Vec<Request>> = VecMap::new();
        for (message, payload) in history.messages.iter().zip(&contents.payloads) {
            let from_client = !others.contains(&*message.from);
            if let Some(arrived_ns) = message.arrived_ns.filter(|_| from_client) {
                requests.entry(&message.to).or_default().push(Request {
                    arrived_ns,
                    client: &message.from,
                    payload,
                });
            }
        }
        for requests in requests.values_mut() {
            requests.sort_by_key(|request| request.arrived_ns);
        }
        Owners {
            others,
            known: VecMap::new(),
            requests,
        }
    }

    /// The client whose request brought the value to the node. In a hash the field identifies the
    /// client, and its value is a count.
    fn of_value(&mut self, value: &'a str, snapshot: &'a KeySnapshot) -> Option<&'a Name> {
        let identity = value.rsplit_once(": ").map_or(value, |(field, _)| field);
        if let Some(by) = snapshot
            .by
            .as_ref()
            .filter(|by| !self.others.contains(&***by))
        {
            self.known.insert(identity, by);
            return Some(by);
        }
        if let Some(owner) = self.known.get(identity) {
            return Some(owner);
        }
        if identity.len() < Self::SHORTEST {
            return None;
        }
        let requests = self.requests.get(&*snapshot.host)?;
        let earlier = requests.partition_point(|request| request.arrived_ns <= snapshot.at_ns);
        let brought = |request: &&Request| {
            let mut places = request.payload.windows(identity.len());
            places.any(|place| place == identity.as_bytes())
        };
        let latest = requests[..earlier].iter().rev().take(Self::MOST);
        let owner = latest.into_iter().find(brought)?.client;
        self.known.insert(identity, owner);
        Some(owner)
    }
}

#[cfg(test)]
mod tests;

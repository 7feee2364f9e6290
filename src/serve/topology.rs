//! The servers and their addresses: nodes, their replicas and the sentinels, each on a port.

use std::fmt;
use std::io::{self, ErrorKind};
use std::net::{IpAddr, Ipv4Addr, SocketAddr, TcpListener};

use anyhow::Context;
use locklab_history::Name;
use locklab_redis::server::bind;

/// How many ports are tried.
const MAX_TRIES: u32 = 1000;

/// The number of servers of each kind, and the first port.
#[derive(Clone, Copy, Debug)]
pub struct Topology {
    /// The address on which all servers listen.
    pub ip: IpAddr,
    /// The first node's port. The other nodes follow, then the replicas, node by node, then the
    /// sentinels. 0: any free ports.
    pub port: u16,
    /// Masters, each with data of its own.
    pub nodes: u16,
    /// Replicas of each node.
    pub replicas: u16,
    /// Sentinels, each of which monitors every node.
    pub sentinels: u16,
}

/// Who to ask, and what to do, if an address cannot be had.
pub fn cannot_listen(address: SocketAddr) -> String {
    let port = address.port();
    format!(
        "cannot listen on {address}; `ss -ltnp sport = :{port}` names who has it, and port 0 is a free one"
    )
}

/// A server to start: its address and its initial role.
#[derive(Debug)]
pub struct Place {
    /// Its name, as in scenarios: `n1`, its replica `n1r1`, the sentinel `s1`.
    pub name: Name,
    /// Its address.
    pub address: SocketAddr,
    /// Its role.
    pub role: Role,
    pub(crate) listener: TcpListener,
    /// Listens on the same port of the server's own address, which faults need; only of a port that was free.
    pub(crate) own: Option<TcpListener>,
}

/// The initial role of a server. A failover may change it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Role {
    /// A master, which replicates no other node.
    Master {
        /// Its name for the sentinels, if there are any.
        name: Option<String>,
    },
    /// A replica of another node.
    Replica {
        /// Its master.
        of: SocketAddr,
    },
    /// A sentinel.
    Sentinel,
}

impl fmt::Display for Role {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Role::Master { name: None } => f.write_str("master"),
            Role::Master { name: Some(name) } => write!(f, "master {name}"),
            Role::Replica { of } => write!(f, "replica of {of}"),
            Role::Sentinel => f.write_str("sentinel"),
        }
    }
}

/// Listens on a port for each server.
///
/// # Errors
///
/// If a port is in use or out of range.
pub fn listen(topology: &Topology) -> anyhow::Result<Vec<Place>> {
    let Topology {
        nodes,
        replicas,
        sentinels,
        ..
    } = *topology;
    let count = topology.count();
    let listener = |index| {
        let address = address(topology, index).with_context(|| {
            let port = topology.port;
            format!("{count} servers from port {port} on need ports above 65535")
        })?;
        let listeners = match address.port() {
            0 => on_a_free_port(
                || bind(address),
                |port| bind((private(index + 1), port).into()),
            ),
            _ => bind(address).map(|listener| (listener, None)),
        };
        listeners.with_context(|| cannot_listen(address))
    };
    let mut places: Vec<Place> = Vec::with_capacity(count);
    for index in 0..count {
        let (listener, own) = listener(index)?;
        let address = listener.local_addr().context("a listener's address")?;
        let role = match index.checked_sub(usize::from(nodes)) {
            None => Role::Master {
                name: (sentinels > 0).then(|| master_name(index)),
            },
            Some(after) => match places.get(after / usize::from(replicas.max(1))) {
                Some(Place {
                    role: Role::Master { .. },
                    address: of,
                    ..
                }) if replicas > 0 => Role::Replica { of: *of },
                _ => Role::Sentinel,
            },
        };
        places.push(Place {
            name: name(topology, index),
            address,
            role,
            listener,
            own,
        });
    }
    Ok(places)
}

impl Topology {
    /// The number of servers.
    pub fn count(&self) -> usize {
        let nodes = usize::from(self.nodes);
        nodes * (1 + usize::from(self.replicas)) + usize::from(self.sentinels)
    }
}

/// Listens on a port that is free on both addresses. At the second somebody else's connection may begin, so a port that is
/// free at the first need not be free there. If there is no second address, nobody listens there.
fn on_a_free_port(
    first: impl Fn() -> io::Result<TcpListener>,
    second: impl Fn(u16) -> io::Result<TcpListener>,
) -> io::Result<(TcpListener, Option<TcpListener>)> {
    for _ in 0..MAX_TRIES {
        let listener = first()?;
        match second(listener.local_addr()?.port()) {
            Err(error) if error.kind() == ErrorKind::AddrInUse => {}
            second => return Ok((listener, second.ok())),
        }
    }
    Err(ErrorKind::AddrInUse.into())
}

/// The address of a server's own, by its number.
pub(crate) fn private(number: usize) -> Ipv4Addr {
    let [.., high, low] = number.to_be_bytes();
    Ipv4Addr::new(127, 83, high, low)
}

fn address(topology: &Topology, index: usize) -> Option<SocketAddr> {
    let port = match topology.port {
        0 => 0,
        first => first.checked_add(u16::try_from(index).ok()?)?,
    };
    Some(SocketAddr::from((topology.ip, port)))
}

/// The name of the server with this index.
fn name(topology: &Topology, index: usize) -> Name {
    let (nodes, replicas) = (topology.nodes.into(), usize::from(topology.replicas));
    let Some(after) = index.checked_sub(nodes) else {
        return format!("n{}", index + 1).into();
    };
    match after.checked_sub(nodes * replicas) {
        None => format!("n{}r{}", after / replicas + 1, after % replicas + 1).into(),
        Some(after) => format!("s{}", after + 1).into(),
    }
}

/// `mymaster`, as in the example configuration of Redis, then `mymaster2` and so on.
fn master_name(index: usize) -> String {
    match index {
        0 => "mymaster".to_owned(),
        _ => format!("mymaster{}", index + 1),
    }
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use super::*;

    fn topology(port: u16, [nodes, replicas, sentinels]: [u16; 3]) -> Topology {
        Topology {
            ip: IpAddr::V4(Ipv4Addr::LOCALHOST),
            port,
            nodes,
            replicas,
            sentinels,
        }
    }

    /// The roles, with the master's index in place of its address.
    #[track_caller]
    fn check(counts: [u16; 3], expected: &[&str]) {
        let places = listen(&topology(0, counts)).unwrap();
        let number = |address: &SocketAddr| places.iter().position(|p| p.address == *address);
        let roles = places.iter().map(|place| match &place.role {
            Role::Replica { of } => format!("replica of {}", number(of).unwrap()),
            role => role.to_string(),
        });
        assert_eq!(roles.collect::<Vec<_>>(), expected);
    }

    #[test]
    fn nodes_come_first_then_their_replicas_then_sentinels() {
        check([1, 0, 0], &["master"]);
        check(
            [2, 0, 1],
            &["master mymaster", "master mymaster2", "sentinel"],
        );
        check(
            [2, 2, 0],
            &[
                "master",
                "master",
                "replica of 0",
                "replica of 0",
                "replica of 1",
                "replica of 1",
            ],
        );
        let one_of_each = ["master mymaster", "replica of 0", "sentinel", "sentinel"];
        check([1, 1, 2], &one_of_each);
    }

    #[test]
    fn names_are_those_of_scenarios() {
        let places = listen(&topology(0, [2, 2, 2])).unwrap();
        let names = places.iter().map(|place| &*place.name);
        let expected = ["n1", "n2", "n1r1", "n1r2", "n2r1", "n2r2", "s1", "s2"];
        assert_eq!(names.collect::<Vec<_>>(), expected);
    }

    /// Another program may use a port of a server's own address.
    #[test]
    fn a_port_that_is_taken_at_one_of_the_addresses_is_not_used() {
        let bind = |port| TcpListener::bind((Ipv4Addr::LOCALHOST, port));
        let asked = Cell::new(0);
        let own = |_| match asked.replace(asked.get() + 1) {
            0..3 => Err(ErrorKind::AddrInUse.into()),
            _ => bind(0),
        };
        assert!(on_a_free_port(|| bind(0), own).unwrap().1.is_some());
        assert_eq!(asked.get(), 4);
    }

    #[test]
    fn ports_follow_each_other_and_end_at_65535() {
        let error = listen(&topology(65_535, [1, 1, 0])).unwrap_err();
        let expected = "2 servers from port 65535 on need ports above 65535";
        // The first of the two ports may be in use on this machine.
        let in_use = cannot_listen(([127, 0, 0, 1], 65_535).into());
        assert!([expected, &in_use].contains(&&*error.to_string()));
    }
}

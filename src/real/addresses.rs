//! The addresses of a run's hosts: each host has a loopback address of its own.
//!
//! A server listens on a hidden address. All others know its public one, where the proxy listens;
//! and the proxy identifies the host of a connection by its source address. So every host needs two
//! addresses, and all addresses of a run are in one block of 512 that no other run on this machine
//! uses.
//!
//! A foreign program does not bind its connections to an address. So it is told addresses that no other
//! client knows: each client has a port of its own at the public address of each server, its *gate*.
//! That needs nothing of the program, however it is linked. (A library that is preloaded binds the
//! connections of dynamically linked programs only.) Behind its gate to the resource there is also a
//! hidden port of its own, so that the resource knows whom it serves.

use std::net::{IpAddr, Ipv4Addr, SocketAddr, TcpListener};
use std::process;

use locklab_values::random::Stream;
use locklab_vecmap::VecMap;

use crate::real_env::read_clock;
use locklab_history::{ClockKind, Name};

/// How many ports of its address a server may use, from the first one on: ZooKeeper has three.
const PORTS_OF_A_SERVER: u16 = 3;

/// Below 32768, where Linux's range of ports for outgoing connections begins.
const PORTS: std::ops::Range<u16> = 10_000..32_000;

/// How many blocks are tried.
const ATTEMPTS: u32 = 100;

/// The address of a block that its first user holds, so that another run takes another block.
const MARK: u8 = 255;

/// The addresses of the hosts of one run.
pub(super) struct Addresses {
    hosts: VecMap<Name, u8>,
    block: [u8; 2],
    port: u16,
    /// How many gates each server has.
    gates: u16,
    /// As long as it listens, the block is taken.
    _mark: TcpListener,
}

impl Addresses {
    /// Addresses for these hosts, and this many gates of each server; `None` if there are more than 254
    /// hosts, or no block is free.
    pub(super) fn new(hosts: &[Name], gates: u16) -> Option<Self> {
        if hosts.len() >= MARK.into() {
            return None;
        }
        let seed = read_clock(ClockKind::Monotonic) ^ u64::from(process::id());
        let mut stream = Stream::new(seed, "addresses");
        let numbers = hosts.iter().cloned().zip(1..MARK);
        let hosts: VecMap<Name, u8> = numbers.collect();
        (0..ATTEMPTS).find_map(|_| {
            // Not 127.0: that is where other programs are.
            let block = [1 + stream.below(254) as u8, 2 * stream.below(128) as u8];
            let port = PORTS.start + stream.below(u64::from(PORTS.end - PORTS.start)) as u16;
            let mark = TcpListener::bind((ip(block, MARK), PORTS.start)).ok()?;
            let addresses = Self {
                hosts: hosts.clone(),
                block,
                port,
                gates,
                _mark: mark,
            };
            addresses.are_free().then_some(addresses)
        })
    }

    /// The hosts.
    pub(super) fn hosts(&self) -> impl Iterator<Item = &Name> {
        self.hosts.keys()
    }

    /// The source address of this host's connections, which is also its public address.
    pub(super) fn ip(&self, host: &Name) -> IpAddr {
        ip(self.block, self.number(host))
    }

    /// The public address of this server.
    pub(super) fn public(&self, host: &Name) -> SocketAddr {
        (self.ip(host), self.port).into()
    }

    /// The address on which this server listens.
    pub(super) fn hidden(&self, host: &Name) -> SocketAddr {
        let [a, b] = self.block;
        (ip([a, b + 1], self.number(host)), self.port).into()
    }

    /// The gate of this number, from 0, to this server.
    pub(super) fn gate(&self, server: &Name, number: u16) -> SocketAddr {
        beside(self.public(server), number)
    }

    /// The address on which this server listens behind the gate of this number, if it listens there at
    /// all.
    pub(super) fn hidden_gate(&self, server: &Name, number: u16) -> SocketAddr {
        beside(self.hidden(server), number)
    }

    /// A line in which servers stand for their addresses: `MIGRATE <n2> lock 0 1000`. Those behind the proxy, which
    /// would not know whose connection it is: `MIGRATE` binds it to no address.
    pub(super) fn put_into(&self, line: &str) -> String {
        self.hosts().fold(line.to_owned(), |line, host| {
            let hidden = self.hidden(host);
            let address = format!("{} {}", hidden.ip(), hidden.port());
            line.replace(&format!("<{host}>"), &address)
        })
    }

    fn number(&self, host: &Name) -> u8 {
        self.hosts.get(host).copied().unwrap_or_default()
    }

    /// Whether a program could listen on all of them; another may do so before they are used.
    fn are_free(&self) -> bool {
        let addresses = (self.hosts()).flat_map(|host| [self.public(host), self.hidden(host)]);
        addresses
            .flat_map(|first| {
                (0..PORTS_OF_A_SERVER + self.gates)
                    .map(move |port| (first.ip(), first.port() + port))
            })
            .map(TcpListener::bind)
            .all(|listener| listener.is_ok())
    }
}

fn beside(first: SocketAddr, gate: u16) -> SocketAddr {
    (first.ip(), first.port() + PORTS_OF_A_SERVER + gate).into()
}

fn ip([a, b]: [u8; 2], number: u8) -> IpAddr {
    Ipv4Addr::new(127, a, b, number).into()
}

#[cfg(test)]
mod tests {
    use locklab_vecmap::VecSet;

    use super::*;

    #[test]
    fn a_host_stands_for_its_address_in_a_line() {
        let hosts: [Name; 2] = ["n1".into(), "n2".into()];
        let addresses = Addresses::new(&hosts, 0).expect("a block is free");
        let hidden = addresses.hidden(&hosts[1]);
        assert_eq!(
            addresses.put_into("MIGRATE <n2> lock 0 1000"),
            format!("MIGRATE {} {} lock 0 1000", hidden.ip(), hidden.port())
        );
        assert_eq!(addresses.put_into("DEL <n3>"), "DEL <n3>");
    }

    #[test]
    fn hosts_of_all_runs_have_different_addresses() {
        let hosts: Vec<Name> = ["c1", "n1", "resource"].map(Name::from).into();
        let runs: Vec<Addresses> = (0..20)
            .map(|_| Addresses::new(&hosts, 2).expect("a block is free"))
            .collect();
        let all = runs.iter().flat_map(|run| {
            let hosts = run.hosts();
            hosts.flat_map(|host| [run.public(host).ip(), run.hidden(host).ip()])
        });
        let all: VecSet<IpAddr> = all.collect();
        assert_eq!(all.len(), 20 * 3 * 2);
        assert!(all.iter().all(IpAddr::is_loopback));
    }

    #[test]
    fn a_block_has_room_for_254_hosts() {
        let hosts =
            |count: u32| -> Vec<Name> { (0..count).map(|i| format!("c{i}").into()).collect() };
        assert!(Addresses::new(&hosts(254), 0).is_some());
        assert!(Addresses::new(&hosts(255), 0).is_none());
    }
}

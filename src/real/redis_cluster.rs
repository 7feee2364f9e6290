//! A real Redis Cluster: what its nodes know of each other when the run begins.
//!
//! A cluster that has long been running has this in the `nodes.conf` of each node, and so has ours before it starts: nobody
//! has to introduce the nodes to each other. They speak to each other at their bus, by way of the proxy as all hosts do.

use std::fs;
use std::io;
use std::net::SocketAddr;
use std::path::Path;

use locklab_history::{Name, Role, Topology};
use locklab_model::scenario::ClusterOptions;

use super::addresses::Addresses;

/// The file in which a node keeps what it knows. It survives a restart.
const FILE: &str = "nodes.conf";

/// The number of slots of every cluster.
const SLOTS: u32 = 16_384;

/// The address of a node's bus, beside that at which it serves clients.
pub(super) fn bus(of: SocketAddr) -> SocketAddr {
    (of.ip(), of.port() + 1).into()
}

/// The lines of its configuration that make a server a node of a cluster.
pub(super) fn lines(options: &ClusterOptions, server: &Name, addresses: &Addresses) -> Vec<String> {
    let public = addresses.public(server);
    vec![
        "cluster-enabled yes".into(),
        format!("cluster-config-file {FILE}"),
        format!("cluster-port {}", bus(addresses.hidden(server)).port()),
        format!("cluster-node-timeout {}", options.node_timeout_ms),
        format!("cluster-announce-ip {}", public.ip()),
        format!("cluster-announce-port {}", public.port()),
        format!("cluster-announce-bus-port {}", bus(public).port()),
        // A master keeps its replica when another has lost all of its own.
        "cluster-allow-replica-migration no".into(),
    ]
}

/// Writes what a node knows when it starts for the first time.
pub(super) fn introduce(
    topology: &Topology,
    me: &Name,
    addresses: &Addresses,
    folder: &Path,
) -> io::Result<()> {
    let file = folder.join(FILE);
    if file.exists() {
        return Ok(());
    }
    let public = |name: &str| addresses.public(&Name::from(name));
    fs::write(file, nodes(topology, me, public))
}

/// The text of `nodes.conf`: a line for each node, and the epoch.
fn nodes(topology: &Topology, me: &str, public: impl Fn(&str) -> SocketAddr) -> String {
    let mut lines = String::new();
    for server in topology.servers() {
        let name = &*server.name;
        let (flags, master) = match &server.role {
            Role::Replica { of } => ("slave", id(of)),
            Role::Node | Role::Sentinel => ("master", "-".into()),
        };
        let myself = match name == me {
            true => "myself,",
            false => "",
        };
        let address = public(name);
        let (bus, epoch) = (bus(address).port(), master_of(name));
        let slots = slots(topology, &server.role, name);
        lines += &format!(
            "{} {address}@{bus} {myself}{flags} {master} 0 0 {epoch} connected{slots}\n",
            id(name)
        );
    }
    lines + &format!("vars currentEpoch {} lastVoteEpoch 0\n", topology.nodes)
}

/// The slots of a node, as its line ends: the first master has all but one for each other master.
fn slots(topology: &Topology, role: &Role, name: &str) -> String {
    let others = topology.nodes - 1;
    match (role, master_of(name)) {
        (Role::Node, 1) => format!(" 0-{}", SLOTS - others - 1),
        (Role::Node, number) => format!(" {}", SLOTS - others + number - 2),
        _ => String::new(),
    }
}

/// The name of a node among the nodes: forty digits, the last ones those of its own name, `n2r1` is 0…0201.
fn id(name: &str) -> String {
    let replica = name.split_once('r').map_or("0", |(_, number)| number);
    format!("{:0>40}", format!("{}{replica:0>2}", master_of(name)))
}

/// The number of a node, or of the master of a replica.
fn master_of(name: &str) -> u32 {
    let number = name.trim_start_matches('n').split('r').next();
    number.and_then(|it| it.parse().ok()).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_node_knows_all_others() {
        let topology = Topology {
            nodes: 3,
            replicas: 1,
            sentinels: 0,
            clients: 2,
        };
        let public = |name: &str| {
            let last = master_of(name) as u8 + 10 * u8::from(name.contains('r'));
            SocketAddr::from(([127, 1, 2, last], 7000))
        };
        let text = nodes(&topology, "n1r1", public);
        let lines: Vec<&str> = text
            .lines()
            .map(|line| line.trim_start_matches('0'))
            .collect();
        assert_eq!(
            lines,
            [
                "100 127.1.2.1:7000@7001 master - 0 0 1 connected 0-16381",
                "200 127.1.2.2:7000@7001 master - 0 0 2 connected 16382",
                "300 127.1.2.3:7000@7001 master - 0 0 3 connected 16383",
                "101 127.1.2.11:7000@7001 myself,slave 0000000000000000000000000000000000000100 0 0 1 connected",
                "201 127.1.2.12:7000@7001 slave 0000000000000000000000000000000000000200 0 0 2 connected",
                "301 127.1.2.13:7000@7001 slave 0000000000000000000000000000000000000300 0 0 3 connected",
                "vars currentEpoch 3 lastVoteEpoch 0",
            ]
        );
        assert!(text.lines().take(6).all(|line| line.find(' ') == Some(40)));
    }
}

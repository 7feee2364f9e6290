//! The roles of hosts, as words.

use locklab_history::{RESOURCE, Role, Topology};

/// The role of a host as a word.
pub fn role(topology: &Topology, host: &str) -> &'static str {
    match topology.role(host) {
        Some(Role::Node) => "node",
        Some(Role::Replica { .. }) => "replica",
        Some(Role::Sentinel) => "sentinel",
        None if host == RESOURCE => "resource",
        None => "client",
    }
}

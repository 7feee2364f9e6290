//! The hosts of a scenario and their names: clients `c1`, nodes `n1`, replicas `n1r1`,
//! sentinels `s1`, and the resource.

use serde::{Deserialize, Serialize};

/// The name of the protected resource's host.
pub const RESOURCE: &str = "resource";

/// The hosts of a scenario, apart from the one named `resource`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Topology {
    /// Redis nodes, `n1`, `n2`, …; 1 to 99. They are independent of each other.
    pub nodes: u32,
    /// Replicas of each node, `n1r1`, `n1r2`, …; 0 to 9.
    #[serde(skip_serializing_if = "is_zero")]
    pub replicas: u32,
    /// Sentinels that watch `n1` and its replicas: `s1`, `s2`, … If there are any, the
    /// clients ask them which node is the master.
    #[serde(skip_serializing_if = "is_zero")]
    pub sentinels: u32,
    /// Clients, `c1`, `c2`, …; 1 to 99.
    pub clients: u32,
}

impl Default for Topology {
    fn default() -> Self {
        Topology {
            nodes: 1,
            replicas: 0,
            sentinels: 0,
            clients: 2,
        }
    }
}

impl Topology {
    /// The names of all hosts: clients, nodes, their replicas, sentinels, and
    /// the resource.
    pub fn hosts(&self) -> Vec<String> {
        let clients = (1..=self.clients).map(|i| format!("c{i}"));
        let servers = self.servers().into_iter().map(|server| server.name);
        clients.chain(servers).chain([RESOURCE.into()]).collect()
    }

    /// The nodes, their replicas, and the sentinels.
    pub fn servers(&self) -> Vec<Server> {
        let node = |i: u32| format!("n{i}");
        let nodes = (1..=self.nodes).map(|i| Server {
            name: node(i),
            role: Role::Node,
        });
        let replicas = (1..=self.nodes).flat_map(|i| {
            (1..=self.replicas).map(move |j| Server {
                name: format!("n{i}r{j}"),
                role: Role::Replica { of: node(i) },
            })
        });
        let sentinels = (1..=self.sentinels).map(|i| Server {
            name: format!("s{i}"),
            role: Role::Sentinel,
        });
        nodes.chain(replicas).chain(sentinels).collect()
    }

    /// The role of the server with this name; `None` if there is no such server.
    pub fn role(&self, host: &str) -> Option<Role> {
        let mut servers = self.servers().into_iter();
        servers.find_map(|server| (server.name == host).then_some(server.role))
    }
}

/// A host that serves the lock.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Server {
    /// Its name.
    pub name: String,
    /// Its role when the run begins.
    pub role: Role,
}

/// The role of a server when the run begins.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Role {
    /// An independent node, the master of its replicas if it has any. For locks that do not use
    /// Redis: the database, or a member of the consensus service.
    Node,
    /// A replica of a node.
    Replica {
        /// The name of that node.
        of: String,
    },
    /// A sentinel that watches the nodes and their replicas.
    Sentinel,
}

fn is_zero(number: &u32) -> bool {
    *number == 0
}

#[cfg(test)]
mod tests {
    use super::*;

    const TOPOLOGY: Topology = Topology {
        nodes: 2,
        replicas: 1,
        sentinels: 1,
        clients: 2,
    };

    #[test]
    fn hosts_are_the_clients_the_servers_and_the_resource() {
        assert_eq!(
            TOPOLOGY.hosts(),
            ["c1", "c2", "n1", "n2", "n1r1", "n2r1", "s1", "resource"]
        );
    }

    #[test]
    fn a_server_has_a_role_and_another_host_has_none() {
        let replica = Role::Replica { of: "n2".into() };
        assert_eq!(TOPOLOGY.role("n1"), Some(Role::Node));
        assert_eq!(TOPOLOGY.role("n2r1"), Some(replica));
        assert_eq!(TOPOLOGY.role("s1"), Some(Role::Sentinel));
        for host in ["c1", "resource", "n3", ""] {
            assert_eq!(TOPOLOGY.role(host), None, "{host}");
        }
    }

    #[test]
    fn a_file_has_no_replicas_and_sentinels_where_there_are_none() {
        let alone = serde_json::to_string(&Topology::default()).unwrap();
        assert_eq!(alone, r#"{"nodes":1,"clients":2}"#);
        let all = serde_json::to_string(&TOPOLOGY).unwrap();
        assert_eq!(all, r#"{"nodes":2,"replicas":1,"sentinels":1,"clients":2}"#);
        for text in [alone, all] {
            let read: Topology = serde_json::from_str(&text).unwrap();
            assert_eq!(serde_json::to_string(&read).unwrap(), text);
        }
    }
}

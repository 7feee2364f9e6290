//! The configuration of a scenario's Redis Cluster.

use serde::{Deserialize, Serialize};

/// The nodes and their replicas are one cluster; the first node has all slots but one for each of the others, so that a
/// lock is there whatever its name is. Only programs of others are run against it: the locks of this project speak to
/// single nodes.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct ClusterOptions {
    /// A node without a reply for this long counts as failing, in milliseconds: `cluster-node-timeout`.
    pub node_timeout_ms: u64,
}

impl Default for ClusterOptions {
    /// As in Redis's own configuration.
    fn default() -> Self {
        ClusterOptions {
            node_timeout_ms: 15_000,
        }
    }
}

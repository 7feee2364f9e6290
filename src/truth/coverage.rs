//! Which locks can be judged by their nodes, and how the nodes identify a holder.

use locklab_history::Topology;
use locklab_locks::{Held, LockSpec, Shape};

/// How the nodes hold a lock for a client.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Rule {
    /// The number of servers that must hold the lock for a client.
    pub need: usize,
    /// Whether any two sets of so many servers have one in common. A node and its replicas do not:
    /// each may be taken for the master.
    pub intersects: bool,
    /// The form of the key.
    pub shape: Shape,
}

/// How the nodes hold this lock.
///
/// # Errors
///
/// The reason why they do not tell for whom they hold it.
pub fn rule(lock: &LockSpec, topology: &Topology) -> Result<Rule, &'static str> {
    let Held { need, shape } = lock.facts().held?;
    let need = need.of(topology);
    Ok(Rule {
        need,
        intersects: topology.replicas == 0 && 2 * need > topology.nodes as usize,
        shape,
    })
}

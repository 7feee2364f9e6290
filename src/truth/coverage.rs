//! Which locks can be judged by their nodes, and how the nodes identify a holder.

use locklab_history::Topology;
use locklab_locks::{LockSpec, Shipped};

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

/// The form of a lock's key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Shape {
    /// A string: whoever set it is the holder.
    Text,
    /// A hash: whoever added a field is a holder for as long as the field exists. The field `mode`
    /// has no holder.
    Hash,
}

/// How the nodes hold this lock.
///
/// # Errors
///
/// The reason why they do not tell for whom they hold it.
pub fn rule(lock: &LockSpec, topology: &Topology) -> Result<Rule, &'static str> {
    let LockSpec::Shipped(lock) = lock else {
        return Err("the form of the key is known only to the author of the lock");
    };
    let nodes = topology.nodes as usize;
    let (need, shape) = match lock {
        Shipped::Setnx(_)
        | Shipped::SetnxExpire(_)
        | Shipped::SetnxExpireRepair(_)
        | Shipped::SetnxExpireLua(_)
        | Shipped::SetNxPx(_)
        | Shipped::LeaseGuard(_) => (1, Shape::Text),
        Shipped::Redlock(lock) => {
            let quorum = lock.quorum.map(|quorum| quorum as usize);
            (quorum.unwrap_or(nodes / 2 + 1), Shape::Text)
        }
        Shipped::RedlockFenced(_) => (nodes / 2 + 1, Shape::Text),
        Shipped::Redisson(_)
        | Shipped::RedissonFenced(_)
        | Shipped::RedissonNoPublish(_)
        | Shipped::RedissonSpin(_)
        | Shipped::RedissonFair(_)
        | Shipped::RedissonReadWrite(_) => (1, Shape::Hash),
        Shipped::RedissonMulti(_) => (nodes, Shape::Hash),
        Shipped::RedissonRedlock(_) => (nodes / 2 + 1, Shape::Hash),
        Shipped::Getset(_) | Shipped::GetsetAsListed(_) => {
            return Err("a client that fails to get the lock overwrites its holder's value");
        }
        Shipped::DatabaseUnique(_) | Shipped::DatabaseCas(_) | Shipped::Consensus(_) => {
            return Err("the lock is not on Redis");
        }
    };
    Ok(Rule {
        need,
        intersects: topology.replicas == 0 && 2 * need > nodes,
        shape,
    })
}

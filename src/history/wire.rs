//! What clients were granted, inferred from the wire alone: of a program that tells nothing, the requests, their
//! replies and what they changed on the nodes are known, and nothing else.
//!
//! Each rule takes the shorter of two answers, so that no belief is taken for certain that the program may not
//! have had:
//!
//! - *Grant.* A node grants a key to a client if the client's request makes the key exist, and the key has a time
//!   to live then, or the request sets it only if it is absent. A request that overwrites the key (`SET` with a time to
//!   live, `SETEX`) takes it over from another client, unless that was granted it by such a request, too. The client
//!   knows when the whole reply has arrived.
//!   A reply that comes after [`PATIENCE_NS`], or to a process that stands still, gives nothing for certain: the
//!   program may have given up waiting.
//! - *Lease.* It lasts from the departure of the request, since the program may count from there. A renewal
//!   counts from its own departure, once its reply has arrived.
//! - *End.* The first request after the grant that is not known to have found the key in the client's hands ends
//!   the belief when it leaves: it may be a release, whether it arrives or not, and a request that asks for the
//!   key again comes from a program that does not have it. A release may begin with a look at the key (`GET`, or
//!   a script that the node does not know yet); then the look ends the belief. So does any message that the node
//!   sent after another client took the key away, when it arrives; and the end of the process. A lock may be
//!   handed over: if another client deletes the key and names its value, which the holder alone has set, the belief ends
//!   too, and that client has released nothing of its own. The belief also ends if another client replaces the value
//!   of a key without a time to live: the value may be the time at which the lock is over.
//! - *Blind spots.* While a link is disturbed, or a node is down, a program can try in vain to connect, and give
//!   up. That is not on the wire. So a disturbed link ends the belief. A node that goes down ends it, unless the
//!   client sends a request about its key long after the node is back ([`RETRIES_NS`]). A request that is the first
//!   one after a blind spot may have waited since its beginning, and its lease counts from there.
//! - *Majority.* Of several nodes more than half have to grant the key. The belief begins when each of them has
//!   answered, or could have been waited for ([`WAIT_NS`]). Its lease counts from the first request, shortened
//!   by Redlock's allowance for clocks ([`drift_ns`]). It ends when the client gives the key up on one node.
//!
//! A belief that may have lasted longer is *possible* until the client gives the key up on the wire.

mod attempts;
mod blind;
mod grants;
mod holds;
mod keys;
mod records;
mod renewals;
#[cfg(test)]
mod tests;
mod visits;

pub use self::grants::{Answer, Doubt, Grant, Release, grants};
pub use self::keys::{GrantedKeys, granted_keys, has_several, longest_lease_ns};
pub use self::records::{At, Possible, events, possible};
pub use self::renewals::{Wrong, WrongRenewal, wrong_renewals};
pub use self::visits::takes;
use locklab_vecmap::VecSet;

use super::{History, KeyChange, Name};

/// The longest time between a request and its reply after which the program still waits for it, in nanoseconds:
/// Redlock's page recommends time limits of 5 to 50 ms.
pub const PATIENCE_NS: u64 = 50_000_000;

/// How long a program waits at the most for one of several nodes that does not answer, in nanoseconds: those 50 ms,
/// by a clock that may be slow by half.
pub const WAIT_NS: u64 = 2 * PATIENCE_NS;

/// The longest time after which a client library tries again to send what it could not send while a node was down,
/// in nanoseconds: Redisson waits for 1.5 s by default, ioredis for at most 2 s.
pub const RETRIES_NS: u64 = 2_000_000_000;

/// What Redlock subtracts from a lease of this length, in nanoseconds: a hundredth of it for the drift of clocks,
/// and 2 ms.
pub fn drift_ns(ttl_ns: u64) -> u64 {
    ttl_ns / 100 + 2_000_000
}

/// A request of a client to a node, or several in one segment, and what became of it.
#[derive(Debug, Clone, PartialEq)]
pub struct Exchange {
    /// The client.
    pub client: Name,
    /// The node.
    pub node: Name,
    /// True time at which its first byte left, in nanoseconds since the run began.
    pub sent_ns: u64,
    /// The words of its commands.
    pub commands: Vec<Vec<Vec<u8>>>,
    /// What the node did; `None` if it never executed the request.
    pub executed: Option<Executed>,
}

/// The execution of a request.
#[derive(Debug, Clone, PartialEq)]
pub struct Executed {
    /// True time at which it had happened at the latest, in nanoseconds since the run began.
    pub at_ns: u64,
    /// The reading of the node's wall clock that decided what had expired, in nanoseconds.
    pub wall_ns: u64,
    /// The same of its monotonic clock.
    pub mono_ns: u64,
    /// The number of the node's process: a new one has no keys.
    pub process: usize,
    /// The keys that the request changed.
    pub changed: Vec<KeyChange>,
    /// True time at which the whole reply had arrived; `None` if it did not.
    pub answered_ns: Option<u64>,
}

/// What is known of a run.
#[derive(Clone, Copy)]
pub struct Wire<'a> {
    /// All requests of clients; those of one node in the order in which it executed them.
    pub exchanges: &'a [Exchange],
    /// The history, for its faults and its messages.
    pub history: &'a History,
    /// When programs ended by themselves, in nanoseconds since the run began.
    pub ended: &'a [(Name, u64)],
    /// The number of independent nodes.
    pub nodes: usize,
    /// The true time at which a time to live is over for a client at the earliest, given the true time at which
    /// it began to count, and the time to live, in nanoseconds.
    pub lapse: &'a dyn Fn(&Name, u64, u64) -> u64,
}

impl Wire<'_> {
    /// How many nodes have to grant the lock.
    pub fn need(&self) -> usize {
        self.nodes / 2 + 1
    }

    fn clients(&self) -> VecSet<&Name> {
        self.exchanges.iter().map(|it| &it.client).collect()
    }
}

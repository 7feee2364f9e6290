//! A manual failover: what an operator types, and where.

use crate::history::Role;
use crate::redis::MASTER;

/// What an operator who is logged in on a server's machine types there to have a failover.
///
/// A sentinel is asked for `SENTINEL FAILOVER`: it promotes a replica though the master is
/// well, without a vote and without waiting for the replica to have everything. A replica
/// is told `REPLICAOF NO ONE`, as where no sentinels are; those that are hear of it from
/// the replica's INFO, and turn it back. A master is asked for `FAILOVER`: it holds writes
/// back until a replica has everything, and hands its role over; sentinels that are there
/// are not told.
pub fn order(role: &Role) -> &'static [&'static str] {
    match role {
        Role::Sentinel => &["SENTINEL", "FAILOVER", MASTER],
        Role::Node => &["FAILOVER"],
        Role::Replica { .. } => &["REPLICAOF", "NO", "ONE"],
    }
}

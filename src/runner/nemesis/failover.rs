//! A manual failover: the command of an operator, and the server that receives it.

use locklab_env::redis::MASTER;
use locklab_history::Role;

/// The command that an operator who is logged in on a server's machine types for a failover.
///
/// On a sentinel it is `SENTINEL FAILOVER`: the sentinel promotes a replica though the master
/// is healthy, without a vote and without waiting for the replica to have all data. On a
/// replica it is `REPLICAOF NO ONE`, as in setups without sentinels; sentinels, if there are
/// any, learn of it from the replica's INFO, and turn it back. On a master it is `FAILOVER`:
/// the master holds writes back until a replica has all data, and hands its role over;
/// sentinels are not notified.
pub fn order(role: &Role) -> &'static [&'static str] {
    match role {
        Role::Sentinel => &["SENTINEL", "FAILOVER", MASTER],
        Role::Node => &["FAILOVER"],
        Role::Replica { .. } => &["REPLICAOF", "NO", "ONE"],
    }
}

/// The same in a Redis Cluster, where only a replica takes such an order: its master holds writes back until it has all
/// data.
pub const IN_CLUSTER: &[&str] = &["CLUSTER", "FAILOVER"];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_role_has_a_command_of_its_own() {
        let typed = |role| order(&role).join(" ");
        assert_eq!(typed(Role::Sentinel), format!("SENTINEL FAILOVER {MASTER}"));
        assert_eq!(typed(Role::Node), "FAILOVER");
        let replica = Role::Replica { of: "n1".into() };
        assert_eq!(typed(replica), "REPLICAOF NO ONE");
    }
}

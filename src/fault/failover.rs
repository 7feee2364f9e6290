//! A manual failover: what an operator types, and where.

use crate::redis::MASTER;

/// What an operator who is logged in on `host` types to have a failover; nothing, where
/// no server would know what to do.
///
/// A sentinel is asked for `SENTINEL FAILOVER`: it promotes a replica though the master is
/// well, without a vote and without waiting for the replica to have everything. A replica
/// is told `REPLICAOF NO ONE`, as where no sentinels are; those that are hear of it from
/// the replica's INFO, and turn it back. A master is asked for `FAILOVER`: it holds writes
/// back until a replica has everything, and hands its role over; sentinels that are there
/// are not told.
pub fn order(host: &str) -> Option<&'static [&'static str]> {
    let is_number = |text: &str| !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit());
    if host.strip_prefix('s').is_some_and(is_number) {
        return Some(&["SENTINEL", "FAILOVER", MASTER]);
    }
    let node = host.strip_prefix('n')?;
    if is_number(node) {
        return Some(&["FAILOVER"]);
    }
    let (node, replica) = node.split_once('r')?;
    (is_number(node) && is_number(replica)).then_some(&["REPLICAOF", "NO", "ONE"])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sentinels_masters_and_replicas_take_orders() {
        for (host, expected) in [
            ("s1", Some("SENTINEL")),
            ("n1r2", Some("REPLICAOF")),
            ("n1", Some("FAILOVER")),
            ("n", None),
            ("c1", None),
            ("resource", None),
            ("nr", None),
            ("s", None),
        ] {
            assert_eq!(order(host).map(|words| words[0]), expected, "{host}");
        }
    }
}

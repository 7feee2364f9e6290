//! An option of every lock on one node: a grant counts only once a replica has it.

use locklab_env::Env;
use locklab_env::redis::Reply;
use locklab_history::Name;
use locklab_locks::LockError;

use crate::stage::{attempt, call, lock, on_both};

/// The node has no replica, so no client gets the lock.
async fn a_lock_without_its_replica_is_given_back(env: impl Env, nodes: Vec<Name>) {
    for parameters in [
        "name = \"setnx\"",
        "name = \"setnx-expire\"\nttl_ms = 1000",
        "name = \"setnx-expire-repair\"\nttl_ms = 1000",
        "name = \"setnx-expire-lua\"\nttl_ms = 1000",
        "name = \"set-nx-px\"\nttl_ms = 1000",
        "name = \"getset\"\nttl_ms = 1000",
        "name = \"getset-as-listed\"",
    ] {
        let waiting = format!("{parameters}\nwait_replicas = 1\nwait_timeout_ms = 5");
        let refused = attempt(&lock(&env, &nodes, &waiting)).await;
        let Err(LockError::NotAcquired { why, .. }) = refused else {
            panic!("{parameters}: {refused:?}");
        };
        assert_eq!(why, "0 of 1 replicas have it", "{parameters}");
        let left = call(&env, &nodes[0], &["EXISTS", "lock"]).await;
        assert_eq!(left, Reply::Integer(0), "{parameters}");
        // Without the option the lock is available.
        let lock = lock(&env, &nodes, parameters);
        let grant = attempt(&lock).await.expect("the lock is free");
        lock.release(&grant).await.expect("it is ours");
    }
}

#[test]
fn every_lock_on_one_node_may_wait_for_replicas() {
    on_both!(1, a_lock_without_its_replica_is_given_back);
}

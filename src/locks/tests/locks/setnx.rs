//! `setnx`.

use std::time::Duration;

use locklab_env::Env;
use locklab_env::redis::Reply;
use locklab_history::Name;
use locklab_locks::LockError;

use crate::stage::{attempt, call, lock, on_both, on_nodes};

const SETNX: &str = "name = \"setnx\"";

async fn sets_a_key_without_lease(env: impl Env, nodes: Vec<Name>) {
    let (one, other) = (lock(&env, &nodes, SETNX), lock(&env, &nodes, SETNX));
    let grant = attempt(&one).await.expect("the lock is free");
    assert_eq!(grant.deadline, None);
    let refused = attempt(&other).await;
    assert!(matches!(refused, Err(LockError::NotAcquired { .. })));
    let value = call(&env, &nodes[0], &["GET", "lock"]).await;
    assert_eq!(value, Reply::Bulk(grant.token.clone().into()));
    let lease = call(&env, &nodes[0], &["PTTL", "lock"]).await;
    assert_eq!(lease, Reply::Integer(-1));
    one.extend(&grant).await.expect("it is still ours");
    assert!(one.is_held(&grant).await.expect("the node answers"));
    assert_eq!(one.release(&grant).await.expect("the node answers"), 1);
    assert!(!one.is_held(&grant).await.expect("the node answers"));
    assert!(matches!(one.extend(&grant).await, Err(LockError::Lost(_))));
    let grant = attempt(&other).await.expect("the lock is free again");
    // It deletes the lock regardless of its owner.
    call(&env, &nodes[0], &["SET", "lock", "another's"]).await;
    assert_eq!(other.release(&grant).await.expect("the node answers"), 1);
}

#[test]
fn a_key_without_lease_is_set_and_deleted_unseen() {
    on_both!(1, sets_a_key_without_lease);
}

/// A reply takes 2 to 10 ms: some come too late, and then the second SETNX finds the lock
/// of the first.
#[test]
fn resent_setnx_finds_its_own_lock_and_no_client_gets_it_again() {
    on_nodes(1, 0, async |env, nodes| {
        let hasty = lock(
            &env,
            &nodes,
            &format!("{SETNX}\ntimeout_ms = 9\nresend = 5"),
        );
        let patient = lock(&env, &nodes, SETNX);
        for _ in 0..100 {
            hasty.connect().await;
            if let Err(LockError::NotAcquired { .. }) = attempt(&hasty).await {
                env.sleep(Duration::from_secs(300)).await;
                assert!(attempt(&patient).await.is_err());
                return;
            }
            call(&env, &nodes[0], &["DEL", "lock"]).await;
        }
        panic!("no reply came late");
    });
}

//! Which situations a lock can meet.

use locklab_check::Situation::{self, *};
use locklab_history::Topology;
use locklab_locks::redisson::Wait;
use locklab_locks::{LockSpec, Servers, Shipped};
use locklab_truth::rule;

/// Whether a lock can meet a situation on such hosts, and a run shows it. What cannot be met is not needed.
pub fn can_meet(situation: Situation, lock: &LockSpec, topology: &Topology) -> bool {
    let rule = rule(lock, topology).ok();
    let has_lease = lock.lease_ms().is_some();
    match situation {
        LapsedWhileStopped | LapsedWhileCutOff => {
            has_lease && (rule.is_some() || has_deadline(lock))
        }
        ClockStepped => has_lease,
        HolderDied => true,
        ForgottenGrant | UntoldGrant | ForeignKeyMet => rule.is_some(),
        FailedOver => {
            lock.servers() == Servers::Redis && topology.replicas > 0 && topology.sentinels > 0
        }
        // A resource that gives the tokens keeps its counter, whatever becomes of the servers.
        TokenAfterRestart => lock.gives_tokens() && !lock.asks_resource(),
        SplitNodes => rule.is_some_and(|rule| rule.need > 1),
        WaiterWoke => listens(lock),
    }
}

/// Whether clients are given a deadline, though nodes do not tell for whom they hold the lock.
fn has_deadline(lock: &LockSpec) -> bool {
    matches!(
        lock,
        LockSpec::Shipped(
            Shipped::Getset(_) | Shipped::GetsetAsListed(_) | Shipped::DatabaseCas(_)
        )
    )
}

/// Whether a client that is refused listens for its turn (it reaches `waiting`).
fn listens(lock: &LockSpec) -> bool {
    match lock {
        LockSpec::Shipped(Shipped::Redisson(params)) => params.wait != Wait::Spin,
        LockSpec::Shipped(
            Shipped::RedissonFenced(_)
            | Shipped::RedissonFair(_)
            | Shipped::RedissonReadWrite(_)
            | Shipped::RedissonMulti(_)
            | Shipped::RedissonRedlock(_)
            | Shipped::Consensus(_),
        ) => true,
        LockSpec::Shipped(_) | LockSpec::External(_) => false,
    }
}

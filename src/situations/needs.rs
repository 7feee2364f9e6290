//! Which situations a property needs, and which of them a lock can meet.

use locklab_check::Property;
use locklab_history::Topology;
use locklab_locks::redisson::Wait;
use locklab_locks::{LockSpec, Servers, Shipped};
use locklab_truth::rule;

use crate::situation::Situation::{self, *};

/// The situations that put a property to the test. Many runs without a violation show that it holds only
/// if they met each of these that the lock can meet; see [`can_meet`].
///
/// They are beside what every single run must contain, without which its verdict is inconclusive
/// (`locklab_check`'s opportunities).
pub fn needed(property: Property) -> &'static [Situation] {
    match property {
        // Whoever outlives its lease goes on believing.
        Property::Belief => &[LapsedWhileStopped, LapsedWhileCutOff],
        // The promise rests on clocks, on what servers remember, and on a majority.
        Property::Lease => &[ClockStepped, ForgottenGrant, FailedOver, SplitNodes],
        // A late writer, and tokens whose counter may have been set back.
        Property::Resource => &[LapsedWhileStopped, TokenAfterRestart],
        Property::StaleWrite | Property::LostUpdate => &[LapsedWhileStopped],
        Property::TokenRegression | Property::Progress => &[TokenAfterRestart],
        Property::ForeignRelease => &[ForeignKeyMet],
        // Nobody releases the lock, or those who wait are not woken.
        Property::Deadlock | Property::Availability | Property::Recovery => {
            &[HolderDied, UntoldGrant, WaiterWoke]
        }
        Property::Fifo => &[WaiterWoke],
        // Clients add without a lock.
        Property::AcknowledgedLost => &[],
    }
}

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

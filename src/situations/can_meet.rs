//! Which situations a lock can meet.

use locklab_check::Situation::{self, *};
use locklab_history::Topology;
use locklab_locks::{LockSpec, Servers};
use locklab_truth::rule;

/// Whether a lock can meet a situation on such hosts, and a run shows it. What cannot be met is not needed.
pub fn can_meet(situation: Situation, lock: &LockSpec, topology: &Topology) -> bool {
    let rule = rule(lock, topology).ok();
    let facts = lock.facts();
    let has_lease = facts.lease_ms.is_some();
    match situation {
        LapsedWhileStopped | LapsedWhileCutOff => {
            has_lease && (rule.is_some() || facts.tells_deadline)
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
        WaiterWoke => facts.listens,
    }
}

//! Features of a scenario that real Redis does not support.

use super::ConfirmError;
use locklab_history::Schedule;
use locklab_locks::Servers;
use locklab_model::scenario::{NodeClock, Scenario};

/// Refuses a scenario that a real run cannot execute.
pub(super) fn check(scenario: &Scenario, schedule: &Schedule) -> Result<(), ConfirmError> {
    let hosts = scenario.topology.hosts();
    for fault in &schedule.faults {
        for host in fault.effect.hosts() {
            if !hosts.iter().any(|name| **name == **host) {
                return Err(ConfirmError::UnknownHost {
                    fault: fault.name.clone(),
                    host: host.clone(),
                });
            }
        }
    }
    if scenario.lock.servers() == Servers::Database {
        return Err(ConfirmError::Lock {
            lock: scenario.lock.entry().name,
        });
    }
    if scenario.node.clock == NodeClock::Monotonic {
        return Err(ConfirmError::NodeClock);
    }
    Ok(())
}

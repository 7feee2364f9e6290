//! Features of a scenario that real Redis does not support: refused, or noted where the run is
//! still useful.

use super::ConfirmError;
use crate::history::{FaultKind, Schedule};
use crate::locks::Servers;
use crate::scenario::{HostClock, Network, NodeSpec, Scenario};
use crate::workload::WorkloadKind;

/// Refuses a scenario that a real run cannot execute; returns notes on features left out.
pub(super) fn check(scenario: &Scenario, schedule: &Schedule) -> Result<Vec<String>, ConfirmError> {
    let hosts = scenario.topology.hosts();
    for fault in &schedule.faults {
        match fault.kind {
            FaultKind::Pause | FaultKind::Kill => {}
            FaultKind::Suspend
            | FaultKind::Crash
            | FaultKind::Partition
            | FaultKind::SlowLink { .. }
            | FaultKind::Loss { .. }
            | FaultKind::ClockStep { .. }
            | FaultKind::ClockRate { .. }
            | FaultKind::Failover => {
                return Err(ConfirmError::FaultKind {
                    fault: fault.name.clone(),
                    kind: fault.kind.name(),
                });
            }
        }
        for host in fault.target.hosts() {
            if !hosts.iter().any(|name| **name == **host) {
                return Err(ConfirmError::UnknownHost {
                    fault: fault.name.clone(),
                    host: host.clone(),
                });
            }
        }
    }
    let mut clocks = scenario.clocks.host.iter();
    if let Some((host, _)) = clocks.find(|(_, clock)| **clock != HostClock::default()) {
        return Err(ConfirmError::Clocks { host: host.clone() });
    }
    if scenario.lock.servers() != Servers::Redis {
        return Err(ConfirmError::Lock {
            lock: scenario.lock.entry().name,
        });
    }
    let topology = &scenario.topology;
    if topology.replicas > 0 || topology.sentinels > 0 || scenario.node != NodeSpec::default() {
        return Err(ConfirmError::Node);
    }
    if scenario.workload.kind != WorkloadKind::Lock {
        return Err(ConfirmError::Workload);
    }
    let mut notes = Vec::new();
    if scenario.network != Network::default() {
        notes.push(
            "`network` describes the simulated network; on real Redis the loopback interface \
             carries everything, with its own latency and without loss"
                .into(),
        );
    }
    Ok(notes)
}

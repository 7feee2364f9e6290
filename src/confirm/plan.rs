//! The jobs of the processes of a real run, at their first start and at each restart.

use std::collections::{BTreeMap, BTreeSet};
use std::net::SocketAddr;

use super::wire::{ClientJob, Role};
use super::{ConfirmError, Programs, ports, redis_server};
use crate::history::{Access, Event, Failpoint, Name, RESOURCE, Record, Schedule, Start};
use crate::scenario::Scenario;
use crate::workload::Fencing;
use crate::workload::resource::Register;

/// The participants of a run and their addresses.
pub(super) struct Plan<'a> {
    /// The programs.
    pub(super) programs: &'a Programs,
    /// The clients of the lock.
    pub(super) clients: Vec<Name>,
    nodes: Vec<Name>,
    addresses: BTreeMap<Name, SocketAddr>,
    scenario: &'a Scenario,
    seed: u64,
    /// Per client, the points at which a fault may be due.
    watched: BTreeMap<Name, BTreeSet<Failpoint>>,
}

impl<'a> Plan<'a> {
    /// Assigns a port to every server.
    pub(super) fn new(
        programs: &'a Programs,
        scenario: &'a Scenario,
        seed: u64,
        schedule: &Schedule,
    ) -> Result<Self, ConfirmError> {
        let nodes = names("n", scenario.topology.nodes);
        let servers: Vec<Name> = nodes.iter().cloned().chain([RESOURCE.into()]).collect();
        let free = ports::free(servers.len());
        if let Some(host) = servers.get(free.len()) {
            return Err(ConfirmError::Port { host: host.clone() });
        }
        Ok(Self {
            programs,
            clients: names("c", scenario.topology.clients),
            nodes,
            addresses: servers.into_iter().zip(free).collect(),
            scenario,
            seed,
            watched: watched(schedule),
        })
    }

    /// The nodes and the resource.
    pub(super) fn servers(&self) -> impl Iterator<Item = &Name> {
        self.addresses.keys()
    }

    /// The role of the process of `host` when it starts after all of `records`: a client
    /// continues its numbering, the resource keeps its contents, a node starts empty.
    pub(super) fn role(&self, host: &Name, earlier_starts: u32, records: &[Record]) -> Role {
        let Some(&address) = self.addresses.get(host) else {
            return self.client(host, earlier_starts, records);
        };
        if **host == *RESOURCE {
            Role::Resource {
                address,
                register: register(records, self.scenario.resource.fencing),
            }
        } else {
            Role::Guard {
                program: self.programs.redis_server.clone().into(),
                arguments: redis_server::arguments(address),
            }
        }
    }

    fn client(&self, name: &Name, earlier_starts: u32, records: &[Record]) -> Role {
        let (calls, grants) = last_numbers(name, records);
        Role::Client(Box::new(ClientJob {
            name: name.clone(),
            seed: self.seed,
            earlier_starts,
            lock: self.scenario.lock.clone(),
            workload: self.scenario.workload.of(name),
            nodes: self.nodes.clone(),
            addresses: self.addresses.clone(),
            watched: self.watched.get(name).cloned().unwrap_or_default(),
            calls,
            grants,
        }))
    }
}

fn names(prefix: &str, count: u32) -> Vec<Name> {
    (1..=count).map(|i| format!("{prefix}{i}").into()).collect()
}

fn watched(schedule: &Schedule) -> BTreeMap<Name, BTreeSet<Failpoint>> {
    let mut watched: BTreeMap<Name, BTreeSet<Failpoint>> = BTreeMap::new();
    for fault in &schedule.faults {
        if let Start::After { client, point, .. } = &fault.start {
            let points = watched.entry(client.clone()).or_default();
            points.insert(*point);
        }
    }
    watched
}

/// The numbers of a client's last call and of its last grant.
fn last_numbers(client: &Name, records: &[Record]) -> (u32, u32) {
    let (mut calls, mut grants) = (0, 0);
    for record in records.iter().filter(|record| record.host == *client) {
        match record.event {
            Event::Invoke { call, .. } => calls = calls.max(call),
            Event::BeliefBegins { grant, .. } => grants = grants.max(grant),
            _ => {}
        }
    }
    (calls, grants)
}

/// The state of the resource after all accesses in `records`.
fn register(records: &[Record], fencing: Fencing) -> Register {
    let mut register = Register::new(fencing);
    for record in records {
        if let Event::Access { access, token, .. } = &record.event {
            match access {
                Access::Read { .. } => register.read(*token),
                Access::Write { .. } => register.write(*token),
            };
        }
    }
    register
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_resource_remembers_its_version_and_the_highest_token() {
        let write = |token, accepted| Record {
            at_ns: 0,
            host: RESOURCE.into(),
            wall_ns: 0,
            mono_ns: 0,
            event: Event::Access {
                client: "c1".into(),
                grant: 1,
                access: Access::Write {
                    based_on: 0,
                    version: 1,
                },
                token: Some(token),
                accepted,
            },
        };
        let records = [write(34, true), write(33, false)];
        let mut again = register(&records, Fencing::Writes);
        assert_eq!(again.write(Some(33)), None);
        assert_eq!(again.write(Some(34)), Some(2));
    }
}

//! The jobs of the processes of a real run, at their first start and at each restart.

use std::io;
use std::net::SocketAddr;
use std::path::Path;

use locklab_values::units::ns_from_ms;
use locklab_vecmap::{VecMap, VecSet};

use super::addresses::Addresses;
use super::child_protocol::{ClientJob, ForeignJob, GuardJob, ResourceJob, Role, ServerKind};
use super::clients::{Clients, Program};
use super::clocks::HostClocks;
use super::disks::Disks;
use super::folder::Folder;
use super::foreign::environment::{Surroundings, environment};
use super::{
    ConfirmError, Programs, RealRedis, postgres_server, redis_cluster, servers, tls,
    zookeeper_server,
};
use locklab_env::redis::MASTER;
use locklab_history::{
    self, Access, ClockKind, Event, Failpoint, Name, RESOURCE, Record, Schedule, Start,
};
use locklab_model::scenario::Scenario;
use locklab_model::workload::Fencing;
use locklab_runner::workload::resource::Register;

/// The participants of a run, their addresses and their files.
pub(super) struct Plan<'a> {
    /// The programs.
    pub(super) programs: &'a Programs,
    /// The scenario.
    pub(super) scenario: &'a Scenario,
    /// The seed of the run.
    pub(super) seed: u64,
    /// The clients of the lock.
    pub(super) clients: Vec<Name>,
    /// What they are.
    pub(super) are: &'a Clients,
    /// What the servers are.
    pub(super) kind: ServerKind,
    /// The servers, and their roles when the run begins.
    pub(super) servers: VecMap<Name, locklab_history::Role>,
    /// The addresses of all hosts.
    pub(super) addresses: Addresses,
    /// The folder of the run.
    pub(super) folder: Folder,
    /// The clocks of the hosts.
    pub(super) clocks: HostClocks,
    /// The files of the servers.
    pub(super) disks: Disks,
    /// Per client, the points at which a fault may be due.
    watched: VecMap<Name, VecSet<Failpoint>>,
}

impl<'a> Plan<'a> {
    /// Assigns addresses to all hosts, and files to those that need some.
    pub(super) fn new(
        real: &'a RealRedis,
        scenario: &'a Scenario,
        seed: u64,
        schedule: &Schedule,
    ) -> Result<Self, ConfirmError> {
        let topology = &scenario.topology;
        let programs = &real.programs;
        let hosts: Vec<Name> = topology.hosts().into_iter().map(Name::from).collect();
        let gates = match real.clients {
            Clients::Own => 0,
            // There are 99 at most.
            Clients::Foreign(_) => topology.clients as u16,
        };
        let addresses = Addresses::new(&hosts, gates).ok_or(ConfirmError::Addresses)?;
        let folder = Folder::new(programs)?;
        let servers = topology.servers().into_iter();
        let disks = Disks::new(&folder).map_err(ConfirmError::Folder)?;
        if scenario.node.tls {
            let named: Vec<Name> = { servers.clone() }.map(|it| it.name.into()).collect();
            let clocked = |clock: &Path| disks.clocked(clock);
            tls::create(named.iter(), &addresses, clocked, folder.path())?;
        }
        Ok(Self {
            programs,
            scenario,
            seed,
            clients: names("c", topology.clients),
            are: &real.clients,
            kind: ServerKind::of(&scenario.lock),
            servers: servers
                .map(|server| (server.name.into(), server.role))
                .collect(),
            addresses,
            clocks: HostClocks::new(scenario, schedule, folder.path())
                .map_err(ConfirmError::Folder)?,
            disks,
            folder,
            watched: watched(schedule),
        })
    }

    /// The servers with this role.
    pub(super) fn servers_of(&self, is: impl Fn(&locklab_history::Role) -> bool) -> Vec<Name> {
        let servers = self.servers.iter().filter(|(_, role)| is(role));
        servers.map(|(name, _)| name.clone()).collect()
    }

    /// The role of the process of `host` when it starts after all of `records`: a client
    /// continues its numbering, the resource keeps its contents, a server finds its files.
    ///
    /// # Errors
    /// If a server's files cannot be written.
    pub(super) fn role(
        &self,
        host: &Name,
        earlier_starts: u32,
        records: &[Record],
    ) -> io::Result<Role> {
        if **host == *RESOURCE {
            return Ok(Role::Resource(ResourceJob {
                address: self.addresses.hidden(host),
                gates: self
                    .gates()
                    .map(|(number, client)| {
                        let address = self.addresses.hidden_gate(host, number);
                        (address, client.clone())
                    })
                    .collect(),
                register: register(records, self.scenario.resource.fencing),
                clock: self.clocks.file(host),
            }));
        }
        match self.servers.get(host) {
            None => Ok(match self.are {
                Clients::Own => self.client(host, earlier_starts, records),
                Clients::Foreign(program) => Role::Foreign(self.foreign(host, program)),
            }),
            Some(role) => self.server(host, role, earlier_starts),
        }
    }

    fn server(
        &self,
        name: &Name,
        role: &locklab_history::Role,
        earlier_starts: u32,
    ) -> io::Result<Role> {
        let folder = self.folder.of_host(name)?;
        let mut environment = (self.disks).environment(name, &self.folder, &self.clocks);
        match self.kind {
            ServerKind::Redis => {}
            ServerKind::ZooKeeper => {
                environment.extend(zookeeper_server::behind_proxy(name, &self.addresses));
            }
            ServerKind::Postgres => {
                if earlier_starts == 0 {
                    let log = self.disks.log(name, &self.folder);
                    postgres_server::create(self.programs, &folder, &log)?;
                }
                environment.push(postgres_server::environment());
            }
        }
        let (program, arguments) = servers::command(
            self.programs,
            self.scenario,
            (name, role),
            &names("n", self.scenario.topology.nodes),
            &self.addresses,
            &folder,
        )?;
        let delay_ns = ns_from_ms(self.scenario.node.restart_delay_ms);
        let until_ns = match earlier_starts {
            0 => 0,
            _ => self.clocks.of(name).now_ns(ClockKind::Wall) + delay_ns,
        };
        Ok(Role::Guard(GuardJob {
            program: program.into(),
            arguments,
            kind: self.kind,
            account: self.kind.account(),
            environment,
            until_ns,
            clock: self.clocks.file(name),
        }))
    }

    fn foreign(&self, name: &Name, program: &Program) -> ForeignJob {
        let gates = self.gates().find(|(_, client)| *client == name);
        let number = gates.map_or(0, |(number, _)| number);
        let gate = |server: &Name| self.addresses.gate(server, number);
        let at = |is: fn(&locklab_history::Role) -> bool| {
            let servers = self.servers_of(is);
            servers.iter().map(gate).collect::<Vec<_>>()
        };
        let around = Surroundings {
            host: name,
            nodes: at(|role| *role == locklab_history::Role::Node),
            sentinels: at(|role| *role == locklab_history::Role::Sentinel),
            is_cluster: self.scenario.cluster.is_some(),
            certificate: { self.scenario.node.tls }.then(|| tls::certificate(self.folder.path())),
            resource: Some(gate(&RESOURCE.into())),
            lease_ms: self.scenario.lock.facts().lease_ms,
            seed: self.seed,
            folder: self.folder.path(),
        };
        let mut environment = environment(&around);
        let clock = self.clocks.file(name);
        // Sentinels, and the nodes of a cluster, tell addresses that are not the program's gates.
        let is_told = self.scenario.topology.sentinels > 0 || self.scenario.cluster.is_some();
        if clock.is_some() || is_told {
            let source = self.addresses.ip(name);
            environment.extend(self.disks.of_program(name, &self.folder, clock, source));
        }
        ForeignJob {
            program: program.name.clone(),
            arguments: program.arguments.clone(),
            environment,
        }
    }

    /// The clients that have gates, with the numbers of these.
    pub(super) fn gates(&self) -> impl Iterator<Item = (u16, &Name)> {
        let clients = match self.are {
            Clients::Own => &[][..],
            Clients::Foreign(_) => &self.clients[..],
        };
        (0..).zip(clients)
    }

    fn client(&self, name: &Name, earlier_starts: u32, records: &[Record]) -> Role {
        let (calls, grants) = last_numbers(name, records);
        let sentinels = self.servers_of(|role| *role == locklab_history::Role::Sentinel);
        let nodes = match sentinels.is_empty() {
            true => names("n", self.scenario.topology.nodes),
            false => vec![MASTER.into()],
        };
        Role::Client(Box::new(ClientJob {
            name: name.clone(),
            seed: self.seed,
            earlier_starts,
            lock: self.scenario.lock.clone(),
            workload: self.scenario.workload.clone(),
            options: self.scenario.client_options(),
            timers_late: self.scenario.clocks.timers_late(),
            kind: self.kind,
            nodes,
            sentinels,
            addresses: self.public_addresses(),
            source: self.addresses.ip(name),
            clock: self.clocks.file(name),
            watched: self.watched.get(name).cloned().unwrap_or_default(),
            calls,
            grants,
        }))
    }

    /// The public addresses of a server or of the resource, each with the one at which its process
    /// listens.
    pub(super) fn published(&self, name: &Name) -> Vec<(SocketAddr, SocketAddr)> {
        let (public, hidden) = (self.addresses.public(name), self.addresses.hidden(name));
        match (self.servers.contains_key(name), self.kind) {
            (true, ServerKind::ZooKeeper) => {
                let ports = zookeeper_server::ports;
                ports(public).into_iter().zip(ports(hidden)).collect()
            }
            _ => {
                let gates = self.gates().map(|(number, _)| {
                    let behind = match **name == *RESOURCE {
                        true => self.addresses.hidden_gate(name, number),
                        false if self.scenario.node.tls => tls::encrypted(hidden),
                        false => hidden,
                    };
                    (self.addresses.gate(name, number), behind)
                });
                let is_node = self.scenario.cluster.is_some() && self.servers.contains_key(name);
                let bus = is_node.then(|| (redis_cluster::bus(public), redis_cluster::bus(hidden)));
                gates.chain([(public, hidden)]).chain(bus).collect()
            }
        }
    }

    fn public_addresses(&self) -> VecMap<Name, SocketAddr> {
        let servers = self.servers.keys().cloned().chain([RESOURCE.into()]);
        servers
            .map(|server| {
                let address = self.addresses.public(&server);
                (server, address)
            })
            .collect()
    }
}

fn names(prefix: &str, count: u32) -> Vec<Name> {
    (1..=count).map(|i| format!("{prefix}{i}").into()).collect()
}

fn watched(schedule: &Schedule) -> VecMap<Name, VecSet<Failpoint>> {
    let mut watched: VecMap<Name, VecSet<Failpoint>> = VecMap::new();
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

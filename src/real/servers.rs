//! Servers alone, without a proxy or faults: what measurements and the scorecard run on.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::mpsc::{self, Receiver};
use std::time::{Duration, Instant};

use locklab_history::{Name, Role};
use locklab_model::scenario::{Persistence, Scenario, parse};
use locklab_vecmap::VecMap;

use super::addresses::Addresses;
use super::child::{Child, ChildEvent, Collector, ProcessId};
use super::child_protocol::{GuardJob, Job, Role as Part, ServerKind};
use super::disks::Disks;
use super::folder::Folder;
use super::kept::Kept;
use super::redis_server::configure;
use super::{Clients, ConfirmError, Programs, postgres_server, zookeeper_server};

/// The scenario of the servers of this lock.
pub(super) fn scenario(lock: &str) -> Scenario {
    let text = format!("title = \"Servers\"\n[lock]\n{lock}");
    parse("servers.toml", &text, &[]).expect("it is valid")
}

/// The scenario of Redis servers that keep this on their disks.
pub(super) fn redis(persistence: Persistence) -> Scenario {
    let mut scenario = scenario("name = 'set-nx-px'\nttl_ms = 30000");
    scenario.node.persistence = persistence;
    scenario
}

/// Starts these servers of a scenario, and waits until they serve clients. They end with what is returned, and with
/// this process, however it ends.
pub(super) fn start(
    programs: &Programs,
    scenario: &Scenario,
    nodes: &[Name],
    addresses: &Addresses,
    folder: &Folder,
) -> Result<VecMap<Name, Child>, ConfirmError> {
    let (event, events) = mpsc::channel();
    let collector = Collector::new(event, Kept::of(&Clients::Own).into());
    let mut servers = VecMap::new();
    for node in nodes {
        let guard = guard(programs, scenario, node, nodes, addresses, folder);
        let job = Job {
            bench: std::process::id(),
            role: Part::Guard(guard.map_err(ConfirmError::Folder)?),
        };
        let who = ProcessId {
            host: node.clone(),
            start: 1,
        };
        let child = Child::start(&programs.locklab, &job, who, collector.clone());
        let child = child.map_err(|source| ConfirmError::Start {
            host: node.clone(),
            source,
        })?;
        servers.insert(node.clone(), child);
    }
    await_ready(&events, nodes, ServerKind::of(&scenario.lock))?;
    Ok(servers)
}

/// Writes the files of a new server; returns what runs it.
fn guard(
    programs: &Programs,
    scenario: &Scenario,
    node: &Name,
    nodes: &[Name],
    addresses: &Addresses,
    folder: &Folder,
) -> io::Result<GuardJob> {
    let kind = ServerKind::of(&scenario.lock);
    let files = folder.of_host(node)?;
    let mut environment = vec![];
    if kind == ServerKind::Postgres {
        let disks = Disks::new(folder)?;
        postgres_server::create(programs, &files, &disks.log(node, folder))?;
        environment = disks.untouched();
        environment.push(postgres_server::environment());
    }
    let (program, arguments) = command(
        programs,
        scenario,
        (node, &Role::Node),
        nodes,
        addresses,
        &files,
    )?;
    Ok(GuardJob {
        kind,
        account: kind.account(),
        program: program.into(),
        arguments,
        environment,
        until_ns: 0,
        clock: None,
    })
}

/// The program and the arguments of a server, which keeps its files in this folder.
pub(super) fn command(
    programs: &Programs,
    scenario: &Scenario,
    (name, role): (&Name, &Role),
    nodes: &[Name],
    addresses: &Addresses,
    folder: &Path,
) -> io::Result<(PathBuf, Vec<String>)> {
    Ok(match ServerKind::of(&scenario.lock) {
        ServerKind::Redis => {
            let arguments = configure(scenario, name, role, addresses, folder)?;
            (programs.redis_server.clone(), arguments)
        }
        ServerKind::ZooKeeper => {
            let file = zookeeper_server::configure(&scenario.lock, name, nodes, addresses, folder)?;
            let zookeeper = &programs.zookeeper;
            let arguments = zookeeper_server::arguments(zookeeper, &file);
            (zookeeper.java.clone(), arguments)
        }
        ServerKind::Postgres => {
            let commit = scenario.node.commit;
            postgres_server::program(&programs.postgres, name, addresses, commit, folder)
        }
    })
}

/// Waits until these servers serve clients: a member of a service when it leads or follows.
fn await_ready(
    events: &Receiver<(ProcessId, ChildEvent)>,
    nodes: &[Name],
    kind: ServerKind,
) -> Result<(), ConfirmError> {
    let (serves, seconds) = match kind {
        ServerKind::Redis | ServerKind::Postgres => (ChildEvent::Ready, 10),
        // Each starts in Java, and they elect a leader.
        ServerKind::ZooKeeper => (ChildEvent::Synchronised, 30),
    };
    let deadline = Instant::now() + Duration::from_secs(seconds);
    let mut ready = 0;
    while ready < nodes.len() {
        match events.recv_timeout(deadline.saturating_duration_since(Instant::now())) {
            Ok((_, event)) if event == serves => ready += 1,
            Ok((who, ChildEvent::Ended(said))) => {
                return Err(ConfirmError::Died {
                    status: "exited".into(),
                    host: who.host,
                    said,
                });
            }
            Ok(_) => {}
            Err(_) => {
                return Err(ConfirmError::NotReady {
                    host: nodes[ready].clone(),
                    seconds,
                });
            }
        }
    }
    Ok(())
}

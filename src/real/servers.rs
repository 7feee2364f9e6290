//! Servers alone, without a proxy or faults: what measurements and the scorecard run on.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::mpsc::{self, Receiver};
use std::time::{Duration, Instant};

use locklab_history::{Name, Role};
use locklab_model::scenario::{Scenario, parse};
use locklab_vecmap::VecMap;

use super::account::Account;
use super::addresses::Addresses;
use super::child::{Child, ChildEvent, Collector, ProcessId};
use super::child_protocol::{GuardJob, Job, Role as Part, ServerKind};
use super::folder::Folder;
use super::kept::Kept;
use super::redis_server::configure;
use super::{Clients, ConfirmError, Programs, postgres_server, zookeeper_server};

/// A lock on Redis, whatever is asked of its servers.
pub(super) const ONE_KEY: &str = "name = 'set-nx-px'\nttl_ms = 30000";

/// The scenario of the servers of this lock, with these settings of a node.
pub(super) fn scenario(lock: &str, node: &str) -> Scenario {
    let text = format!("title = \"Servers\"\n[lock]\n{lock}\n[node]\n{node}\n");
    parse("servers.toml", &text, &[]).expect("it is valid")
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
    let (mut account, mut environment) = (None, vec![]);
    if kind == ServerKind::Postgres {
        let library = locklab_shim::install(folder.path())?;
        let log = folder.path().join(format!("{node}.synced"));
        postgres_server::create(programs, &files, &log)?;
        account = Account::unprivileged();
        environment = locklab_shim::environment(&library, None, None);
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
        account,
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
    const TIMEOUT: Duration = Duration::from_secs(30);
    let serves = match kind {
        ServerKind::Redis | ServerKind::Postgres => ChildEvent::Ready,
        ServerKind::ZooKeeper => ChildEvent::Synchronised,
    };
    let deadline = Instant::now() + TIMEOUT;
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
                    seconds: TIMEOUT.as_secs(),
                });
            }
        }
    }
    Ok(())
}

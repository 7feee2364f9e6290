//! Redis servers alone, each on its hidden address, without faults: what measurements and the scorecard run on.

use std::sync::mpsc::{self, Receiver};
use std::time::{Duration, Instant};

use locklab_history::{Name, Role};
use locklab_model::scenario::{Persistence, Scenario, parse};
use locklab_vecmap::VecMap;

use super::addresses::Addresses;
use super::child::{Child, ChildEvent, Collector, ProcessId};
use super::child_protocol::{GuardJob, Job, Role as Part, ServerKind};
use super::folder::Folder;
use super::kept::Kept;
use super::redis_server::configure;
use super::{Clients, ConfirmError, Programs};

/// Starts these servers, and waits until they accept connections. They end with what is returned, and with this
/// process, however it ends.
pub(super) fn start(
    programs: &Programs,
    nodes: &[Name],
    persistence: Persistence,
    addresses: &Addresses,
    folder: &Folder,
) -> Result<VecMap<Name, Child>, ConfirmError> {
    let mut scenario: Scenario = parse(
        "servers.toml",
        "title = \"Servers\"\n[lock]\nname = \"set-nx-px\"\nttl_ms = 30000",
        &[],
    )
    .expect("it is valid");
    scenario.node.persistence = persistence;
    let (event, events) = mpsc::channel();
    let collector = Collector::new(event, Kept::of(&Clients::Own).into());
    let mut servers = VecMap::new();
    for node in nodes {
        let files = folder.of_host(node).map_err(ConfirmError::Folder)?;
        let arguments = configure(&scenario, node, &Role::Node, addresses, &files);
        let job = Job {
            bench: std::process::id(),
            role: Part::Guard(GuardJob {
                kind: ServerKind::Redis,
                account: None,
                program: programs.redis_server.clone().into(),
                arguments: arguments.map_err(ConfirmError::Folder)?,
                environment: vec![],
                until_ns: 0,
                clock: None,
            }),
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
    await_ready(&events, nodes)?;
    Ok(servers)
}

/// Waits until these servers accept connections.
fn await_ready(
    events: &Receiver<(ProcessId, ChildEvent)>,
    nodes: &[Name],
) -> Result<(), ConfirmError> {
    const TIMEOUT: Duration = Duration::from_secs(10);
    let deadline = Instant::now() + TIMEOUT;
    let mut ready = 0;
    while ready < nodes.len() {
        match events.recv_timeout(deadline.saturating_duration_since(Instant::now())) {
            Ok((_, ChildEvent::Ready)) => ready += 1,
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

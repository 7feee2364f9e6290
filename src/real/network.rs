//! The proxy of a run: which hosts connect through it, and how it knows them.

use std::io;
use std::sync::mpsc::Sender;

use locklab_history::{Name, RESOURCE, Schedule};
use locklab_proxy::{Greeting, Proxy};
use locklab_runner::simulate::Keep;

use super::child::{ChildEvent, ProcessId};
use super::child_protocol::ServerKind;
use super::passing;
use super::plan::Plan;

/// The proxy through which all connections of the run go. It tells `events` of the schedule's steps.
pub(super) fn start(
    plan: &Plan<'_>,
    schedule: &Schedule,
    keep: Keep,
    events: &Sender<(ProcessId, ChildEvent)>,
) -> io::Result<Proxy> {
    let host = |name: &Name| {
        let host = locklab_proxy::Host {
            ip: plan.addresses.ip(name),
            greeting: match (plan.servers.contains_key(name), plan.kind) {
                (true, ServerKind::Redis | ServerKind::Postgres) => Greeting::None,
                (false, _) if plan.gates().any(|(_, client)| client == name) => Greeting::None,
                // The preloaded library of ZooKeeper waits for it.
                (true, ServerKind::ZooKeeper) | (false, _) => Greeting::Waits,
            },
        };
        (name.clone(), host)
    };
    let servers = plan.servers.keys().cloned().chain([RESOURCE.into()]);
    let gates = servers.flat_map(|server| {
        plan.gates()
            .map(|(number, client)| (plan.addresses.gate(&server, number), client.clone()))
            .collect::<Vec<_>>()
    });
    let proxy = Proxy::start(locklab_proxy::Options {
        hosts: plan.addresses.hosts().map(host).collect(),
        gates: gates.collect(),
        latency: plan.scenario.network.latency_ms.clone(),
        loss: plan.scenario.network.loss,
        seed: plan.seed,
        keep: match keep.messages {
            true => locklab_proxy::Keep::Messages,
            false => locklab_proxy::Keep::Nothing,
        },
    })?;
    passing::watch(&proxy, schedule, plan, events);
    Ok(proxy)
}

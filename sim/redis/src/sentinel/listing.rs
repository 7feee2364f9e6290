//! The lists of monitored instances: `SENTINEL MASTER`, `REPLICAS`, `SENTINELS`, and INFO.

use super::core::Core;
use super::instance::Instance;
use super::master::{Master, Peer, Reason, Reconf, Replica};
use super::state::State;

/// The fields of a master, as alternating names and values.
pub(super) fn master(core: &Core, master: &Master) -> Vec<String> {
    let server = &master.server;
    let mut flags = Vec::new();
    if server.is_down {
        flags.push("s_down");
    }
    if master.is_objectively_down {
        flags.push("o_down");
    }
    flags.push("master");
    if server.is_disconnected() {
        flags.push("disconnected");
    }
    if let Some(failover) = &master.failover {
        flags.push("failover_in_progress");
        if failover.reason == Reason::Asked {
            flags.push("force_failover");
        }
    }
    let mut fields = common(core, &master.settings.name, server, &flags);
    fields.extend(watched(core, master, server));
    fields.extend(pairs([
        ("config-epoch", master.config_epoch.to_string()),
        ("num-slaves", master.replicas.len().to_string()),
        ("num-other-sentinels", master.peers.len().to_string()),
        ("quorum", master.settings.quorum.to_string()),
        (
            "failover-timeout",
            master.settings.failover_timeout_ms().to_string(),
        ),
        ("parallel-syncs", master.settings.parallel_syncs.to_string()),
    ]));
    fields
}

/// The fields of a replica.
pub(super) fn replica(core: &Core, master: &Master, replica: &Replica) -> Vec<String> {
    let server = &replica.server;
    let mut flags = Vec::new();
    if server.is_down {
        flags.push("s_down");
    }
    flags.push("slave");
    if server.is_disconnected() {
        flags.push("disconnected");
    }
    if master.promoted() == Some(&server.address) {
        flags.push("promoted");
    }
    match replica.reconf {
        Reconf::No => {}
        Reconf::Sent { .. } => flags.push("reconf_sent"),
        Reconf::InProgress => flags.push("reconf_inprog"),
        Reconf::Done => flags.push("reconf_done"),
    }
    let name = format!("{}:{}", server.address.host, server.address.port);
    let mut fields = common(core, &name, server, &flags);
    fields.extend(watched(core, master, server));
    let status = match replica.link_is_up {
        true => "ok",
        false => "err",
    };
    let (host, port) = match &replica.master {
        Some(address) => (address.host.clone(), address.port),
        None => ("?".to_owned(), 0),
    };
    fields.extend(pairs([
        ("master-link-down-time", replica.link_down_ms.to_string()),
        ("master-link-status", status.to_owned()),
        ("master-host", host),
        ("master-port", port.to_string()),
        ("slave-priority", replica.priority.to_string()),
        ("slave-repl-offset", replica.offset.to_string()),
    ]));
    fields
}

/// The fields of another sentinel.
pub(super) fn peer(core: &Core, peer: &Peer) -> Vec<String> {
    let server = &peer.server;
    let mut flags = Vec::new();
    if server.is_down {
        flags.push("s_down");
    }
    flags.push("sentinel");
    if server.is_disconnected() {
        flags.push("disconnected");
    }
    if peer.says_down {
        flags.push("master_down");
    }
    let mut fields = common(core, &server.run_id, server, &flags);
    let vote = peer.vote.clone().unwrap_or_else(|| "?".to_owned());
    fields.extend(pairs([
        ("voted-leader", vote),
        ("voted-leader-epoch", peer.vote_epoch.to_string()),
    ]));
    fields
}

/// The `sentinel` section of INFO.
pub(super) fn info(state: &State) -> String {
    let tilt = u8::from(state.core.tilt_since_ms.is_some());
    let mut text = format!(
        "# Sentinel\r\nsentinel_masters:{}\r\nsentinel_tilt:{tilt}\r\n\
         sentinel_running_scripts:0\r\nsentinel_scripts_queue_length:0\r\n\
         sentinel_simulate_failure_flags:0\r\n",
        state.masters.len()
    );
    for (index, master) in state.masters.values().enumerate() {
        let status = match (master.is_objectively_down, master.server.is_down) {
            (true, _) => "odown",
            (_, true) => "sdown",
            _ => "ok",
        };
        let address = &master.server.address;
        text += &format!(
            "master{index}:name={},status={status},address={}:{},slaves={},sentinels={}\r\n",
            master.settings.name,
            address.host,
            address.port,
            master.replicas.len(),
            master.peers.len() + 1
        );
    }
    text
}

fn common(core: &Core, name: &str, server: &Instance, flags: &[&str]) -> Vec<String> {
    let pending = server.commands.as_ref().map_or(0, |link| link.pending());
    let unanswered_ms = server
        .unanswered_ping_ms
        .map_or(0, |ping_ms| core.since(ping_ms));
    pairs([
        ("name", name.to_owned()),
        ("ip", server.address.host.clone()),
        ("port", server.address.port.to_string()),
        ("runid", server.run_id.clone()),
        ("flags", flags.join(",")),
        ("link-pending-commands", pending.to_string()),
        ("last-ping-sent", unanswered_ms.to_string()),
        (
            "last-ok-ping-reply",
            core.since(server.last_available_ms).to_string(),
        ),
        (
            "last-ping-reply",
            core.since(server.last_pong_ms).to_string(),
        ),
    ])
}

fn watched(core: &Core, master: &Master, server: &Instance) -> Vec<String> {
    pairs([
        (
            "down-after-milliseconds",
            master.settings.down_after_ms().to_string(),
        ),
        ("info-refresh", core.since(server.last_info_ms).to_string()),
        ("role-reported", server.role.name().to_owned()),
        (
            "role-reported-time",
            core.since(server.role_since_ms).to_string(),
        ),
    ])
}

fn pairs<const N: usize>(fields: [(&str, String); N]) -> Vec<String> {
    let flat = fields
        .into_iter()
        .flat_map(|(name, value)| [name.to_owned(), value]);
    flat.collect()
}

//! The lists of monitored instances: `SENTINEL MASTER`, `REPLICAS`, `SENTINELS`, and INFO.

use super::core::Core;
use super::instance::Instance;
use super::master::{Master, Peer, Reason, Reconf, Replica};
use super::state::State;
use crate::VERSION;

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
    let mut fields = common(core, &master.settings.name, server, &flags, 1);
    fields.extend(times(core, master, server));
    fields.extend(watched(core, server));
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
    let mut fields = common(core, &name, server, &flags, 1);
    fields.extend(times(core, master, server));
    fields.extend(watched(core, server));
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
        ("replica-announced", "1".to_owned()),
    ]));
    fields
}

/// The fields of another sentinel, which monitors so many of the masters.
pub(super) fn peer(core: &Core, master: &Master, peer: &Peer, links: usize) -> Vec<String> {
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
    let mut fields = common(core, &server.run_id, server, &flags, links);
    fields.extend(times(core, master, server));
    let vote = peer.vote.clone().unwrap_or_else(|| "?".to_owned());
    fields.extend(pairs([
        ("voted-leader", vote),
        ("voted-leader-epoch", peer.vote_epoch.to_string()),
    ]));
    fields
}

/// The sections of INFO: all, or those that are named.
pub(super) fn info(state: &State, names: &[&str]) -> String {
    let is_wanted = |section: &str| {
        let all = ["default", "all", "everything", section];
        let named = |name: &&str| all.iter().any(|known| known.eq_ignore_ascii_case(name));
        names.is_empty() || names.iter().any(named)
    };
    let mut sections = Vec::new();
    if is_wanted("server") {
        sections.push(about_server(state));
    }
    if is_wanted("sentinel") {
        sections.push(about_sentinel(state));
    }
    sections.join("\r\n")
}

fn about_server(state: &State) -> String {
    let core = &state.core;
    let uptime_s = core.since(core.started_ms) / 1000;
    format!(
        "# Server\r\nredis_version:{VERSION}\r\nredis_git_sha1:00000000\r\nredis_git_dirty:0\r\n\
         redis_mode:sentinel\r\narch_bits:64\r\nprocess_id:1\r\nrun_id:{}\r\ntcp_port:{}\r\n\
         uptime_in_seconds:{uptime_s}\r\nuptime_in_days:{}\r\n",
        core.run_id,
        core.me.port,
        uptime_s / (24 * 60 * 60),
    )
}

fn about_sentinel(state: &State) -> String {
    let since_ms = state.core.tilt_since_ms;
    let tilt = u8::from(since_ms.is_some());
    let tilt_s = since_ms.map_or(-1, |since_ms| state.core.since(since_ms) / 1000);
    let mut text = format!(
        "# Sentinel\r\nsentinel_masters:{}\r\nsentinel_tilt:{tilt}\r\n\
         sentinel_tilt_since_seconds:{tilt_s}\r\n\
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

fn common(core: &Core, name: &str, server: &Instance, flags: &[&str], links: usize) -> Vec<String> {
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
        ("link-refcount", links.to_string()),
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

/// The time since when it is down, if it is, and the time after which it would be.
fn times(core: &Core, master: &Master, server: &Instance) -> Vec<String> {
    let mut fields = Vec::new();
    if server.is_down {
        let down_ms = core.since(server.down_since_ms).to_string();
        fields.extend(pairs([("s-down-time", down_ms)]));
    }
    let down_after_ms = master.settings.down_after_ms().to_string();
    fields.extend(pairs([("down-after-milliseconds", down_after_ms)]));
    fields
}

fn watched(core: &Core, server: &Instance) -> Vec<String> {
    pairs([
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

//! REPLICAOF, REPLCONF, PSYNC, ROLE, and the replication section of INFO.

use std::fmt::Write as _;

use bytes::Bytes;

use super::{integer, not_negative};
use crate::engine::command::Call;
use crate::engine::repl::{self, master, replica};
use crate::engine::state::State;
use crate::engine::state::handover::Handover;
use crate::engine::state::repl::{Link, LinkState, Role};
use crate::engine::state::session::Session;
use crate::wire::reply::{Answer, Error, Reply};

/// `REPLICAOF host port`, `REPLICAOF NO ONE`, and the older name `SLAVEOF host port`.
pub(in crate::engine) fn replicaof(call: &mut Call<'_>) -> Answer {
    let &[_, host, port] = call.args else {
        return Err(super::SYNTAX);
    };
    if call.state.repl.handover.is_some() {
        return Err(Error::of("ERR REPLICAOF not allowed while failing over."));
    }
    if host.eq_ignore_ascii_case(b"no") && port.eq_ignore_ascii_case(b"one") {
        repl::promote(call.state);
        return Ok(Reply::OK);
    }
    let port = super::integer(port)
        .ok()
        .and_then(|port| u16::try_from(port).ok())
        .ok_or(Error::of("ERR Invalid master port"))?;
    let host = String::from_utf8_lossy(host).into_owned();
    if let Some(link) = call.state.repl.link()
        && link.host.eq_ignore_ascii_case(&host)
        && link.port == port
    {
        return Ok(Reply::Status(
            "OK Already connected to specified master".into(),
        ));
    }
    repl::follow(call.state, host, port);
    Ok(Reply::OK)
}

/// `REPLCONF option value [option value …]`: exchanged between replicas and masters.
pub(in crate::engine) fn replconf(call: &mut Call<'_>) -> Answer {
    let pairs = call.args[1..].chunks_exact(2);
    if !pairs.remainder().is_empty() {
        return Err(super::SYNTAX);
    }
    for pair in pairs {
        let value = pair[1];
        match pair[0].to_ascii_lowercase().as_slice() {
            b"listening-port" => {
                let port = integer(value)?;
                call.session().announced_port = u16::try_from(port).unwrap_or(0);
            }
            b"ip-address" => call.session().announced_ip = Bytes::copy_from_slice(value),
            b"capa" if value.eq_ignore_ascii_case(b"eof") => {
                call.state.repl.readers_to_mark.insert(call.client);
            }
            b"capa" | b"version" | b"rdb-only" | b"rdb-filter-only" => {}
            b"ack" => {
                if let Ok(offset) = not_negative(value) {
                    let durable = match call.args.get(3..5) {
                        Some([word, durable]) if word.eq_ignore_ascii_case(b"fack") => {
                            not_negative(durable).ok()
                        }
                        _ => None,
                    };
                    let (state, wall_us) = (&mut *call.state, call.wall_us);
                    master::acknowledge(state, call.client, offset, durable, wall_us);
                }
                return Ok(Reply::NONE);
            }
            b"getack" => {
                replica::acknowledge(call.state);
                return Ok(Reply::NONE);
            }
            _ => {
                let text = [b"ERR Unrecognized REPLCONF option: ", pair[0]].concat();
                return Err(Error::new(text));
            }
        }
    }
    Ok(Reply::OK)
}

/// `PSYNC replicationid offset [FAILOVER]`: with FAILOVER this replica's master asks it to become
/// the master.
pub(in crate::engine) fn psync(call: &mut Call<'_>) -> Answer {
    let up = |link: &Link| link.is_up();
    if call.state.counts_as_replica(call.client) {
        return Ok(Reply::NONE);
    }
    if let [_, id, _, word, ..] = call.args
        && word.eq_ignore_ascii_case(b"failover")
    {
        take_over(call.state, id)?;
    }
    if call.state.repl.handover.is_some() {
        return Err(Error::of("NOMASTERLINK Can't SYNC while failing over"));
    }
    if !call.state.repl.link().is_none_or(up) {
        return Err(Error::of(
            "NOMASTERLINK Can't SYNC while not connected with my master",
        ));
    }
    let id = String::from_utf8_lossy(call.args[1]).into_owned();
    let offset = integer(call.args[2])?;
    master::psync(call.state, call.client, &id, offset, call.wall_us);
    Ok(Reply::NONE)
}

/// Makes this replica the master, at the request of its master.
fn take_over(state: &mut State, id: &[u8]) -> Result<(), Error> {
    if state.repl.link().is_none() {
        return Err(Error::of("ERR PSYNC FAILOVER can't be sent to a master."));
    }
    if !id.eq_ignore_ascii_case(state.repl.id.as_bytes()) {
        return Err(Error::of("ERR PSYNC FAILOVER replid must match my replid."));
    }
    repl::promote(state);
    Ok(())
}

/// `ROLE`.
pub(in crate::engine) fn role(call: &mut Call<'_>) -> Answer {
    let state = &*call.state;
    Ok(Reply::Array(match &state.repl.role {
        Role::Master => {
            let online = state.repl.replicas.iter().filter(|(_, r)| r.is_online());
            let replicas = online.filter_map(|(id, replica)| {
                let (ip, port) = state.clients.get(id)?.replica_address();
                Some(Reply::Array(vec![
                    Reply::bulk(ip),
                    Reply::bulk(port.to_string()),
                    Reply::bulk(replica.acked.to_string()),
                ]))
            });
            vec![
                Reply::bulk("master"),
                Reply::Integer(state.repl.offset as i64),
                Reply::Array(replicas.collect()),
            ]
        }
        Role::Replica(link) => vec![
            Reply::bulk("slave"),
            Reply::bulk(&link.host),
            Reply::Integer(link.port.into()),
            Reply::bulk(link.state_name()),
            Reply::Integer(match link.is_up() {
                true => state.repl.offset as i64,
                false => -1,
            }),
        ],
    }))
}

/// The section `Replication` of INFO.
pub(in crate::engine) fn info(state: &State, wall_us: u64) -> String {
    let repl = &state.repl;
    let mut text = String::new();
    let mut line = |key: &str, value: String| {
        let _ = write!(text, "{key}:{value}\r\n");
    };
    match &repl.role {
        Role::Master => line("role", "master".into()),
        Role::Replica(link) => {
            let seconds_since = |us: u64| (wall_us.saturating_sub(us) / 1_000_000).to_string();
            let status = if link.is_up() { "up" } else { "down" };
            let heard = match link.is_up() {
                true => seconds_since(link.heard_us),
                false => "-1".into(),
            };
            let syncing = u8::from(matches!(link.state, LinkState::Sync(_)));
            line("role", "slave".into());
            line("master_host", link.host.clone());
            line("master_port", link.port.to_string());
            line("master_link_status", status.into());
            line("master_last_io_seconds_ago", heard);
            line("master_sync_in_progress", syncing.to_string());
            line("slave_read_repl_offset", repl.offset.to_string());
            line("slave_repl_offset", repl.offset.to_string());
            if !link.is_up() {
                let since = link.down_since_us.map_or("-1".into(), seconds_since);
                line("master_link_down_since_seconds", since);
            }
            line("slave_priority", state.config.shown("replica-priority"));
            let read_only = u8::from(state.config.replica_is_read_only());
            line("slave_read_only", read_only.to_string());
            line("replica_announced", "1".into());
        }
    }
    line("connected_slaves", repl.replicas.len().to_string());
    if state.config.min_replicas_to_write > 0 {
        let good = master::count_good(state, wall_us);
        line("min_slaves_good_slaves", good.to_string());
    }
    for (index, (id, replica)) in repl.replicas.iter().enumerate() {
        let Some((ip, port)) = state.clients.get(id).map(Session::replica_address) else {
            continue;
        };
        let value = format!(
            "ip={ip},port={port},state={},offset={},lag={}",
            replica.state_name(),
            replica.acked,
            replica.lag_s(wall_us)
        );
        line(&format!("slave{index}"), value);
    }
    let zeros = "0".repeat(40);
    let (former, end) = match &repl.former {
        Some((id, end)) => (id.clone(), *end as i64),
        None => (zeros, -1),
    };
    let backlog = repl.backlog.as_ref();
    let first = backlog.map_or(0, |backlog| backlog.first());
    let len = backlog.map_or(0, |backlog| backlog.len());
    let handover = repl.handover.as_ref();
    let failover = handover.map_or("no-failover", Handover::state_name);
    line("master_failover_state", failover.into());
    line("master_replid", repl.id.clone());
    line("master_replid2", former);
    line("master_repl_offset", repl.offset.to_string());
    line("second_repl_offset", end.to_string());
    line(
        "repl_backlog_active",
        u8::from(backlog.is_some()).to_string(),
    );
    line(
        "repl_backlog_size",
        state.config.backlog_bytes().to_string(),
    );
    line("repl_backlog_first_byte_offset", first.to_string());
    line("repl_backlog_histlen", len.to_string());
    text
}

//! The commands that clients and other sentinels may send.

use std::time::Duration;

use bytes::{Bytes, BytesMut};

use super::about::{self, Answer};
use super::address::Address;
use super::command_table::{self, COMMANDS};
use super::core::Core;
use super::effect::{ConnId, Effect};
use super::instance::HELLO_CHANNEL;
use super::listing;
use super::master::{InstanceId, Master, Peer, Reason};
use super::monitor::Monitor;
use super::settings;
use super::state::State;
use crate::glob;
use crate::wire::reply::{Error, Reply, Resp};

/// Replies to an invalid request with an error, and closes the connection.
pub(super) fn refuse(state: &mut State, conn: ConnId, text: &str) {
    answer(state, conn, error(text));
    state.core.clients.remove(&conn);
    state.core.effects.push(Effect::Close { conn });
}

/// Serves one request.
pub(super) fn serve(state: &mut State, conn: ConnId, words: &[Bytes]) {
    let texts: Vec<&str> = words
        .iter()
        .map(|word| std::str::from_utf8(word).unwrap_or(""))
        .collect();
    if texts.is_empty() {
        return;
    }
    let result = match command_table::find(&texts) {
        Ok(command) if command.name.ends_with("subscribe") => {
            subscribe(state, conn, command.name, &words[1..]);
            return;
        }
        Ok(command) => run(state, conn, command.name, &texts),
        Err(text) => Err(text),
    };
    answer(state, conn, result.unwrap_or_else(|text| error(&text)));
}

/// Executes a command, given its name in the table and all words of the request.
fn run(state: &mut State, conn: ConnId, name: &str, words: &[&str]) -> Answer {
    match (name, &words[1..]) {
        ("ping", []) if listens(state, conn) && !speaks_resp3(state, conn) => {
            Ok(array(["pong", ""]))
        }
        ("ping", [text]) if listens(state, conn) && !speaks_resp3(state, conn) => {
            Ok(array(["pong", text]))
        }
        ("ping", []) => Ok(status("PONG")),
        ("ping", [text]) => Ok(bulk(text)),
        ("auth", rest) => about::auth(rest),
        ("hello", rest) => about::hello(state, conn, rest),
        ("acl|whoami", _) => Ok(bulk("default")),
        ("client|id", _) => Ok(Reply::Integer(conn.0 as i64)),
        ("client|getname", _) => Ok(about::name(state, conn)),
        ("client|setname", [_, name]) => about::set_name(state, conn, name),
        ("command", _) => Ok(about::command_info(&[])),
        ("command|count", _) => Ok(Reply::Integer(COMMANDS.len() as i64)),
        ("command|docs", _) => Ok(Reply::Map(Vec::new())),
        ("command|info", [_, names @ ..]) => Ok(about::command_info(names)),
        ("info", sections) => Ok(Reply::text(listing::info(state, sections))),
        ("publish", [HELLO_CHANNEL, hello]) => {
            state.take_hello(hello);
            Ok(Reply::Integer(1))
        }
        ("publish", _) => Err("ERR Only HELLO messages are accepted by Sentinel instances.".into()),
        ("role", _) => Ok(Reply::Array(vec![
            bulk("sentinel"),
            array(state.masters.keys()),
        ])),
        (_, [_, rest @ ..]) if name.starts_with("sentinel|") => {
            ask(state, &name["sentinel|".len()..], rest)
        }
        _ => Err(format!(
            "ERR wrong number of arguments for '{name}' command"
        )),
    }
}

/// `SENTINEL …`.
fn ask(state: &mut State, subcommand: &str, arguments: &[&str]) -> Answer {
    let State { core, masters } = state;
    match (subcommand, arguments) {
        ("get-master-addr-by-name", [name]) => {
            let address = masters.get(*name).map(Master::current_address);
            Ok(address.map_or(Reply::NilArray, |a| {
                array([a.host.clone(), a.port.to_string()])
            }))
        }
        ("masters", []) => Ok(Reply::Array(
            masters
                .values()
                .map(|master| map(listing::master(core, master)))
                .collect(),
        )),
        ("master", [name]) => Ok(map(listing::master(core, find(masters.get(*name))?))),
        ("replicas" | "slaves", [name]) => {
            let master = find(masters.get(*name))?;
            let listed = master
                .replicas
                .values()
                .map(|r| map(listing::replica(core, master, r)));
            Ok(Reply::Array(listed.collect()))
        }
        ("sentinels", [name]) => {
            let master = find(masters.get(*name))?;
            // Redis has one link to a sentinel, for all masters.
            let links = |peer: &Peer| {
                let of_masters = masters.values().flat_map(|master| master.peers.values());
                let same = of_masters.filter(|other| other.server.run_id == peer.server.run_id);
                same.count()
            };
            let listed = master
                .peers
                .values()
                .map(|peer| map(listing::peer(core, master, peer, links(peer))));
            Ok(Reply::Array(listed.collect()))
        }
        ("myid", []) => Ok(bulk(core.run_id.clone())),
        ("flushconfig", []) => {
            core.unsaved = true;
            Ok(status("OK"))
        }
        ("config", words) => settings::config(core, words),
        ("ckquorum", [name]) => quorum(find(masters.get(*name))?),
        ("is-master-down-by-addr", [host, port, epoch, candidate]) => {
            let (Ok(port), Ok(epoch)) = (port.parse::<u16>(), epoch.parse::<u64>()) else {
                return Err("ERR value is not an integer or out of range".into());
            };
            let address = Address {
                host: (*host).to_owned(),
                port,
            };
            let master = masters
                .values_mut()
                .find(|master| master.server.address == address);
            let Some(master) = master else {
                return Ok(Reply::Array(vec![
                    Reply::Integer(0),
                    bulk("*"),
                    Reply::Integer(0),
                ]));
            };
            let is_down = core.tilt_since_ms.is_none() && master.server.is_down;
            let (leader, epoch) = match *candidate {
                "*" => (None, 0),
                candidate => master.vote_for(core, epoch, candidate),
            };
            let leader = leader.unwrap_or_else(|| "*".to_owned());
            Ok(Reply::Array(vec![
                Reply::Integer(is_down.into()),
                bulk(leader),
                Reply::Integer(epoch as i64),
            ]))
        }
        ("failover", [name]) => {
            let master = find(masters.get_mut(*name))?;
            if master.failover.is_some() {
                return Err("INPROG Failover already in progress".into());
            }
            if master.best_replica(core).is_none() {
                return Err("NOGOODSLAVE No suitable replica to promote".into());
            }
            master.start_failover(core, Reason::Asked);
            Ok(status("OK"))
        }
        ("set", [name, options @ ..]) => {
            let master = find(masters.get_mut(*name))?;
            core.unsaved = true;
            for pair in options.chunks(2) {
                if pair.len() < 2 {
                    return Err(unknown_option(pair[0]));
                }
                set(master, pair[0], pair[1])?;
                let what = master.describe(&InstanceId::Master);
                core.event("+set", format!("{what} {} {}", pair[0], pair[1]));
            }
            Ok(status("OK"))
        }
        ("monitor", [name, host, port, quorum]) => {
            let quorum: i64 = quorum.parse().map_err(|_| "ERR Invalid quorum")?;
            let port: i64 = port.parse().map_err(|_| "ERR Invalid port")?;
            let quorum = usize::try_from(quorum).ok().filter(|quorum| *quorum > 0);
            let quorum = quorum.ok_or("ERR Quorum must be 1 or greater.")?;
            let port = u16::try_from(port).map_err(|_| "ERR Invalid port number.")?;
            if masters.contains_key(*name) {
                return Err("ERR Duplicate master name.".into());
            }
            let address = Address {
                host: (*host).to_owned(),
                port,
            };
            state.monitor(Monitor::new(name, address, quorum));
            Ok(status("OK"))
        }
        ("remove", [name]) => {
            let mut master = find(masters.remove(*name))?;
            core.unsaved = true;
            core.event("-monitor", master.describe(&InstanceId::Master));
            disconnect(core, &mut master);
            Ok(status("OK"))
        }
        ("reset", [pattern]) => {
            let mut count = 0;
            for master in masters.values_mut() {
                if glob::matches(pattern.as_bytes(), master.settings.name.as_bytes()) {
                    disconnect(core, master);
                    master.peers.clear();
                    master.forget_servers(core);
                    core.unsaved = true;
                    core.event("+reset-master", master.describe(&InstanceId::Master));
                    count += 1;
                }
            }
            Ok(Reply::Integer(count))
        }
        _ => Err(format!(
            "ERR wrong number of arguments for 'sentinel|{subcommand}' command"
        )),
    }
}

fn find<M>(master: Option<M>) -> Result<M, String> {
    master.ok_or_else(|| "ERR No such master with that name".into())
}

fn disconnect(core: &mut Core, master: &mut Master) {
    for peer in master.peers.values_mut() {
        peer.server.disconnect(core);
    }
    for replica in master.replicas.values_mut() {
        replica.server.disconnect(core);
    }
    master.server.disconnect(core);
}

/// Whether enough sentinels are reachable to agree and to authorise a failover.
fn quorum(master: &Master) -> Answer {
    let usable = 1 + master
        .peers
        .values()
        .filter(|peer| !peer.server.is_down)
        .count();
    let mut missing = Vec::new();
    if usable < master.settings.quorum {
        missing
            .push("Not enough available Sentinels to reach the specified quorum for this master");
    }
    if usable < master.majority() {
        missing
            .push("Not enough available Sentinels to reach the majority and authorize a failover");
    }
    if missing.is_empty() {
        return Ok(status(&format!(
            "OK {usable} usable Sentinels. Quorum and failover authorization can be reached"
        )));
    }
    let missing = missing.join(". ");
    Err(format!("NOQUORUM {usable} usable Sentinels. {missing}"))
}

/// One option of `SENTINEL SET`.
fn set(master: &mut Master, option: &str, value: &str) -> Result<(), String> {
    let settings = &mut master.settings;
    let name = option.to_ascii_lowercase();
    let known = [
        "down-after-milliseconds",
        "failover-timeout",
        "parallel-syncs",
        "quorum",
    ];
    if !known.contains(&name.as_str()) {
        return Err(unknown_option(option));
    }
    let number: i64 = value
        .parse()
        .ok()
        .filter(|number| *number > 0)
        .ok_or_else(|| format!("ERR Invalid argument '{value}' for SENTINEL SET '{option}'"))?;
    match name.as_str() {
        "down-after-milliseconds" => settings.down_after = Duration::from_millis(number as u64),
        "failover-timeout" => settings.failover_timeout = Duration::from_millis(number as u64),
        "parallel-syncs" => settings.parallel_syncs = number as usize,
        _ => settings.quorum = number as usize,
    }
    Ok(())
}

fn unknown_option(option: &str) -> String {
    format!("ERR Unknown option or number of arguments for SENTINEL SET '{option}'")
}

fn speaks_resp3(state: &State, conn: ConnId) -> bool {
    let client = state.core.clients.get(&conn);
    client.is_some_and(|client| client.resp == Resp::V3)
}

fn listens(state: &State, conn: ConnId) -> bool {
    let client = state.core.clients.get(&conn);
    client.is_some_and(|client| client.channels.len() + client.patterns.len() > 0)
}

/// SUBSCRIBE and related commands: one confirmation for each name.
fn subscribe(state: &mut State, conn: ConnId, command: &str, names: &[Bytes]) {
    let command = command.to_ascii_lowercase();
    let Some(client) = state.core.clients.get_mut(&conn) else {
        return;
    };
    let mut replies = Vec::new();
    let (of_patterns, adds) = (command.starts_with('p'), !command.contains("un"));
    let own = match of_patterns {
        true => &mut client.patterns,
        false => &mut client.channels,
    };
    let names = match names {
        [] if !adds => own.clone(),
        names => names.to_vec(),
    };
    let mut counts = Vec::new();
    for name in &names {
        match own.iter().position(|known| known == name) {
            Some(place) if !adds => drop(own.remove(place)),
            None if adds => own.push(name.clone()),
            _ => {}
        }
        counts.push(own.len());
    }
    let others = client.channels.len() + client.patterns.len() - counts.last().unwrap_or(&0);
    for (name, count) in names.into_iter().zip(counts) {
        let count = Reply::Integer((count + others) as i64);
        replies.push(Reply::Push(vec![
            bulk(command.clone()),
            Reply::Bulk(name),
            count,
        ]));
    }
    if replies.is_empty() {
        let reply = match adds {
            true => error(&format!(
                "ERR wrong number of arguments for '{command}' command"
            )),
            false => {
                let left = (client.channels.len() + client.patterns.len()) as i64;
                Reply::Push(vec![bulk(command), Reply::Nil, Reply::Integer(left)])
            }
        };
        replies.push(reply);
    }
    for reply in replies {
        answer(state, conn, reply);
    }
}

fn answer(state: &mut State, conn: ConnId, reply: Reply) {
    let client = state.core.clients.get(&conn);
    let resp = client.map_or(Resp::V2, |client| client.resp);
    let mut out = BytesMut::new();
    reply.encode(resp, &mut out);
    let bytes = out.freeze();
    state.core.effects.push(Effect::Reply { conn, bytes });
}

fn status(text: &str) -> Reply {
    Reply::Status(text.to_owned().into())
}

fn error(text: &str) -> Reply {
    Error::new(text).into()
}

fn bulk(text: impl AsRef<str>) -> Reply {
    Reply::bulk(text.as_ref())
}

fn array<T: AsRef<str>>(words: impl IntoIterator<Item = T>) -> Reply {
    Reply::Array(words.into_iter().map(bulk).collect())
}

/// A flat list of alternating names and values.
fn map(fields: Vec<String>) -> Reply {
    let pairs = fields.chunks_exact(2);
    Reply::Map(pairs.map(|two| (bulk(&two[0]), bulk(&two[1]))).collect())
}

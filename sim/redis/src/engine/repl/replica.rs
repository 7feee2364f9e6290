//! The replica side: the handshake, the snapshot, the stream, and reconnecting to a lost master.

use super::{feed_replicas, handover, master};
use crate::engine::notify::deliver;
use crate::engine::persist;
use crate::engine::state::State;
use crate::engine::state::handover::Handover;
use crate::engine::state::repl::{Link, LinkState, Role, Step};
use crate::engine::state::session::{Peer, Replies};
use crate::resp;
use crate::store::rdb;

/// The master's host and port, if it is time to connect; `conn` is the id of the new connection.
pub(in crate::engine) fn begin_connecting(
    state: &mut State,
    conn: u64,
    wall_us: u64,
) -> Option<(String, u16)> {
    let link = state.repl.link_mut()?;
    match link.state {
        LinkState::Due { from_us } if from_us <= wall_us => {
            link.state = LinkState::Connecting(conn);
            link.heard_us = wall_us;
            Some((link.host.clone(), link.port))
        }
        _ => None,
    }
}

/// Begins the handshake on an established connection. Returns whether it is still needed.
pub(in crate::engine) fn connected(state: &mut State, conn: u64) -> bool {
    match state.repl.link_mut() {
        Some(link) if link.state == LinkState::Connecting(conn) => {
            ask(state, conn, Step::Ping, &[&["PING"]]);
            true
        }
        _ => false,
    }
}

/// Whether data on this connection is not yet part of the stream.
pub(in crate::engine) fn is_in_handshake(state: &State, conn: u64) -> bool {
    let link = state.repl.link();
    link.is_some_and(|link| link.conn() == Some(conn) && !link.is_up())
}

/// Data arrived from the master.
pub(in crate::engine) fn note_interaction(state: &mut State, conn: u64, wall_us: u64) {
    if let Some(link) = state
        .repl
        .link_mut()
        .filter(|link| link.conn() == Some(conn))
    {
        link.heard_us = wall_us;
    }
}

/// Reads replies and the snapshot from the start of `input`; returns the length consumed.
pub(in crate::engine) fn hear(state: &mut State, conn: u64, input: &[u8]) -> usize {
    let mut used = 0;
    while is_in_handshake(state, conn) {
        let Some(len) = hear_one(state, conn, &input[used..]) else {
            break;
        };
        used += len;
    }
    used
}

fn hear_one(state: &mut State, conn: u64, input: &[u8]) -> Option<usize> {
    let end = input.iter().position(|byte| *byte == b'\n')?;
    let line = String::from_utf8_lossy(&input[..end]);
    let line = line.trim_end_matches('\r');
    let used = end + 1;
    if line.is_empty() {
        // A keepalive from a master that prepares a snapshot.
        return Some(used);
    }
    match state.repl.link()?.state {
        LinkState::Handshake { step, answers, .. } => {
            hear_answer(state, conn, step, answers, line);
            Some(used)
        }
        LinkState::Sync(_) => {
            let form = line.strip_prefix('$')?;
            let (len, mark_len) = match form.strip_prefix("EOF:") {
                Some(mark) => (len_to_mark(&input[used..], mark.as_bytes())?, mark.len()),
                None => (form.parse().ok()?, 0),
            };
            let snapshot = input.get(used..used.checked_add(len)?)?;
            load(state, conn, snapshot);
            Some(used + len + mark_len)
        }
        _ => None,
    }
}

/// The length of a snapshot that ends with a mark. A master sends nothing after the mark before
/// the replica has acknowledged it.
fn len_to_mark(input: &[u8], mark: &[u8]) -> Option<usize> {
    let snapshot = input.strip_suffix(mark)?;
    Some(snapshot.len())
}

fn hear_answer(state: &mut State, conn: u64, step: Step, answers: u8, line: &str) {
    if answers > 1 {
        let answers = answers - 1;
        let step = match step {
            Step::Authenticate if line.starts_with('-') => return state.kill(conn),
            Step::Authenticate => Step::Announce,
            step => step,
        };
        set(
            state,
            LinkState::Handshake {
                conn,
                answers,
                step,
            },
        );
        return;
    }
    let words: Vec<&str> = line.split(' ').collect();
    match (step, &words[..]) {
        (Step::Ping, _) if accepts_ping(line) => announce(state, conn),
        (Step::Announce, _) => {
            let (id, offset) = match state.repl.history {
                true => (state.repl.id.clone(), state.repl.offset as i64 + 1),
                false => ("?".to_owned(), -1),
            };
            let offset = offset.to_string();
            let mut words = vec!["PSYNC", &id, &offset];
            let handover = state.repl.handover.as_ref();
            if handover.is_some_and(Handover::is_asking) {
                words.push("FAILOVER");
            }
            ask(state, conn, Step::Psync, &[&words]);
        }
        (Step::Psync, ["+FULLRESYNC", id, offset]) => {
            handover::succeed(state);
            if let Ok(offset) = offset.parse() {
                state.repl.id = (*id).to_owned();
                state.repl.offset = offset;
                state.repl.former = None;
                set(state, LinkState::Sync(conn));
            } else {
                state.kill(conn);
            }
        }
        (Step::Psync, ["+CONTINUE", rest @ ..]) => {
            handover::succeed(state);
            if let [id] = rest
                && *id != state.repl.id
            {
                let id = (*id).to_owned();
                let repl = &mut state.repl;
                repl.former = Some((std::mem::replace(&mut repl.id, id), repl.offset + 1));
                super::disconnect_replicas(state);
            }
            if state.repl.backlog.is_none() {
                master::begin_backlog(state);
            }
            begin_stream(state, conn);
        }
        (Step::Psync, _) if state.repl.handover.is_some() => handover::abort(state),
        // An error: retries.
        _ => state.kill(conn),
    }
}

/// Whether the master may be asked for more: it answers, if only that it wants a password.
fn accepts_ping(answer: &str) -> bool {
    ["+", "-NOAUTH", "-NOPERM", "-ERR operation not permitted"]
        .iter()
        .any(|start| answer.starts_with(start))
}

/// Authenticates if there is a password, and announces this replica's address and abilities.
fn announce(state: &mut State, conn: u64) {
    let credentials = state.config.master_credentials();
    let words = credentials.iter().map(Vec::as_slice);
    let auth: Vec<&[u8]> = std::iter::once(&b"AUTH"[..]).chain(words).collect();
    let port = state.config.port();
    let ip = state.config.announced_ip();
    let mut requests: Vec<&[&[u8]]> = Vec::new();
    let step = match credentials.is_empty() {
        true => Step::Announce,
        false => {
            requests.push(&auth);
            Step::Authenticate
        }
    };
    let port: [&[u8]; 3] = [b"REPLCONF", b"listening-port", port.as_bytes()];
    requests.push(&port);
    let ip: [&[u8]; 3] = [b"REPLCONF", b"ip-address", &ip];
    if !ip[2].is_empty() {
        requests.push(&ip);
    }
    requests.push(&[b"REPLCONF", b"capa", b"eof", b"capa", b"psync2"]);
    ask(state, conn, step, &requests);
}

/// Sends requests, and waits for as many replies.
fn ask<W: AsRef<[u8]>>(state: &mut State, conn: u64, step: Step, requests: &[&[W]]) {
    let answers = requests.len() as u8;
    set(
        state,
        LinkState::Handshake {
            conn,
            answers,
            step,
        },
    );
    for request in requests {
        send_command(state, conn, request);
    }
}

fn send_command<W: AsRef<[u8]>>(state: &mut State, conn: u64, words: &[W]) {
    if let Some(session) = state.mark_dirty(conn) {
        resp::put_command(words, session.out.tail());
    }
}

fn set(state: &mut State, to: LinkState) {
    if let Some(link) = state.repl.link_mut() {
        link.state = to;
    }
}

/// Replaces the whole data set by the master's.
fn load(state: &mut State, conn: u64, snapshot: &[u8]) {
    let Ok(snapshot) = rdb::load(snapshot, state.db.count, state.db.limits) else {
        state.kill(conn);
        return;
    };
    super::disconnect_replicas(state);
    let now_ms = (state.seen_us.unwrap_or(0) / 1000) as i64;
    state.db.flush_all();
    for (db, key, entry) in snapshot.entries {
        state.db.within(db, |db| db.load(key, entry, now_ms));
    }
    state.repl.stream_db = snapshot.stream_db;
    deliver(state);
    persist::rewrite(state);
    master::begin_backlog(state);
    begin_stream(state, conn);
}

fn begin_stream(state: &mut State, conn: u64) {
    state.repl.history = true;
    if let Some(link) = state.repl.link_mut() {
        link.state = LinkState::Stream(conn);
        link.down_since_us = None;
    }
    let stream_db = state.repl.stream_db;
    let session = state.client(conn);
    session.db = stream_db;
    session.peer = Peer::Master;
    session.replies = Replies::Off;
    acknowledge(state);
}

/// Forwards the bytes of an executed command of the stream to this server's replicas.
pub(in crate::engine) fn applied(state: &mut State, bytes: &[u8]) {
    feed_replicas(state, bytes);
}

/// Reports this replica's offset to the master, and as of 7.2 the durable offset of its
/// append-only file if it has one.
pub(in crate::engine) fn acknowledge(state: &mut State) {
    if let Some(LinkState::Stream(conn)) = state.repl.link().map(|link| link.state) {
        let offset = state.repl.offset.to_string();
        match state.durable().map(|durable| durable.offset.to_string()) {
            None => send_command(state, conn, &["REPLCONF", "ACK", &offset]),
            Some(durable) => {
                let words = ["REPLCONF", "ACK", &offset, "FACK", &durable];
                send_command(state, conn, &words);
            }
        }
    }
}

pub(super) fn cron(state: &mut State, wall_us: u64) {
    let Some(link) = state.repl.link() else {
        return;
    };
    let timeout_us = state.config.repl_timeout_s() * 1_000_000;
    if wall_us.saturating_sub(link.heard_us) > timeout_us && link.conn().is_some() {
        let (host, port) = (link.host.clone(), link.port);
        disconnect_master(state);
        let down_since_us = state.repl.link().and_then(|link| link.down_since_us);
        let link = Link {
            down_since_us,
            ..Link::new(host, port, wall_us)
        };
        state.repl.role = Role::Replica(link);
        return;
    }
    acknowledge(state);
}

/// Closes the connection to the master, in any state.
pub(super) fn disconnect_master(state: &mut State) {
    if let Some(conn) = state.repl.link().and_then(Link::conn) {
        super::disconnect(state, conn);
    }
}

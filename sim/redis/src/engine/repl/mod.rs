//! Replication (`src/replication.c`): masters and replicas, the data on the link, and the
//! offsets.
//!
//! A master propagates its effects in one stream of bytes, whose length is its offset; `master`
//! is that side. A replica connects to its master as a client does, requests the data that it
//! lacks and executes the commands that it receives; `replica` is that side. Nothing here blocks:
//! a reply to a client never depends on a replica, except for WAIT.

mod backlog;
pub(super) mod handover;
pub(super) mod master;
pub(super) mod replica;

use std::collections::{BTreeMap, BTreeSet};

use bytes::{Bytes, BytesMut};

use super::blocking;
use super::fan_out;
use super::propagate;
use super::session::Closing;
use super::state::{State, run_id};
use crate::store::db::Overdue;
use crate::store::effects::Op;
use backlog::Backlog;
pub(super) use handover::Handover;
pub(super) use master::Replica;
pub(super) use replica::{Link, LinkState};

/// `replicationCron` runs once a second, at a tick of `serverCron`.
const CRON_US: u64 = 1_000_000;

/// A server's state in the history that it shares with others.
pub(super) struct Replication {
    pub(super) role: Role,
    /// The history that the server's data set belongs to: 40 hexadecimal digits.
    pub(super) id: String,
    /// The history before a promotion, and the first offset that does not belong to it.
    pub(super) former: Option<(String, u64)>,
    /// The number of bytes in the stream so far (`master_repl_offset`).
    pub(super) offset: u64,
    /// The last of these bytes; none until the first replica connects.
    pub(super) backlog: Option<Backlog>,
    /// The replicas of this server, by their connections.
    pub(super) replicas: BTreeMap<u64, Replica>,
    /// The connections that read a snapshot up to an end mark (`REPLCONF capa eof`).
    pub(super) readers_to_mark: BTreeSet<u64>,
    /// Whether there is a history to continue: a master's own, or a received one.
    pub(super) history: bool,
    /// The number of the database that the stream has selected since the last replica began to
    /// receive it; none if it has selected none.
    selected: Option<usize>,
    /// The number of the database that the master's stream has selected.
    pub(super) stream_db: usize,
    /// A FAILOVER in progress.
    pub(super) handover: Option<Handover>,
    /// A client waits for acknowledgements from replicas.
    pub(super) acks_wanted: bool,
    /// When `replicationCron` is due, in wall-clock microseconds.
    next_cron_us: u64,
}

/// The role of a server.
pub(super) enum Role {
    Master,
    Replica(Link),
}

impl Replication {
    pub(super) fn new(seed: u64) -> Self {
        Replication {
            role: Role::Master,
            // Any sequence will do that differs from that of the run id.
            id: run_id(!seed),
            former: None,
            offset: 0,
            backlog: None,
            replicas: BTreeMap::new(),
            readers_to_mark: BTreeSet::new(),
            history: true,
            selected: None,
            stream_db: 0,
            handover: None,
            acks_wanted: false,
            next_cron_us: 0,
        }
    }

    /// The link to the master, if there is one.
    pub(super) fn link(&self) -> Option<&Link> {
        match &self.role {
            Role::Master => None,
            Role::Replica(link) => Some(link),
        }
    }

    fn link_mut(&mut self) -> Option<&mut Link> {
        match &mut self.role {
            Role::Master => None,
            Role::Replica(link) => Some(link),
        }
    }

    /// Whether this connection is the master, whose commands are always executed
    /// (`mustObeyClient`).
    pub(super) fn is_master(&self, client: u64) -> bool {
        self.master_conn() == Some(client)
    }

    /// The connection that carries the master's stream.
    pub(super) fn master_conn(&self) -> Option<u64> {
        match self.link()?.state {
            LinkState::Stream(conn) => Some(conn),
            _ => None,
        }
    }

    /// Whether every replica has acknowledged the whole stream; true without replicas.
    pub(super) fn all_have_all(&self) -> bool {
        self.replicas.values().all(|replica| self.has_all(replica))
    }

    /// Whether a replica has acknowledged the whole stream.
    fn has_all(&self, replica: &Replica) -> bool {
        replica.acked == self.offset
    }

    /// Whether replication depends on time.
    fn is_active(&self) -> bool {
        self.link().is_some() || !self.replicas.is_empty()
    }

    /// When replication next has to act by itself.
    pub(super) fn next_wake_us(&self) -> Option<u64> {
        let connect_us = self.link().and_then(|link| match link.state {
            LinkState::Due { from_us } => Some(from_us),
            _ => None,
        });
        let cron_us = self.is_active().then_some(self.next_cron_us);
        [connect_us, cron_us].into_iter().flatten().min()
    }
}

/// Propagates commands to the replicas, through the backlog (`replicationFeedSlaves`).
pub(super) fn feed(state: &mut State, ops: &[Op]) {
    let repl = &mut state.repl;
    if repl.backlog.is_none() || repl.link().is_some() {
        return;
    }
    let mut bytes = BytesMut::new();
    for op in ops.iter().filter(|op| op.targets.replicas) {
        propagate::put(op, &mut repl.selected, &mut bytes);
    }
    pass_on(state, &bytes);
}

/// Appends bytes to the stream.
fn pass_on(state: &mut State, bytes: &[u8]) {
    let repl = &mut state.repl;
    repl.offset += bytes.len() as u64;
    if let Some(backlog) = &mut repl.backlog {
        backlog.push(bytes);
    }
    let online = repl
        .replicas
        .iter()
        .filter(|(_, replica)| replica.is_online());
    let online: Vec<u64> = online.map(|(id, _)| *id).collect();
    if !online.is_empty() {
        fan_out::stream(state, &online, &Bytes::copy_from_slice(bytes));
    }
}

/// `REPLICAOF host port`: follows another server from now on. Its own replicas stay: they may be
/// able to continue with the stream that it will receive.
pub(super) fn follow(state: &mut State, host: String, port: u16) {
    let now_us = state.seen_us.unwrap_or(0);
    let followed = state.repl.link();
    let down_since_us = followed.map(|link| link.down_since_us.unwrap_or(now_us));
    replica::hang_up(state);
    blocking::unblock_all(state);
    // Its history as a master is one that it may be able to continue.
    state.repl.role = Role::Replica(Link {
        down_since_us,
        ..Link::new(host, port, now_us)
    });
    state.listen();
}

/// The master's host and port, as CONFIG shows them; empty without a master.
pub(super) fn master_address(state: &State) -> String {
    let link = state.repl.link();
    link.map_or_else(String::new, |link| format!("{} {}", link.host, link.port))
}

/// `REPLICAOF NO ONE`: becomes a master, with a new history.
pub(super) fn promote(state: &mut State) {
    if state.repl.link().is_none() {
        return;
    }
    replica::hang_up(state);
    state.repl.role = Role::Master;
    let id = new_id(state);
    let repl = &mut state.repl;
    repl.former = Some((std::mem::replace(&mut repl.id, id), repl.offset + 1));
    disconnect_replicas(state);
    state.repl.selected = None;
    state.listen();
}

/// `replicationCron`.
pub(super) fn run_due_cron(state: &mut State, wall_us: u64) {
    if !state.repl.is_active() {
        state.repl.next_cron_us = 0;
        return;
    }
    // Setting the clock back does not stop it.
    let longest_us = wall_us + 2 * CRON_US;
    if state.repl.next_cron_us > wall_us && state.repl.next_cron_us <= longest_us {
        return;
    }
    let next_us = state.due_from(wall_us + 1, CRON_US);
    let due_us = std::mem::replace(&mut state.repl.next_cron_us, next_us);
    if due_us == 0 {
        return;
    }
    replica::cron(state, wall_us);
    master::cron(state, wall_us, due_us);
}

/// A connection closed, which may have been a replica's or the master's.
pub(super) fn lost(state: &mut State, conn: u64) {
    state.repl.replicas.remove(&conn);
    state.repl.readers_to_mark.remove(&conn);
    replica::lost(state, conn);
}

fn disconnect_replicas(state: &mut State) {
    for id in std::mem::take(&mut state.repl.replicas).into_keys() {
        disconnect(state, id);
    }
}

/// Closes a connection, but not before the command that came on it is done.
fn disconnect(state: &mut State, id: u64) {
    match state.current == Some(id) {
        true => state.close(id, Closing::Now),
        false => state.kill(id),
    }
}

fn new_id(state: &mut State) -> String {
    let drawn = state.draw();
    run_id(drawn)
}

impl State {
    /// What to do with an expired key that this client finds.
    pub(super) fn overdue_for(&self, client: u64) -> Overdue {
        match self.repl.role {
            _ if self.loading || self.repl.is_master(client) => Overdue::Keep,
            Role::Replica(_) => Overdue::Hide,
            Role::Master if self.paused().is_some() => Overdue::Hide,
            Role::Master => Overdue::Delete,
        }
    }
}

//! The requests of clients, from the bytes that arrive: one after the other, as long as the client
//! need not wait.

use super::command_table;
use super::dispatch::{self, Processed};
use super::propagate::{self, Unit};
use super::repl::replica;
use super::state::State;
use super::state::busy::Busy;
use super::state::input::{ConnId, Input};
use super::state::other_clients::{Arrival, Attention};
use super::state::session::{Addresses, Closing, Session};
use super::{busy, serve, turn};
use crate::wire::request::{Parsed, Parser};

/// A client that has sent so many bytes of a request, and not the end of it, has to wait until the
/// script is over: nobody closes a connection that sends too much while a script runs.
const LONGEST_REQUEST_BYTES: usize = 64 << 10;

/// Connects a client.
pub(super) fn accept(state: &mut State, addresses: Addresses, wall_us: u64) -> ConnId {
    let conn = ConnId(state.next_conn);
    state.next_conn += 1;
    state.inputs.insert(conn, Some(Box::default()));
    let authenticated = state.config.requirepass.is_empty();
    let session = Session::new(conn.0, addresses, authenticated, wall_us);
    state.clients.insert(conn.0, session);
    conn
}

/// Handles the input of a client, with these bytes at its end; returns whether any is left.
pub(super) fn hear(state: &mut State, conn: ConnId, bytes: &[u8], wall_us: u64) -> bool {
    let Some(mut input) = state.take_input(conn) else {
        return false;
    };
    // Usually nothing is pending and `bytes` holds complete requests, which are then handled
    // in place.
    if input.pending.is_empty() {
        let answers = replica::hear(state, conn.0, bytes);
        let rest = &bytes[answers..];
        let used = answers + input.parser.run(state, conn.0, rest, wall_us);
        input.pending.extend_from_slice(&bytes[used..]);
    } else {
        input.pending.extend_from_slice(bytes);
        input.resume(state, conn.0, wall_us);
    }
    let has_more = !input.pending.is_empty();
    state.put_input(conn, input);
    has_more
}

/// Ends a connection at once.
pub(super) fn disconnect(state: &mut State, conn: ConnId) {
    state.forget(conn.0);
    state.inputs.remove(&conn);
}

/// Ends a connection that its client has closed, after the requests that still wait: for another turn if it is queued.
pub(super) fn leave(state: &mut State, conn: ConnId, is_queued: bool) {
    let waits = is_queued || state.waiting.resumed.contains(&conn.0);
    match state.clients.get_mut(&conn.0) {
        Some(session) if waits => session.has_left = true,
        _ => disconnect(state, conn),
    }
}

/// Handles what other clients have sent while a script runs (`processEventsWhileBlocked`).
pub(super) fn attend(state: &mut State, attention: &mut Attention, wall_us: u64) {
    let turn = std::mem::take(&mut state.turn);
    let (current, db, overdue) = (state.current, state.db.selected(), state.db.overdue);
    while !is_ended(state) {
        let listens = |conn| listens(state, conn);
        let Some(arrival) = attention.other_clients.poll(&listens) else {
            break;
        };
        match arrival {
            Arrival::Connected(addresses) => {
                let has_room = state.inputs.len() < state.config.max_clients();
                let conn = has_room.then(|| accept(state, addresses, wall_us));
                attention.other_clients.accepted(conn);
            }
            Arrival::Left(conn) => leave(state, conn, turn.is_queued(conn.0)),
            Arrival::Received { conn, bytes } => {
                let has_more = hear(state, conn, &bytes, wall_us);
                // It may have to be closed when the script is over.
                state.dirty_clients.push(conn.0);
                // Who has sent a part of a request has its turn when the rest arrives.
                let waits = busy::holds_back(state, conn.0) || turn::is_over(state);
                if has_more && waits && !state.waiting.resumed.contains(&conn.0) {
                    state.waiting.resumed.push_back(conn.0);
                }
            }
        }
    }
    // A script may run without end, and its clients ask again and again.
    state.dirty_clients.sort_unstable();
    state.dirty_clients.dedup();
    send(state, attention);
    state.turn = turn;
    state.current = current;
    state.db.select(db);
    state.db.overdue = overdue;
}

/// Sends the output for other clients: replies from before the script, and messages from the script itself.
fn send(state: &mut State, attention: &mut Attention) {
    for &id in &state.dirty_clients {
        let is_held_back = busy::holds_back(state, id);
        if let Some(session) = state.clients.get_mut(&id)
            && session.closing != Some(Closing::Now)
            && !is_held_back
        {
            let send = |bytes| attention.other_clients.send(ConnId(id), bytes);
            session.out.send(send);
        }
    }
}

/// Whether the node hears this client while a script runs. The client of the script has to wait for
/// its end (`protectClient`).
fn listens(state: &State, conn: ConnId) -> bool {
    let runs_script = |busy: &Busy| busy.client == conn.0;
    let input = state.inputs.get(&conn).and_then(Option::as_ref);
    let pending = input.map_or(0, |input| input.pending.len());
    !state.busy.as_ref().is_some_and(runs_script) && pending < LONGEST_REQUEST_BYTES
}

/// Whether a client has ended the running script, or the process.
fn is_ended(state: &State) -> bool {
    let is_killed = |busy: &Busy| busy.ends_us.is_some();
    state.shut_down.is_some() || state.busy.as_ref().is_some_and(is_killed)
}

impl Input {
    /// Continues with the input that arrived before.
    pub(super) fn resume(&mut self, state: &mut State, client: u64, wall_us: u64) {
        let pending = std::mem::take(&mut self.pending);
        let answers = replica::hear(state, client, &pending);
        let used = answers + self.parser.run(state, client, &pending[answers..], wall_us);
        self.pending = pending;
        self.drop_handled(used);
    }
}

impl Parser {
    /// Handles the complete requests at the start of `input` until the client has to wait, or the
    /// turn is over; returns the length handled.
    fn run(&mut self, state: &mut State, client: u64, input: &[u8], wall_us: u64) -> usize {
        let mut used = 0;
        let keep = |state: &mut State, bytes| {
            if let Some(session) = state.clients.get_mut(&client) {
                session.query_bytes = bytes;
            }
        };
        keep(state, input.len());
        while may_go_on(state, client) && !state.is_asleep(wall_us) {
            self.unauthenticated =
                !state.config.requirepass.is_empty() && !state.client(client).authenticated;
            let (processed, len) = match self.next(&input[used..]) {
                Parsed::Multibulk { args, len } => (handle(state, client, &args, wall_us), len),
                Parsed::Inline { args, len } => {
                    let args: Vec<&[u8]> = args.iter().map(Vec::as_slice).collect();
                    (handle(state, client, &args, wall_us), len)
                }
                Parsed::Incomplete => break,
                Parsed::Malformed(error) => {
                    state.stats.count_error(&error);
                    let session = state.client(client);
                    session.answer(&error.into());
                    session.closing = Some(Closing::AfterReplies);
                    break;
                }
            };
            match processed {
                Processed::Done => {
                    if state.repl.is_master(client) {
                        replica::applied(state, &input[used..used + len]);
                    }
                    used += len;
                    if used == input.len() || turn::is_over(state) {
                        break;
                    }
                }
                Processed::Postponed => break,
            }
        }
        keep(state, self.unread(&input[used..]));
        used
    }
}

/// Whether a connection's next request may be handled. A closed connection has none, and a server
/// that has shut down handles none.
fn may_go_on(state: &State, client: u64) -> bool {
    let free = |session: &Session| session.is_free();
    state.shut_down.is_none()
        && state.clients.get(&client).is_some_and(free)
        && !replica::is_in_handshake(state, client)
        && !busy::holds_back(state, client)
}

/// Processes a request, and serves the clients that waited for its changes.
fn handle(state: &mut State, client: u64, args: &[&[u8]], wall_us: u64) -> Processed {
    if args.is_empty() {
        return Processed::Done;
    }
    state.turn.count_request();
    let before = state.client(client).out.len();
    let table = command_table::of(state.imitated);
    let processed = dispatch::process(table, state, client, args, wall_us);
    if let Some(session) = state.clients.get(&client) {
        state
            .pending_output
            .add(session.out.len().saturating_sub(before));
    }
    if state.busy.is_none() {
        serve::serve(table, state, wall_us);
        propagate::flush(state, Unit::Whole);
    }
    processed
}

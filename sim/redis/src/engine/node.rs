//! The node: its connections, and its input and output.

use std::rc::Rc;
use std::time::Duration;

use bytes::Bytes;

use super::command::Table;
use super::command_table;
use super::parameters::{ParameterError, Parameters};
use super::persist;
use super::repl::{self, replica};
use super::state::State;
use super::state::extension::ExtensionReply;
use super::state::handover::Handover;
use super::state::input::{ConnId, InputSize};
use super::state::now::Now;
use super::state::other_clients::{Attention, OtherClients};
use super::state::persist::{DiskWrite, Files};
use super::state::session::{Addresses, Closing, Peer, Session};
use super::{blocking, busy, config, eviction, load, requests, serve, shutdown, tracking, turn};
use crate::Imitated;
use crate::store::db::Db;

/// The properties that distinguish one node from another when it starts.
#[derive(Clone, Debug, Default)]
pub struct NodeConfig {
    /// Determines the 40-digit run id that `INFO` shows, the random choices of keys to evict and to
    /// forget, and the phase of the periodic work: `serverCron`, `replicationCron`, pings. A restarted server has a new run id, so give every start of a node its own seed.
    pub run_id_seed: u64,
    /// The server that it imitates.
    pub imitated: Imitated,
}

/// The actions that the driver of a [`Node`] has to perform, in order.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Effect {
    /// Send these bytes to a client.
    Send {
        /// The client's connection.
        conn: ConnId,
        /// Complete replies and messages.
        bytes: Bytes,
    },
    /// Close a connection, after sending the data queued for it. The node has already dropped it.
    Close {
        /// The connection to close.
        conn: ConnId,
    },
    /// Connect to this node's master. The driver then calls [`Node::connected`], or
    /// [`Node::closed`] if it cannot connect; it passes the master's data to [`Node::receive`].
    Connect {
        /// The id of the new connection.
        conn: ConnId,
        /// The master's name or address, as REPLICAOF gave it.
        host: String,
        /// The master's port.
        port: u16,
    },
    /// Write to the node's disk, before sending anything that follows this effect.
    Disk(DiskWrite),
    /// SHUTDOWN is complete: the process exits, and all its connections close.
    Exit,
}

/// One `redis-server`. Dropping it ends the process: only the data that its driver wrote to a
/// disk persists, and [`Node::load`] reads what remains of that after a restart.
pub struct Node {
    state: State,
}

impl Node {
    /// Creates a freshly started server with an empty keyspace.
    pub fn new(config: NodeConfig) -> Self {
        Node {
            state: State::new(config.run_id_seed, config.imitated),
        }
    }

    /// The commands that it has.
    fn table(&self) -> Table {
        command_table::of(self.state.imitated)
    }

    /// How many clients were looked at in lists of waiting clients so far.
    #[cfg(test)]
    pub(super) fn looks(&self) -> u64 {
        self.state.waiting.looks
    }

    /// The keyspaces.
    pub(super) fn database(&self) -> &Db {
        &self.state.db
    }

    pub(super) fn database_mut(&mut self) -> &mut Db {
        &mut self.state.db
    }

    /// Gives the node the clocks of its machine. They are read while a script or a transaction runs, by commands
    /// that ask for the time or set a time to live, and between the requests of a client, to give others their turns.
    pub fn read_clock(&mut self, clock: impl Fn() -> Now + 'static) {
        self.state.clock = Some(Rc::new(clock));
    }

    /// Lets the node find out whether the disk of its machine is full, when it has something to write. While it is, the
    /// node writes nothing, refuses clients that write, and tries again whenever it wakes. With `appendfsync always` a
    /// server of Redis ends then, and this node does not.
    pub fn look_at_disk(&mut self, is_full: impl Fn() -> bool + 'static) {
        self.state.disk_is_full = Some(Rc::new(is_full));
    }

    /// Tells the node the time on the clocks of its machine. A driver with a monotonic clock does so before each call
    /// that depends on the time: then DEBUG SLEEP and scripts last as long as that clock says, as in Redis, even if
    /// the wall clock is set meanwhile. A node that is told nothing goes by the wall clock alone.
    pub fn see_clocks(&mut self, now: Now) {
        self.state.clocks = Some(now);
    }

    /// Lets the node attend to its other clients while a script runs for longer than
    /// `busy-reply-threshold`, by its clock: it answers BUSY, and lets them end the script. Call it
    /// after [`Node::read_clock`]. Without it a script that runs for too long is taken for endless.
    pub fn attend(&mut self, other_clients: impl OtherClients + 'static) {
        self.state.attention = Some(Box::new(Attention {
            other_clients: Box::new(other_clients),
            attend: requests::attend,
        }));
    }

    /// Adds commands of the driver: `answer` gets the words of each request that names no command of
    /// the node, and is not part of a transaction. `None` leaves it an unknown command.
    pub fn extend(&mut self, answer: impl Fn(&[&[u8]]) -> Option<ExtensionReply> + 'static) {
        self.state.extension = Some(Rc::new(answer));
    }

    /// Sets a parameter as a configuration file would: any parameter of CONFIG SET, and
    /// `replicaof` with a host and a port. Call it before anything else. A node configured this
    /// way has a configuration file, which CONFIG REWRITE may write.
    ///
    /// # Errors
    ///
    /// The reason why the parameter is invalid.
    pub fn configure(
        &mut self,
        parameter: &str,
        value: impl AsRef<[u8]>,
    ) -> Result<(), ParameterError> {
        let value = value.as_ref();
        let refused = |why: &str| ParameterError::new(parameter, value, why);
        self.state.config.has_file = true;
        let is_replicaof = |found: &config::Parameter| found.name == config::REPLICAOF;
        let found = config::find(parameter.as_bytes());
        if found.is_some_and(is_replicaof) {
            let (host, port) = std::str::from_utf8(value)
                .ok()
                .and_then(|value| value.rsplit_once(' '))
                .and_then(|(host, port)| Some((host, port.parse().ok()?)))
                .ok_or_else(|| {
                    refused("give a host and a port, as in `replicaof 127.0.0.1 6379`")
                })?;
            repl::follow(&mut self.state, host.to_owned(), port);
            // Nothing has happened on this node yet, so there is nothing to continue.
            self.state.repl.history = false;
            return Ok(());
        }
        let found = found.ok_or_else(|| refused("there is no parameter of this name"))?;
        let value = found.read(value).map_err(|why| refused(&why))?;
        self.state.config.set(found, value);
        self.state.db.count = self.state.config.databases();
        self.state.listen();
        Ok(())
    }

    /// Like [`Node::configure`], with all parameters of a file.
    pub fn configure_all(&mut self, parameters: &Parameters) {
        for (name, value) in parameters.iter() {
            self.configure(name, value)
                .expect("a node takes what Parameters have, typed or taken by another one");
        }
    }

    /// Loads the contents of the node's disk when its process starts, at the node's wall-clock
    /// time `wall_us`. Call it after [`Node::configure`] and before any client connects.
    pub fn load(&mut self, files: &Files, wall_us: u64) {
        load::load(self.table(), &mut self.state, files, wall_us);
    }

    /// Connects a client of unknown address, at the time that the node last saw.
    pub fn accept(&mut self) -> ConnId {
        self.accept_from(Addresses::default(), self.state.seen_us.unwrap_or(0))
    }

    /// Connects a client when the node's wall clock reads `wall_us`, in microseconds.
    pub fn accept_from(&mut self, addresses: Addresses, wall_us: u64) -> ConnId {
        requests::accept(&mut self.state, addresses, wall_us)
    }

    /// The connection that [`Effect::Connect`] requested is established.
    pub fn connected(&mut self, conn: ConnId, wall_us: u64, effects: &mut Vec<Effect>) {
        self.state.see_time(wall_us);
        let mut session = Session::new(conn.0, Addresses::default(), true, wall_us);
        session.peer = Peer::Master;
        self.state.clients.insert(conn.0, session);
        if replica::connected(&mut self.state, conn.0) {
            self.state.inputs.insert(conn, Some(Box::default()));
        } else {
            // The node follows another master by now.
            self.state.kill(conn.0);
        }
        self.finish(wall_us, effects);
    }

    /// A client disconnected. Ends its transaction, watches, subscriptions and wait. Requests that it sent before, and
    /// that wait for the end of a sleep or for a turn, are executed first. Does nothing if the node does not know the
    /// connection, or has already dropped it.
    pub fn closed(&mut self, conn: ConnId) {
        let is_queued = self.state.turn.is_queued(conn.0);
        requests::leave(&mut self.state, conn, is_queued);
    }

    /// Like [`Node::closed`], but requests that wait are dropped.
    pub fn disconnect(&mut self, conn: ConnId) {
        requests::disconnect(&mut self.state, conn);
    }

    /// Receives bytes from a client, at the node's wall-clock time `wall_us` (microseconds since
    /// the Unix epoch).
    ///
    /// Handles every complete request in the connection's query buffer, and keeps the rest.
    /// Appends the resulting output to `effects`. A request that blocks or that CLIENT PAUSE
    /// defers, and those after it, are handled by a later call of this method or of
    /// [`Node::wake`]. So is the rest of many requests with much output, which the driver has to
    /// take first, or of many that take long by the clock of [`Node::read_clock`]. Bytes on an
    /// unknown connection are ignored.
    pub fn receive(&mut self, conn: ConnId, bytes: &[u8], wall_us: u64, effects: &mut Vec<Effect>) {
        if !self.state.inputs.contains_key(&conn) {
            return;
        }
        self.state.see_time(wall_us);
        let is_queued = self.state.turn.is_queued(conn.0);
        if is_queued || self.state.is_asleep(wall_us) {
            if let Some(Some(input)) = self.state.inputs.get_mut(&conn) {
                input.pending.extend_from_slice(bytes);
                input.has_grown |= is_queued;
            }
            if !is_queued {
                self.state.waiting.resumed.push_back(conn.0);
            }
            return;
        }
        turn::begin(&mut self.state, wall_us);
        serve::end_if_over(self.table(), &mut self.state, wall_us);
        replica::note_interaction(&mut self.state, conn.0, wall_us);
        turn::resume_queued(&mut self.state);
        if !self.state.waiting.resumed.is_empty() {
            // What waits for a turn, or came while the node was asleep, comes before this.
            if let Some(Some(input)) = self.state.inputs.get_mut(&conn) {
                input.pending.extend_from_slice(bytes);
            }
            self.state.waiting.resumed.push_back(conn.0);
            self.resume_all(wall_us);
            return self.finish(wall_us, effects);
        }
        let has_more = requests::hear(&mut self.state, conn, bytes, wall_us);
        if self.state.is_asleep(wall_us) {
            self.state.waiting.resumed.push_back(conn.0);
        } else if has_more && turn::is_over(&mut self.state) {
            turn::queue(&mut self.state, conn);
        }
        self.state.dirty_clients.push(conn.0);
        self.finish(wall_us, effects);
    }

    /// The memory that a client's input takes: bytes that cannot be handled yet, the commands of
    /// its transaction, and what it watches, subscribes to, tracks and waits for. The driver decides
    /// on the limit.
    pub fn input_size(&self, conn: ConnId) -> InputSize {
        let input = self.state.inputs.get(&conn).and_then(Option::as_ref);
        let mut size = input.map_or(InputSize::default(), |input| input.size());
        let session = self.state.clients.get(&conn.0);
        let kept_bytes = session.map_or(0, Session::kept_bytes);
        size.bytes += kept_bytes;
        size.allocated_bytes += kept_bytes;
        size
    }

    /// Whether a connection leads to this node's master, or comes from a replica. Such a
    /// connection carries whole data sets.
    pub fn is_replication(&self, conn: ConnId) -> bool {
        let session = self.state.clients.get(&conn.0);
        session.is_some_and(|session| session.peer != Peer::Client)
    }

    /// `maxclients`: the maximum number of connections, for a driver that limits them.
    pub fn max_clients(&self) -> usize {
        self.state.config.max_clients()
    }

    /// For how long DEBUG SLEEP suspends the process from this wall-clock time on, or a script does in a node
    /// without [`Node::attend`]. It reads nothing meanwhile.
    pub fn asleep_for(&self, wall_us: u64) -> Option<Duration> {
        let until_us = self.state.asleep_until_us?;
        let left_us = until_us.saturating_sub(self.state.process_us(wall_us));
        (left_us > 0).then(|| Duration::from_micros(left_us))
    }

    /// The wall-clock time, in microseconds, at which the node has to be called again if no input
    /// arrives before; `None` if no timer is pending. Query it after each call, and whenever the
    /// wall clock was set.
    ///
    /// Sources of timers are a blocked client, a pause, DEBUG SLEEP, the expiry of keys if a
    /// client is notified of it, replication, a SHUTDOWN that waits, and a disk. A node that only
    /// answers requests sets no timer.
    pub fn next_wake_us(&self) -> Option<u64> {
        if let Some(until_us) = self.state.asleep_until_us {
            return Some(self.state.wall_us_at(until_us));
        }
        if self.state.shut_down.is_some() {
            return None;
        }
        if self.state.busy.is_some() {
            return busy::next_wake_us(&self.state);
        }
        if self.state.turn.is_awaited() {
            return self.state.seen_us;
        }
        let at_tick = |ms: i64| {
            let us = u64::try_from(ms).unwrap_or(0).saturating_mul(1000);
            self.state.tick_from(us.min(u64::MAX / 2))
        };
        // Work that only `beforeSleep` does happens when `serverCron` ends the sleep.
        let pause = self.state.pause;
        let pause = pause.filter(|_| self.state.count_postponed() > 0);
        let pause_us = pause.map(|pause| at_tick(pause.until_ms));
        let timeout_us = blocking::next_timeout_ms(&self.state).map(at_tick);
        let cycle_us = self.state.next_noticed_cycle_us();
        let repl_us = self.state.repl.next_wake_us();
        let handover = self.state.repl.handover.as_ref();
        let handover_us = handover.and_then(Handover::next_due_ms).map(at_tick);
        let leaving_us = self
            .state
            .pending_shutdown
            .as_ref()
            .map(|pending_shutdown| pending_shutdown.look_us);
        let write_us = self.state.next_write_us();
        let due = [
            pause_us,
            timeout_us,
            cycle_us,
            repl_us,
            handover_us,
            leaving_us,
            write_us,
            self.state.caches.limit_us,
        ];
        due.into_iter().flatten().min()
    }

    /// The wall-clock time, in microseconds, at which a call of [`Node::wake`] would free the
    /// memory of an expired key, although no client would notice. For long-running drivers.
    pub fn next_expiry_us(&self) -> Option<u64> {
        self.state.next_cycle_us()
    }

    /// Performs the work that is due when the wall clock reads `wall_us`. Call it at the time that
    /// [`Node::next_wake_us`] returned; a call at any other time is harmless.
    pub fn wake(&mut self, wall_us: u64, effects: &mut Vec<Effect>) {
        self.state.see_time(wall_us);
        if !self.state.is_asleep(wall_us) {
            serve::end_if_over(self.table(), &mut self.state, wall_us);
            if self.state.busy.is_none() {
                self.state.run_due_cycles(wall_us);
            }
            turn::begin(&mut self.state, wall_us);
            turn::resume_queued(&mut self.state);
            self.finish(wall_us, effects);
        }
    }

    /// `beforeSleep`: the remaining work once the requests that arrived are handled.
    fn finish(&mut self, wall_us: u64, effects: &mut Vec<Effect>) {
        if self.state.busy.is_none() {
            let now_ms = (wall_us / 1000) as i64;
            self.state.end_pause_if_over(now_ms);
            shutdown::advance(&mut self.state, wall_us);
            repl::run_due_cron(&mut self.state, wall_us);
            blocking::time_out(&mut self.state, now_ms);
            tracking::limit_at_tick(&mut self.state, wall_us);
            if self.state.eviction.is_due {
                eviction::make_room(&mut self.state, wall_us);
            }
        }
        loop {
            self.resume_all(wall_us);
            // SCRIPT KILL may have been among the requests.
            serve::end_if_over(self.table(), &mut self.state, wall_us);
            if self.state.busy.is_none() && !self.state.is_asleep(wall_us) {
                if std::mem::take(&mut self.state.repl.acks_came) {
                    blocking::serve_ack_waiters(&mut self.state);
                }
                repl::handover::advance(&mut self.state, wall_us);
            }
            self.resume_all(wall_us);
            if self.state.is_asleep(wall_us) {
                return;
            }
            if self.state.busy.is_none() {
                repl::master::ask_for_acks(&mut self.state);
                self.connect_if_due(wall_us, effects);
            }
            // Clients that waited for the disk continue immediately.
            if !self.write_to_disk(wall_us, effects) {
                break;
            }
        }
        // A client may be listed more than once: then there is nothing left to send.
        for id in std::mem::take(&mut self.state.dirty_clients) {
            self.send(ConnId(id), effects);
        }
        self.state.pending_output.clear();
        turn::end(&mut self.state);
        for id in std::mem::take(&mut self.state.killed) {
            let conn = ConnId(id);
            self.state.inputs.remove(&conn);
            effects.push(Effect::Close { conn });
        }
        if self.state.shut_down.is_some() {
            effects.push(Effect::Exit);
        }
    }

    /// Performs pending writes; returns whether a client was waiting for them.
    fn write_to_disk(&mut self, wall_us: u64, effects: &mut Vec<Effect>) -> bool {
        let state = &mut self.state;
        if !state.writes_to_disk() || (state.busy.is_some() && state.shut_down.is_none()) {
            return false;
        }
        let writes = persist::writes(state, wall_us);
        effects.extend(writes.into_iter().map(Effect::Disk));
        state.config.append_only() && blocking::serve_ack_waiters(state)
    }

    /// Continues with the requests of clients that had to wait.
    fn resume_all(&mut self, wall_us: u64) {
        while !self.state.is_asleep(wall_us)
            && !turn::is_over(&mut self.state)
            && let Some(id) = self.state.waiting.resumed.pop_front()
        {
            // The client may have been killed in the mean time.
            let Some(session) = self.state.clients.get(&id) else {
                continue;
            };
            let has_left = session.has_left;
            let Some(mut input) = self.state.take_input(ConnId(id)) else {
                continue;
            };
            input.resume(&mut self.state, id, wall_us);
            let has_more = !input.pending.is_empty();
            self.state.put_input(ConnId(id), input);
            self.state.dirty_clients.push(id);
            if has_more && self.state.is_asleep(wall_us) {
                // The process goes on where it fell asleep.
                self.state.waiting.resumed.push_front(id);
            } else if has_more && turn::is_over(&mut self.state) {
                turn::queue(&mut self.state, ConnId(id));
            } else if has_left {
                self.disconnect(ConnId(id));
            }
        }
    }

    /// Connects to the master, if this node has one and is not connected to it.
    fn connect_if_due(&mut self, wall_us: u64, effects: &mut Vec<Effect>) {
        let next = self.state.next_conn;
        if let Some((host, port)) = replica::begin_connecting(&mut self.state, next, wall_us) {
            let conn = ConnId(next);
            self.state.next_conn += 1;
            effects.push(Effect::Connect { conn, host, port });
        }
    }

    fn send(&mut self, conn: ConnId, effects: &mut Vec<Effect>) {
        if busy::holds_back(&self.state, conn.0) || turn::is_amid(&self.state, conn) {
            return;
        }
        let Some(session) = self.state.clients.get_mut(&conn.0) else {
            return;
        };
        let closing = session.closing;
        let out = session.out.take();
        if closing != Some(Closing::Now) {
            let sends = out.into_iter().map(|bytes| Effect::Send { conn, bytes });
            effects.extend(sends);
        }
        if closing.is_some() {
            effects.push(Effect::Close { conn });
            self.disconnect(conn);
        }
    }
}

impl Parameters {
    /// Parameters in the form of a configuration file or CONFIG SET, in this order; see
    /// [`Node::configure`].
    ///
    /// # Errors
    ///
    /// The reason why a node would reject the first invalid one.
    pub fn new<'a>(
        parameters: impl IntoIterator<Item = (&'a str, &'a str)>,
    ) -> Result<Self, ParameterError> {
        let mut node = Node::new(NodeConfig::default());
        let mut taken = Parameters::default();
        for (name, value) in parameters {
            node.configure(name, value)?;
            taken = taken.with(name, value);
        }
        Ok(taken)
    }
}

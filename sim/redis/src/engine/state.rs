//! The state that all connections of one server share, and the sessions of its connections.

mod active_expiry;
pub(super) mod backlog;
pub(super) mod blocked;
pub(super) mod busy;
pub(super) mod eviction;
pub(super) mod extension;
pub(super) mod fsync;
pub(super) mod handover;
pub(super) mod input;
mod monitors;
pub(super) mod now;
pub(super) mod other_clients;
pub(super) mod pause;
mod pending_output;
pub(super) mod persist;
pub(super) mod pubsub;
pub(super) mod repl;
pub(super) mod requirements;
pub(super) mod session;
pub(super) mod shutdown;
pub(super) mod stats;
pub(super) mod tracking;
mod turn;
pub(super) mod write_position;

use std::collections::BTreeMap;
use std::rc::Rc;

use bytes::Bytes;
use locklab_vecmap::VecMap;
use rand_xoshiro::SplitMix64;
use rand_xoshiro::rand_core::{Rng as _, SeedableRng as _};

use self::active_expiry::ActiveExpiry;
use self::blocked::Waiting;
use self::busy::{Busy, Clock};
use self::eviction::Eviction;
use self::extension::Extension;
use self::input::{ConnId, Input};
use self::monitors::Monitors;
use self::now::Now;
use self::other_clients::Attention;
use self::pause::Pause;
use self::pending_output::PendingOutput;
use self::persist::{Persistence, Saving};
use self::pubsub::PubSub;
use self::repl::{Replication, run_id};
use self::session::{Closing, Session, copy_bytes};
use self::shutdown::PendingShutdown;
use self::stats::Stats;
use self::tracking::{Caches, Tracking};
use self::turn::Turn;
use self::write_position::WritePosition;
use super::config::Config;
use super::script::Rand48;
use crate::Imitated;
use crate::store::db::Db;

/// The SHA-1 of a script, in lower-case hexadecimal digits.
pub(super) type Sha = [u8; 40];

/// The server.
pub(super) struct State {
    /// The server that the node imitates.
    pub(super) imitated: Imitated,
    pub(super) db: Db,
    pub(super) clients: BTreeMap<u64, Session>,
    /// The input of each connection; `None` while it is being handled.
    pub(super) inputs: VecMap<ConnId, Option<Box<Input>>>,
    pub(super) next_conn: u64,
    pub(super) pubsub: PubSub,
    pub(super) caches: Caches,
    pub(super) waiting: Waiting,
    pub(super) repl: Replication,
    pub(super) persist: Persistence,
    /// The commands being executed come from the append-only file.
    pub(super) loading: bool,
    pub(super) config: Config,
    pub(super) pause: Option<Pause>,
    pub(super) active_expiry: ActiveExpiry,
    /// The scripts known to EVALSHA.
    pub(super) scripts: BTreeMap<Sha, Bytes>,
    /// The script that is running for a long time.
    pub(super) busy: Option<Busy>,
    /// The other clients while a script runs, if the driver lets the node attend to them.
    pub(super) attention: Option<Box<Attention>>,
    /// The commands that the driver adds.
    pub(super) extension: Option<Extension>,
    /// The current or most recent script called a command that writes.
    pub(super) script_wrote: bool,
    /// How long the running script has taken so far, in microseconds.
    pub(super) script_us: u64,
    /// How long DEBUG SLEEP has slept in the running transaction, in microseconds.
    pub(super) slept_us: u64,
    /// The clock of the node's machine, if it has one.
    pub(super) clock: Option<Clock>,
    /// The clocks of the machine when the driver last told them, if it does.
    pub(super) clocks: Option<Now>,
    /// Whether the disk of the machine is full, if the driver says it.
    pub(super) disk_is_full: Option<Rc<dyn Fn() -> bool>>,
    /// The position in the sequence of the scripts' `math.random`.
    pub(super) random: Rand48,
    /// The source of the random choices of keys to evict, and to forget that clients read.
    choices: SplitMix64,
    /// 40 hexadecimal digits that identify this start of the server.
    pub(super) run_id: String,
    /// The counters of INFO.
    pub(super) stats: Stats,
    /// The clients that see every call.
    pub(super) monitors: Monitors,
    /// The first time that the node has seen, in microseconds.
    pub(super) started_us: Option<u64>,
    /// The last time that the node has seen, in microseconds.
    pub(super) seen_us: Option<u64>,
    /// The client whose command is running (`server.current_client`).
    pub(super) current: Option<u64>,
    /// Clients that may have pending output, or may have to be closed.
    pub(super) dirty_clients: Vec<u64>,
    pub(super) pending_output: PendingOutput,
    pub(super) turn: Turn,
    pub(super) eviction: Eviction,
    /// Connections that were closed immediately.
    pub(super) killed: Vec<u64>,
    /// DEBUG SLEEP or a script: the server does nothing before this time, by
    /// [`State::process_us`].
    pub(super) asleep_until_us: Option<u64>,
    /// A SHUTDOWN that waits for replicas.
    pub(super) pending_shutdown: Option<PendingShutdown>,
    /// The process exits.
    pub(super) shut_down: Option<Saving>,
}

impl State {
    /// A freshly started server; `seed` identifies this start.
    pub(super) fn new(seed: u64, imitated: Imitated) -> Self {
        State {
            imitated,
            db: Db::default(),
            clients: BTreeMap::new(),
            inputs: VecMap::new(),
            next_conn: 1,
            pubsub: PubSub::default(),
            caches: Caches::default(),
            waiting: Waiting::default(),
            repl: Replication::new(seed),
            persist: Persistence::default(),
            loading: false,
            config: Config::default(),
            pause: None,
            active_expiry: ActiveExpiry::new(seed),
            scripts: BTreeMap::new(),
            busy: None,
            attention: None,
            extension: None,
            script_wrote: false,
            script_us: 0,
            slept_us: 0,
            clock: None,
            clocks: None,
            disk_is_full: None,
            random: Rand48::default(),
            choices: SplitMix64::seed_from_u64(seed),
            run_id: run_id(seed),
            stats: Stats::default(),
            monitors: Monitors::default(),
            started_us: None,
            seen_us: None,
            current: None,
            dirty_clients: Vec::new(),
            pending_output: PendingOutput::default(),
            turn: Turn::default(),
            eviction: Eviction::default(),
            killed: Vec::new(),
            asleep_until_us: None,
            pending_shutdown: None,
            shut_down: None,
        }
    }

    /// Whether DEBUG SLEEP or a script suspends the server. Clears a suspension that has ended.
    pub(super) fn is_asleep(&mut self, wall_us: u64) -> bool {
        let now_us = self.process_us(wall_us);
        self.asleep_until_us = self.asleep_until_us.filter(|until_us| now_us < *until_us);
        self.asleep_until_us.is_some()
    }

    /// The clock that measures how long the process does something, in microseconds: the monotonic one, if the
    /// driver tells it, otherwise the wall clock.
    pub(super) fn process_us(&self, wall_us: u64) -> u64 {
        self.clocks.map_or(wall_us, |now| now.monotonic_us())
    }

    /// What the wall clock will show at this time of [`State::process_us`], if nobody sets it.
    pub(super) fn wall_us_at(&self, process_us: u64) -> u64 {
        self.clocks.map_or(process_us, |now| {
            let left_us = process_us.saturating_sub(now.monotonic_us());
            now.wall_us.saturating_add(left_us)
        })
    }

    /// The session of a connected client, for running its command.
    ///
    /// # Panics
    ///
    /// If the client is not connected. A session outlives the command that runs in it.
    pub(super) fn client(&mut self, id: u64) -> &mut Session {
        self.clients
            .get_mut(&id)
            .expect("the client of a command is connected")
    }

    /// The session of a client that will be sent output, or will be closed.
    pub(super) fn mark_dirty(&mut self, id: u64) -> Option<&mut Session> {
        let session = self.clients.get_mut(&id)?;
        self.dirty_clients.push(id);
        Some(session)
    }

    /// Ends a connection.
    pub(super) fn close(&mut self, id: u64, how: Closing) {
        if let Some(session) = self.mark_dirty(id) {
            session.closing = session.closing.or(Some(how));
        }
    }

    /// Ends another client's connection immediately: nothing more is sent to it.
    pub(super) fn kill(&mut self, id: u64) {
        self.forget(id);
        self.killed.push(id);
    }

    /// `unwatchAllKeys`.
    pub(super) fn unwatch(&mut self, id: u64) {
        for (db, key) in std::mem::take(&mut self.client(id).watched) {
            self.client(id).names_bytes -= copy_bytes(&key);
            self.db.within(db, |db| db.unwatch(&key, id));
        }
    }

    /// Removes a closed connection from all structures.
    pub(super) fn forget(&mut self, id: u64) {
        self.repl.lost(id, self.seen_us.unwrap_or(0));
        if self.clients.contains_key(&id) {
            self.release(id);
            self.clients.remove(&id);
        }
    }

    /// The input of a connection, to be handled; [`State::put_input`] puts the rest back.
    pub(super) fn take_input(&mut self, conn: ConnId) -> Option<Box<Input>> {
        let place = self.inputs.get_mut(&conn)?;
        Some(place.take().unwrap_or_default())
    }

    /// Puts the rest of an input back, before what has arrived since it was taken.
    pub(super) fn put_input(&mut self, conn: ConnId, mut input: Box<Input>) {
        if let Some(place) = self.inputs.get_mut(&conn) {
            if let Some(arrived) = place.take() {
                input.pending.extend_from_slice(&arrived.pending);
            }
            *place = Some(input);
        }
    }

    /// Resets a session to the state of a new connection (`clearClientConnectionState`).
    pub(super) fn reset(&mut self, id: u64) {
        self.release(id);
        let authenticated = self.config.requirepass.is_empty();
        self.select(id, 0);
        let session = self.client(id);
        session.resp = Default::default();
        session.name = Bytes::new();
        session.transaction = None;
        session.authenticated = authenticated;
    }

    /// Selects a database for a client, from its running command on.
    pub(super) fn select(&mut self, id: u64, db: usize) {
        self.client(id).db = db;
        self.db.select(db);
        if self.repl.is_master(id) {
            self.repl.stream_db = db;
        }
    }

    fn release(&mut self, id: u64) {
        self.unwatch(id);
        self.pubsub.forget(self.clients.get_mut(&id));
        self.waiting.forget(id);
        self.monitors.forget(id);
        let session = self.client(id);
        session.blocked = None;
        self.track(id, None);
    }

    /// Sets what a client is tracked for, if it is.
    pub(super) fn track(&mut self, id: u64, tracking: Option<Tracking>) {
        let old = std::mem::replace(&mut self.client(id).tracking, tracking);
        let new = self.clients.get(&id).and_then(|it| it.tracking.as_ref());
        self.caches.replaced(old.as_ref(), new);
        self.listen();
    }

    /// Makes the keyspace record its events if anything consumes them. Call it when that may have
    /// changed.
    pub(super) fn listen(&mut self) {
        self.db.changes.wanted = !self.config.notify.is_empty()
            || !self.waiting.is_empty()
            // Keys that were read are forgotten as they change, whether a client is tracked or not.
            || !self.caches.readers.is_empty()
            || self.caches_in_use();
        self.db.limits = self.config.limits;
        self.db.count_memory(self.config.max_memory() > 0);
        self.db.effects.wanted = self.repl.backlog.is_some() || self.config.append_only();
    }

    /// Whole seconds since the start, by the wall clock.
    pub(super) fn uptime_s(&self, wall_us: u64) -> i64 {
        let second = |us: u64| (us / 1_000_000) as i64;
        second(wall_us) - second(self.started_us.unwrap_or(wall_us))
    }

    /// The current progress of the server.
    pub(super) fn written(&self) -> WritePosition {
        WritePosition {
            offset: self.repl.offset,
            changes: self.db.effects.dirty,
        }
    }

    /// 64 random bits from the node's generator.
    pub(super) fn draw(&mut self) -> u64 {
        self.choices.next_u64()
    }

    /// A random number below `len` from the node's generator. `len` is not 0.
    pub(super) fn choose(&mut self, len: usize) -> usize {
        // The bias is below 2^-32 for any length that fits into a node.
        (self.draw() % len as u64) as usize
    }
}

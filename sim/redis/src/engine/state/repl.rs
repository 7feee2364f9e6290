//! The role of a node in replication, and its progress as a master and as a replica.

use locklab_vecmap::{VecMap, VecSet};
use rand_xoshiro::SplitMix64;
use rand_xoshiro::rand_core::{Rng as _, SeedableRng as _};

use super::backlog::Backlog;
use super::handover::Handover;

/// A server's state in the history that it shares with others.
pub(in crate::engine) struct Replication {
    pub(in crate::engine) role: Role,
    /// The history that the server's data set belongs to: 40 hexadecimal digits.
    pub(in crate::engine) id: String,
    /// The history before a promotion, and the first offset that does not belong to it.
    pub(in crate::engine) former: Option<(String, u64)>,
    /// The number of bytes in the stream so far (`master_repl_offset`).
    pub(in crate::engine) offset: u64,
    /// The last of these bytes; none until the first replica connects.
    pub(in crate::engine) backlog: Option<Backlog>,
    /// The replicas of this server, by their connections.
    pub(in crate::engine) replicas: VecMap<u64, Replica>,
    /// The connections that read a snapshot up to an end mark (`REPLCONF capa eof`).
    pub(in crate::engine) readers_to_mark: VecSet<u64>,
    /// Whether there is a history to continue: a master's own, or a received one.
    pub(in crate::engine) history: bool,
    /// The number of the database that the stream has selected since the last replica began to
    /// receive it; none if it has selected none.
    pub(in crate::engine) selected: Option<usize>,
    /// The number of the database that the master's stream has selected.
    pub(in crate::engine) stream_db: usize,
    /// A FAILOVER in progress.
    pub(in crate::engine) handover: Option<Handover>,
    /// A client waits for acknowledgements from replicas.
    pub(in crate::engine) acks_wanted: bool,
    /// A replica has acknowledged more, and the clients that wait for that are not served yet.
    pub(in crate::engine) acks_came: bool,
    /// When `replicationCron` is due, in wall-clock microseconds.
    pub(in crate::engine) next_cron_us: u64,
}

/// The role of a server.
pub(in crate::engine) enum Role {
    Master,
    Replica(Link),
}

impl Replication {
    pub(in crate::engine) fn new(seed: u64) -> Self {
        Replication {
            role: Role::Master,
            // Any sequence will do that differs from that of the run id.
            id: run_id(!seed),
            former: None,
            offset: 0,
            backlog: None,
            replicas: VecMap::new(),
            readers_to_mark: VecSet::new(),
            history: true,
            selected: None,
            stream_db: 0,
            handover: None,
            acks_wanted: false,
            acks_came: false,
            next_cron_us: 0,
        }
    }

    /// The link to the master, if there is one.
    pub(in crate::engine) fn link(&self) -> Option<&Link> {
        match &self.role {
            Role::Master => None,
            Role::Replica(link) => Some(link),
        }
    }

    pub(in crate::engine) fn link_mut(&mut self) -> Option<&mut Link> {
        match &mut self.role {
            Role::Master => None,
            Role::Replica(link) => Some(link),
        }
    }

    /// Whether this connection is the master, whose commands are always executed
    /// (`mustObeyClient`).
    pub(in crate::engine) fn is_master(&self, client: u64) -> bool {
        self.master_conn() == Some(client)
    }

    /// The connection that carries the master's stream.
    pub(in crate::engine) fn master_conn(&self) -> Option<u64> {
        match self.link()?.state {
            LinkState::Stream(conn) => Some(conn),
            _ => None,
        }
    }

    /// Whether every replica has acknowledged the whole stream; true without replicas.
    pub(in crate::engine) fn all_have_all(&self) -> bool {
        self.replicas.values().all(|replica| self.has_all(replica))
    }

    /// Whether a replica has acknowledged the whole stream.
    pub(in crate::engine) fn has_all(&self, replica: &Replica) -> bool {
        replica.acked == self.offset
    }

    /// Whether replication depends on time.
    pub(in crate::engine) fn is_active(&self) -> bool {
        self.link().is_some() || !self.replicas.is_empty()
    }

    /// When replication next has to act by itself.
    pub(in crate::engine) fn next_wake_us(&self) -> Option<u64> {
        let connect_us = self.link().and_then(|link| match link.state {
            LinkState::Due { from_us } => Some(from_us),
            _ => None,
        });
        let cron_us = self.is_active().then_some(self.next_cron_us);
        [connect_us, cron_us].into_iter().flatten().min()
    }

    /// Handles the loss of a connection; `seen_us` is the last time that the node has seen.
    pub(in crate::engine) fn lost(&mut self, conn: u64, seen_us: u64) {
        self.replicas.remove(&conn);
        self.readers_to_mark.remove(&conn);
        let next_cron_us = self.next_cron_us;
        let Some(link) = self.link_mut().filter(|link| link.conn() == Some(conn)) else {
            return;
        };
        let from_us = match link.state {
            // Reconnects immediately: the master may still have the missing part.
            LinkState::Stream(_) => {
                link.down_since_us = Some(seen_us);
                0
            }
            _ => next_cron_us,
        };
        link.state = LinkState::Due { from_us };
    }

    /// The number of replicas that have acknowledged the stream up to this offset.
    pub(in crate::engine) fn count_acked(&self, offset: u64) -> i64 {
        let replicas = self.replicas.values();
        let reached = replicas.filter(|replica| replica.is_online() && replica.acked >= offset);
        reached.count() as i64
    }

    /// The number of replicas that have reported the stream as durable up to this offset.
    pub(in crate::engine) fn count_durable(&self, offset: u64) -> i64 {
        let replicas = self.replicas.values();
        let reached = replicas.filter(|replica| replica.is_online() && replica.durable >= offset);
        reached.count() as i64
    }

    /// The master's host and port, as CONFIG shows them; empty without a master.
    pub(in crate::engine) fn master_address(&self) -> String {
        let link = self.link();
        link.map_or_else(String::new, |link| format!("{} {}", link.host, link.port))
    }
}

/// The link to the master.
pub(in crate::engine) struct Link {
    /// The address given to REPLICAOF.
    pub(in crate::engine) host: String,
    pub(in crate::engine) port: u16,
    pub(in crate::engine) state: LinkState,
    /// When data last arrived from the master, in wall-clock microseconds.
    pub(in crate::engine) heard_us: u64,
    /// The time since when there is no stream; none while there is one, or if there was none yet.
    pub(in crate::engine) down_since_us: Option<u64>,
}

/// The state of the link. A number is that of the connection.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub(in crate::engine) enum LinkState {
    /// Waits to connect, not before this wall-clock time in microseconds.
    Due { from_us: u64 },
    /// The driver is connecting.
    Connecting(u64),
    /// Waits for this many replies, and then continues with this step.
    Handshake { conn: u64, answers: u8, step: Step },
    /// Receives a snapshot.
    Sync(u64),
    /// Receives commands.
    Stream(u64),
}

/// A step of the handshake.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub(in crate::engine) enum Step {
    Ping,
    /// AUTH, and all of [`Step::Announce`].
    Authenticate,
    Announce,
    Psync,
}

impl Link {
    pub(in crate::engine) fn new(host: String, port: u16, now_us: u64) -> Self {
        Link {
            host,
            port,
            state: LinkState::Due { from_us: 0 },
            heard_us: now_us,
            down_since_us: None,
        }
    }

    pub(in crate::engine) fn conn(&self) -> Option<u64> {
        match self.state {
            LinkState::Due { .. } => None,
            LinkState::Connecting(conn)
            | LinkState::Handshake { conn, .. }
            | LinkState::Sync(conn)
            | LinkState::Stream(conn) => Some(conn),
        }
    }

    /// The name of the state in ROLE.
    pub(in crate::engine) fn state_name(&self) -> &'static str {
        match self.state {
            LinkState::Due { .. } => "connect",
            LinkState::Connecting(_) => "connecting",
            LinkState::Handshake { .. } => "handshake",
            LinkState::Sync(_) => "sync",
            LinkState::Stream(_) => "connected",
        }
    }

    /// Whether the stream is running.
    pub(in crate::engine) fn is_up(&self) -> bool {
        matches!(self.state, LinkState::Stream(_))
    }
}

/// A replica of this server.
pub(in crate::engine) struct Replica {
    pub(in crate::engine) state: ReplicaState,
    /// The offset that it acknowledged.
    pub(in crate::engine) acked: u64,
    /// The offset up to which it reported its append-only file as durable.
    pub(in crate::engine) durable: u64,
    /// The time of its last acknowledgement, in wall-clock microseconds.
    pub(in crate::engine) acked_us: u64,
}

pub(in crate::engine) enum ReplicaState {
    /// Waits for a snapshot, since this wall-clock time in microseconds.
    Waiting { since_us: u64 },
    /// Has the snapshot, and receives the stream.
    Online,
}

impl Replica {
    /// Whether it receives the stream.
    pub(in crate::engine) fn is_online(&self) -> bool {
        matches!(self.state, ReplicaState::Online)
    }

    /// The name of the state in INFO.
    pub(in crate::engine) fn state_name(&self) -> &'static str {
        match self.state {
            ReplicaState::Waiting { .. } => "wait_bgsave",
            ReplicaState::Online => "online",
        }
    }

    /// Whole seconds since its last acknowledgement.
    pub(in crate::engine) fn lag_s(&self, wall_us: u64) -> u64 {
        (wall_us / 1_000_000).saturating_sub(self.acked_us / 1_000_000)
    }
}

/// 160 bits from SplitMix64, which spreads neighbouring seeds.
pub(in crate::engine) fn run_id(seed: u64) -> String {
    let mut random = SplitMix64::seed_from_u64(seed);
    let mut next = || random.next_u64();
    format!("{:016x}{:016x}{:08x}", next(), next(), next() as u32)
}

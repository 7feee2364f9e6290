//! How many locks a second real servers grant, and how long one takes, by what they keep on disk, by the quorum, by
//! who has to have it, and on a database or a coordination service (claim A12).
//!
//! Clients of one process, each with a lock and connections of its own, take it and release it, as
//! fast as they can. Nothing is simulated or delayed: no proxy, no faults. Servers and clients share the machine,
//! so the numbers are good for comparing settings, and no measure of what the servers can do.

use std::io;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use futures_util::future::join_all;
use locklab_vecmap::VecMap;
use serde::Serialize;
use tokio::runtime::Builder;
use tokio::task::{LocalSet, spawn_local};

use self::one_lock::{OneLock, connected, has_replica};
use super::addresses::Addresses;
use super::child::Child;
use super::folder::Folder;
use super::{ConfirmError, Programs, server_version, servers};
use crate::real_env::RealEnv;
use locklab_history::Name;
use locklab_model::scenario::{Commit, Persistence, Scenario};

mod one_lock;

/// What is measured: a lock, and the servers that grant it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(tag = "service", rename_all = "kebab-case")]
pub enum Setting {
    /// `SET NX PX` on a majority of Redis nodes.
    Redis {
        /// The number of nodes.
        nodes: u32,
        /// The data that the servers keep on disk.
        persistence: Persistence,
        /// Whether the node has a replica.
        replica: Replica,
    },
    /// A row with an owner and an expiry on PostgreSQL, as `database-cas` has it.
    Database {
        /// When a change is answered.
        commit: Commit,
    },
    /// ZooKeeper's recipe, on as many members as the lock has.
    Consensus,
}

/// A replica of a single node.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Replica {
    /// There is none.
    None,
    /// It gets each lock when its client has it already.
    Behind,
    /// A lock counts when the replica has it: `WAIT 1`.
    Awaited,
}

/// What was measured of it.
#[derive(Debug, Clone)]
pub struct Throughput {
    /// The lock and its servers.
    pub setting: Setting,
    /// Locks a second, in each measurement.
    pub per_second: Vec<f64>,
    /// How long it took to take each lock, in microseconds, in order.
    pub taken_us: Vec<u32>,
}

/// The amount of measurement.
#[derive(Debug, Clone, Copy)]
pub struct Effort {
    /// Clients at the same time.
    pub clients: u32,
    /// Measurements of each setting.
    pub times: u32,
    /// How long each lasts.
    pub lasts: Duration,
}

/// What is measured: one node by what it keeps, a node with a replica, and quorums of two and three; a database, and a
/// coordination service.
pub const SETTINGS: [Setting; 15] = {
    use Persistence::{AofAlways, AofEverysec, None, Snapshot};
    const fn alone(nodes: u32, persistence: Persistence) -> Setting {
        Setting::Redis {
            nodes,
            persistence,
            replica: Replica::None,
        }
    }
    const fn replicated(persistence: Persistence, replica: Replica) -> Setting {
        Setting::Redis {
            nodes: 1,
            persistence,
            replica,
        }
    }
    [
        alone(1, None),
        alone(1, Snapshot),
        alone(1, AofEverysec),
        alone(1, AofAlways),
        replicated(None, Replica::Behind),
        replicated(None, Replica::Awaited),
        alone(3, None),
        alone(3, AofAlways),
        alone(5, None),
        alone(5, Snapshot),
        alone(5, AofEverysec),
        alone(5, AofAlways),
        Setting::Database {
            commit: Commit::Asynchronous,
        },
        Setting::Database {
            commit: Commit::Synchronous,
        },
        Setting::Consensus,
    ]
};

impl Setting {
    /// The version of its servers: `7.0.15` of Redis, `PostgreSQL 15.18`.
    ///
    /// # Errors
    ///
    /// If they are missing.
    pub fn version(&self, programs: &Programs) -> Result<String, ConfirmError> {
        server_version(programs, &self.scenario())
    }

    fn scenario(&self) -> Scenario {
        match self {
            Setting::Redis { persistence, .. } => servers::redis(*persistence),
            Setting::Database { commit } => {
                let mut scenario = servers::scenario("name = 'database-cas'\nttl_ms = 30000");
                scenario.node.commit = *commit;
                scenario
            }
            Setting::Consensus => {
                let session = SESSION.as_millis();
                servers::scenario(&format!("name = 'consensus'\nsession_ms = {session}"))
            }
        }
    }

    /// The number of its servers, without a replica.
    pub fn servers(&self) -> u32 {
        match self {
            Setting::Redis { nodes, .. } => *nodes,
            Setting::Database { .. } => 1,
            Setting::Consensus => self.scenario().lock.nodes(),
        }
    }

    fn replica(&self) -> Replica {
        match self {
            Setting::Redis { replica, .. } => *replica,
            Setting::Database { .. } | Setting::Consensus => Replica::None,
        }
    }
}

/// The replica's host.
const REPLICA: &str = "n1r1";

/// The timeout of a session with ZooKeeper, which is longer than any hold here.
const SESSION: Duration = Duration::from_secs(10);

/// Measures these settings; those that come after `stop` are left out.
///
/// # Errors
///
/// If a server does not start or does not answer.
pub fn measure(
    programs: &Programs,
    settings: &[Setting],
    effort: Effort,
    stop: &AtomicBool,
    progress: &dyn Fn(),
) -> Result<Vec<Throughput>, ConfirmError> {
    let mut all = Vec::new();
    for setting in settings {
        let servers = Servers::start(programs, *setting)?;
        let mut measured = Throughput {
            setting: *setting,
            per_second: Vec::new(),
            taken_us: Vec::new(),
        };
        for _ in 0..effort.times {
            if stop.load(Ordering::Relaxed) {
                return Ok(all);
            }
            let (per_second, taken_us) = servers.locks_a_second(effort)?;
            measured.per_second.push(per_second);
            measured.taken_us.extend(taken_us);
            progress();
        }
        measured.taken_us.sort_unstable();
        all.push(measured);
    }
    Ok(all)
}

/// Running servers. They end with this process, however it ends.
struct Servers {
    _running: VecMap<Name, Child>,
    addresses: Addresses,
    /// The nodes, without the replica.
    nodes: Vec<Name>,
    setting: Setting,
    /// Deleted after the servers have ended: fields are dropped in this order.
    _folder: Folder,
}

impl Servers {
    fn start(programs: &Programs, setting: Setting) -> Result<Servers, ConfirmError> {
        let nodes = 1..=setting.servers();
        let nodes: Vec<Name> = nodes.map(|i| format!("n{i}").into()).collect();
        let has_replica = setting.replica() != Replica::None;
        let replica = has_replica.then(|| Name::from(REPLICA));
        let all: Vec<Name> = nodes.iter().cloned().chain(replica).collect();
        let addresses = Addresses::new(&all, 0).ok_or(ConfirmError::Addresses)?;
        let folder = Folder::new(programs)?;
        let scenario = setting.scenario();
        let running = servers::start(programs, &scenario, &all, &addresses, &folder)?;
        let started = Servers {
            _running: running,
            addresses,
            nodes,
            setting,
            _folder: folder,
        };
        if has_replica {
            started.block_on(started.replicates())?;
        }
        Ok(started)
    }

    fn block_on<T>(&self, work: impl Future<Output = io::Result<T>>) -> Result<T, ConfirmError> {
        let runtime = Builder::new_current_thread().enable_all().build();
        let done = runtime.and_then(|runtime| LocalSet::new().block_on(&runtime, work));
        done.map_err(ConfirmError::Load)
    }

    /// Makes the second server a replica of the first, and waits until it has the data.
    async fn replicates(&self) -> io::Result<()> {
        let (master, replica) = (self.nodes[0].clone(), Name::from(REPLICA));
        let address = self.addresses.hidden(&master);
        let (ip, port) = (address.ip().to_string(), address.port().to_string());
        let env = self.env(0);
        let order: [&[u8]; 3] = [b"REPLICAOF", ip.as_bytes(), port.as_bytes()];
        let replica = connected(&env, &replica).await?;
        replica.call(&order).await.map_err(io::Error::other)?;
        let master = connected(&env, &master).await?;
        let set: [&[u8]; 3] = [b"SET", b"first", b"1"];
        loop {
            master.call(&set).await.map_err(io::Error::other)?;
            if has_replica(&master).await? {
                return Ok(());
            }
        }
    }

    fn env(&self, client: u32) -> RealEnv {
        let address = |name: &Name| match self.setting {
            // Without a proxy its members listen where they are known.
            Setting::Consensus => self.addresses.public(name),
            Setting::Redis { .. } | Setting::Database { .. } => self.addresses.hidden(name),
        };
        let directory = self.addresses.hosts();
        let directory = directory.map(|name| (name.clone(), address(name)));
        let is_database = matches!(self.setting, Setting::Database { .. });
        RealEnv::new(directory.collect(), u64::from(client), "throughput")
            .with_databases(is_database)
    }

    /// Locks a second, and how long each took, in microseconds.
    fn locks_a_second(&self, effort: Effort) -> Result<(f64, Vec<u32>), ConfirmError> {
        self.block_on(self.clients(effort))
    }

    async fn clients(&self, effort: Effort) -> io::Result<(f64, Vec<u32>)> {
        let mut clients = Vec::new();
        for number in 0..effort.clients {
            let key = format!("lock:{number}");
            clients.push(OneLock::connect(self.env(number), self.setting, &self.nodes, key).await?);
        }
        let begun = Instant::now();
        let ends = begun + effort.lasts;
        let tasks = clients.into_iter().map(|lock| {
            spawn_local(async move {
                let mut taken_us = Vec::new();
                while Instant::now() < ends {
                    taken_us.extend(lock.take_and_release().await?);
                }
                Ok(taken_us)
            })
        });
        let mut taken_us = Vec::new();
        for task in join_all(tasks).await {
            let done: io::Result<Vec<u32>> = task.map_err(io::Error::other)?;
            taken_us.extend(done?);
        }
        let per_second = taken_us.len() as f64 / begun.elapsed().as_secs_f64();
        Ok((per_second, taken_us))
    }
}

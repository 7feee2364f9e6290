//! How many locks a second real servers grant, and how long one takes, by what they keep on disk, by the quorum, and by
//! who has to have it (claim A12).
//!
//! Clients of one process, each with a key and connections of its own, take a lock and release it, as
//! fast as they can. Nothing is simulated or delayed: no proxy, no faults. On several nodes a lock
//! counts when a majority has granted it, as Redlock's does. Servers and clients share the machine,
//! so the numbers are good for comparing settings, and no measure of what Redis can do.

use std::io;
use std::rc::Rc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use futures_util::future::join_all;
use locklab_vecmap::VecMap;
use serde::Serialize;
use tokio::runtime::Builder;
use tokio::task::{LocalSet, spawn_local};

use super::addresses::Addresses;
use super::child::Child;
use super::folder::Folder;
use super::{ConfirmError, Programs, servers};
use crate::real_env::RealEnv;
use locklab_env::redis::Client;
use locklab_history::Name;
use locklab_model::scenario::Persistence;

/// What is measured of a lock.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Setting {
    /// The number of nodes.
    pub nodes: u32,
    /// The data that the servers keep on disk.
    pub persistence: Persistence,
    /// Whether the node has a replica.
    pub replica: Replica,
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

/// What is measured: one node by what it keeps, a node with a replica, and quorums of two and three.
pub const SETTINGS: [Setting; 12] = {
    use Persistence::{AofAlways, AofEverysec, None, Snapshot};
    const fn alone(nodes: u32, persistence: Persistence) -> Setting {
        Setting {
            nodes,
            persistence,
            replica: Replica::None,
        }
    }
    const fn replicated(persistence: Persistence, replica: Replica) -> Setting {
        Setting {
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
    ]
};

/// The replica's host.
const REPLICA: &str = "n1r1";

/// A lease that is longer than any hold here, in milliseconds.
const LEASE_MS: &[u8] = b"30000";

/// Deletes the key if it holds the value of the client.
const RELEASE: &[u8] = b"if redis.call('get', KEYS[1]) == ARGV[1] then \
                         return redis.call('del', KEYS[1]) else return 0 end";

/// Measures every setting; those that come after `stop` are left out.
///
/// # Errors
///
/// If a server does not start or does not answer.
pub fn measure(
    programs: &Programs,
    effort: Effort,
    stop: &AtomicBool,
    progress: &dyn Fn(),
) -> Result<Vec<Throughput>, ConfirmError> {
    let mut all = Vec::new();
    for setting in SETTINGS {
        let servers = Servers::start(programs, setting)?;
        let mut measured = Throughput {
            setting,
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
    replica: Replica,
    /// Deleted after the servers have ended: fields are dropped in this order.
    _folder: Folder,
}

impl Servers {
    fn start(programs: &Programs, setting: Setting) -> Result<Servers, ConfirmError> {
        let nodes: Vec<Name> = (1..=setting.nodes)
            .map(|i| format!("n{i}").into())
            .collect();
        let has_replica = setting.replica != Replica::None;
        let replica = has_replica.then(|| Name::from(REPLICA));
        let all: Vec<Name> = nodes.iter().cloned().chain(replica).collect();
        let addresses = Addresses::new(&all, 0).ok_or(ConfirmError::Addresses)?;
        let folder = Folder::new(programs)?;
        let persistence = setting.persistence;
        let running = servers::start(programs, &all, persistence, &addresses, &folder)?;
        let started = Servers {
            _running: running,
            addresses,
            nodes,
            replica: setting.replica,
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
        let servers = self.addresses.hosts();
        let directory = servers.map(|name| (name.clone(), self.addresses.hidden(name)));
        RealEnv::new(directory.collect(), u64::from(client), "throughput")
    }

    /// Locks a second, and how long each took, in microseconds.
    fn locks_a_second(&self, effort: Effort) -> Result<(f64, Vec<u32>), ConfirmError> {
        self.block_on(self.clients(effort))
    }

    async fn clients(&self, effort: Effort) -> io::Result<(f64, Vec<u32>)> {
        let mut clients = Vec::new();
        for number in 0..effort.clients {
            let env = self.env(number);
            let mut nodes = Vec::new();
            for node in &self.nodes {
                nodes.push(connected(&env, node).await?);
            }
            clients.push(Rc::new(nodes));
        }
        let begun = Instant::now();
        let ends = begun + effort.lasts;
        let awaits = self.replica == Replica::Awaited;
        let tasks = clients.into_iter().enumerate().map(|(number, nodes)| {
            spawn_local(async move {
                let key = format!("lock:{number}");
                let mut taken_us = Vec::new();
                while Instant::now() < ends {
                    taken_us.extend(take_and_release(&nodes, &key, awaits).await?);
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

async fn connected(env: &RealEnv, node: &Name) -> io::Result<Client<RealEnv>> {
    let client = Client::new(env.clone(), node.clone(), None);
    client.connect().await.map_err(io::Error::other)?;
    Ok(client)
}

/// Takes and releases a lock. Returns how long it took until the client had it, in microseconds; `None` if a majority did
/// not grant it, or the replica does not have it.
async fn take_and_release(
    nodes: &[Client<RealEnv>],
    key: &str,
    awaits: bool,
) -> io::Result<Option<u32>> {
    let (key, begun) = (key.as_bytes(), Instant::now());
    let set: [&[u8]; 6] = [b"SET", key, b"token", b"NX", b"PX", LEASE_MS];
    let replies = join_all(nodes.iter().map(|node| node.call(&set))).await;
    let mut granted = 0;
    for reply in replies {
        let reply = reply.map_err(io::Error::other)?;
        granted += usize::from(reply.is_ok());
    }
    let is_known = !awaits || has_replica(&nodes[0]).await?;
    let took_us = begun.elapsed().as_micros() as u32;
    let release: [&[u8]; 5] = [b"EVAL", RELEASE, b"1", key, b"token"];
    for reply in join_all(nodes.iter().map(|node| node.call(&release))).await {
        reply.map_err(io::Error::other)?;
    }
    let is_taken = is_known && granted > nodes.len() / 2;
    Ok(is_taken.then_some(took_us))
}

/// Whether the replica has what this client wrote, within a second.
async fn has_replica(node: &Client<RealEnv>) -> io::Result<bool> {
    let wait: [&[u8]; 3] = [b"WAIT", b"1", b"1000"];
    let reply = node.call(&wait).await.map_err(io::Error::other)?;
    Ok(reply.integer() == Some(1))
}

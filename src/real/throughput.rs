//! How many locks a second real servers grant, by what they keep on disk (claim A12).
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

/// The measured throughput.
#[derive(Debug, Clone)]
pub struct Throughput {
    /// The number of nodes.
    pub nodes: u32,
    /// The data that the servers keep on disk.
    pub persistence: Persistence,
    /// Locks a second, in each measurement.
    pub per_second: Vec<f64>,
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

/// The settings: one node, and five nodes with a quorum of three.
pub const NODES: [u32; 2] = [1, 5];

/// The persistence settings that are measured.
pub const KEPT: [Persistence; 4] = [
    Persistence::None,
    Persistence::Snapshot,
    Persistence::AofEverysec,
    Persistence::AofAlways,
];

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
    for nodes in NODES {
        for persistence in KEPT {
            let servers = Servers::start(programs, nodes, persistence)?;
            let mut per_second = Vec::new();
            for _ in 0..effort.times {
                if stop.load(Ordering::Relaxed) {
                    return Ok(all);
                }
                per_second.push(servers.locks_a_second(effort)?);
                progress();
            }
            all.push(Throughput {
                nodes,
                persistence,
                per_second,
            });
        }
    }
    Ok(all)
}

/// Running servers. They end with this process, however it ends.
struct Servers {
    _running: VecMap<Name, Child>,
    addresses: Addresses,
    names: Vec<Name>,
    /// Deleted after the servers have ended: fields are dropped in this order.
    _folder: Folder,
}

impl Servers {
    fn start(
        programs: &Programs,
        nodes: u32,
        persistence: Persistence,
    ) -> Result<Servers, ConfirmError> {
        let names: Vec<Name> = (1..=nodes).map(|i| format!("n{i}").into()).collect();
        let addresses = Addresses::new(&names, 0).ok_or(ConfirmError::Addresses)?;
        let folder = Folder::new(programs)?;
        let running = servers::start(programs, &names, persistence, &addresses, &folder)?;
        Ok(Servers {
            _running: running,
            addresses,
            names,
            _folder: folder,
        })
    }

    fn locks_a_second(&self, effort: Effort) -> Result<f64, ConfirmError> {
        let runtime = Builder::new_current_thread().enable_all().build();
        let work = self.clients(effort);
        let measured = runtime.and_then(|runtime| LocalSet::new().block_on(&runtime, work));
        measured.map_err(ConfirmError::Load)
    }

    async fn clients(&self, effort: Effort) -> io::Result<f64> {
        let directory: VecMap<_, _> = (self.names.iter())
            .map(|name| (name.clone(), self.addresses.hidden(name)))
            .collect();
        let mut clients = Vec::new();
        for number in 0..effort.clients {
            let env = RealEnv::new(directory.clone(), u64::from(number), "throughput");
            let nodes = self.names.iter();
            let nodes = nodes.map(|name| Client::new(env.clone(), name.clone(), None));
            let nodes: Vec<Client<RealEnv>> = nodes.collect();
            for node in &nodes {
                node.connect().await.map_err(io::Error::other)?;
            }
            clients.push(Rc::new(nodes));
        }
        let begun = Instant::now();
        let ends = begun + effort.lasts;
        let tasks = clients.into_iter().enumerate().map(|(number, nodes)| {
            spawn_local(async move {
                let key = format!("lock:{number}");
                let mut locks = 0_u64;
                while Instant::now() < ends {
                    locks += u64::from(take_and_release(&nodes, &key).await?);
                }
                Ok(locks)
            })
        });
        let mut locks = 0;
        for task in join_all(tasks).await {
            let done: io::Result<u64> = task.map_err(io::Error::other)?;
            locks += done?;
        }
        Ok(locks as f64 / begun.elapsed().as_secs_f64())
    }
}

/// Returns whether a majority granted the lock.
async fn take_and_release(nodes: &[Client<RealEnv>], key: &str) -> io::Result<bool> {
    let key = key.as_bytes();
    let set: [&[u8]; 6] = [b"SET", key, b"token", b"NX", b"PX", LEASE_MS];
    let replies = join_all(nodes.iter().map(|node| node.call(&set))).await;
    let mut granted = 0;
    for reply in replies {
        let reply = reply.map_err(io::Error::other)?;
        granted += usize::from(reply.is_ok());
    }
    let release: [&[u8]; 5] = [b"EVAL", RELEASE, b"1", key, b"token"];
    for reply in join_all(nodes.iter().map(|node| node.call(&release))).await {
        reply.map_err(io::Error::other)?;
    }
    Ok(granted > nodes.len() / 2)
}

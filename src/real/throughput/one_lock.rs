//! One client of a measurement, and its lock.

use std::io;
use std::time::Instant;

use futures_util::future::join_all;

use super::{Replica, SESSION, Setting};
use crate::real_env::RealEnv;
use locklab_env::redis::{Client, Reply};
use locklab_env::zookeeper::Session;
use locklab_history::Name;

/// A lease that is longer than any hold here, in milliseconds.
const LEASE_MS: i64 = 30_000;

/// Deletes the key if it holds the value of the client.
const RELEASE: &[u8] = b"if redis.call('get', KEYS[1]) == ARGV[1] then \
                         return redis.call('del', KEYS[1]) else return 0 end";

/// The lock of one client, which nobody else asks for.
pub(super) struct OneLock {
    key: String,
    granted_by: GrantedBy,
}

/// The connections to what grants it.
enum GrantedBy {
    /// A majority of nodes, and a replica if it is awaited.
    Nodes {
        nodes: Vec<Client<RealEnv>>,
        awaits: bool,
    },
    Database(Box<Client<RealEnv>>),
    Consensus(Session<RealEnv>),
}

impl OneLock {
    pub(super) async fn connect(
        env: RealEnv,
        setting: Setting,
        servers: &[Name],
        key: String,
    ) -> io::Result<OneLock> {
        let granted_by = match setting {
            Setting::Redis { replica, .. } => {
                let mut nodes = Vec::new();
                for server in servers {
                    nodes.push(connected(&env, server).await?);
                }
                let awaits = replica == Replica::Awaited;
                GrantedBy::Nodes { nodes, awaits }
            }
            Setting::Database { .. } => {
                let database = connected(&env, &servers[0]).await?;
                // Refused if an earlier measurement on this server has made the row.
                let _ = database.call(&[b"INSERT", key.as_bytes(), b"-"]).await;
                GrantedBy::Database(Box::new(database))
            }
            Setting::Consensus => {
                let session = Session::open(env, servers, SESSION).await;
                GrantedBy::Consensus(session.map_err(io::Error::other)?)
            }
        };
        Ok(OneLock { key, granted_by })
    }

    /// Returns how long it took until the client had it, in microseconds; `None` if a majority did not grant it, or the
    /// replica does not have it.
    pub(super) async fn take_and_release(&self) -> io::Result<Option<u32>> {
        let (key, begun) = (self.key.as_bytes(), Instant::now());
        let took_us = || begun.elapsed().as_micros() as u32;
        match &self.granted_by {
            GrantedBy::Nodes { nodes, awaits } => {
                let lease = LEASE_MS.to_string();
                let set: [&[u8]; 6] = [b"SET", key, b"token", b"NX", b"PX", lease.as_bytes()];
                let replies = join_all(nodes.iter().map(|node| node.call(&set))).await;
                let mut granted = 0;
                for reply in replies {
                    let reply = reply.map_err(io::Error::other)?;
                    granted += usize::from(reply.is_ok());
                }
                let is_known = !awaits || has_replica(&nodes[0]).await?;
                let took_us = took_us();
                let release: [&[u8]; 5] = [b"EVAL", RELEASE, b"1", key, b"token"];
                for reply in join_all(nodes.iter().map(|node| node.call(&release))).await {
                    reply.map_err(io::Error::other)?;
                }
                let is_taken = is_known && granted > nodes.len() / 2;
                Ok(is_taken.then_some(took_us))
            }
            GrantedBy::Database(database) => {
                let row = ask(database, &[b"SELECT", key]).await?;
                let (version, now_ms) = version_and_time(&row).ok_or(io::ErrorKind::InvalidData)?;
                let end = (now_ms + LEASE_MS).to_string();
                let granted = update(database, key, [b"token", end.as_bytes()], version).await?;
                let took_us = took_us();
                update(database, key, [b"-", b"0"], version + 1).await?;
                Ok(granted.then_some(took_us))
            }
            GrantedBy::Consensus(session) => {
                let parent = format!("/{}", self.key);
                let node = session.create(&format!("{parent}/c")).await;
                let node = node.map_err(io::Error::other)?;
                let nodes = session.children(&parent).await.map_err(io::Error::other)?;
                let lowest = nodes.iter().min_by_key(|it| it.number);
                let is_taken = lowest == Some(&node);
                let took_us = took_us();
                session.delete(&node.path).await.map_err(io::Error::other)?;
                Ok(is_taken.then_some(took_us))
            }
        }
    }
}

/// Changes the row if it has this version; returns whether it had.
async fn update(
    database: &Client<RealEnv>,
    key: &[u8],
    [owner, end]: [&[u8]; 2],
    version: i64,
) -> io::Result<bool> {
    let version = version.to_string();
    let statement = [b"UPDATE", key, owner, version.as_bytes(), end];
    let changed = ask(database, &statement).await?;
    Ok(changed.integer() == Some(1))
}

/// The version of a row, and the time of its database in milliseconds.
fn version_and_time(row: &Reply) -> Option<(i64, i64)> {
    match row {
        Reply::Array(fields) => match &fields[..] {
            [_, version, _, now_ms] => Some((version.integer()?, now_ms.integer()?)),
            _ => None,
        },
        _ => None,
    }
}

async fn ask(server: &Client<RealEnv>, words: &[&[u8]]) -> io::Result<Reply> {
    server.call(words).await.map_err(io::Error::other)
}

pub(super) async fn connected(env: &RealEnv, node: &Name) -> io::Result<Client<RealEnv>> {
    let client = Client::new(env.clone(), node.clone(), None);
    client.connect().await.map_err(io::Error::other)?;
    Ok(client)
}

/// Whether the replica has what this client wrote, within a second.
pub(super) async fn has_replica(node: &Client<RealEnv>) -> io::Result<bool> {
    let reply = ask(node, &[b"WAIT", b"1", b"1000"]).await?;
    Ok(reply.integer() == Some(1))
}

//! Redisson's check that a replica has the lock (`checkLockSyncedSlaves`).
//!
//! It asks the master how many replicas it has, and after the script waits with WAIT for all of
//! them, for a second at most. One confirmation suffices: only if there are replicas and none
//! has confirmed the write, the lock is released and does not count.

use super::resend::Resending;
use locklab_env::Env;
use locklab_env::redis::{Error, Reply};

/// How long it waits (`slavesSyncTimeout`), in milliseconds.
pub(crate) const SYNC_TIMEOUT_MS: u64 = 1_000;

/// How many replicas the master has at present.
///
/// # Errors
/// If it does not answer.
pub(crate) async fn connected<E: Env>(node: &Resending<E>) -> Result<u32, Error> {
    let read = |reply: &Reply| {
        let text = reply.value()??;
        text.lines().find_map(|line| {
            let count = line.strip_prefix("connected_slaves:")?;
            count.trim().parse().ok()
        })
    };
    node.once().ask(&[b"INFO", b"replication"], read).await
}

/// Waits until this many replicas have confirmed this client's last write; returns whether one
/// has, or true if there are no replicas.
///
/// # Errors
/// If the master does not answer.
pub(crate) async fn confirm<E: Env>(node: &Resending<E>, connected: u32) -> Result<bool, Error> {
    let (wanted, timeout_ms) = (connected.to_string(), SYNC_TIMEOUT_MS.to_string());
    let command = [b"WAIT", wanted.as_bytes(), timeout_ms.as_bytes()];
    let confirmed = node.once().ask(&command, Reply::count).await?;
    Ok(confirmed > 0 || connected == 0)
}

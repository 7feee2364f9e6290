//! Redisson's check that a replica has the lock (`checkLockSyncedSlaves`).
//!
//! It asks the master how many replicas it has, and after the script waits with WAIT for
//! all of them, for a second at most. It is content with one: only if none has confirmed
//! the write although there are some, the lock is given back and does not count.

use super::resend::Resending;
use locklab_env::Env;
use locklab_env::redis::{Error, Reply};
use locklab_plant::plant;

/// For how long it waits (`slavesSyncTimeout`), in milliseconds.
pub(crate) const SYNC_TIMEOUT_MS: u64 = 1_000;

/// How many replicas the master has now.
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

/// Waits until so many have confirmed what this client wrote last; whether one has, if
/// there is one.
///
/// # Errors
/// If the master does not answer.
pub(crate) async fn confirm<E: Env>(node: &Resending<E>, connected: u32) -> Result<bool, Error> {
    let (wanted, timeout_ms) = (connected.to_string(), SYNC_TIMEOUT_MS.to_string());
    let command = [b"WAIT", wanted.as_bytes(), timeout_ms.as_bytes()];
    let confirmed = node.once().ask(&command, Reply::count).await?;
    Ok(confirmed > 0 || connected == 0 || plant("replicas-unconfirmed"))
}

//! Other writes to a node, by clients that do not use the lock and that do not appear in a
//! history.
//!
//! These clients run on the node's own machine, so link faults do not affect them; they end
//! when the node's process ends.

use std::time::Duration;

use locklab_env::Env;
use locklab_env::redis::Connection;
use locklab_history::{ClockKind, Name};

/// A key that is not a lock.
const KEY: &str = "other";

/// Writes to `node` every `every`, first after `first`, once the node accepts connections. If a
/// reply is late, the next write follows after the reply. Each write is of this many bytes to a
/// new key, or else of one byte to the same key.
pub async fn write<E: Env>(
    env: E,
    node: Name,
    every: Duration,
    first: Duration,
    bytes: Option<u32>,
) {
    env.sleep(first).await;
    let stream = loop {
        match env.connect(&node).await {
            Ok(stream) => break stream,
            Err(_) => env.sleep(every).await,
        }
    };
    let mut node = Connection::new(stream);
    let mut due_ns = env.now_ns(ClockKind::Monotonic);
    let value = vec![b'1'; bytes.map_or(1, |bytes| bytes as usize)];
    let mut keys = (0..).map(|number: u64| match bytes {
        None => KEY.to_owned(),
        Some(_) => format!("{KEY}:{number}"),
    });
    while let Some(key) = keys.next()
        // A node that is out of memory answers, too.
        && node.call(&[b"SET", key.as_bytes(), &value]).await.is_ok()
    {
        due_ns += every.as_nanos() as u64;
        let left_ns = due_ns.saturating_sub(env.now_ns(ClockKind::Monotonic));
        env.sleep(Duration::from_nanos(left_ns)).await;
    }
}

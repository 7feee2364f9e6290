//! Other writes to a node, by clients that do not use the lock and that do not appear in a
//! history.
//!
//! These clients run on the node's own machine, so link faults do not affect them; they end
//! when the node's process ends.

use std::time::Duration;

use locklab_world::Host;

use crate::platform::world::PORT;
use crate::redis::Connection;

/// A key that is not a lock.
const KEY: &[u8] = b"other";

/// Writes to the node on `host` every `every`, first after `first`, once the node accepts
/// connections. If a reply is late, the next write follows after the reply.
pub(super) async fn write(host: Host, every: Duration, first: Duration) {
    host.sleep(first).await;
    let stream = loop {
        match host.connect(host.id(), PORT).await {
            Ok(stream) => break stream,
            Err(_) => host.sleep(every).await,
        }
    };
    let mut node = Connection::new(stream);
    let mut due_ns = host.mono_ns();
    while node.call(&[b"SET", KEY, b"1"]).await.is_ok() {
        due_ns += every.as_nanos() as u64;
        let left_ns = due_ns.saturating_sub(host.mono_ns());
        host.sleep(Duration::from_nanos(left_ns)).await;
    }
}

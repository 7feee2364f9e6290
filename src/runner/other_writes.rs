//! What else is written to a node: clients that have nothing to do with the lock, and that
//! a history does not show.
//!
//! They run on the node's own machine, so no link's fault keeps them from it; when its
//! process ends, they end with it.

use std::time::Duration;

use locklab_world::Host;

use crate::backend::world::PORT;
use crate::redis::Connection;

/// A key that is no lock.
const KEY: &[u8] = b"other";

/// Writes to the node on `host` every so often, for the first time after `first` and when
/// the node serves anybody. One that is slow to answer is asked again when it has answered.
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

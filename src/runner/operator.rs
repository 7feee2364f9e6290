//! The operator of a simulated run, who is logged in on a server's machine and enters a command
//! there.

use locklab_world::Host;

use crate::platform::world::PORT;
use crate::redis::Connection;

/// Enters `words` on `host`; returns whether the server replied OK. No fault of a simulated
/// link affects the command, but the server may be gone, or refuse.
pub(super) async fn types(host: &Host, words: &[&str]) -> bool {
    let Ok(stream) = host.connect(host.id(), PORT).await else {
        return false;
    };
    let words: Vec<&[u8]> = words.iter().map(|word| word.as_bytes()).collect();
    let reply = Connection::new(stream).call(&words).await;
    reply.is_ok_and(|reply| reply.is_ok())
}

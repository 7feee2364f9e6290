//! An operator of a simulated run: somebody who is logged in on a server's machine, and
//! types a command there.

use locklab_world::Host;

use crate::backend::world::PORT;
use crate::redis::Connection;

/// Types `words` on `host`; whether the server there said OK. No link of the simulated
/// network can fail on the way, but the server may be gone, or refuse.
pub(super) async fn types(host: &Host, words: &[&str]) -> bool {
    let Ok(stream) = host.connect(host.id(), PORT).await else {
        return false;
    };
    let words: Vec<&[u8]> = words.iter().map(|word| word.as_bytes()).collect();
    let reply = Connection::new(stream).call(&words).await;
    reply.is_ok_and(|reply| reply.is_ok())
}

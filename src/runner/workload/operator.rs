//! An operator who is logged in on a server's machine and enters a command there.
//!
//! The operator of a `failover` connects to the server from the server's own host, so no link fault can block
//! the request. The fault has begun when the server answers OK.

use locklab_env::Env;
use locklab_env::redis::Connection;
use locklab_history::Name;

/// Enters `words` at `server`; returns whether it replied OK. No fault of a link affects the
/// command, but the server may be gone, or refuse.
pub async fn types<E: Env>(env: &E, server: &Name, words: &[&str]) -> bool {
    let Ok(stream) = env.connect(server).await else {
        return false;
    };
    let words: Vec<&[u8]> = words.iter().map(|word| word.as_bytes()).collect();
    let reply = Connection::new(stream).call(&words).await;
    reply.is_ok_and(|reply| reply.is_ok())
}

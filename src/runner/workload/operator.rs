//! An operator who is logged in on a server's machine and enters a command there.
//!
//! The operator connects to the server from the server's own host, so no link fault can block the request.

use std::time::Duration;

use locklab_env::Env;
use locklab_env::redis::{Connection, Reply};
use locklab_history::{Name, command_words};

/// Asks `server` for a failover in these words; returns whether it replied OK. It may be gone, or refuse.
pub async fn asks<E: Env>(env: &E, server: &Name, words: &[&str]) -> bool {
    let Ok(stream) = env.connect(server).await else {
        return false;
    };
    let words: Vec<&[u8]> = words.iter().map(|word| word.as_bytes()).collect();
    let reply = Connection::new(stream).call(&words).await;
    reply.is_ok_and(|reply| reply.is_ok())
}

/// How long a server may be silent before its command counts as begun: it is busy with it.
const SILENCE: Duration = Duration::from_millis(5);

/// Enters a line at `server`; returns whether the command took effect. It did if the answer is no error, or if there is
/// none, because the server is busy with it or ends.
pub async fn enters<E: Env>(env: &E, server: &Name, line: &str) -> bool {
    let (Ok(words), Ok(stream)) = (command_words(line), env.connect(server).await) else {
        return false;
    };
    let words: Vec<&[u8]> = words.iter().map(|word| word.as_bytes()).collect();
    let mut connection = Connection::new(stream);
    tokio::select! {
        biased;
        answer = connection.call(&words) => !matches!(answer, Ok(Reply::Error(_))),
        () = env.sleep(SILENCE) => true,
    }
}

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

/// What `MIGRATE` answers if none of the keys is there.
const NOTHING_TO_MOVE: &str = "NOKEY";

/// Enters a line at `server`. The command took effect if the answer is no error, or if there is none, because the server
/// is busy with it or ends.
///
/// # Errors
///
/// Why it did not, in words: the answer of the server.
pub async fn enters<E: Env>(env: &E, server: &Name, line: &str) -> Result<(), String> {
    let words = command_words(line)?;
    let stream = env
        .connect(server)
        .await
        .map_err(|error| error.to_string())?;
    let words: Vec<&[u8]> = words.iter().map(|word| word.as_bytes()).collect();
    let mut connection = Connection::new(stream);
    tokio::select! {
        biased;
        answer = connection.call(&words) => match answer {
            Ok(Reply::Error(error)) => Err(error),
            Ok(Reply::Status(word)) if word == NOTHING_TO_MOVE => Err(NOTHING_TO_MOVE.into()),
            _ => Ok(()),
        },
        () = env.sleep(SILENCE) => Ok(()),
    }
}

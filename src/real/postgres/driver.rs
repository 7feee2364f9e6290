//! The driver in a client's process: statements of a lock on one side, PostgreSQL on the other.

use std::io;

use bytes::BytesMut;
use locklab_redis::resp::{self, next_words};
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt, DuplexStream, duplex};
use tokio::task::spawn_local;

use super::sql;
use super::wire::Session;

/// More than the longest statement or answer, in bytes.
const BUFFER: usize = 4096;

/// Introduces a new connection to the server, and returns the end at which the lock speaks. When one side breaks, so
/// does the other.
pub(crate) async fn connect<S>(stream: S) -> io::Result<DuplexStream>
where
    S: AsyncRead + AsyncWrite + Unpin + 'static,
{
    let session = Session::open(stream).await?;
    let (lock, driver) = duplex(BUFFER);
    spawn_local(async move {
        // However it ends, the lock sees that its connection is closed.
        let _ = translate(driver, session).await;
    });
    Ok(lock)
}

async fn translate<S>(mut lock: DuplexStream, mut session: Session<S>) -> io::Result<()>
where
    S: AsyncRead + AsyncWrite + Unpin,
{
    let mut inbound = BytesMut::new();
    loop {
        let words = next_words(&mut inbound).map_err(|_| io::ErrorKind::InvalidData)?;
        let Some(words) = words else {
            let read = tokio::select! {
                biased;
                read = lock.read_buf(&mut inbound) => read?,
                error = session.is_gone() => return Err(error),
            };
            if read == 0 {
                return Ok(());
            }
            continue;
        };
        let sql = sql::of(&words).ok_or(io::ErrorKind::InvalidInput)?;
        let outcome = session.query(&sql).await?;
        let answer = sql::answer(outcome).ok_or(io::ErrorKind::InvalidData)?;
        lock.write_all(&resp::answer(&answer)).await?;
    }
}

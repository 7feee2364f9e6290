//! A connection: what arrives on it, and what it has not taken yet.
//!
//! Nobody waits for a slow client. What its socket does not take is kept, up to a
//! limit, and sent by its own task as it can be.

use std::collections::{BTreeMap, VecDeque};
use std::io;
use std::pin::Pin;
use std::task::{Context, Poll, Waker, ready};
use std::time::{Duration, Instant};

use bytes::{Buf, Bytes};
use locklab_redis::ConnId;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;

use super::Limits;

/// A client for which more than this was kept for [`SOFT_LIMIT`] is cut off, as
/// `client-output-buffer-limit pubsub 32mb 8mb 60` has it.
const SOFT_LIMIT_BYTES: usize = 8 << 20;
const SOFT_LIMIT: Duration = Duration::from_secs(60);

/// All connections of a node, and the bytes that are kept for them.
#[derive(Default)]
pub(super) struct Clients {
    by_id: BTreeMap<ConnId, Client>,
    held_bytes: usize,
}

/// One connection.
pub(super) struct Client {
    stream: TcpStream,
    /// What the socket did not take.
    backlog: VecDeque<Bytes>,
    backlog_bytes: usize,
    /// What the node keeps of its requests.
    query_bytes: usize,
    /// Since when the backlog is over the soft limit.
    heavy_since: Option<Instant>,
    state: State,
    /// Wakes the connection's task.
    waker: Option<Waker>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum State {
    Open,
    /// The node closed it: what is in the backlog is still sent.
    Closing,
    /// It ends at once.
    Over,
}

/// What a connection's task has to do next.
pub(super) enum Turn {
    /// Handle so many bytes that arrived.
    Received(usize),
    /// Forget the connection.
    End,
}

/// Why nothing more is taken from a connection, or sent on it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Refusal {
    /// It broke.
    Broken,
    /// It is over a limit.
    TooMuch,
}

impl Clients {
    pub(super) fn len(&self) -> usize {
        self.by_id.len()
    }

    pub(super) fn insert(&mut self, conn: ConnId, stream: TcpStream) {
        self.by_id.insert(conn, Client::new(stream));
    }

    pub(super) fn remove(&mut self, conn: ConnId) {
        if let Some(client) = self.by_id.remove(&conn) {
            self.held_bytes -= client.held_bytes();
        }
    }

    /// Waits for what the connection's task has to do.
    pub(super) fn poll(
        &mut self,
        conn: ConnId,
        context: &mut Context<'_>,
        buffer: &mut [u8],
    ) -> Poll<Turn> {
        let turn = self.with(conn, |client| client.poll(context, buffer));
        turn.unwrap_or(Poll::Ready(Turn::End))
    }

    /// Sends on a connection.
    ///
    /// # Errors
    ///
    /// The client is gone, or too slow for the limits.
    pub(super) fn send(
        &mut self,
        conn: ConnId,
        bytes: Bytes,
        limits: &Limits,
    ) -> Result<(), Refusal> {
        self.with(conn, |client| client.send(bytes, limits))
            .unwrap_or(Ok(()))?;
        self.check_total(limits)
    }

    /// Takes down what the node keeps of a client's requests.
    ///
    /// # Errors
    ///
    /// It is more than the limits allow.
    pub(super) fn keep_query(
        &mut self,
        conn: ConnId,
        bytes: usize,
        limits: &Limits,
    ) -> Result<(), Refusal> {
        self.with(conn, |client| client.query_bytes = bytes);
        if bytes > limits.query_bytes {
            return Err(Refusal::TooMuch);
        }
        if bytes == 0 {
            return Ok(());
        }
        self.check_total(limits)
    }

    /// What is kept for a connection, in bytes.
    pub(super) fn held_bytes(&self, conn: ConnId) -> usize {
        self.by_id.get(&conn).map_or(0, Client::held_bytes)
    }

    /// Ends a connection when all is sent.
    pub(super) fn close(&mut self, conn: ConnId) {
        self.with(conn, |client| client.end(State::Closing));
    }

    /// Ends a connection now.
    pub(super) fn cut_off(&mut self, conn: ConnId) {
        self.with(conn, |client| client.end(State::Over));
    }

    fn check_total(&self, limits: &Limits) -> Result<(), Refusal> {
        match self.held_bytes > limits.total_bytes {
            true => Err(Refusal::TooMuch),
            false => Ok(()),
        }
    }

    fn with<T>(&mut self, conn: ConnId, work: impl FnOnce(&mut Client) -> T) -> Option<T> {
        let client = self.by_id.get_mut(&conn)?;
        let before = client.held_bytes();
        let result = work(client);
        self.held_bytes = self.held_bytes - before + client.held_bytes();
        Some(result)
    }
}

impl Client {
    fn new(stream: TcpStream) -> Self {
        Client {
            stream,
            backlog: VecDeque::new(),
            backlog_bytes: 0,
            query_bytes: 0,
            heavy_since: None,
            state: State::Open,
            waker: None,
        }
    }

    fn held_bytes(&self) -> usize {
        self.backlog_bytes + self.query_bytes
    }

    /// Sends what is left to send, and reads.
    fn poll(&mut self, context: &mut Context<'_>, buffer: &mut [u8]) -> Poll<Turn> {
        match &mut self.waker {
            Some(waker) => waker.clone_from(context.waker()),
            None => self.waker = Some(context.waker().clone()),
        }
        if self.state == State::Over {
            return Poll::Ready(Turn::End);
        }
        let flushed = self.flush(context);
        if let Poll::Ready(Err(_)) = flushed {
            return Poll::Ready(Turn::End);
        }
        if self.state == State::Closing {
            return flushed.map(|_| Turn::End);
        }
        let mut buffer = ReadBuf::new(buffer);
        let read = ready!(Pin::new(&mut self.stream).poll_read(context, &mut buffer));
        Poll::Ready(match (read, buffer.filled().len()) {
            (Ok(()), count @ 1..) => Turn::Received(count),
            // As in Redis a client that will send no more wants no more.
            _ => Turn::End,
        })
    }

    fn flush(&mut self, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        while let Some(bytes) = self.backlog.front_mut() {
            let count = ready!(Pin::new(&mut self.stream).poll_write(context, bytes))?;
            bytes.advance(count);
            if bytes.is_empty() {
                self.backlog.pop_front();
            }
            self.backlog_bytes -= count;
            if self.backlog_bytes <= SOFT_LIMIT_BYTES {
                self.heavy_since = None;
            }
        }
        Poll::Ready(Ok(()))
    }

    /// Hands bytes to the socket, or puts them behind those that it did not take.
    fn send(&mut self, mut bytes: Bytes, limits: &Limits) -> Result<(), Refusal> {
        if self.backlog.is_empty() {
            match self.stream.try_write(&bytes) {
                Ok(count) => bytes.advance(count),
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                Err(_) => return Err(Refusal::Broken),
            }
        }
        if bytes.is_empty() {
            return Ok(());
        }
        self.backlog_bytes += bytes.len();
        self.backlog.push_back(bytes);
        self.wake();
        if self.backlog_bytes > limits.output_bytes {
            return Err(Refusal::TooMuch);
        }
        if self.backlog_bytes > SOFT_LIMIT_BYTES {
            let since = *self.heavy_since.get_or_insert_with(Instant::now);
            if since.elapsed() > SOFT_LIMIT {
                return Err(Refusal::TooMuch);
            }
        }
        Ok(())
    }

    fn end(&mut self, state: State) {
        if self.state != State::Over {
            self.state = state;
            self.wake();
        }
    }

    fn wake(&self) {
        if let Some(waker) = &self.waker {
            waker.wake_by_ref();
        }
    }
}

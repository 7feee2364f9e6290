//! A subscription: a separate connection on which messages arrive, opened again when it is
//! lost.
//!
//! Redis keeps no message for a subscriber that is not connected. A message that is published
//! between the loss of a connection and the new subscription never arrives, and the subscriber
//! is not notified of the gap.

use std::cell::RefCell;
use std::collections::VecDeque;
use std::io;
use std::rc::Rc;
use std::time::Duration;

use bytes::Bytes;
use tokio::sync::{Notify, oneshot};

use super::client::{Error, Line};
use super::connection::{Connection, Reply};
use crate::{Env, timeout};
use locklab_history::Name;

/// An idle connection is pinged at this interval, and closed if nothing has arrived by the next
/// ping: Redisson's `pingConnectionInterval`.
const PING_EVERY: Duration = Duration::from_secs(30);

/// The first and the longest wait before a lost connection is opened again; each wait is twice
/// the previous one. After Redisson's `ConnectionWatchdog`.
const RECONNECT_AFTER: [Duration; 2] = [Duration::from_millis(4), Duration::from_millis(8192)];

/// The messages of one channel. Dropping it closes the connection.
pub struct Subscription {
    inbox: Rc<Inbox>,
    /// Dropping it ends the task that receives messages.
    _open: oneshot::Sender<()>,
}

#[derive(Default)]
struct Inbox {
    messages: RefCell<VecDeque<Bytes>>,
    arrived: Notify,
}

impl Subscription {
    /// Subscribes to `channel` on `node` (see [`Client::new`](super::Client::new)).
    /// `limit` is the time for connecting and for the node's confirmation together.
    ///
    /// # Errors
    /// [`Error::NotSent`] if the node has not confirmed it by then.
    pub async fn open<E: Env>(
        env: &E,
        node: &Name,
        channel: &str,
        limit: Option<Duration>,
    ) -> Result<Self, Error> {
        let mut source = Source {
            env: env.clone(),
            node: node.clone(),
            line: Line::new(env, node),
            channel: channel.into(),
        };
        let why = match timeout(env, limit, source.subscribe()).await {
            Ok(Ok(connection)) => {
                let inbox = Rc::<Inbox>::default();
                let (_open, closed) = oneshot::channel();
                env.spawn(source.keep(connection, inbox.clone(), closed));
                return Ok(Self { inbox, _open });
            }
            Ok(Err(error)) => error.to_string(),
            Err(elapsed) => elapsed.to_string(),
        };
        Err(Error::NotSent {
            node: node.clone(),
            why,
        })
    }

    /// Waits for a message that no task has received. If several tasks wait, each message goes
    /// to one of them, in the order of their arrival.
    pub async fn next(&self) -> Bytes {
        loop {
            if let Some(message) = self.inbox.messages.borrow_mut().pop_front() {
                return message;
            }
            self.inbox.arrived.notified().await;
        }
    }
}

impl Inbox {
    fn put(&self, message: Bytes) {
        self.messages.borrow_mut().push_back(message);
        self.arrived.notify_one();
    }
}

/// The source of the messages.
struct Source<E: Env> {
    env: E,
    node: Name,
    line: Line<E>,
    channel: String,
}

impl<E: Env> Source<E> {
    /// Connects and subscribes.
    async fn subscribe(&mut self) -> io::Result<Connection<E::Stream>> {
        let mut connection = self.line.open(&self.env, &self.node).await?;
        connection.subscribe(&self.channel).await?;
        Ok(connection)
    }

    /// Receives messages until the subscription is dropped.
    async fn keep(
        mut self,
        connection: Connection<E::Stream>,
        inbox: Rc<Inbox>,
        closed: oneshot::Receiver<()>,
    ) {
        tokio::select! {
            biased;
            _ = closed => {}
            () = self.follow(connection, &inbox) => {}
        }
    }

    async fn follow(&mut self, mut connection: Connection<E::Stream>, inbox: &Inbox) {
        loop {
            // The task connects again after any error.
            let _ = self.receive(&mut connection, inbox).await;
            drop(connection);
            connection = self.subscribe_anew().await;
        }
    }

    /// Receives messages until the connection is lost, or leads to a node that is no longer the
    /// master.
    async fn receive(
        &self,
        connection: &mut Connection<E::Stream>,
        inbox: &Inbox,
    ) -> io::Result<()> {
        let mut is_tried = false;
        loop {
            match timeout(&self.env, Some(PING_EVERY), connection.receive()).await {
                Ok(reply) => {
                    is_tried = false;
                    if let Some(message) = message(reply?) {
                        inbox.put(message);
                    }
                }
                Err(_) if is_tried || !self.line.is_current() => return Ok(()),
                Err(_) => {
                    is_tried = true;
                    connection.send(&[b"PING"]).await?;
                }
            }
        }
    }

    async fn subscribe_anew(&mut self) -> Connection<E::Stream> {
        let [mut wait, longest] = RECONNECT_AFTER;
        loop {
            self.env.sleep(wait).await;
            let env = self.env.clone();
            if let Ok(Ok(connection)) = timeout(&env, Some(longest), self.subscribe()).await {
                return connection;
            }
            wait = longest.min(wait * 2);
        }
    }
}

/// The text of a push of `message`, channel, text; anything else is a reply to a ping.
fn message(reply: Reply) -> Option<Bytes> {
    let Reply::Array(items) = reply else {
        return None;
    };
    match &items[..] {
        [Reply::Bulk(kind), _, Reply::Bulk(text)] if kind.as_ref() == b"message" => {
            Some(text.clone())
        }
        _ => None,
    }
}

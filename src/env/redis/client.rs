//! A client of one node: connects when needed, times out, and reports whether a failed command may
//! have been executed.

use std::io;
use std::mem;
use std::pin::pin;
use std::time::Duration;

use thiserror::Error;
use tokio::sync::{Mutex, MutexGuard};

use super::connection::{Connection, Reply};
use super::discovery::{Discovery, Target};
use super::options::{ClientOptions, Connect, OnClose};
use crate::{Env, timeout};
use locklab_history::{Name, Outcome};

/// Why a command gave no usable reply.
#[derive(Debug, Error)]
pub enum Error {
    /// The node answered with an error; the command did nothing.
    #[error("{node} answered: {text}")]
    Refused {
        /// The node.
        node: Name,
        /// Its reply, with the error code.
        text: String,
    },
    /// No connection: the command was never sent.
    #[error("no connection to {node}: {why}")]
    NotSent {
        /// The node.
        node: Name,
        /// The error from connecting.
        why: String,
    },
    /// The command was sent, and no reply came: it may have been executed, or may still be.
    #[error("no reply from {node}: {why}")]
    Unanswered {
        /// The node.
        node: Name,
        /// The error from waiting.
        why: String,
    },
    /// The node's reply is not valid for the command.
    #[error("{node} answered {command} with {came}")]
    Unexpected {
        /// The node.
        node: Name,
        /// The command's name.
        command: String,
        /// The reply.
        came: String,
    },
}

impl Error {
    /// Whether the command may have been executed, or may still be. After an unexpected reply that
    /// is unknown.
    pub fn may_have_happened(&self) -> bool {
        match self {
            Error::Unanswered { .. } | Error::Unexpected { .. } => true,
            Error::Refused { .. } | Error::NotSent { .. } => false,
        }
    }

    /// The outcome of the call in a history.
    pub fn outcome(&self) -> Outcome {
        match self.may_have_happened() {
            true => Outcome::Unknown,
            false => Outcome::Failed,
        }
    }
}

/// A client of one node, or of the current master. It has one connection; tasks that share the
/// client take turns.
pub struct Client<E: Env> {
    env: E,
    node: Name,
    limit: Option<Duration>,
    options: ClientOptions,
    line: Mutex<Line<E>>,
}

/// The one connection, and how the node is found.
pub(super) struct Line<E: Env> {
    connection: Option<Connection<E::Stream>>,
    discovery: Option<Discovery<E>>,
}

impl<E: Env> Client<E> {
    /// A client of `node`, not connected yet. `limit` is the time for connecting and for the reply
    /// together; `None` means no limit. [`Env::target`] determines whether `node` is a node's name
    /// or stands for a master that sentinels know, and [`Env::client_options`] how the connection
    /// is treated.
    pub fn new(env: E, node: Name, limit: Option<Duration>) -> Self {
        Self {
            line: Mutex::new(Line::new(&env, &node)),
            options: env.client_options(&node),
            env,
            node,
            limit,
        }
    }

    /// The same client, which leaves it to its user to send a command again.
    pub fn sending_once(mut self) -> Self {
        self.options.resend = 0;
        self
    }

    /// The node's name.
    pub fn node(&self) -> &Name {
        &self.node
    }

    /// Connects before the first command, unless the client connects only when needed.
    ///
    /// # Errors
    /// [`Error::NotSent`] if that fails.
    pub async fn connect(&self) -> Result<(), Error> {
        if self.options.connect == Connect::WhenNeeded {
            return Ok(());
        }
        let connecting = async {
            let mut line = self.line.lock().await;
            if line.connection.is_none() {
                line.connection = Some(line.open(&self.env, &self.node).await?);
            }
            io::Result::Ok(())
        };
        let why = match timeout(&self.env, self.limit, connecting).await {
            Ok(Ok(())) => return Ok(()),
            Ok(Err(error)) => error.to_string(),
            Err(elapsed) => elapsed.to_string(),
        };
        Err(Error::NotSent {
            node: self.node.clone(),
            why,
        })
    }

    /// Sends a command and waits for its reply. A connection whose reply did not come is
    /// closed, since the reply may still arrive and be mistaken for the reply to a later
    /// command.
    ///
    /// # Errors
    /// Those of [`enum@Error`].
    pub async fn call(&self, arguments: &[&[u8]]) -> Result<Reply, Error> {
        // Usually the connection is free, and there is nothing to wait for.
        let mut exclusive = match self.line.try_lock() {
            Ok(line) => Exclusive::new(self, line),
            Err(_) => match timeout(&self.env, self.limit, self.exclusively()).await {
                Ok(exclusive) => exclusive,
                Err(elapsed) => {
                    return Err(Error::NotSent {
                        node: self.node.clone(),
                        why: format!("its connection is in use: {elapsed}"),
                    });
                }
            },
        };
        exclusive.call(arguments).await
    }

    /// Sends a command and converts its reply with `read`.
    ///
    /// # Errors
    /// Those of [`enum@Error`]; [`Error::Unexpected`] if `read` returns `None`.
    pub async fn ask<T>(
        &self,
        arguments: &[&[u8]],
        read: impl FnOnce(&Reply) -> Option<T>,
    ) -> Result<T, Error> {
        let reply = self.call(arguments).await?;
        self.convert(arguments[0], &reply, read)
    }

    /// Converts a reply to the command of this name.
    pub(super) fn convert<T>(
        &self,
        command: &[u8],
        reply: &Reply,
        read: impl FnOnce(&Reply) -> Option<T>,
    ) -> Result<T, Error> {
        read(reply).ok_or_else(|| Error::Unexpected {
            node: self.node.clone(),
            command: String::from_utf8_lossy(command).into_owned(),
            came: format!("{reply:?}"),
        })
    }

    /// Waits for the connection and reserves it, for commands that belong together: those of a
    /// transaction.
    pub async fn exclusively(&self) -> Exclusive<'_, E> {
        Exclusive::new(self, self.line.lock().await)
    }
}

/// A client's connection, reserved by one task.
pub struct Exclusive<'c, E: Env> {
    client: &'c Client<E>,
    line: MutexGuard<'c, Line<E>>,
    next: Turn,
}

/// The place of a command among those for which a connection is reserved.
#[derive(Clone, Copy)]
enum Turn {
    First,
    /// It belongs to the connection of the first: a new one knows nothing of a WATCH.
    Later,
}

impl<'c, E: Env> Exclusive<'c, E> {
    fn new(client: &'c Client<E>, line: MutexGuard<'c, Line<E>>) -> Self {
        Exclusive {
            client,
            line,
            next: Turn::First,
        }
    }

    /// See [`Client::call`]. Only the first of several commands may be sent on another connection.
    ///
    /// # Errors
    /// Those of [`enum@Error`].
    pub async fn call(&mut self, arguments: &[&[u8]]) -> Result<Reply, Error> {
        let Client {
            env, node, limit, ..
        } = self.client;
        let options = match mem::replace(&mut self.next, Turn::Later) {
            Turn::First => self.client.options,
            Turn::Later => ClientOptions::PLAIN,
        };
        let line = &mut *self.line;
        let mut sent = false;
        // Restored only when the reply has come.
        let kept = line.connection.take();
        let called = {
            // In place: to move it would copy the connection, too.
            let calling = pin!(async {
                // If it is not usable, it is closed after the command.
                let mut kept = kept;
                let mut usable = kept.take_if(|kept| line.is_usable(kept, options.on_close));
                let mut resends_left = options.resend;
                loop {
                    let mut connection = match usable.take() {
                        Some(usable) => usable,
                        None => line.open(env, node).await?,
                    };
                    sent = true;
                    match connection.call(arguments).await {
                        Ok(reply) => return io::Result::Ok((connection, reply)),
                        Err(error) if resends_left == 0 || !is_broken(&error) => return Err(error),
                        Err(_) => resends_left -= 1,
                    }
                }
            });
            timeout(env, *limit, calling).await
        };
        let why = match called {
            Ok(Ok((connection, reply))) => {
                // A demoted master is not asked again.
                let is_demoted = line.discovery.is_some() && is_readonly(&reply);
                line.connection = Some(connection).filter(|_| !is_demoted);
                return match reply {
                    Reply::Error(text) => Err(Error::Refused {
                        node: node.clone(),
                        text,
                    }),
                    reply => Ok(reply),
                };
            }
            Ok(Err(error)) => error.to_string(),
            Err(elapsed) => elapsed.to_string(),
        };
        let node = node.clone();
        Err(if sent {
            Error::Unanswered { node, why }
        } else {
            Error::NotSent { node, why }
        })
    }

    /// See [`Client::ask`].
    ///
    /// # Errors
    /// As [`Client::ask`].
    pub async fn ask<T>(
        &mut self,
        arguments: &[&[u8]],
        read: impl FnOnce(&Reply) -> Option<T>,
    ) -> Result<T, Error> {
        let reply = self.call(arguments).await?;
        self.client.convert(arguments[0], &reply, read)
    }
}

impl<E: Env> Line<E> {
    /// The connection to `node`, or to the master that sentinels know, as [`Env::target`]
    /// determines.
    pub(super) fn new(env: &E, node: &Name) -> Self {
        let discovery = match env.target(node) {
            Target::Node(_) => None,
            Target::Master { sentinels } => Some(Discovery::new(env.clone(), sentinels)),
        };
        Self {
            connection: None,
            discovery,
        }
    }

    /// Whether it still leads to the current node.
    pub(super) fn is_current(&self) -> bool {
        self.discovery.as_ref().is_none_or(Discovery::is_current)
    }

    /// Whether a kept connection can be used for a command.
    fn is_usable(&self, kept: &mut Connection<E::Stream>, on_close: OnClose) -> bool {
        let is_lost = match on_close {
            OnClose::Reconnect => kept.is_closed(),
            OnClose::Fail => false,
        };
        !is_lost && self.is_current()
    }

    /// Connects to the node, or to the current master.
    pub(super) async fn open(&mut self, env: &E, node: &Name) -> io::Result<Connection<E::Stream>> {
        match &mut self.discovery {
            // Rare and large: without the box every command's future would reserve space for
            // it.
            Some(discovery) => Box::pin(discovery.connect()).await,
            None => Ok(Connection::new(env.connect(node).await?)),
        }
    }
}

/// Whether the connection is lost; otherwise what came is not valid RESP.
fn is_broken(error: &io::Error) -> bool {
    error.kind() != io::ErrorKind::InvalidData
}

fn is_readonly(reply: &Reply) -> bool {
    matches!(reply, Reply::Error(text) if text.starts_with("READONLY"))
}

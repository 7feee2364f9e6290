//! A client of ZooKeeper: a session, and the requests that a lock makes in it.
//!
//! It follows the rules of ZooKeeper's own client. A session has one connection, to any member. The
//! client pings at a third of the session's timeout, leaves a member from which it hears nothing
//! for two thirds, and continues the session at the next one. Only the service ends a session, and the
//! client hears of that when it is connected again.
//!
//! A connection that breaks does not tell whether a request was executed. A creation that is repeated
//! therefore looks first for a node with the name of the lost one, which has the number of the session and
//! of the request in it (as Curator's protection); a deletion that is repeated may find the node gone.

mod keeper;
mod wire;

pub use self::wire::{name_of_answer, name_of_request};

use std::cell::Cell;
use std::rc::Rc;

use thiserror::Error;
use tokio::sync::{mpsc, oneshot};

use self::keeper::{Keeper, Order, Reply};
use self::wire::{Kind, Reader, code};
use crate::{Duration, Env, timeout};
use locklab_history::Name;

/// Why a request has no result.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum Error {
    /// The session has ended, and all its nodes with it.
    #[error("the session has ended")]
    Ended,
    /// No member answered for as long as the session lives without a ping. The request may have been
    /// executed, or may still be.
    #[error("no member of the service answered in time")]
    Unanswered,
    /// The service refused the request.
    #[error("ZooKeeper refused the request with code {0}")]
    Refused(i32),
    /// An answer that is not valid for the request.
    #[error("{0}")]
    Unexpected(String),
}

/// A node whose name ends with a number.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Node {
    /// Its path.
    pub path: String,
    /// The number, which ascends below each parent.
    pub number: u64,
}

/// An open session, as far as its client knows. Dropping it ends the pings, and so in time the session.
pub struct Session<E: Env> {
    env: E,
    timeout: Duration,
    id: i64,
    orders: mpsc::UnboundedSender<Order>,
    /// The number of the last creation.
    created: Cell<u64>,
    is_open: Rc<Cell<bool>>,
}

/// Why a request has to be repeated, or cannot be.
enum Stop {
    /// The connection broke before the answer.
    Lost,
    /// No repetition helps.
    For(Error),
}

impl<E: Env> Session<E> {
    /// Opens a session with one of these members, which ends when the service has heard nothing of this
    /// client for as long as `silence`.
    ///
    /// # Errors
    /// [`Error::Unanswered`] if no member opens one in that time.
    pub async fn open(env: E, members: &[Name], silence: Duration) -> Result<Self, Error> {
        let (orders, received) = mpsc::unbounded_channel();
        let (opened, is_opened) = oneshot::channel();
        let is_open = Rc::new(Cell::new(true));
        let keeper = Keeper::new(env.clone(), members, silence, is_open.clone());
        env.spawn(keeper.run(received, opened));
        match timeout(&env, Some(silence), is_opened).await {
            Ok(Ok(id)) => Ok(Self {
                env,
                timeout: silence,
                id,
                orders,
                created: Cell::new(0),
                is_open,
            }),
            Ok(Err(_)) | Err(_) => Err(Error::Unanswered),
        }
    }

    /// Whether the session has not been reported as ended.
    pub fn is_open(&self) -> bool {
        self.is_open.get()
    }

    /// Creates a node that ends with the session, and whose name begins with `prefix` and ends with a
    /// number. If its parent is missing, it is created to stay.
    ///
    /// # Errors
    /// Those of [`enum@Error`].
    pub async fn create(&self, prefix: &str) -> Result<Node, Error> {
        self.created.set(self.created.get() + 1);
        let own = format!("{prefix}-{:x}-{}-", self.id, self.created.get());
        let own = own.as_str();
        let (parent, _) = own.rsplit_once('/').unwrap_or_default();
        self.patiently(async |is_repeated| {
            if is_repeated {
                let nodes = self.list(parent).await?;
                if let Some(node) = nodes.into_iter().find(|node| node.path.starts_with(own)) {
                    return Ok(node);
                }
            }
            let ours = wire::create(own, wire::EPHEMERAL_SEQUENTIAL);
            let mut answer = self.ask(Kind::Create, ours.clone()).await?;
            if answer.code == code::NO_NODE {
                let parent = wire::create(parent, wire::PERSISTENT);
                let created = self.ask(Kind::Create, parent).await?;
                if created.code != code::NODE_EXISTS {
                    accept(created.code)?;
                }
                answer = self.ask(Kind::Create, ours).await?;
            }
            accept(answer.code)?;
            let path = Reader(&answer.record).string().map_err(unexpected)?;
            node_of(path).ok_or_else(|| unexpected("a sequential node without a number"))
        })
        .await
    }

    /// Deletes a node; returns whether it existed.
    ///
    /// # Errors
    /// Those of [`enum@Error`].
    pub async fn delete(&self, path: &str) -> Result<bool, Error> {
        self.patiently(async |is_repeated| {
            match self.ask(Kind::Delete, wire::delete(path)).await?.code {
                // An earlier request has deleted it: the session lives, and nobody else deletes.
                code::NO_NODE => Ok(is_repeated),
                code => accept(code).map(|()| true),
            }
        })
        .await
    }

    /// The nodes below `path` whose names end with numbers, as of now: the member is asked to catch up
    /// with the leader first.
    ///
    /// # Errors
    /// Those of [`enum@Error`].
    pub async fn children(&self, path: &str) -> Result<Vec<Node>, Error> {
        self.patiently(async |_| self.list(path).await).await
    }

    /// Waits until a node is gone, or the connection to the member that would say so; no longer than `limit`
    /// or the session's timeout.
    pub async fn watch(&self, path: &str, limit: Option<Duration>) {
        let limit = limit.map_or(self.timeout, |limit| limit.min(self.timeout));
        let watching = async {
            let (gone, is_gone) = oneshot::channel();
            let record = wire::about(path, true);
            let watch = (path.to_owned(), gone);
            let order = |reply| Order::new(Kind::Exists, record, reply).watching(watch);
            match self.send(order).await {
                // Either way the caller lists the nodes again.
                Ok(reply) if reply.code == code::OK => drop(is_gone.await),
                Ok(_) | Err(_) => {}
            }
        };
        let _ = timeout(&self.env, Some(limit), watching).await;
    }

    async fn list(&self, path: &str) -> Result<Vec<Node>, Stop> {
        // The answers come in the order of the requests, so one may follow the other at once.
        let synced = self.ask(Kind::Sync, wire::sync(path));
        let listed = self.ask(Kind::Children, wire::about(path, false));
        let (synced, listed) = tokio::join!(synced, listed);
        for reply in [synced?, listed?] {
            match reply.code {
                code::NO_NODE => return Ok(vec![]),
                code => accept(code)?,
            }
            if reply.kind == Kind::Children {
                let names = Reader(&reply.record).strings().map_err(unexpected)?;
                let nodes = names.into_iter().map(|name| format!("{path}/{name}"));
                return Ok(nodes.filter_map(node_of).collect());
            }
        }
        Ok(vec![])
    }

    /// Repeats `request` whenever its connection breaks, for as long as the session can live without a
    /// ping. Tells it whether it is repeated.
    async fn patiently<T>(
        &self,
        request: impl AsyncFn(bool) -> Result<T, Stop>,
    ) -> Result<T, Error> {
        let asking = async {
            let mut is_repeated = false;
            loop {
                match request(is_repeated).await {
                    Ok(result) => return Ok(result),
                    Err(Stop::For(error)) => return Err(error),
                    Err(Stop::Lost) => is_repeated = true,
                }
            }
        };
        let asked = timeout(&self.env, Some(self.timeout), asking).await;
        asked.unwrap_or(Err(Error::Unanswered)).inspect_err(|_| {
            // The session has ended, or its state is unknown.
            self.is_open.set(false);
        })
    }

    async fn ask(&self, kind: Kind, record: Vec<u8>) -> Result<Reply, Stop> {
        self.send(|reply| Order::new(kind, record, reply)).await
    }

    async fn send(
        &self,
        order: impl FnOnce(oneshot::Sender<Reply>) -> Order,
    ) -> Result<Reply, Stop> {
        let (reply, replied) = oneshot::channel();
        if !self.is_open() || self.orders.send(order(reply)).is_err() {
            return Err(Stop::For(Error::Ended));
        }
        match replied.await {
            Ok(reply) if reply.code == code::SESSION_EXPIRED => Err(Stop::For(Error::Ended)),
            Ok(reply) => Ok(reply),
            Err(_) if self.is_open() => Err(Stop::Lost),
            Err(_) => Err(Stop::For(Error::Ended)),
        }
    }
}

/// Refuses the code of an error.
fn accept(code: i32) -> Result<(), Stop> {
    match code {
        code::OK => Ok(()),
        code => Err(Stop::For(Error::Refused(code))),
    }
}

fn unexpected(why: impl ToString) -> Stop {
    Stop::For(Error::Unexpected(why.to_string()))
}

/// The node at a path, unless that ends without a number of ten digits.
fn node_of(path: String) -> Option<Node> {
    const DIGITS: usize = 10;
    let start = path.len().checked_sub(DIGITS)?;
    let number = path.get(start..)?.parse().ok()?;
    Some(Node { path, number })
}

//! What happens on the sockets of a node, in the order in which it happens.
//!
//! For a lock, that order says who gets it. A `redis-server` asks `epoll` for the sockets that have input, and gets
//! them in the order in which it came. Tokio asks for more: a socket that can be written to is news as well, and what is
//! on the way to Tokio stays there while the node runs a script. So the sockets have a queue of their own.

use std::collections::VecDeque;
use std::io;
use std::os::fd::{AsFd as _, OwnedFd};
use std::time::Duration;

use mio::net::TcpListener;
use mio::{Events, Interest, Poll, Registry, Token};
use tokio::io::unix::AsyncFd;

use crate::engine::ConnId;

/// The most sockets of which the kernel tells at once.
const CAPACITY: usize = 1024;

const LISTENER: Token = Token(usize::MAX);

/// How the kernel names a connection.
pub(super) fn token(conn: ConnId) -> Token {
    Token(conn.0 as usize)
}

/// Where something has happened.
pub(super) enum Place {
    Listener,
    Client(ConnId),
}

/// The listener of a node, and what has happened there and at its clients and is not handled yet.
pub(super) struct News {
    poll: Poll,
    events: Events,
    pub(super) listener: TcpListener,
    untold: VecDeque<Token>,
}

impl News {
    pub(super) fn new(mut listener: TcpListener) -> io::Result<Self> {
        let poll = Poll::new()?;
        let interest = Interest::READABLE;
        poll.registry()
            .register(&mut listener, LISTENER, interest)?;
        Ok(News {
            poll,
            events: Events::with_capacity(CAPACITY),
            listener,
            untold: VecDeque::new(),
        })
    }

    /// Where sockets are registered.
    pub(super) fn registry(&self) -> io::Result<Registry> {
        self.poll.registry().try_clone()
    }

    /// Something to wait for until there is any news.
    #[expect(
        deprecated,
        reason = "the other constructor is unsafe: the descriptor has to stay open, which this one does"
    )]
    pub(super) fn any(&self) -> io::Result<AsyncFd<OwnedFd>> {
        let queue = self.poll.registry().as_fd().try_clone_to_owned()?;
        AsyncFd::with_interest(queue, tokio::io::Interest::READABLE)
    }

    /// Asks the kernel, and returns whether that was all.
    pub(super) fn look(&mut self) -> bool {
        let looked = self.poll.poll(&mut self.events, Some(Duration::ZERO));
        let before = self.untold.len();
        let told = self.events.iter().map(|event| event.token());
        self.untold.extend(told);
        looked.is_ok() && self.untold.len() - before < CAPACITY
    }

    pub(super) fn next(&mut self) -> Option<Place> {
        Some(match self.untold.pop_front()? {
            LISTENER => Place::Listener,
            Token(number) => Place::Client(ConnId(number as u64)),
        })
    }

    /// Connections that are left to be accepted are news again.
    pub(super) fn watch_listener(&mut self) {
        let registry = self.poll.registry();
        // It is registered.
        let _ = registry.reregister(&mut self.listener, LISTENER, Interest::READABLE);
    }
}

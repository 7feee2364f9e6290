//! The published servers and their listeners.

use std::collections::BTreeMap;
use std::io;
use std::net::SocketAddr;
use std::rc::Rc;
use std::task::{Context, Poll};

use locklab_history::Name;
use tokio::net::{TcpListener, TcpStream};

use super::Relay;

/// The servers whose processes run.
#[derive(Default)]
pub(super) struct Servers(BTreeMap<Name, Server>);

struct Server {
    listener: TcpListener,
    public: SocketAddr,
    real: SocketAddr,
}

impl Servers {
    /// The address on which the process of `server` listens.
    pub(super) fn real(&self, server: &Name) -> Option<SocketAddr> {
        self.0.get(server).map(|server| server.real)
    }

    /// A connection that waits to be accepted, with its source address.
    pub(super) fn poll_accept(&self, cx: &mut Context<'_>) -> Poll<(TcpStream, SocketAddr, Name)> {
        for (name, server) in &self.0 {
            // If the machine has no descriptor left, the connection waits until the next event.
            if let Poll::Ready(Ok((stream, from))) = server.listener.poll_accept(cx) {
                return Poll::Ready((stream, from, name.clone()));
            }
        }
        Poll::Pending
    }
}

impl Relay {
    /// Moves a server that is published on `public` to another real address; returns whether it
    /// is published there.
    pub(crate) fn move_real(
        &self,
        server: &Name,
        public: SocketAddr,
        real: SocketAddr,
    ) -> io::Result<bool> {
        if !self.hosts.contains_key(server) {
            let problem = format!("no host is called {server}");
            return Err(io::Error::new(io::ErrorKind::InvalidInput, problem));
        }
        match self.servers.borrow_mut().0.get_mut(server) {
            Some(known) if known.public == public => {
                known.real = real;
                Ok(true)
            }
            _ => Ok(false),
        }
    }

    /// Accepts connections to `server` on a listener that does not block.
    pub(crate) fn publish(
        self: &Rc<Self>,
        server: Name,
        listener: std::net::TcpListener,
        public: SocketAddr,
        real: SocketAddr,
    ) -> io::Result<()> {
        let listener = TcpListener::from_std(listener)?;
        let published = Server {
            listener,
            public,
            real,
        };
        self.servers.borrow_mut().0.insert(server, published);
        Ok(())
    }

    /// Closes the listener of `server`.
    pub(crate) fn withdraw(&self, server: &Name) {
        self.servers.borrow_mut().0.remove(server);
    }
}

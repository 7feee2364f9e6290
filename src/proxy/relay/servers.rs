//! The published servers and their listeners.

use std::io;
use std::net::SocketAddr;
use std::rc::Rc;
use std::task::{Context, Poll};

use locklab_history::Name;
use locklab_vecmap::VecMap;
use tokio::net::{TcpListener, TcpStream};

use super::Relay;

/// The servers whose processes run, by the public addresses of each: ZooKeeper has one for clients and two
/// for its other members.
#[derive(Default)]
pub(super) struct Servers(VecMap<SocketAddr, Server>);

struct Server {
    name: Name,
    listener: TcpListener,
    real: SocketAddr,
}

/// A connection that waits to be accepted.
pub(super) struct Arrival {
    pub(super) stream: TcpStream,
    /// Its source address.
    pub(super) from: SocketAddr,
    /// The server that it is for.
    pub(super) server: Name,
    /// The public address of the server to which it goes.
    pub(super) public: SocketAddr,
}

impl Servers {
    /// The address on which the process listens whose server is published on `public`.
    pub(super) fn real(&self, public: SocketAddr) -> Option<SocketAddr> {
        self.0.get(&public).map(|server| server.real)
    }

    /// A connection that waits to be accepted.
    pub(super) fn poll_accept(&self, cx: &mut Context<'_>) -> Poll<Arrival> {
        for (public, server) in &self.0 {
            // If the machine has no descriptor left, the connection waits until the next event.
            if let Poll::Ready(Ok((stream, from))) = server.listener.poll_accept(cx) {
                return Poll::Ready(Arrival {
                    stream,
                    from,
                    server: server.name.clone(),
                    public: *public,
                });
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
            return Err(no_host(server));
        }
        match self.servers.borrow_mut().0.get_mut(&public) {
            Some(known) if known.name == *server => {
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
        if !self.hosts.contains_key(&server) {
            return Err(no_host(&server));
        }
        let listener = TcpListener::from_std(listener)?;
        let published = Server {
            name: server,
            listener,
            real,
        };
        self.servers.borrow_mut().0.insert(public, published);
        Ok(())
    }

    /// Closes the listeners of `server`, except those on these public addresses.
    pub(crate) fn withdraw_except(&self, server: &Name, kept: &[SocketAddr]) {
        let mut servers = self.servers.borrow_mut();
        let stays = |public: &SocketAddr, name: &Name| *name != *server || kept.contains(public);
        { &mut servers.0 }.retain(|public, published| stays(public, &published.name));
    }
}

fn no_host(name: &Name) -> io::Error {
    let problem = format!("no host is called {name}");
    io::Error::new(io::ErrorKind::InvalidInput, problem)
}

//! Connections that servers serve without the proxy, until a fault begins.

use std::io;
use std::net;
use std::rc::Rc;

use locklab_history::Name;
use tokio::net::TcpStream;

use super::Relay;
use super::servers::Arrival;
use crate::direct::Direct;
use crate::options::Greeting;

/// A server that connections are lent to.
pub(super) struct Borrower {
    /// The host whose connections these are.
    client: Name,
    server: Box<dyn Direct>,
}

impl Relay {
    /// From now on, lends `server` the connections of `client`.
    pub(crate) fn lend_to(&self, name: Name, client: Name, server: Box<dyn Direct>) {
        let borrower = Borrower { client, server };
        self.borrowers.borrow_mut().insert(name, borrower);
    }

    /// Lends a connection to its server while no fault is in force; returns it if it is the proxy's.
    pub(super) fn lend(&self, connector: &Name, arrival: Arrival) -> Option<Arrival> {
        match self.borrowers.borrow().get(&arrival.server) {
            Some(Borrower { client, server })
                if client == connector && self.network.borrow().is_undisturbed() =>
            {
                // Fails if the machine has no room for the socket: the connection ends.
                let _ = (arrival.stream.into_std()).and_then(|stream| server.lend(stream));
                None
            }
            _ => Some(arrival),
        }
    }

    /// Takes back everything that was lent.
    pub(super) fn take_back(self: &Rc<Self>) {
        for (name, Borrower { client, server }) in &*self.borrowers.borrow() {
            for sockets in server.take_back() {
                // As when it was lent.
                let _ = self.adopt(client, name, sockets);
            }
        }
    }

    fn adopt(
        self: &Rc<Self>,
        client: &Name,
        server: &Name,
        (to_client, to_server): (net::TcpStream, net::TcpStream),
    ) -> io::Result<()> {
        let to_client = TcpStream::from_std(to_client)?;
        let to_server = TcpStream::from_std(to_server)?;
        let connection = (self.network.borrow_mut()).adopt(client.clone(), server.clone());
        self.attach(connection.connector(), to_client, Greeting::None);
        self.attach(connection.server(), to_server, Greeting::None);
        Ok(())
    }
}

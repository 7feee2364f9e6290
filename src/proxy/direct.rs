//! Servers of this process that serve clients without the proxy, as long as nothing disturbs a link.

use std::io;
use std::net::TcpStream;

/// A server that connections can be lent to. The proxy calls it on its thread.
pub trait Direct {
    /// Lets it serve a client whose connection the proxy has accepted.
    ///
    /// # Errors
    /// If it cannot: the connection ends.
    fn lend(&self, client: TcpStream) -> io::Result<()>;

    /// Takes back the connections that were lent, at once: of each the socket to the client, and one by
    /// which the server serves this client from now on. Neither blocks.
    fn take_back(&self) -> Vec<(TcpStream, TcpStream)>;
}

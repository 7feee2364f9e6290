//! Listening: on any free port, and for many clients at once.

use std::io::{self, ErrorKind};
use std::net::{SocketAddr, TcpListener};

use socket2::{Domain, Socket, Type};

/// How many ports are tried.
const MAX_TRIES: u32 = 1000;

/// How many connections wait to be accepted: `tcp-backlog`. A client beyond them connects again a second later.
const BACKLOG: i32 = 511;

/// Listens on an address; port 0 means any free one.
///
/// The system chooses a port before anybody listens there. Meanwhile a program that restarts on its port may begin to:
/// then it is another port's turn.
///
/// # Errors
///
/// If the system refuses it.
pub fn bind(address: SocketAddr) -> io::Result<TcpListener> {
    retry(address.port() == 0, || listen(address))
}

fn listen(address: SocketAddr) -> io::Result<TcpListener> {
    let socket = Socket::new(Domain::for_address(address), Type::STREAM, None)?;
    socket.set_reuse_address(true)?;
    socket.bind(&address.into())?;
    socket.listen(BACKLOG)?;
    Ok(socket.into())
}

fn retry<T>(is_any_port: bool, bind: impl Fn() -> io::Result<T>) -> io::Result<T> {
    for _ in 1..MAX_TRIES {
        match bind() {
            Err(error) if is_any_port && error.kind() == ErrorKind::AddrInUse => {}
            bound => return bound,
        }
    }
    bind()
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;
    use std::net::{Ipv4Addr, TcpStream};
    use std::time::Duration;

    use super::*;

    #[test]
    fn many_clients_connect_before_the_first_is_accepted() {
        let listener = bind((Ipv4Addr::LOCALHOST, 0).into()).expect("a free port");
        let address = listener.local_addr().expect("an address");
        // The kernel drops what a client beyond the backlog sends.
        let patience = Duration::from_millis(500);
        let connected = (0..BACKLOG).map(|_| TcpStream::connect_timeout(&address, patience));
        assert!(connected.collect::<io::Result<Vec<_>>>().is_ok());
    }

    #[test]
    fn only_any_port_may_be_another_one_if_it_is_taken() {
        for (is_any_port, expected) in [(true, 4), (false, 1)] {
            let tries = Cell::new(0);
            let bind = || match tries.replace(tries.get() + 1) {
                0..3 => Err(ErrorKind::AddrInUse.into()),
                _ => Ok(()),
            };
            assert_eq!(retry(is_any_port, bind).is_ok(), is_any_port);
            assert_eq!(tries.get(), expected);
        }
    }
}

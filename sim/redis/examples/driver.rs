//! A complete driver for one node, over `std::net`. `cargo run --example driver` serves on
//! 127.0.0.1:6379 until a client calls SHUTDOWN.
//!
//! It polls every socket once a millisecond; `locklab_redis::server` waits for events instead.

use std::collections::BTreeMap;
use std::io::{self, ErrorKind, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::thread;
use std::time::{Duration, Instant, SystemTime};

use locklab_redis::endpoint::{Action, Endpoint, Expiry, Limits, Now, TOO_MANY_CLIENTS};
use locklab_redis::{Addresses, ConnId, Node, NodeConfig};

fn main() -> io::Result<()> {
    serve(&TcpListener::bind("127.0.0.1:6379")?)
}

fn serve(listener: &TcpListener) -> io::Result<()> {
    listener.set_nonblocking(true)?;
    let start = Instant::now();
    let node = Node::new(NodeConfig::default());
    let mut endpoint = Endpoint::new(node, Limits::default(), Expiry::Always);
    let mut sockets: BTreeMap<ConnId, TcpStream> = BTreeMap::new();
    let mut buffer = [0; 4096];
    loop {
        let wall = SystemTime::UNIX_EPOCH.elapsed().unwrap_or_default();
        let now = Now {
            wall_us: wall.as_micros() as u64,
            monotonic: start.elapsed(),
        };
        if let Ok((mut socket, peer)) = listener.accept() {
            socket.set_nonblocking(true)?;
            let local = socket.local_addr()?;
            match endpoint.accept(Addresses { peer, local }, now) {
                Some(conn) => drop(sockets.insert(conn, socket)),
                None => drop(socket.write(TOO_MANY_CLIENTS)),
            }
        }
        for (conn, socket) in &mut sockets {
            write(&mut endpoint, *conn, socket);
            if endpoint.is_closing(*conn) {
                continue;
            }
            match socket.read(&mut buffer) {
                Ok(count @ 1..) => endpoint.receive(*conn, &buffer[..count], now),
                Err(error) if error.kind() == ErrorKind::WouldBlock => {}
                Ok(0) | Err(_) => endpoint.closed(*conn),
            }
        }
        if endpoint
            .next_wake_us(now)
            .is_some_and(|us| us <= now.wall_us)
        {
            endpoint.wake(now);
        }
        while let Some(action) = endpoint.poll() {
            match action {
                Action::Write { conn } => {
                    if let Some(socket) = sockets.get_mut(&conn) {
                        write(&mut endpoint, conn, socket);
                    }
                }
                // The loop above asks `is_closing`.
                Action::StopReading { .. } => {}
                Action::Close { conn } => drop(sockets.remove(&conn)),
                // This node follows no master, and has no disk.
                Action::Connect { conn, .. } => endpoint.closed(conn),
                Action::Disk(_) => {}
                Action::Exit => return Ok(()),
            }
        }
        sockets.retain(|conn, _| endpoint.is_open(*conn));
        thread::sleep(Duration::from_millis(1));
    }
}

/// Writes as much as the socket accepts.
fn write(endpoint: &mut Endpoint, conn: ConnId, socket: &mut TcpStream) {
    while let Some(bytes) = endpoint.unwritten(conn) {
        match socket.write(bytes) {
            Ok(count @ 1..) => endpoint.wrote(conn, count),
            Err(error) if error.kind() == ErrorKind::WouldBlock => return endpoint.wrote(conn, 0),
            Ok(0) | Err(_) => return endpoint.closed(conn),
        }
    }
}

#[test]
fn it_serves_until_it_is_shut_down() {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
    let address = listener.local_addr().expect("an address");
    let server = thread::spawn(move || serve(&listener));
    let mut client = TcpStream::connect(address).expect("the server listens");
    client
        .write_all(b"SET k v\r\nGET k\r\n")
        .expect("the server reads");
    let mut replies = [0; b"+OK\r\n$1\r\nv\r\n".len()];
    client.read_exact(&mut replies).expect("the server answers");
    assert_eq!(&replies, b"+OK\r\n$1\r\nv\r\n");
    client
        .write_all(b"SHUTDOWN NOW\r\n")
        .expect("the server reads");
    server.join().expect("no panic").expect("no error");
}

//! A process behind a proxy: where it listens, whence it connects, and when it believes in a connection.

use std::io::{self, ErrorKind, Read, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::time::Duration;

use locklab_testing::{TIMEOUT, free_ports};

use crate::folder::Folder;
use crate::preloaded::Preloaded;

/// The address by which others know the process.
const KNOWN: Ipv4Addr = Ipv4Addr::new(127, 77, 7, 1);

/// The address at which it listens.
const HIDDEN: Ipv4Addr = Ipv4Addr::new(127, 77, 7, 2);

/// How long a test watches that nothing arrives.
const WATCH: Duration = Duration::from_millis(30);

/// The child's part: listens on this port of its known address, and sends its connection a byte.
pub fn listen(port: u16) -> io::Result<()> {
    let listener = TcpListener::bind((KNOWN, port))?;
    println!("\nbegun");
    listener.accept()?.0.write_all(&[7])
}

/// The child's part: connects in both ways, and returns the first byte that comes over each connection.
pub fn connect(port: u16) -> io::Result<[u8; 2]> {
    let to = SocketAddr::from((Ipv4Addr::LOCALHOST, port));
    let talk = |stream: io::Result<TcpStream>| {
        let mut stream = stream?;
        stream.write_all(b"hello")?;
        let mut byte = [0];
        stream.read_exact(&mut byte)?;
        io::Result::Ok(byte[0])
    };
    // The first one waits in connect(), the second one in poll().
    Ok([
        talk(TcpStream::connect(to))?,
        talk(TcpStream::connect_timeout(&to, TIMEOUT))?,
    ])
}

/// The child's part: how both ways of connecting fail.
pub fn connect_in_vain(port: u16) -> [bool; 2] {
    let to = SocketAddr::from((Ipv4Addr::LOCALHOST, port));
    let blocking = TcpStream::connect(to);
    [blocking, TcpStream::connect_timeout(&to, TIMEOUT)].map(|stream| stream.is_err())
}

fn start(folder: &Folder, task: &str) -> Preloaded {
    Preloaded::start_with(folder, &locklab_shim::behind_proxy(KNOWN, HIDDEN), task)
}

#[test]
fn process_listens_at_the_hidden_address() {
    let folder = Folder::new("listens");
    let [port] = free_ports();
    let mut process = start(&folder, &format!("listen {port}"));
    process.await_line("begun");
    assert!(TcpStream::connect((KNOWN, port)).is_err());
    let mut byte = [0];
    let mut stream = TcpStream::connect((HIDDEN, port)).expect("it listens here");
    stream.read_exact(&mut byte).expect("it answers");
    assert_eq!(byte, [7]);
}

#[test]
fn connection_comes_from_the_known_address_and_is_open_after_the_greeting() {
    let folder = Folder::new("connects");
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("a port is free");
    let port = listener.local_addr().expect("it is bound").port();
    let process = start(&folder, &format!("connect {port}"));
    for answer in [8, 9] {
        let (mut stream, from) = listener.accept().expect("the process connects");
        assert_eq!(from.ip(), KNOWN);
        stream.set_read_timeout(Some(WATCH)).expect("it is open");
        let early = stream.read(&mut [0; 8]).map_err(|error| error.kind());
        assert_eq!(early, Err(ErrorKind::WouldBlock));
        stream.set_read_timeout(Some(TIMEOUT)).expect("it is open");
        stream.write_all(&[1]).expect("it is open");
        let mut hello = [0; 5];
        stream.read_exact(&mut hello).expect("the process writes");
        assert_eq!(&hello, b"hello");
        // The greeting is not part of what the process reads.
        stream.write_all(&[answer]).expect("it is open");
    }
    assert_eq!(process.finish(), [8, 9]);
}

#[test]
fn connection_that_ends_before_the_greeting_was_refused() {
    let folder = Folder::new("refused");
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("a port is free");
    let port = listener.local_addr().expect("it is bound").port();
    let process = start(&folder, &format!("connect-in-vain {port}"));
    for _ in 0..2 {
        drop(listener.accept().expect("the process connects"));
    }
    assert_eq!(process.finish(), [1, 1]);
}

/// The run of such a program counts for nothing, and the program is left alone.
#[test]
fn connection_that_cannot_come_from_the_address_fails_and_its_process_goes_on() {
    /// Reserved for documentation: no machine has it.
    const NOBODYS: Ipv4Addr = Ipv4Addr::new(192, 0, 2, 1);
    let folder = Folder::new("nobodys");
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("a port is free");
    let port = listener.local_addr().expect("it is bound").port();
    let failures = folder.join("failures");
    let variables = [
        locklab_shim::from_address(NOBODYS),
        locklab_shim::failures_to(&failures),
    ];
    let process = Preloaded::start_with(&folder, &variables, &format!("connect-in-vain {port}"));
    assert_eq!(process.finish(), [1, 1]);
    let said = std::fs::read_to_string(&failures).expect("it was written");
    assert!(said.contains("cannot be bound"), "{said}");
}

//! A proxy, two clients and a server, on addresses of their own.

use std::hash::{BuildHasher, RandomState};
use std::io::{ErrorKind, Read, Write};
use std::net::{IpAddr, Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::time::{Duration, Instant};

use locklab_history::Name;
use locklab_link::{LinkEffect, LinkRule, RuleId};
use locklab_proxy::{Greeting, Host, Keep, Options, Proxy};
use locklab_testing::{TIMEOUT, until};
use locklab_values::dist::Dist;
use tokio::net::TcpSocket;

/// How long a test watches that nothing arrives.
const WATCH: Duration = Duration::from_millis(30);

pub struct Fixture {
    pub proxy: Proxy,
    /// The address on which the process of `n1` listens.
    pub server: TcpListener,
    /// The address on which the proxy listens.
    pub public: SocketAddr,
    /// A second public address of the server, at which only `c2` connects.
    pub gate: SocketAddr,
    /// The first three bytes of every address.
    net: [u8; 3],
}

impl Fixture {
    /// `c1` waits for a greeting, `c2` and `n1` do not; `n1` is published.
    pub fn new(latency_ms: f64) -> Self {
        let [a, b, ..] = RandomState::new().hash_one(0).to_ne_bytes();
        let net = [127, a.max(1), b];
        let host = |last, greeting| Host {
            ip: address(net, last),
            greeting,
        };
        let hosts = [
            ("c1", host(1, Greeting::Waits)),
            ("c2", host(2, Greeting::None)),
            ("n1", host(3, Greeting::None)),
        ];
        let gate = free(address(net, 3));
        let options = Options {
            hosts: hosts.map(|(name, host)| (name.into(), host)).into(),
            gates: [(gate, "c2".into())].into(),
            latency: Dist::Constant(latency_ms),
            loss: 0.0,
            seed: 1,
            keep: Keep::Messages,
        };
        let server = TcpListener::bind((address(net, 4), 0)).unwrap();
        server.set_nonblocking(true).unwrap();
        let fixture = Self {
            proxy: Proxy::start(options).unwrap(),
            public: free(address(net, 3)),
            gate,
            server,
            net,
        };
        fixture.publish();
        fixture
    }

    pub fn publish(&self) {
        let real = self.server.local_addr().unwrap();
        self.proxy
            .publish(&"n1".into(), &[(self.public, real)])
            .unwrap();
    }

    /// Connects to the public address from the host with this last byte.
    pub fn try_connect(&self, last: u8) -> std::io::Result<TcpStream> {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()?;
        runtime.block_on(async {
            let socket = TcpSocket::new_v4()?;
            socket.bind(SocketAddr::new(address(self.net, last), 0))?;
            let stream = socket.connect(self.public).await?.into_std()?;
            stream.set_nonblocking(false)?;
            stream.set_nodelay(true)?;
            stream.set_read_timeout(Some(TIMEOUT))?;
            Ok(stream)
        })
    }

    /// An end of the server's process.
    pub fn accept(&self) -> TcpStream {
        let (stream, _) = until(|| self.server.accept());
        stream.set_nonblocking(false).unwrap();
        stream.set_read_timeout(Some(TIMEOUT)).unwrap();
        stream
    }

    /// An established connection from `c2`, whose client end is first.
    pub fn connected(&self) -> (TcpStream, TcpStream) {
        let mut client = self.try_connect(2).unwrap();
        let mut server = self.accept();
        client.write_all(b"hello").unwrap();
        expect(&mut server, b"hello");
        (client, server)
    }

    pub fn install(&self, from: &str, to: &str, ways: Ways, effect: LinkEffect) -> RuleId {
        self.proxy.install(LinkRule {
            from: vec![from.into()],
            to: vec![to.into()],
            both_ways: ways == Ways::Both,
            effect,
        })
    }
}

#[derive(Clone, Copy, PartialEq)]
pub enum Ways {
    One,
    Both,
}

pub fn n1() -> Name {
    "n1".into()
}

/// Reads exactly this.
#[track_caller]
pub fn expect(stream: &mut TcpStream, expected: &[u8]) {
    let mut read = vec![0; expected.len()];
    stream.read_exact(&mut read).unwrap();
    assert!(read == expected, "other data than was sent");
}

/// Reads nothing for a while: no data, no end, no error.
#[track_caller]
pub fn expect_nothing(stream: &mut TcpStream) {
    stream.set_read_timeout(Some(WATCH)).unwrap();
    let read = stream.read(&mut [0; 16]).map_err(|error| error.kind());
    assert_eq!(read, Err(ErrorKind::WouldBlock));
    stream.set_read_timeout(Some(TIMEOUT)).unwrap();
}

/// Reads the end of the stream.
#[track_caller]
pub fn expect_end(stream: &mut TcpStream) {
    let read = stream.read(&mut [0; 16]).map_err(|error| error.kind());
    assert_eq!(read, Ok(0));
}

/// Reads a reset.
#[track_caller]
pub fn expect_reset(stream: &mut TcpStream) {
    let read = stream.read(&mut [0; 16]).map_err(|error| error.kind());
    assert_eq!(read, Err(ErrorKind::ConnectionReset));
}

/// Ends a process that has not read all its data: its kernel sends a reset.
pub fn end_with_reset(stream: TcpStream, peer: &mut TcpStream) {
    peer.write_all(b"unread").unwrap();
    until(|| stream.peek(&mut [0; 16]));
    drop(stream);
}

#[track_caller]
pub fn expect_at_least(start: Instant, ms: u64) {
    let elapsed = start.elapsed();
    assert!(elapsed >= Duration::from_millis(ms), "after {elapsed:?}");
}

fn address([a, b, c]: [u8; 3], last: u8) -> IpAddr {
    Ipv4Addr::new(a, b, c, last).into()
}

/// An address with a port that is free now.
fn free(ip: IpAddr) -> SocketAddr {
    let listener = TcpListener::bind((ip, 0)).unwrap();
    listener.local_addr().unwrap()
}

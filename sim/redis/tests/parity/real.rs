//! A real `redis-server` for the time of a test.

use std::io::{ErrorKind, Read, Write};
use std::net::{Shutdown, TcpStream};
use std::time::Duration;

use locklab_testing::{RedisServer, until};
use redis_protocol::resp2::decode::decode_range;

/// Options that match the node.
const OPTIONS: [&str; 2] = ["--enable-debug-command", "yes"];

/// A server process; dropping this kills it.
pub struct RealServer(RedisServer);

/// A connection to it.
pub struct RealClient {
    stream: TcpStream,
    unread: Vec<u8>,
}

impl RealServer {
    /// Starts a server without persistence, and waits until it
    /// answers.
    pub fn start() -> Self {
        let server = Self::start_anywhere();
        // The fake node has no background deletion, and the time of the real server's is
        // random.
        let reply = server.connect().request(b"DEBUG SET-ACTIVE-EXPIRE 0\r\n");
        assert_eq!(reply, b"+OK\r\n", "expired keys wait to be looked at");
        server
    }

    /// As [`RealServer::start`], but it deletes expired keys in the background too.
    pub fn start_anywhere() -> Self {
        RealServer(RedisServer::start(&OPTIONS))
    }

    /// A server that was started with other options.
    pub fn of(server: RedisServer) -> Self {
        RealServer(server)
    }

    /// Whether the process has ended by itself.
    pub fn has_ended(&mut self) -> bool {
        self.0.has_ended()
    }

    pub fn port(&self) -> u16 {
        self.0.port()
    }

    pub fn connect(&self) -> RealClient {
        let stream = TcpStream::connect(self.0.address());
        RealClient::over(stream.expect("redis-server accepts connections"))
    }
}

impl RealClient {
    /// A client over this connection.
    pub fn over(stream: TcpStream) -> Self {
        stream
            .set_read_timeout(Some(Duration::from_secs(10)))
            .and_then(|()| stream.set_nodelay(true))
            .expect("a connected socket takes options");
        RealClient {
            stream,
            unread: Vec::new(),
        }
    }

    /// Sends one request; returns the bytes of its one reply.
    pub fn request(&mut self, bytes: &[u8]) -> Vec<u8> {
        self.stream
            .write_all(bytes)
            .expect("redis-server reads requests");
        loop {
            if let Some((_, len)) = decode_range(&self.unread).expect("replies are RESP2") {
                return self.unread.drain(..len).collect();
            }
            let mut chunk = [0; 16 * 1024];
            match self.stream.read(&mut chunk) {
                Ok(0) | Err(_) => panic!("no reply to {}", bytes.escape_ascii()),
                Ok(len) => self.unread.extend_from_slice(&chunk[..len]),
            }
        }
    }

    /// The server's clock, in microseconds since the Unix epoch.
    pub fn time_us(&mut self) -> u64 {
        let reply = self.request(b"TIME\r\n");
        let text = String::from_utf8_lossy(&reply);
        let numbers: Vec<u64> = text
            .split("\r\n")
            .filter_map(|line| line.parse().ok())
            .collect();
        let [seconds, micros] = numbers[..] else {
            panic!("TIME answered {text:?}");
        };
        seconds * 1_000_000 + micros
    }

    /// A number that INFO has.
    pub fn info(&mut self, field: &str) -> u64 {
        let reply = self.request(b"INFO\r\n");
        let text = String::from_utf8_lossy(&reply);
        let mut values = text.lines().filter_map(|line| line.split_once(':'));
        let value = values.find(|(name, _)| *name == field);
        let value = value.and_then(|(_, value)| value.parse().ok());
        value.unwrap_or_else(|| panic!("INFO has no number {field}"))
    }

    /// Waits until the server's clock has advanced by this much.
    pub fn pass(&mut self, time: Duration) {
        let end_us = self.time_us() + time.as_micros() as u64;
        until(|| match self.time_us() {
            now_us if now_us < end_us => Err("the server's clock stands still"),
            _ => Ok(()),
        });
    }

    /// Sends bytes without waiting for a reply.
    pub fn send(&mut self, bytes: &[u8]) {
        // A connection closed by the server is detected when reading.
        let _ = self.stream.write_all(bytes);
    }

    /// The data that has arrived by now, and whether the server closed the connection.
    pub fn arrived(&mut self) -> (Vec<u8>, bool) {
        let mut bytes = std::mem::take(&mut self.unread);
        self.stream
            .set_nonblocking(true)
            .expect("a connected socket takes options");
        let closed = loop {
            let mut chunk = [0; 16 * 1024];
            match self.stream.read(&mut chunk) {
                Ok(0) => break true,
                Ok(len) => bytes.extend_from_slice(&chunk[..len]),
                Err(error) => break error.kind() != ErrorKind::WouldBlock,
            }
        };
        self.stream
            .set_nonblocking(false)
            .expect("a connected socket takes options");
        (bytes, closed)
    }

    /// Sends any bytes, then the end of the stream; returns the whole output of the server
    /// until it closes.
    pub fn finish(mut self, bytes: &[u8]) -> Vec<u8> {
        // A server that rejects its input may close before it reads the rest.
        let _ = self.stream.write_all(bytes);
        let _ = self.stream.shutdown(Shutdown::Write);
        let mut answer = Vec::new();
        let _ = self.stream.read_to_end(&mut answer);
        answer
    }
}

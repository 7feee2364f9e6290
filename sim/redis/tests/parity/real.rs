//! A real `redis-server` for the time of a test.

use std::io::{ErrorKind, Read, Write};
use std::net::{Ipv4Addr, Shutdown, TcpListener, TcpStream};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use redis_protocol::resp2::decode::decode;

const HOW_TO_GET_IT: &str =
    "redis-server is not installed; get it with: apt-get install -y redis-server";

/// A server process; dropping this kills it.
pub struct RealServer {
    process: Child,
    port: u16,
}

/// A connection to it.
pub struct RealClient {
    stream: TcpStream,
    unread: Vec<u8>,
}

impl RealServer {
    /// Starts a server without persistence, with one database, and waits until it
    /// answers.
    pub fn start() -> Self {
        let server = Self::start_anywhere();
        // The fake node has no background deletion, and when the real server's
        // would strike is chance.
        let reply = server.connect().request(b"DEBUG SET-ACTIVE-EXPIRE 0\r\n");
        assert_eq!(reply, b"+OK\r\n", "expired keys wait to be looked at");
        server
    }

    /// As [`RealServer::start`], but it deletes expired keys in the background too.
    pub fn start_anywhere() -> Self {
        // Between finding a free port and the server's use of it another process
        // may take it: then the next port is tried.
        (0..5)
            .find_map(|_| Self::start_on(free_port()))
            .expect("redis-server starts on one of five free ports within 5 s each")
    }

    fn start_on(port: u16) -> Option<Self> {
        let process = Command::new("redis-server")
            .args(["--port", &port.to_string(), "--bind", "127.0.0.1"])
            .args(["--save", "", "--appendonly", "no", "--databases", "1"])
            .args(["--enable-debug-command", "yes"])
            // A replica's snapshot goes through a file, which another server of this test
            // must not find when it starts.
            .args(["--dbfilename", &format!("locklab-{port}.rdb")])
            .args(["--rdb-del-sync-files", "yes"])
            .current_dir(std::env::temp_dir())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .expect(HOW_TO_GET_IT);
        let mut server = RealServer { process, port };
        for _ in 0..500 {
            if server.has_ended() {
                return None;
            }
            if TcpStream::connect((Ipv4Addr::LOCALHOST, port)).is_ok() {
                return server.is_ours().then_some(server);
            }
            std::thread::sleep(Duration::from_millis(10));
        }
        None
    }

    /// Whether the server that answers on the port is the process started here.
    fn is_ours(&self) -> bool {
        let info = self.connect().request(b"INFO server\r\n");
        let pid = format!("process_id:{}\r\n", self.process.id());
        String::from_utf8_lossy(&info).contains(&pid)
    }

    /// Whether the process has ended by itself.
    pub fn has_ended(&mut self) -> bool {
        !matches!(self.process.try_wait(), Ok(None))
    }

    pub fn port(&self) -> u16 {
        self.port
    }

    pub fn connect(&self) -> RealClient {
        let stream = TcpStream::connect((Ipv4Addr::LOCALHOST, self.port))
            .expect("redis-server accepts connections");
        stream
            .set_read_timeout(Some(Duration::from_secs(10)))
            .and_then(|()| stream.set_nodelay(true))
            .expect("a connected socket takes options");
        RealClient {
            stream,
            unread: Vec::new(),
        }
    }
}

fn free_port() -> u16 {
    TcpListener::bind((Ipv4Addr::LOCALHOST, 0))
        .and_then(|listener| listener.local_addr())
        .expect("the loopback has a free port")
        .port()
}

impl Drop for RealServer {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

impl RealClient {
    /// Sends one request; returns the bytes of its one reply.
    pub fn request(&mut self, bytes: &[u8]) -> Vec<u8> {
        self.stream
            .write_all(bytes)
            .expect("redis-server reads requests");
        loop {
            if let Some((_, len)) = decode(&self.unread).expect("replies are RESP2") {
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

    /// Sends bytes and waits for nothing.
    pub fn send(&mut self, bytes: &[u8]) {
        // A server that has closed the connection is found out on reading.
        let _ = self.stream.write_all(bytes);
    }

    /// What has arrived by now, and whether the server closed the connection.
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

    /// Sends bytes, whatever they are, then the end of the stream; returns all
    /// that the server answers until it closes.
    pub fn finish(mut self, bytes: &[u8]) -> Vec<u8> {
        // A server that refuses what it has read may close before the rest.
        let _ = self.stream.write_all(bytes);
        let _ = self.stream.shutdown(Shutdown::Write);
        let mut answer = Vec::new();
        let _ = self.stream.read_to_end(&mut answer);
        answer
    }
}

//! A connection to a server past the proxy, by a user of its own: it sees the key of the lock as it is.

use std::io::{self, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

use locklab_bounds::Bounds;
use locklab_bounds::resp::Inbound;
use redis_protocol::resp2::types::{BytesFrame, Resp2Frame};

/// The name and the password of its user, so that what is forbidden to the library's is not forbidden to it.
const USER: [&str; 2] = ["locklab", "locklab"];

/// The longest wait for a reply.
const LONGEST: Duration = Duration::from_secs(10);

/// The other client that takes the lock in an experiment.
pub const ANOTHER: &str = "another";

/// A connection to one server.
pub struct Observer {
    stream: TcpStream,
    inbound: Inbound,
}

/// The key of the lock on one server.
#[derive(Debug, Clone, PartialEq)]
pub struct Seen {
    /// `own`, `another`, or `nobody`.
    pub whose: &'static str,
    /// What is left of its time to live, in milliseconds; -1 if it has none, -2 if there is no key.
    pub ttl_ms: i64,
    /// Its type: `string`, `hash`, `none`, …
    pub form: String,
    /// Its value, if it is a string.
    pub value: String,
}

impl Observer {
    /// Connects, and makes its user.
    ///
    /// # Errors
    ///
    /// If the server does not answer, or has no users.
    pub fn connect(server: SocketAddr) -> io::Result<Observer> {
        let stream = TcpStream::connect(server)?;
        stream.set_read_timeout(Some(LONGEST))?;
        stream.set_nodelay(true)?;
        let mut observer = Observer {
            stream,
            inbound: Inbound::new(Bounds::FRAME),
        };
        let [name, password] = USER;
        let password_rule = format!(">{password}");
        observer.call(&[
            "ACL",
            "SETUSER",
            name,
            "on",
            &password_rule,
            "+@all",
            "~*",
            "&*",
        ])?;
        observer.call(&["AUTH", name, password])?;
        Ok(observer)
    }

    /// Sends a command, and returns its reply.
    ///
    /// # Errors
    ///
    /// If the server does not answer, or with an error.
    pub fn call(&mut self, words: &[impl AsRef<[u8]>]) -> io::Result<BytesFrame> {
        let mut request = format!("*{}\r\n", words.len()).into_bytes();
        for word in words {
            let word = word.as_ref();
            request.extend_from_slice(format!("${}\r\n", word.len()).as_bytes());
            request.extend_from_slice(word);
            request.extend_from_slice(b"\r\n");
        }
        self.stream.write_all(&request)?;
        let mut part = [0; 4096];
        loop {
            match self.inbound.next_frame() {
                Ok(Some(BytesFrame::Error(error))) => {
                    return Err(io::Error::other(error.to_string()));
                }
                Ok(Some(reply)) => return Ok(reply),
                Ok(None) => {}
                Err(error) => return Err(io::Error::other(error)),
            }
            match self.stream.read(&mut part)? {
                0 => return Err(io::ErrorKind::UnexpectedEof.into()),
                read => self.inbound.buffer().extend_from_slice(&part[..read]),
            }
        }
    }

    /// Looks at the key.
    ///
    /// # Errors
    ///
    /// As [`Observer::call`].
    pub fn look(&mut self, key: &[u8]) -> io::Result<Seen> {
        let form = text(&self.call(&[b"TYPE", key])?);
        let ttl_ms = match self.call(&[b"PTTL", key])? {
            BytesFrame::Integer(ms) => ms,
            _ => -2,
        };
        let value = match &*form {
            "string" => text(&self.call(&[b"GET", key])?),
            _ => String::new(),
        };
        let is_another = match &*form {
            "string" => value == ANOTHER,
            "hash" => {
                let field = [b"HEXISTS", key, ANOTHER.as_bytes()];
                self.call(&field)? == BytesFrame::Integer(1)
            }
            _ => false,
        };
        let whose = match (&*form, is_another) {
            ("none", _) => "nobody",
            (_, true) => ANOTHER,
            (_, false) => "own",
        };
        Ok(Seen {
            whose,
            ttl_ms,
            form,
            value,
        })
    }

    /// Another client takes the lock, in this form.
    ///
    /// # Errors
    ///
    /// As [`Observer::call`].
    pub fn take(&mut self, key: &[u8], form: &str, lease_ms: u64) -> io::Result<()> {
        let lease = lease_ms.to_string();
        self.call(&[b"DEL", key])?;
        match form {
            "hash" => {
                self.call(&[b"HSET", key, ANOTHER.as_bytes(), b"1"])?;
                self.call(&[b"PEXPIRE", key, lease.as_bytes()])?;
            }
            _ => {
                self.call(&[b"SET", key, ANOTHER.as_bytes(), b"PX", lease.as_bytes()])?;
            }
        }
        Ok(())
    }
}

/// A reply as text.
fn text(reply: &BytesFrame) -> String {
    reply.as_str().unwrap_or_default().to_owned()
}

//! A connection to a Redis server: one question at a time, with a time limit.

use std::io::{self, ErrorKind, Read, Write};
use std::net::{TcpStream, ToSocketAddrs};
use std::time::Duration;

use bytes::BytesMut;
use redis_protocol::resp2::types::BytesFrame;

use super::RecordError;
use super::clocks::monotonic_ns;
use crate::answers::RoundTrip;
use crate::url::Url;
use locklab_bounds::Bounds;
use locklab_bounds::resp::Inbound;
use locklab_redis::resp;

/// A server that takes longer does not answer.
const TIMEOUT: Duration = Duration::from_secs(1);

/// An open connection, logged in.
#[derive(Debug)]
pub(super) struct Connection {
    stream: TcpStream,
    inbound: Inbound,
}

/// An answer, and when it was given.
#[derive(Debug)]
pub(super) struct Answer {
    pub(super) frame: BytesFrame,
    pub(super) took: RoundTrip,
}

impl Connection {
    /// Connects and logs in.
    pub(super) fn open(url: &Url) -> Result<Connection, RecordError> {
        let no_connection = |source| RecordError::Connect {
            server: url.to_string(),
            source,
        };
        let mut connection = Connection {
            stream: connected(url).map_err(no_connection)?,
            inbound: Inbound::new(Bounds::FRAME),
        };
        if let Some(password) = &url.password {
            let words = match &url.user {
                Some(user) => vec!["AUTH", user, password],
                None => vec!["AUTH", password],
            };
            let hint = "; check user and password";
            connection.require(url, "AUTH", &words, hint)?;
        }
        if url.database != 0 {
            let words = ["SELECT", &url.database.to_string()];
            connection.require(url, "SELECT", &words, "")?;
        }
        let hint = "; a password is written redis://user:password@host";
        connection.require(url, "PING", &["PING"], hint)?;
        Ok(connection)
    }

    /// Asks for something that the server must not refuse.
    pub(super) fn require(
        &mut self,
        url: &Url,
        command: &'static str,
        words: &[&str],
        hint: &'static str,
    ) -> Result<BytesFrame, RecordError> {
        let answer = self.ask(words).map_err(|source| RecordError::Connect {
            server: url.to_string(),
            source,
        })?;
        match answer.frame {
            BytesFrame::Error(text) => Err(RecordError::Refused {
                server: url.to_string(),
                command,
                answer: text.to_string(),
                hint,
            }),
            frame => Ok(frame),
        }
    }

    /// Asks, and waits for the answer. After an error the connection is of no more use.
    pub(super) fn ask(&mut self, words: &[&str]) -> io::Result<Answer> {
        let mut request = BytesMut::new();
        resp::put_command(words, &mut request);
        let sent_ns = monotonic_ns();
        self.stream.write_all(&request)?;
        loop {
            let frame = self.inbound.next_frame();
            let frame =
                frame.map_err(|_| io::Error::new(ErrorKind::InvalidData, "this is no Redis"))?;
            if let Some(frame) = frame {
                let received_ns = monotonic_ns();
                let took = RoundTrip {
                    sent_ns,
                    received_ns,
                };
                return Ok(Answer { frame, took });
            }
            let mut buffer = [0; 4096];
            match self.stream.read(&mut buffer)? {
                0 => return Err(ErrorKind::UnexpectedEof.into()),
                read => self.inbound.buffer().extend_from_slice(&buffer[..read]),
            }
        }
    }
}

fn connected(url: &Url) -> io::Result<TcpStream> {
    let mut last = io::Error::new(ErrorKind::NotFound, "the host has no address");
    for address in (url.host.as_str(), url.port).to_socket_addrs()? {
        match TcpStream::connect_timeout(&address, TIMEOUT) {
            Ok(stream) => {
                stream.set_nodelay(true)?;
                stream.set_read_timeout(Some(TIMEOUT))?;
                stream.set_write_timeout(Some(TIMEOUT))?;
                return Ok(stream);
            }
            Err(error) => last = error,
        }
    }
    Err(last)
}

#[cfg(test)]
mod tests {
    use std::net::{Ipv4Addr, TcpListener};
    use std::thread;

    use locklab_testing::hostile;

    use super::*;

    #[test]
    fn hostile_server_is_no_redis() {
        for (name, bytes) in hostile::resp() {
            let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("a free port");
            let address = listener.local_addr().expect("it listens");
            let server = thread::spawn(move || {
                let (mut stream, _) = listener.accept().expect("a connection");
                // The client may hang up before it has everything.
                let _ = stream.write_all(&bytes);
                let _ = stream.read_to_end(&mut Vec::new());
            });
            let url = Url::parse(&format!("redis://{address}")).expect("a URL");
            let error = Connection::open(&url).expect_err(name);
            let RecordError::Connect { source, .. } = error else {
                panic!("{name}: {error}");
            };
            assert_eq!(source.kind(), ErrorKind::InvalidData, "{name}");
            server.join().expect("it does not panic");
        }
    }
}

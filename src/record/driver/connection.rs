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
use locklab_redis::resp;

/// A server that takes longer does not answer.
const TIMEOUT: Duration = Duration::from_secs(1);

/// An open connection, logged in.
#[derive(Debug)]
pub(super) struct Connection {
    stream: TcpStream,
    inbound: BytesMut,
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
            inbound: BytesMut::new(),
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
            let frame = resp::next_frame(&mut self.inbound);
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
                read => self.inbound.extend_from_slice(&buffer[..read]),
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

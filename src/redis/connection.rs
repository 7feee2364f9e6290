//! One connection: commands out, replies in.

use std::fmt::Write;
use std::io;

use bytes::{BufMut, Bytes, BytesMut};
use redis_protocol::resp2::decode::decode_bytes_mut;
use redis_protocol::resp2::types::BytesFrame;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};

/// What a server answers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Reply {
    /// `+OK`, `+PONG`.
    Status(Bytes),
    /// `-ERR …`, with the code.
    Error(String),
    /// `:1`.
    Integer(i64),
    /// A string of bytes.
    Bulk(Bytes),
    /// No value.
    Nil,
    /// Several replies.
    Array(Vec<Reply>),
}

impl Reply {
    /// Whether this is `+OK`.
    pub fn is_ok(&self) -> bool {
        matches!(self, Reply::Status(status) if status.as_ref() == b"OK")
    }

    /// The number, if it is one.
    pub fn integer(&self) -> Option<i64> {
        match self {
            Reply::Integer(number) => Some(*number),
            _ => None,
        }
    }
}

/// A connection to a server that speaks RESP2.
pub struct Connection<S> {
    stream: S,
    inbound: BytesMut,
    outbound: BytesMut,
}

impl<S: AsyncRead + AsyncWrite + Unpin> Connection<S> {
    /// Speaks over `stream`.
    pub fn new(stream: S) -> Self {
        Self {
            stream,
            inbound: BytesMut::new(),
            outbound: BytesMut::new(),
        }
    }

    /// Sends one command and waits for its reply.
    pub async fn call(&mut self, arguments: &[&[u8]]) -> io::Result<Reply> {
        self.send(arguments).await?;
        self.receive().await
    }

    /// Sends one command.
    pub async fn send(&mut self, arguments: &[&[u8]]) -> io::Result<()> {
        self.outbound.clear();
        put_header(&mut self.outbound, '*', arguments.len());
        for argument in arguments {
            put_header(&mut self.outbound, '$', argument.len());
            self.outbound.put_slice(argument);
            self.outbound.put_slice(b"\r\n");
        }
        self.stream.write_all(&self.outbound).await
    }

    /// Waits for one reply.
    pub async fn receive(&mut self) -> io::Result<Reply> {
        loop {
            if !self.inbound.is_empty()
                && let Some((frame, _, _)) = decode_bytes_mut(&mut self.inbound)
                    .map_err(|error| io::Error::new(io::ErrorKind::InvalidData, error))?
            {
                return Ok(Reply::from(frame));
            }
            if self.stream.read_buf(&mut self.inbound).await? == 0 {
                return Err(io::ErrorKind::UnexpectedEof.into());
            }
        }
    }
}

fn put_header(buffer: &mut BytesMut, kind: char, number: usize) {
    // A BytesMut grows as needed, so this cannot fail.
    let _ = write!(buffer, "{kind}{number}\r\n");
}

impl From<BytesFrame> for Reply {
    fn from(frame: BytesFrame) -> Self {
        match frame {
            BytesFrame::SimpleString(status) => Reply::Status(status),
            BytesFrame::Error(text) => Reply::Error(text.to_string()),
            BytesFrame::Integer(number) => Reply::Integer(number),
            BytesFrame::BulkString(bytes) => Reply::Bulk(bytes),
            BytesFrame::Array(frames) => {
                Reply::Array(frames.into_iter().map(Reply::from).collect())
            }
            BytesFrame::Null => Reply::Nil,
        }
    }
}

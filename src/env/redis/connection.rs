//! One connection: sends commands, receives replies.

use std::io;
use std::pin::Pin;
use std::task::{Context, Waker};

use bytes::{BufMut, Bytes, BytesMut};
use locklab_bounds::Bounds;
use locklab_bounds::resp::Inbound;
use redis_protocol::resp2::types::BytesFrame;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt, ReadBuf};

/// A reply of a server. The conversions give its meaning for a certain command; they return
/// `None` if the reply is not valid for that command.
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
        self.is_status("OK")
    }

    /// Whether this is the given status.
    pub fn is_status(&self, word: &str) -> bool {
        matches!(self, Reply::Status(status) if status.as_ref() == word.as_bytes())
    }

    /// Whether this is the given string.
    pub(super) fn is(&self, word: &str) -> bool {
        matches!(self, Reply::Bulk(bytes) if bytes.as_ref() == word.as_bytes())
    }

    /// The integer, if it is one.
    pub fn integer(&self) -> Option<i64> {
        match self {
            Reply::Integer(number) => Some(*number),
            _ => None,
        }
    }

    /// The integer, if it is one and not negative.
    pub fn number(&self) -> Option<u64> {
        u64::try_from(self.integer()?).ok()
    }

    /// The number of keys or replicas, if it is a valid one.
    pub fn count(&self) -> Option<u32> {
        u32::try_from(self.integer()?).ok()
    }

    /// A success flag: 1 or 0.
    pub fn flag(&self) -> Option<bool> {
        match self.integer()? {
            0 => Some(false),
            1 => Some(true),
            _ => None,
        }
    }

    /// Whether a conditional `SET` was executed: `+OK` or no value.
    pub fn set(&self) -> Option<bool> {
        match self {
            Reply::Nil => Some(false),
            _ => self.is_ok().then_some(true),
        }
    }

    /// The value of a key; `Some(None)` if the key is absent, `None` for invalid UTF-8, which no
    /// client here writes.
    pub fn value(&self) -> Option<Option<String>> {
        match self {
            Reply::Nil => Some(None),
            Reply::Bulk(value) => Some(Some(String::from_utf8_lossy(value).into_owned())),
            _ => None,
        }
    }
}

/// A connection to a server that speaks RESP2.
pub struct Connection<S> {
    stream: S,
    inbound: Inbound,
    outbound: BytesMut,
}

impl<S: AsyncRead + AsyncWrite + Unpin> Connection<S> {
    /// A connection over `stream`.
    pub fn new(stream: S) -> Self {
        Self {
            stream,
            inbound: Inbound::new(Bounds::FRAME),
            outbound: BytesMut::new(),
        }
    }

    /// Sends one command and waits for its reply.
    pub async fn call(&mut self, arguments: &[&[u8]]) -> io::Result<Reply> {
        self.send(arguments).await?;
        self.receive().await
    }

    /// Whether the end of the stream, a reset or an unexpected reply has arrived, so that no further
    /// reply can be read. For an idle connection: does not wait, and wakes nobody later.
    pub fn is_closed(&mut self) -> bool {
        let mut byte = [0];
        let reading = Pin::new(&mut self.stream).poll_read(
            &mut Context::from_waker(Waker::noop()),
            &mut ReadBuf::new(&mut byte),
        );
        reading.is_ready()
    }

    /// Subscribes to a channel and waits for the confirmation.
    pub async fn subscribe(&mut self, channel: &str) -> io::Result<()> {
        match self.call(&[b"SUBSCRIBE", channel.as_bytes()]).await? {
            Reply::Array(items) if items.first().is_some_and(|kind| kind.is("subscribe")) => Ok(()),
            reply => Err(io::Error::other(format!(
                "SUBSCRIBE answered with {reply:?}"
            ))),
        }
    }

    /// Sends one command.
    pub async fn send(&mut self, arguments: &[&[u8]]) -> io::Result<()> {
        self.outbound.clear();
        let words = arguments.iter().map(|argument| HEADER + argument.len() + 2);
        self.outbound.reserve(HEADER + words.sum::<usize>());
        put_header(&mut self.outbound, b'*', arguments.len());
        for argument in arguments {
            put_header(&mut self.outbound, b'$', argument.len());
            self.outbound.put_slice(argument);
            self.outbound.put_slice(b"\r\n");
        }
        self.stream.write_all(&self.outbound).await
    }

    /// Waits for one reply.
    pub async fn receive(&mut self) -> io::Result<Reply> {
        loop {
            let frame = self.inbound.next_frame();
            let frame = frame.map_err(|error| io::Error::new(io::ErrorKind::InvalidData, error))?;
            if let Some(frame) = frame {
                return Ok(Reply::from(frame));
            }
            if self.stream.read_buf(self.inbound.buffer()).await? == 0 {
                return Err(io::ErrorKind::UnexpectedEof.into());
            }
        }
    }
}

/// The longest header, in bytes: a kind, a number of 20 digits, and the end of the line.
const HEADER: usize = 1 + 20 + 2;

/// Appends a kind, a number in decimal, and the end of the line. Every word of every command has
/// such a header, so it is not left to `write!`, which takes several times as long.
fn put_header(buffer: &mut BytesMut, kind: u8, number: usize) {
    // Filled from its end.
    let mut header = [0; HEADER];
    header[HEADER - 2..].copy_from_slice(b"\r\n");
    let mut start = HEADER - 2;
    let mut rest = number;
    loop {
        start -= 1;
        header[start] = b'0' + (rest % 10) as u8;
        rest /= 10;
        if rest == 0 {
            break;
        }
    }
    start -= 1;
    header[start] = kind;
    buffer.put_slice(&header[start..]);
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

#[cfg(test)]
mod tests {
    use std::pin::pin;
    use std::task::Poll;

    use locklab_testing::hostile;

    use super::*;

    /// Checks a reply's interpretation as a number, a count and a flag.
    #[track_caller]
    fn check(number: i64, expected: (Option<u64>, Option<u32>, Option<bool>)) {
        let reply = Reply::Integer(number);
        assert_eq!((reply.number(), reply.count(), reply.flag()), expected);
    }

    #[test]
    fn a_header_is_a_kind_a_number_and_the_end_of_a_line() {
        for number in [0, 7, 10, 1_234_567, usize::MAX] {
            let mut buffer = BytesMut::new();
            put_header(&mut buffer, b'*', number);
            assert_eq!(buffer, format!("*{number}\r\n"));
        }
    }

    #[test]
    fn hostile_reply_is_an_error() {
        for (name, bytes) in hostile::resp() {
            let mut connection = Connection::new(tokio::io::join(&bytes[..], tokio::io::sink()));
            let mut reply = pin!(connection.receive());
            // All bytes are there, so nothing is waited for.
            let reply = reply.as_mut().poll(&mut Context::from_waker(Waker::noop()));
            let Poll::Ready(Err(error)) = reply else {
                panic!("{name}: {reply:?}");
            };
            assert_eq!(error.kind(), io::ErrorKind::InvalidData, "{name}");
        }
    }

    #[test]
    fn invalid_number_has_no_interpretation() {
        check(0, (Some(0), Some(0), Some(false)));
        check(1, (Some(1), Some(1), Some(true)));
        check(2, (Some(2), Some(2), None));
        check(1 << 32, (Some(1 << 32), None, None));
        check(-1, (None, None, None));
    }

    #[test]
    fn no_value_is_an_answer_and_another_kind_is_none() {
        let held = Reply::Bulk(Bytes::from_static(b"v"));
        assert_eq!(held.value(), Some(Some("v".into())));
        assert_eq!((held.number(), held.flag(), held.set()), (None, None, None));
        assert_eq!(
            (Reply::Nil.value(), Reply::Nil.set()),
            (Some(None), Some(false))
        );
        assert_eq!((Reply::Nil.count(), Reply::Nil.flag()), (None, None));
        let ok = Reply::Status(Bytes::from_static(b"OK"));
        assert_eq!((ok.set(), ok.value()), (Some(true), None));
    }
}

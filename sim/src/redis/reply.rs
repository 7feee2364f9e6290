//! Replies, and how they look on the wire (RESP2).

use std::borrow::Cow;

use bytes::{BufMut, Bytes, BytesMut};

use super::number::push_i64;

/// What a command answers.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum Reply {
    /// `+OK`.
    Status(Cow<'static, str>),
    Error(Error),
    Integer(i64),
    Bulk(Bytes),
    /// No value: `$-1` in RESP2.
    Nil,
    /// No array (an aborted EXEC): `*-1` in RESP2.
    NilArray,
    Array(Vec<Reply>),
}

/// An error reply's text, code first: `ERR syntax error`.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Error(Cow<'static, [u8]>);

/// What a command function returns.
pub(super) type Answer = Result<Reply, Error>;

impl Reply {
    /// `+OK`.
    pub(super) const OK: Reply = Reply::Status(Cow::Borrowed("OK"));

    /// A bulk string that copies its bytes.
    pub(super) fn bulk(bytes: impl AsRef<[u8]>) -> Reply {
        Reply::Bulk(Bytes::copy_from_slice(bytes.as_ref()))
    }

    /// A bulk string, or nil.
    pub(super) fn bulk_or_nil(value: Option<Bytes>) -> Reply {
        value.map_or(Reply::Nil, Reply::Bulk)
    }

    /// Appends the reply in RESP2.
    pub(super) fn encode(&self, out: &mut BytesMut) {
        match self {
            Reply::Status(text) => line(out, b'+', text.as_bytes()),
            Reply::Error(error) => error.encode(out),
            Reply::Integer(number) => number_line(out, b':', *number),
            Reply::Bulk(bytes) => {
                number_line(out, b'$', bytes.len() as i64);
                out.extend_from_slice(bytes);
                out.extend_from_slice(b"\r\n");
            }
            Reply::Nil => out.extend_from_slice(b"$-1\r\n"),
            Reply::NilArray => out.extend_from_slice(b"*-1\r\n"),
            Reply::Array(items) => {
                number_line(out, b'*', items.len() as i64);
                for item in items {
                    item.encode(out);
                }
            }
        }
    }
}

impl Error {
    /// An error known when Locklab is compiled.
    pub(super) const fn of(text: &'static str) -> Self {
        Error(Cow::Borrowed(text.as_bytes()))
    }

    /// An error with parts of the request in it. Line ends become spaces, as in
    /// `addReplyErrorFormat`, for a reply is one line.
    pub(super) fn new(text: impl Into<Vec<u8>>) -> Self {
        let mut text: Vec<u8> = text.into();
        while text.last().is_some_and(|b| matches!(b, b'\r' | b'\n')) {
            text.pop();
        }
        for b in &mut text {
            if matches!(b, b'\r' | b'\n') {
                *b = b' ';
            }
        }
        Error(Cow::Owned(text))
    }

    /// The text, code first.
    pub(super) fn text(&self) -> &[u8] {
        &self.0
    }

    /// Appends the error in RESP2.
    pub(super) fn encode(&self, out: &mut BytesMut) {
        line(out, b'-', &self.0);
    }
}

impl From<Error> for Reply {
    fn from(error: Error) -> Self {
        Reply::Error(error)
    }
}

fn line(out: &mut BytesMut, kind: u8, text: &[u8]) {
    out.reserve(text.len() + 3);
    out.put_u8(kind);
    out.extend_from_slice(text);
    out.extend_from_slice(b"\r\n");
}

fn number_line(out: &mut BytesMut, kind: u8, number: i64) {
    out.put_u8(kind);
    push_i64(out, number);
    out.extend_from_slice(b"\r\n");
}

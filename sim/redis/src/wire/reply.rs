//! Replies and their encoding in RESP2 and RESP3.

use std::borrow::Cow;
use std::cell::OnceCell;

use bytes::{BufMut, Bytes, BytesMut};

use crate::wire::float::general;
use crate::wire::number::push_i64;

/// The maximum of unsent output for one client, in bytes. Redis has no limit for a client
/// that does not read (`client-output-buffer-limit normal 0 0 0`): a kilobyte of requests for
/// a large value would take all memory.
pub(crate) const MAX_OUT_BYTES: usize = 64 << 20;

/// The reply to a command.
#[derive(Clone, PartialEq, Debug)]
pub(crate) enum Reply {
    /// `+OK`.
    Status(Bytes),
    Error(Error),
    Integer(i64),
    Bulk(Bytes),
    /// No value: `$-1` in RESP2.
    Nil,
    /// No array (an aborted EXEC): `*-1` in RESP2.
    NilArray,
    Array(Vec<Reply>),
    /// Pairs; in RESP2 a flat array of alternating keys and values.
    Map(Vec<(Reply, Reply)>),
    /// Pairs in order: in RESP2 a flat array, in RESP3 an array of arrays.
    Pairs(Vec<(Reply, Reply)>),
    /// A score; in RESP2 a bulk string.
    Double(f64),
    /// Unordered items; in RESP2 an array.
    Set(Vec<Reply>),
    /// 1 or 0 in RESP2.
    Bool(bool),
    /// An integer of any size; in RESP2 a bulk string.
    BigNumber(Bytes),
    /// A text and its format, as `txt`; in RESP2 a bulk string.
    Verbatim {
        format: [u8; 3],
        text: Bytes,
    },
    /// A frame that answers no request: a message, an invalidation. In RESP2 an array.
    Push(Vec<Reply>),
    /// A sequence of replies, for a request with zero or several of them.
    Several(Vec<Reply>),
}

/// The protocol version of a client, as set by HELLO.
#[derive(Copy, Clone, PartialEq, Eq, PartialOrd, Ord, Debug, Default)]
pub(crate) enum Resp {
    #[default]
    V2,
    V3,
}

/// An error reply's text, code first: `ERR syntax error`.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Error(Cow<'static, [u8]>);

/// The result of a command function.
pub(crate) type Answer = Result<Reply, Error>;

impl Reply {
    /// `+OK`.
    pub(crate) const OK: Reply = Reply::Status(Bytes::from_static(b"OK"));

    /// A bulk string that copies its bytes.
    pub(crate) fn bulk(bytes: impl AsRef<[u8]>) -> Reply {
        Reply::Bulk(Bytes::copy_from_slice(bytes.as_ref()))
    }

    /// A text for human readers.
    pub(crate) fn text(text: impl Into<Bytes>) -> Reply {
        Reply::Verbatim {
            format: *b"txt",
            text: text.into(),
        }
    }

    /// A bulk string, or nil.
    pub(crate) fn bulk_or_nil(value: Option<Bytes>) -> Reply {
        value.map_or(Reply::Nil, Reply::Bulk)
    }

    /// No reply, or a deferred one.
    pub(crate) const NONE: Reply = Reply::Several(Vec::new());

    /// Appends the reply.
    pub(crate) fn encode(&self, resp: Resp, out: &mut BytesMut) {
        let aggregate = |out: &mut BytesMut, kind: u8, items: &[Reply]| {
            let kind = if resp == Resp::V3 { kind } else { b'*' };
            number_line(out, kind, items.len() as i64);
            for item in items {
                // The limit is exceeded: the rest will not be sent.
                if out.len() > MAX_OUT_BYTES {
                    break;
                }
                item.encode(resp, out);
            }
        };
        match self {
            Reply::Status(text) => line(out, b'+', text),
            Reply::Error(error) => error.encode(out),
            Reply::Integer(number) => number_line(out, b':', *number),
            Reply::Bulk(bytes) => {
                number_line(out, b'$', bytes.len() as i64);
                out.extend_from_slice(bytes);
                out.extend_from_slice(b"\r\n");
            }
            Reply::Nil | Reply::NilArray if resp == Resp::V3 => out.extend_from_slice(b"_\r\n"),
            Reply::Nil => out.extend_from_slice(b"$-1\r\n"),
            Reply::NilArray => out.extend_from_slice(b"*-1\r\n"),
            Reply::Array(items) => aggregate(out, b'*', items),
            Reply::Set(items) => aggregate(out, b'~', items),
            Reply::Push(items) => aggregate(out, b'>', items),
            Reply::Map(pairs) => {
                match resp {
                    Resp::V2 => number_line(out, b'*', 2 * pairs.len() as i64),
                    Resp::V3 => number_line(out, b'%', pairs.len() as i64),
                }
                for (key, value) in pairs {
                    if out.len() > MAX_OUT_BYTES {
                        break;
                    }
                    key.encode(resp, out);
                    value.encode(resp, out);
                }
            }
            Reply::Pairs(pairs) => {
                let factor = if resp == Resp::V2 { 2 } else { 1 };
                number_line(out, b'*', factor * pairs.len() as i64);
                for (one, other) in pairs {
                    if resp == Resp::V3 {
                        array_header(out, 2);
                    }
                    one.encode(resp, out);
                    other.encode(resp, out);
                }
            }
            Reply::Double(number) => {
                let text = general(*number, 17);
                match resp {
                    Resp::V2 => Reply::bulk(text).encode(resp, out),
                    Resp::V3 => line(out, b',', text.as_bytes()),
                }
            }
            Reply::Bool(value) => match resp {
                Resp::V2 => number_line(out, b':', (*value).into()),
                Resp::V3 => line(out, b'#', if *value { b"t" } else { b"f" }),
            },
            Reply::BigNumber(digits) => match resp {
                Resp::V2 => Reply::Bulk(digits.clone()).encode(resp, out),
                Resp::V3 => line(out, b'(', digits),
            },
            Reply::Verbatim { format, text } => match resp {
                Resp::V2 => Reply::Bulk(text.clone()).encode(resp, out),
                Resp::V3 => {
                    // The length includes the format and its colon.
                    number_line(out, b'=', text.len() as i64 + 4);
                    out.extend_from_slice(format);
                    out.put_u8(b':');
                    out.extend_from_slice(text);
                    out.extend_from_slice(b"\r\n");
                }
            },
            Reply::Several(replies) => {
                for reply in replies {
                    reply.encode(resp, out);
                }
            }
        }
    }
}

/// A reply for several clients, encoded once for each protocol that they use.
pub(crate) struct Encoded {
    reply: Reply,
    v2: OnceCell<Bytes>,
    v3: OnceCell<Bytes>,
}

impl Encoded {
    /// Not encoded yet.
    pub(crate) fn new(reply: Reply) -> Self {
        let (v2, v3) = Default::default();
        Encoded { reply, v2, v3 }
    }

    /// Its bytes in a protocol.
    pub(crate) fn in_protocol(&self, resp: Resp) -> &Bytes {
        let encoded = match resp {
            Resp::V2 => &self.v2,
            Resp::V3 => &self.v3,
        };
        encoded.get_or_init(|| {
            let mut bytes = BytesMut::new();
            self.reply.encode(resp, &mut bytes);
            bytes.freeze()
        })
    }

    /// The memory of what is encoded so far.
    pub(crate) fn encoded_bytes(&self) -> usize {
        let forms = [&self.v2, &self.v3].into_iter();
        forms.filter_map(OnceCell::get).map(Bytes::len).sum()
    }
}

/// Appends the header of an array whose items are encoded one by one.
pub(crate) fn array_header(out: &mut BytesMut, len: usize) {
    number_line(out, b'*', len as i64);
}

impl Error {
    /// An error whose text is a constant.
    pub(crate) const fn of(text: &'static str) -> Self {
        Error(Cow::Borrowed(text.as_bytes()))
    }

    /// An error that includes parts of the request. Line ends become spaces, as in
    /// `addReplyErrorFormat`, because an error reply is one line.
    pub(crate) fn new(text: impl Into<Vec<u8>>) -> Self {
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
    pub(crate) fn text(&self) -> &[u8] {
        &self.0
    }

    /// Appends the error.
    pub(crate) fn encode(&self, out: &mut BytesMut) {
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

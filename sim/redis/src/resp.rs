//! RESP for the in-tree servers other than Redis: a request is an array of words, a reply is
//! any frame.
//!
//! Decoding is that of `locklab_bounds`. Redis has its own error texts for malformed input, so the Redis
//! node has its own parser. `redis-protocol` does not encode: where a `usize` has 32 bits, as in WebAssembly,
//! it cuts off the digits of integers beyond 2³².

use bytes::{BufMut, Bytes, BytesMut};
use locklab_bounds::Bounds;
pub use locklab_bounds::Refused;
use locklab_bounds::resp;
use redis_protocol::resp2::types::BytesFrame;

/// Removes a complete request, an array of strings, from the front of the buffer, if there is
/// one. A peer that violates RESP or its bounds is to be disconnected.
pub fn next_words(inbound: &mut BytesMut) -> Result<Option<Vec<Bytes>>, Refused> {
    let frame = resp::next_frame(inbound, Bounds::FRAME)?;
    frame.map(resp::words).transpose()
}

/// A command or message in the form that a client sends: an array of strings.
pub fn command(words: &[&[u8]]) -> Bytes {
    let mut out = BytesMut::new();
    put_command(words, &mut out);
    out.freeze()
}

/// Appends the same bytes as [`command`].
pub fn put_command<W: AsRef<[u8]>>(words: &[W], out: &mut BytesMut) {
    out.put_slice(format!("*{}\r\n", words.len()).as_bytes());
    for word in words {
        let word = word.as_ref();
        out.put_slice(format!("${}\r\n", word.len()).as_bytes());
        out.put_slice(word);
        out.put_slice(b"\r\n");
    }
}

/// Encodes a reply.
pub fn answer(frame: &BytesFrame) -> Bytes {
    let mut out = BytesMut::new();
    put_reply(frame, &mut out);
    out.freeze()
}

fn put_reply(frame: &BytesFrame, out: &mut BytesMut) {
    let mut put_line = |kind: &str, text: &[u8]| {
        for part in [kind.as_bytes(), text, b"\r\n"] {
            out.put_slice(part);
        }
    };
    match frame {
        BytesFrame::SimpleString(text) => put_line("+", text),
        BytesFrame::Error(text) => put_line("-", text.as_bytes()),
        BytesFrame::Integer(number) => put_line(":", number.to_string().as_bytes()),
        BytesFrame::Null => put_line("$", b"-1"),
        BytesFrame::BulkString(bytes) => {
            put_line("$", bytes.len().to_string().as_bytes());
            put_line("", bytes);
        }
        BytesFrame::Array(frames) => {
            put_line("*", frames.len().to_string().as_bytes());
            for frame in frames {
                put_reply(frame, out);
            }
        }
    }
}

/// An integer reply. Our numbers stay below 2⁶³.
pub fn integer(number: u64) -> BytesFrame {
    BytesFrame::Integer(i64::try_from(number).unwrap_or(i64::MAX))
}

/// An error reply; its text begins with the code.
pub fn error(text: impl AsRef<str>) -> BytesFrame {
    BytesFrame::Error(text.as_ref().into())
}

/// A string reply.
pub fn bulk(text: impl Into<Bytes>) -> BytesFrame {
    BytesFrame::BulkString(text.into())
}

/// Parses a word as a number.
pub fn number(word: &[u8]) -> Option<u64> {
    let text = std::str::from_utf8(word).ok()?;
    // `parse` accepts a sign, which is invalid here.
    text.bytes().all(|b| b.is_ascii_digit()).then_some(())?;
    text.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_request_is_read_as_it_was_written() {
        let mut inbound = BytesMut::from(&command(&[b"SELECT", b"a\r\nb", b""])[..]);
        inbound.extend_from_slice(b"*1\r\n$4\r\nPI");
        let words = next_words(&mut inbound);
        assert_eq!(
            words,
            Ok(Some(vec!["SELECT".into(), "a\r\nb".into(), "".into()]))
        );
        assert_eq!(next_words(&mut inbound), Ok(None));
        inbound.extend_from_slice(b"NG\r\n");
        assert_eq!(next_words(&mut inbound), Ok(Some(vec!["PING".into()])));
    }

    #[test]
    fn input_other_than_an_array_of_strings_is_garbled() {
        for text in ["PING\r\n", ":1\r\n", "*1\r\n:1\r\n", "*1\r\n$-1\r\n"] {
            let mut inbound = BytesMut::from(text);
            assert_eq!(next_words(&mut inbound), Err(Refused::Malformed), "{text}");
        }
    }

    #[test]
    fn replies_of_every_kind_are_encoded() {
        let inner = [integer(1 << 41), BytesFrame::Null, bulk("a"), error("E x")];
        let ok = BytesFrame::SimpleString("OK".into());
        let all = BytesFrame::Array(inner.into_iter().chain([ok]).collect());
        let expected = "*5\r\n:2199023255552\r\n$-1\r\n$1\r\na\r\n-E x\r\n+OK\r\n";
        assert_eq!(answer(&all), expected);
    }

    #[test]
    fn a_number_is_digits() {
        assert_eq!(number(b"42"), Some(42));
        for word in ["", "+1", "-1", "1x", "18446744073709551616"] {
            assert_eq!(number(word.as_bytes()), None, "{word}");
        }
    }
}

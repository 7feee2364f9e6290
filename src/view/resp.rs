//! The bytes of a message as text: RESP as `redis-cli` shows it.
//!
//! A message is a TCP segment: it may hold several frames, or begin or end in the middle of one. An
//! incomplete frame is shown unchanged.

use locklab_bounds::Bounds;
use locklab_bounds::resp::first;
use redis_protocol::resp2::types::OwnedFrame as Frame;

/// The frames of a message, a line or more for each.
pub(super) fn text(payload: &[u8]) -> String {
    let mut lines = Vec::new();
    let mut rest = payload;
    while !rest.is_empty() {
        match first(rest, Bounds::FRAME) {
            Ok(Some((frame, length))) if length > 0 => {
                lines.push(shown(&frame));
                rest = &rest[length..];
            }
            _ => {
                lines.push(String::from_utf8_lossy(rest).replace("\r\n", "\n"));
                break;
            }
        }
    }
    lines.join("\n")
}

/// Whether these bytes end where a frame ends.
pub(super) fn is_whole(payload: &[u8]) -> bool {
    let mut rest = payload;
    while let Ok(Some((_, length @ 1..))) = first(rest, Bounds::FRAME) {
        rest = &rest[length..];
    }
    rest.is_empty()
}

fn shown(frame: &Frame) -> String {
    match frame {
        Frame::SimpleString(text) => String::from_utf8_lossy(text).into_owned(),
        Frame::Error(text) => format!("(error) {text}"),
        Frame::Integer(number) => format!("(integer) {number}"),
        Frame::BulkString(text) => quoted(text),
        Frame::Null => "(nil)".to_owned(),
        Frame::Array(frames) if frames.is_empty() => "(empty array)".to_owned(),
        Frame::Array(frames) if frames.iter().all(|f| matches!(f, Frame::BulkString(_))) => {
            frames.iter().map(shown).collect::<Vec<_>>().join(" ")
        }
        Frame::Array(frames) => {
            let numbered = frames.iter().enumerate();
            let line = |(place, frame)| {
                let indented = shown(frame).replace('\n', "\n   ");
                format!("{}) {indented}", place + 1)
            };
            numbered.map(line).collect::<Vec<_>>().join("\n")
        }
    }
}

/// Quotes a word if it is empty or has spaces. A script keeps its lines.
fn quoted(text: &[u8]) -> String {
    let text = String::from_utf8_lossy(text);
    match text.is_empty() || text.contains(|c: char| c.is_whitespace() || c == '"') {
        true => format!("\"{}\"", text.replace('"', "\\\"")),
        false => text.into_owned(),
    }
}

#[cfg(test)]
mod tests {
    use locklab_testing::hostile;

    use super::{is_whole, text};

    #[test]
    fn hostile_bytes_are_shown_unchanged() {
        for (name, bytes) in hostile::resp() {
            let unchanged = String::from_utf8_lossy(&bytes).replace("\r\n", "\n");
            assert!(text(&bytes) == unchanged, "{name}");
            assert!(!is_whole(&bytes), "{name}");
        }
    }

    #[test]
    fn frames_are_shown_as_a_person_types_and_reads_them() {
        for (payload, expected) in [
            (
                "*3\r\n$3\r\nSET\r\n$4\r\nlock\r\n$3\r\na b\r\n",
                "SET lock \"a b\"",
            ),
            ("+OK\r\n$-1\r\n", "OK\n(nil)"),
            (":1\r\n", "(integer) 1"),
            ("-ERR no\r\n", "(error) ERR no"),
            ("*0\r\n", "(empty array)"),
            (
                "*2\r\n$1\r\na\r\n*2\r\n:1\r\n:2\r\n",
                "1) a\n2) 1) (integer) 1\n   2) (integer) 2",
            ),
            // The end of a script, whose beginning was in another segment.
            ("+OK\r\n$10\r\nreturn", "OK\n$10\nreturn"),
            ("redis.call('del')\r\n", "redis.call('del')\n"),
        ] {
            assert_eq!(text(payload.as_bytes()), expected);
        }
    }
}

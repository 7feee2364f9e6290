//! Requests as words, and the comparison of replies.

use bytes::Bytes;
use locklab_redis::resp::command;
use redis_protocol::resp2::decode::decode;
use redis_protocol::resp2::types::OwnedFrame;
use redis_protocol::resp3;
use redis_protocol::resp3::types::OwnedFrame as Frame3;

/// Encodes these words as a client sends them.
pub fn request(words: &[Vec<u8>]) -> Bytes {
    command(&words.iter().map(Vec::as_slice).collect::<Vec<_>>())
}

/// How similar two replies must be.
#[derive(Copy, Clone, PartialEq, Debug)]
pub enum Likeness {
    /// The same bytes.
    Bytes,
    /// Integers may differ by this; all else must be the same bytes.
    Within(i64),
    /// As [`Likeness::Within`], with arrays inside an array in any order.
    Loose(i64),
    /// Arrays of the same items in any order; anything else the same bytes.
    Sorted,
    /// The same types, and arrays of the same length.
    Shape,
    /// Lines of CLIENT LIST, with the same state of each client that has a name.
    Clients,
    /// The same numbers of calls and errors in lines of INFO.
    Counts,
}

/// Whether two streams of replies and messages are alike, whichever protocol they
/// are in. The same bytes always are: a transaction that changes the protocol has
/// replies in both, which no decoder reads.
pub fn alike_all(one: &[u8], other: &[u8], likeness: Likeness) -> bool {
    one == other
        || likeness == Likeness::Shape
            && match (frames(one), frames(other)) {
                (Some(a), Some(b)) => {
                    a.len() == b.len() && a.iter().zip(&b).all(|(a, b)| same_shape_3(a, b))
                }
                _ => false,
            }
}

fn frames(mut bytes: &[u8]) -> Option<Vec<Frame3>> {
    let mut frames = Vec::new();
    while !bytes.is_empty() {
        // Only RESP2 has nulls with a length.
        let len = match decode(bytes) {
            Ok(Some((_, len))) => len,
            _ => 0,
        };
        if let Ok(Some((frame, len))) = resp3::decode::complete::decode(bytes) {
            frames.push(frame);
            bytes = &bytes[len..];
        } else if len > 0 {
            frames.push(Frame3::Null);
            bytes = &bytes[len..];
        } else {
            return None;
        }
    }
    Some(frames)
}

fn same_shape_3(one: &Frame3, other: &Frame3) -> bool {
    let all = |a: &[Frame3], b: &[Frame3]| {
        a.len() == b.len() && a.iter().zip(b).all(|(a, b)| same_shape_3(a, b))
    };
    match (one, other) {
        (Frame3::Array { data: a, .. }, Frame3::Array { data: b, .. })
        | (Frame3::Push { data: a, .. }, Frame3::Push { data: b, .. }) => all(a, b),
        (Frame3::Map { data: a, .. }, Frame3::Map { data: b, .. }) => a.len() == b.len(),
        (Frame3::Set { data: a, .. }, Frame3::Set { data: b, .. }) => a == b,
        _ => std::mem::discriminant(one) == std::mem::discriminant(other),
    }
}

pub fn alike(one: &[u8], other: &[u8], likeness: Likeness) -> bool {
    match likeness {
        Likeness::Clients => return states(one) == states(other),
        Likeness::Counts => return counts(one) == counts(other),
        _ => {}
    }
    let read = |bytes: &[u8]| decode(bytes).ok().flatten().map(|(frame, _)| frame);
    one == other
        || match (likeness, read(one), read(other)) {
            (Likeness::Within(most), Some(one), Some(other)) => near(&one, &other, most),
            (Likeness::Loose(most), Some(one), Some(other)) => loosely(&one, &other, most),
            (Likeness::Sorted, Some(one), Some(other)) => sorted(one) == sorted(other),
            (Likeness::Shape, Some(one), Some(other)) => same_shape(&one, &other),
            _ => false,
        }
}

fn near(one: &OwnedFrame, other: &OwnedFrame, most: i64) -> bool {
    match (one, other) {
        // -1 and -2 have special meanings.
        (OwnedFrame::Integer(a), OwnedFrame::Integer(b)) => {
            *a > 0 && *b > 0 && a.abs_diff(*b) <= most.unsigned_abs()
        }
        (OwnedFrame::Array(a), OwnedFrame::Array(b)) => {
            a.len() == b.len() && a.iter().zip(b).all(|(a, b)| a == b || near(a, b, most))
        }
        _ => one == other,
    }
}

fn loosely(one: &OwnedFrame, other: &OwnedFrame, most: i64) -> bool {
    match (one, other) {
        (OwnedFrame::Array(a), OwnedFrame::Array(b)) => {
            let alike = |(a, b): (&OwnedFrame, &OwnedFrame)| {
                near(a, b, most) || sorted(a.clone()) == sorted(b.clone())
            };
            a.len() == b.len() && a.iter().zip(b).all(alike)
        }
        _ => one == other,
    }
}

fn sorted(frame: OwnedFrame) -> OwnedFrame {
    match frame {
        OwnedFrame::Array(items) => {
            let mut items: Vec<_> = items.into_iter().map(sorted).collect();
            items.sort_by_key(|item| format!("{item:?}"));
            OwnedFrame::Array(items)
        }
        other => other,
    }
}

fn same_shape(one: &OwnedFrame, other: &OwnedFrame) -> bool {
    match (one, other) {
        (OwnedFrame::Array(a), OwnedFrame::Array(b)) => {
            a.len() == b.len() && a.iter().zip(b).all(|(a, b)| same_shape(a, b))
        }
        _ => std::mem::discriminant(one) == std::mem::discriminant(other),
    }
}

/// The fields of CLIENT LIST that do not depend on a process, its memory or its clock.
const FIELDS: [&str; 14] = [
    "name", "flags", "db", "sub", "psub", "ssub", "multi", "watch", "cmd", "user", "redir", "resp",
    "lib-name", "lib-ver",
];

/// The lines of a reply, without lengths, and with these fields only. Unnamed clients are left out:
/// one of them asks the real server for its time.
fn states(reply: &[u8]) -> Vec<String> {
    let text = String::from_utf8_lossy(reply);
    let lines = text.split_inclusive('\n').filter(|line| {
        let is_unnamed = line.starts_with("id=") && line.contains(" name= ");
        !line.starts_with('$') && !is_unnamed
    });
    let chosen = |line: &str| {
        if !line.starts_with("id=") {
            return line.to_owned();
        }
        let end = line.trim_start_matches(|c| c != '\r' && c != '\n');
        let fields = line.split_whitespace().filter(|field| {
            let name = field.split('=').next();
            name.is_some_and(|name| FIELDS.contains(&name))
        });
        fields.collect::<Vec<_>>().join(" ") + end
    };
    lines.map(chosen).collect()
}

/// The lines of INFO that count calls and errors, without times, in order.
pub fn counts(reply: &[u8]) -> Vec<String> {
    let text = String::from_utf8_lossy(reply);
    let counted = text.split("\r\n").filter(|line| {
        // The clock of the tests asks the real server alone for its time.
        let is_clock = line.starts_with("cmdstat_time:");
        let starts = ["cmdstat_", "errorstat_", "total_error_replies:"];
        !is_clock && starts.iter().any(|start| line.starts_with(start))
    });
    let timeless = counted.map(|line| {
        let parts = line.split(',').filter(|part| !part.starts_with("usec"));
        parts.collect::<Vec<_>>().join(",")
    });
    let mut lines: Vec<String> = timeless.collect();
    lines.sort();
    lines
}

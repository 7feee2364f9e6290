//! Requests as words, and the comparison of replies.

use bytes::Bytes;
use locklab_redis::resp::command;
use redis_protocol::resp2::decode::decode;
use redis_protocol::resp2::types::OwnedFrame;
use redis_protocol::resp3;
use redis_protocol::resp3::types::OwnedFrame as Frame3;

/// The words of a line; a quoted part is one word.
pub fn words(line: &str, quote: char) -> Vec<Vec<u8>> {
    let mut words = Vec::new();
    for (index, part) in line.split(quote).enumerate() {
        match index % 2 {
            0 => words.extend(part.split_whitespace().map(Vec::from)),
            _ => words.push(part.into()),
        }
    }
    words
}

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

//! The approximate memory of keys in a real server (`objectComputeSize` of `src/object.c`).
//!
//! It differs from the node's own memory: a node reports, and compares with `maxmemory`,
//! approximately the memory that Redis 7.0.15 with jemalloc would use. Strings, lists and compact
//! collections are mostly exact. In large collections, and in sets that are not of integers, the
//! size is estimated from five elements, as in Redis; but Redis draws other elements.

use super::value::{List, Set, Value};
use crate::wire::{float, number::parse_i64};

/// The memory of a server with one client and without keys: as measured.
pub(crate) const EMPTY_SERVER_BYTES: usize = 914_608;

/// A key's place in the table of keys, and that of its time to live in theirs.
const PLACE_BYTES: usize = 16;
const DEADLINE_BYTES: usize = 40;

const OBJECT_BYTES: usize = 16;
const DICT_ENTRY_BYTES: usize = 24;
const DICT_BYTES: usize = 56;
/// A node of a list, and the content that makes it full.
const LIST_NODE_BYTES: usize = 32;
const FULL_NODE_BYTES: usize = 8192;
const LIST_BYTES: usize = 48;
const LISTPACK_BYTES: usize = 7;
const INTSET_BYTES: usize = 8;
/// The skip list of a sorted set without members, and one of its nodes: with one level it takes 48
/// bytes, each further level takes 16, and a quarter of the nodes of one level have the next.
const SKIP_LIST_BYTES: usize = 16 + 32 + 528;
const SKIP_NODE_BYTES: usize = 53;

/// How many elements of a large collection are looked at.
const SAMPLES: usize = 5;

/// How many elements of a list are looked at, each time that it changes.
const LIST_SAMPLES: usize = 16;

/// `MEMORY USAGE`.
pub(crate) fn of_key(key: &[u8], value: &Value) -> usize {
    DICT_ENTRY_BYTES + string(key) + of_value(value)
}

/// The contribution of a key to `used_memory`, with or without a time to live.
pub(crate) fn with_places(key: &[u8], value: &Value, expires: bool) -> usize {
    let deadline = if expires { DEADLINE_BYTES } else { 0 };
    of_key(key, value) + PLACE_BYTES + deadline
}

fn of_value(value: &Value) -> usize {
    let content = match value {
        Value::String(_) if value.encoding() == "int" => 0,
        // An embedded string has the longer head, and is allocated with its object.
        Value::String(text) if value.encoding() == "embstr" => {
            return size_class(OBJECT_BYTES + 3 + text.len() + 1);
        }
        Value::String(text) => raw_string(text.len()),
        Value::List(list) => of_list(list),
        Value::Hash(hash) if hash.is_compact() => {
            let fields = hash.iter();
            let bytes = fields.map(|(field, value)| packed(field) + packed(value));
            listpack(bytes.sum())
        }
        Value::Hash(hash) => {
            let fields = hash.iter();
            dict(
                hash.len(),
                fields.map(|(field, value)| string(field) + string(value)),
            )
        }
        Value::Set(Set::Ints(ints)) => {
            let outermost = [ints.first(), ints.last()].into_iter().flatten();
            let width = outermost.map(|int| int_width(*int)).max();
            size_class(INTSET_BYTES + ints.len() * width.unwrap_or(0))
        }
        Value::Set(Set::Table(members)) => {
            dict(members.len(), members.iter().map(|member| string(member)))
        }
        Value::Zset(zset) if zset.is_compact() => {
            let members = zset.ranked().iter();
            let bytes = members.map(|(score, member)| packed(member) + score_bytes(*score));
            listpack(bytes.sum())
        }
        Value::Zset(zset) => {
            let members = zset.ranked().iter();
            let node = |(_, member): &(f64, bytes::Bytes)| string(member) + SKIP_NODE_BYTES;
            SKIP_LIST_BYTES + dict(zset.len(), members.map(node))
        }
    };
    OBJECT_BYTES + content
}

fn of_list(list: &List) -> usize {
    let looked_at = list.len().min(LIST_SAMPLES);
    let sampled: usize = list
        .iter()
        .take(LIST_SAMPLES)
        .map(|text| packed(text))
        .sum();
    let bytes = sampled * list.len() / looked_at.max(1);
    let full = bytes / FULL_NODE_BYTES;
    let rest = size_class(LISTPACK_BYTES + bytes % FULL_NODE_BYTES);
    LIST_BYTES + full * (LIST_NODE_BYTES + FULL_NODE_BYTES) + LIST_NODE_BYTES + rest
}

/// The size of a hash table, from the size of each element without its entry.
fn dict(len: usize, elements: impl Iterator<Item = usize>) -> usize {
    let looked_at = len.min(SAMPLES);
    let sampled: usize = elements.take(SAMPLES).sum();
    let all = sampled * len / looked_at.max(1);
    DICT_BYTES + 8 * len.next_power_of_two().max(4) + len * DICT_ENTRY_BYTES + all
}

fn listpack(bytes: usize) -> usize {
    size_class(LISTPACK_BYTES + bytes)
}

/// An element of a listpack: its head, its text or number, and its length once more
/// (`src/listpack.c`).
fn packed(text: &[u8]) -> usize {
    match (parse_i64(text), text.len()) {
        (Some(0..128), _) => 2,
        (Some(-4096..4096), _) => 3,
        (Some(-0x8000..0x8000), _) => 4,
        (Some(-0x80_0000..0x80_0000), _) => 5,
        (Some(-0x8000_0000..0x8000_0000), _) => 6,
        (Some(_), _) => 10,
        (None, len @ 0..64) => len + 2,
        (None, len @ 64..128) => len + 3,
        (None, len @ 128..4096) => len + 4,
        (None, len) => len + 7,
    }
}

fn score_bytes(score: f64) -> usize {
    packed(float::general(score, 17).as_bytes())
}

/// A member of a set of integers is as long as the largest needs (`src/intset.c`).
fn int_width(int: i64) -> usize {
    match int {
        -0x8000..0x8000 => 2,
        -0x8000_0000..0x8000_0000 => 4,
        _ => 8,
    }
}

/// A name, or an element of a table.
fn string(text: &[u8]) -> usize {
    match text.len() {
        len @ 0..32 => size_class(1 + len + 1),
        len => raw_string(len),
    }
}

fn raw_string(len: usize) -> usize {
    let head = match len {
        0..256 => 3,
        256..65_536 => 5,
        _ => 9,
    };
    size_class(head + len + 1)
}

/// The allocation of jemalloc for this many bytes: it has four size classes in each doubling.
fn size_class(bytes: usize) -> usize {
    match bytes {
        0..=8 => 8,
        9..=128 => bytes.next_multiple_of(16),
        _ => bytes.next_multiple_of(bytes.next_power_of_two() / 8),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Sizes of jemalloc's manual.
    #[test]
    fn allocation_sizes_match_jemalloc() {
        for (bytes, class) in [
            (1, 8),
            (9, 16),
            (33, 48),
            (128, 128),
            (129, 160),
            (160, 160),
            (256, 256),
            (257, 320),
            (1006, 1024),
            (1025, 1280),
            (10_006, 10_240),
        ] {
            assert_eq!(size_class(bytes), class, "{bytes}");
        }
    }
}

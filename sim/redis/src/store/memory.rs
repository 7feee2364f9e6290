//! About how much memory keys take in a real server (`objectComputeSize` of `src/object.c`).
//!
//! A node's own memory is another; what it reports, and compares with `maxmemory`, is about what
//! Redis 7.0.15 with jemalloc would take. Strings and compact collections are exact. Of large
//! collections five elements stand for all.

use super::value::Value;

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
/// The skip list of a sorted set without members, and one of its nodes.
const SKIP_LIST_BYTES: usize = 16 + 32 + 528;
const SKIP_NODE_BYTES: usize = 40;

/// How many elements of a large collection are looked at.
const SAMPLES: usize = 5;

/// `MEMORY USAGE`.
pub(crate) fn of_key(key: &[u8], value: &Value) -> usize {
    DICT_ENTRY_BYTES + string(key) + of_value(value)
}

/// What a key adds to `used_memory`, with or without a time to live.
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
        Value::List(list) => {
            let bytes: usize = list.iter().map(|element| packed(element.len())).sum();
            let full = bytes / FULL_NODE_BYTES;
            let rest = size_class(LISTPACK_BYTES + bytes % FULL_NODE_BYTES);
            LIST_BYTES + full * (LIST_NODE_BYTES + FULL_NODE_BYTES) + LIST_NODE_BYTES + rest
        }
        Value::Hash(hash) if hash.is_compact() => {
            let fields = hash.iter();
            let bytes = fields.map(|(field, value)| packed(field.len()) + packed(value.len()));
            listpack(bytes.sum())
        }
        Value::Hash(hash) => {
            let fields = hash.iter();
            dict(
                hash.len(),
                fields.map(|(field, value)| string(field) + string(value)),
            )
        }
        Value::Set(set) if set.is_compact() => size_class(INTSET_BYTES + 2 * set.len()),
        Value::Set(set) => dict(set.len(), set.iter().map(|member| string(&member))),
        Value::Zset(zset) if zset.is_compact() => {
            let members = zset.ranked().iter();
            let bytes = members.map(|(score, member)| packed(member.len()) + score_bytes(*score));
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

/// A hash table, from what each element takes beside its entry.
fn dict(len: usize, elements: impl Iterator<Item = usize>) -> usize {
    let looked_at = len.min(SAMPLES);
    let sampled: usize = elements.take(SAMPLES).sum();
    let all = sampled * len / looked_at.max(1);
    DICT_BYTES + 8 * len.next_power_of_two().max(4) + len * DICT_ENTRY_BYTES + all
}

fn listpack(bytes: usize) -> usize {
    size_class(LISTPACK_BYTES + bytes)
}

/// An element of a listpack: its text, its head, and its length once more.
fn packed(len: usize) -> usize {
    match len {
        0..64 => len + 2,
        64..128 => len + 3,
        128..4096 => len + 4,
        _ => len + 7,
    }
}

fn score_bytes(score: f64) -> usize {
    match score.fract() == 0.0 && (0.0..128.0).contains(&score) {
        true => 2,
        false => packed(score.to_string().len()),
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

/// What jemalloc allocates for so many bytes: of its sizes there are four in each doubling.
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
    fn sizes_are_those_of_jemalloc() {
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

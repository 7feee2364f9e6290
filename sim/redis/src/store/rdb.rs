//! Snapshots: the RDB format (`src/rdb.c`).
//!
//! Every value is written in the plain form of its type, which any Redis since 2.8 reads. The
//! reader accepts every form that 7.0 writes for the types of a node: `compact` and `lzf` are
//! the forms that save memory.

mod compact;
mod lzf;

use bytes::{BufMut, Bytes, BytesMut};

use crate::store::db::Db;
use crate::store::keyspace::{Entry, Keyspace};
use crate::store::value::{Hash, Limits, List, Set, Value, Zset};

/// 7.0 writes version 10.
const MAGIC: &[u8] = b"REDIS0010";
/// `RDB_OPCODE_FUNCTION2`: the text of a library of functions, which the node does not have.
const FUNCTION: u8 = 0xf5;

/// How recently a key was used: the idle time in seconds, or the access frequency.
const IDLE_S: u8 = 0xf8;
const FREQUENCY: u8 = 0xf9;
/// A name and a value: for information, all but [`STREAM_DB`].
const AUX: u8 = 0xfa;
/// The name of the number of the database that the stream after the snapshot has selected.
const STREAM_DB: &[u8] = b"repl-stream-db";
/// The number of keys, and the number of keys with a time to live.
const SIZES: u8 = 0xfb;
const EXPIRES_AT_MS: u8 = 0xfc;
const EXPIRES_AT_S: u8 = 0xfd;
const SELECT_DB: u8 = 0xfe;
const END: u8 = 0xff;

const STRING: u8 = 0;
const LIST: u8 = 1;
const SET: u8 = 2;
const HASH: u8 = 4;
/// Sorted sets with binary scores.
const ZSET: u8 = 5;
const SET_INTSET: u8 = 11;
const HASH_LISTPACK: u8 = 16;
const ZSET_LISTPACK: u8 = 17;
/// Listpacks, and elements that are too large for one.
const LIST_QUICKLIST: u8 = 18;
/// Since 7.2.
const SET_LISTPACK: u8 = 20;

/// A node of a quicklist: one element, or a listpack.
const PLAIN: usize = 1;
const PACKED: usize = 2;

/// How a text is encoded if not as its length and its bytes.
const INT8: u8 = 0xc0;
const INT16: u8 = 0xc1;
const INT32: u8 = 0xc2;
const LZF: u8 = 0xc3;

/// Writes a snapshot of all keys, expired ones included.
pub(crate) fn save(db: &Db) -> Bytes {
    save_for_stream(db, 0)
}

/// Like [`save`], for a replica whose stream of commands continues in this database, without
/// SELECT.
pub(crate) fn save_for_stream(db: &Db, stream_db: usize) -> Bytes {
    let mut out = BytesMut::from(MAGIC);
    if stream_db > 0 {
        out.put_u8(AUX);
        write_string(STREAM_DB, &mut out);
        write_string(stream_db.to_string().as_bytes(), &mut out);
    }
    // Database 0 is named even if it is empty: a run's trace has the bytes of its snapshots.
    let named = |(index, space): &(usize, &Keyspace)| *index == 0 || space.len() > 0;
    for (index, space) in db.spaces().filter(named) {
        out.put_u8(SELECT_DB);
        write_len(index, &mut out);
        for (key, entry) in space.iter_all() {
            if let Some(when) = entry.expires_at_ms {
                out.put_u8(EXPIRES_AT_MS);
                out.put_i64_le(when);
            }
            write_entry(key, &entry.value, &mut out);
        }
    }
    out.put_u8(END);
    // No checksum, as with `rdbchecksum no`.
    out.put_u64_le(0);
    out.freeze()
}

fn write_entry(key: &[u8], value: &Value, out: &mut BytesMut) {
    let head = |kind, out: &mut BytesMut| {
        out.put_u8(kind);
        write_string(key, out);
    };
    match value {
        Value::String(text) => {
            head(STRING, out);
            write_string(text, out);
        }
        Value::List(list) => {
            head(LIST, out);
            write_len(list.len(), out);
            list.iter().for_each(|item| write_string(item, out));
        }
        Value::Set(set) => {
            head(SET, out);
            write_len(set.len(), out);
            set.iter().for_each(|member| write_string(&member, out));
        }
        Value::Hash(hash) => {
            head(HASH, out);
            write_len(hash.len(), out);
            for (field, value) in hash.iter() {
                write_string(field, out);
                write_string(value, out);
            }
        }
        Value::Zset(zset) => {
            head(ZSET, out);
            write_len(zset.len(), out);
            for (score, member) in zset.ranked() {
                write_string(member, out);
                out.put_f64_le(*score);
            }
        }
    }
}

fn write_string(text: &[u8], out: &mut BytesMut) {
    write_len(text.len(), out);
    out.put_slice(text);
}

/// `rdbSaveLen`.
fn write_len(len: usize, out: &mut BytesMut) {
    match u32::try_from(len) {
        Ok(len @ 0..64) => out.put_u8(len as u8),
        Ok(len @ 64..16_384) => out.put_u16(0x4000 | len as u16),
        Ok(len) => {
            out.put_u8(0x80);
            out.put_u32(len);
        }
        Err(_) => {
            out.put_u8(0x81);
            out.put_u64(len as u64);
        }
    }
}

/// A corrupt or unsupported snapshot.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub(crate) struct CorruptRdb;

/// Whether a file starts with a snapshot.
pub(crate) fn is_snapshot(file: &[u8]) -> bool {
    file.starts_with(b"REDIS")
}

/// The contents of a snapshot.
#[derive(Default)]
pub(crate) struct Snapshot {
    /// Every key, with the number of its database.
    pub(crate) entries: Vec<(usize, Bytes, Entry)>,
    /// The number of the database that the stream after the snapshot has selected.
    pub(crate) stream_db: usize,
    /// The length of the snapshot, which other data may follow.
    pub(crate) len: usize,
}

/// Reads a snapshot from the start of a file. The limits decide which values are compact.
///
/// # Errors
///
/// If it is truncated, or holds something that the node does not support: a stream, or a database
/// whose number is `databases` or more.
pub(crate) fn load(file: &[u8], databases: usize, limits: Limits) -> Result<Snapshot, CorruptRdb> {
    let mut reader = Reader(file);
    let version = reader.take(MAGIC.len())?.strip_prefix(b"REDIS");
    // A later version may have unknown forms; they are refused when they occur.
    if !version.is_some_and(|digits| digits.iter().all(u8::is_ascii_digit)) {
        return Err(CorruptRdb);
    }
    let mut snapshot = Snapshot::default();
    let mut db = 0;
    let mut expires_at_ms = None;
    loop {
        match reader.byte()? {
            EXPIRES_AT_MS => expires_at_ms = Some(i64::from_le_bytes(reader.bytes()?)),
            EXPIRES_AT_S => {
                expires_at_ms = Some(i64::from(i32::from_le_bytes(reader.bytes()?)) * 1000);
            }
            SELECT_DB => {
                db = reader.len()?;
                if db >= databases {
                    return Err(CorruptRdb);
                }
            }
            AUX => {
                let (name, value) = (reader.string()?, reader.string()?);
                if name == STREAM_DB {
                    let number = std::str::from_utf8(&value)
                        .ok()
                        .and_then(|t| t.parse().ok());
                    let number = number.filter(|number| *number < databases);
                    snapshot.stream_db = number.unwrap_or(0);
                }
            }
            SIZES => {
                reader.len()?;
                reader.len()?;
            }
            IDLE_S => drop(reader.len()?),
            FREQUENCY => drop(reader.byte()?),
            FUNCTION => drop(reader.string()?),
            END => break,
            kind => {
                let key = reader.string()?;
                let value = reader.value(kind, limits)?;
                let expires_at_ms = expires_at_ms.take();
                snapshot
                    .entries
                    .push((db, key, Entry::new(value, expires_at_ms)));
            }
        }
    }
    // The checksum.
    reader.take(8)?;
    snapshot.len = file.len() - reader.0.len();
    Ok(snapshot)
}

/// The remaining input.
pub(crate) struct Reader<'a>(pub(crate) &'a [u8]);

impl<'a> Reader<'a> {
    fn take(&mut self, len: usize) -> Result<&'a [u8], CorruptRdb> {
        let (head, rest) = self.0.split_at_checked(len).ok_or(CorruptRdb)?;
        self.0 = rest;
        Ok(head)
    }

    pub(crate) fn byte(&mut self) -> Result<u8, CorruptRdb> {
        self.take(1).map(|bytes| bytes[0])
    }

    fn bytes<const N: usize>(&mut self) -> Result<[u8; N], CorruptRdb> {
        self.take(N)?.try_into().map_err(|_| CorruptRdb)
    }

    fn len(&mut self) -> Result<usize, CorruptRdb> {
        let first = self.byte()?;
        Ok(match first {
            0..0x40 => usize::from(first),
            0x40..0x80 => usize::from(first & 0x3f) << 8 | usize::from(self.byte()?),
            0x80 => u32::from_be_bytes(self.bytes()?) as usize,
            0x81 => u64::from_be_bytes(self.bytes()?) as usize,
            _ => return Err(CorruptRdb),
        })
    }

    /// Reads a text in any of its encodings.
    pub(crate) fn string(&mut self) -> Result<Bytes, CorruptRdb> {
        let encoding = self.0.first().copied().filter(|first| *first >= INT8);
        if encoding.is_none() {
            let len = self.len()?;
            return self.take(len).map(Bytes::copy_from_slice);
        }
        Ok(match self.byte()? {
            INT8 => compact::integer(i8::from_le_bytes(self.bytes()?).into()),
            INT16 => compact::integer(i16::from_le_bytes(self.bytes()?).into()),
            INT32 => compact::integer(i32::from_le_bytes(self.bytes()?).into()),
            LZF => {
                let (compressed_len, len) = (self.len()?, self.len()?);
                lzf::decompress(self.take(compressed_len)?, len)?.into()
            }
            _ => return Err(CorruptRdb),
        })
    }

    fn value(&mut self, kind: u8, limits: Limits) -> Result<Value, CorruptRdb> {
        Ok(match kind {
            STRING => Value::String(self.string()?),
            LIST => {
                let items: Result<List, _> = (0..self.len()?).map(|_| self.string()).collect();
                Value::List(items?)
            }
            LIST_QUICKLIST => Value::List(self.quicklist()?),
            SET => {
                let members: Result<Vec<_>, _> = (0..self.len()?).map(|_| self.string()).collect();
                set(&members?, limits)
            }
            SET_INTSET => set(&compact::intset(&self.string()?)?, limits),
            SET_LISTPACK => set(&self.listpack()?, limits),
            HASH => {
                let mut hash = Hash::default();
                for _ in 0..self.len()? {
                    let field = self.string()?;
                    hash.set(&field, self.string()?, limits.hash);
                }
                Value::Hash(hash)
            }
            HASH_LISTPACK => {
                let mut hash = Hash::default();
                for (field, value) in pairs(&self.listpack()?)? {
                    hash.set(field, value.clone(), limits.hash.of_any_length());
                }
                Value::Hash(hash)
            }
            ZSET => {
                let mut zset = Zset::default();
                for _ in 0..self.len()? {
                    let member = self.string()?;
                    zset.set(&member, f64::from_le_bytes(self.bytes()?), limits.zset);
                }
                Value::Zset(zset)
            }
            ZSET_LISTPACK => {
                let mut zset = Zset::default();
                for (member, score) in pairs(&self.listpack()?)? {
                    zset.set(member, number(score)?, limits.zset.of_any_length());
                }
                Value::Zset(zset)
            }
            _ => return Err(CorruptRdb),
        })
    }

    fn listpack(&mut self) -> Result<Vec<Bytes>, CorruptRdb> {
        compact::listpack(&self.string()?)
    }

    fn quicklist(&mut self) -> Result<List, CorruptRdb> {
        let mut list = List::new();
        for _ in 0..self.len()? {
            match self.len()? {
                PLAIN => list.push_back(self.string()?),
                PACKED => list.extend(self.listpack()?),
                _ => return Err(CorruptRdb),
            }
        }
        Ok(list)
    }
}

fn set(members: &[Bytes], limits: Limits) -> Value {
    let mut set = Set::default();
    for member in members {
        set.add(member, limits.intset_entries);
    }
    Value::Set(set)
}

/// The pairs of alternating elements.
fn pairs(elements: &[Bytes]) -> Result<impl Iterator<Item = (&Bytes, &Bytes)>, CorruptRdb> {
    let pairs = elements.chunks_exact(2);
    match pairs.remainder() {
        [] => Ok(pairs.map(|pair| (&pair[0], &pair[1]))),
        _ => Err(CorruptRdb),
    }
}

fn number(text: &[u8]) -> Result<f64, CorruptRdb> {
    let number = std::str::from_utf8(text).ok().and_then(|t| t.parse().ok());
    number.filter(|n: &f64| !n.is_nan()).ok_or(CorruptRdb)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_type_round_trips_and_truncated_input_is_rejected() {
        let limits = Limits::default();
        let mut hash = Hash::default();
        hash.set(b"field", "value".into(), limits.hash);
        let mut set = Set::default();
        set.add(b"7", limits.intset_entries);
        let mut zset = Zset::default();
        zset.set(b"member", -1.5, limits.zset);
        let values = [
            Value::String("x".repeat(63).into()),
            Value::String("x".repeat(64).into()),
            Value::String("x".repeat(16_384).into()),
            Value::List(["a", "b"].map(Bytes::from).into()),
            Value::Hash(hash),
            Value::Set(set),
            Value::Zset(zset),
        ];
        let mut db = Db::default();
        for (index, value) in values.into_iter().enumerate() {
            let expires_at_ms = (index % 2 == 0).then_some(index as i64);
            let key = Bytes::from(index.to_string());
            db.load(key, Entry::new(value, expires_at_ms), 0);
        }
        let snapshot = save(&db);
        let mut again = Db::default();
        for (_, key, entry) in load(&snapshot, 16, limits).expect("it is whole").entries {
            again.load(key, entry, 0);
        }
        assert_eq!(format!("{:?}", again.iter_all().collect::<Vec<_>>()), {
            format!("{:?}", db.iter_all().collect::<Vec<_>>())
        });
        for len in 0..snapshot.len() {
            assert!(load(&snapshot[..len], 16, limits).is_err(), "{len} bytes");
        }
    }
    #[test]
    fn libraries_of_functions_are_skipped() {
        let library = b"\xf5\x0e#!lua name=one";
        let rest = b"\xfe\0\0\x01k\x01v\xff\0\0\0\0\0\0\0\0";
        let file = [MAGIC, library, &rest[..]].concat();
        let snapshot = load(&file, 16, Limits::default()).expect("it is whole");
        let keys: Vec<_> = snapshot
            .entries
            .iter()
            .map(|(_, key, _)| &key[..])
            .collect();
        assert_eq!(keys, [b"k"]);
    }
}

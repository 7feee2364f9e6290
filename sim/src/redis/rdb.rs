//! Snapshots: the RDB format (`src/rdb.c`), as much of it as our own data needs.
//!
//! Every value is written in the plain form of its type, which any Redis since 2.8
//! reads. Only these forms are read back, so a snapshot that a real server made, with
//! its compact forms, is refused.

use bytes::{BufMut, Bytes, BytesMut};

use super::db::{Db, Entry};
use super::functions::{Collision, Functions};
use super::value::{Hash, List, Set, Value, Zset};

/// 7.0 writes version 10.
const MAGIC: &[u8] = b"REDIS0010";
/// As a number.
pub(super) const VERSION: u16 = 10;
/// `RDB_OPCODE_FUNCTION2`: the text of a library.
pub(super) const FUNCTION: u8 = 0xf5;
const EXPIRES_AT_MS: u8 = 0xfc;
const SELECT_DB: u8 = 0xfe;
const END: u8 = 0xff;

/// `RDB_ENC_LZF`, in the place of a string's length.
const COMPRESSED: u8 = 0xc3;

const STRING: u8 = 0;
const LIST: u8 = 1;
const SET: u8 = 2;
const HASH: u8 = 4;
/// Sorted sets with binary scores.
const ZSET: u8 = 5;

/// Everything that is there, keys whose time is over included.
pub(super) fn save(db: &Db, functions: &Functions) -> Bytes {
    let mut out = BytesMut::from(MAGIC);
    write_functions(functions, &mut out);
    out.put_slice(&[SELECT_DB, 0]);
    for (key, entry) in db.iter_all() {
        if let Some(when) = entry.expires_at_ms {
            out.put_u8(EXPIRES_AT_MS);
            out.put_i64_le(when);
        }
        write_entry(key, &entry.value, &mut out);
    }
    out.put_u8(END);
    // No checksum: as with `rdbchecksum no`.
    out.put_u64_le(0);
    out.freeze()
}

/// The texts of the libraries.
pub(super) fn write_functions(functions: &Functions, out: &mut BytesMut) {
    for library in functions.libraries() {
        out.put_u8(FUNCTION);
        write_string(&library.code, out);
    }
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

/// A snapshot that cannot be read.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub(super) struct Unreadable;

/// The length of a snapshot at the start of a file, if there is one.
pub(super) fn is_snapshot(file: &[u8]) -> bool {
    file.starts_with(b"REDIS")
}

/// What a snapshot holds.
#[derive(Default)]
pub(super) struct Snapshot {
    /// Every key.
    pub(super) entries: Vec<(Bytes, Entry)>,
    /// The libraries of functions.
    pub(super) functions: Functions,
    /// The length of the snapshot, after which more may come.
    pub(super) len: usize,
}

/// Reads a snapshot from the start of a file.
///
/// # Errors
///
/// It is cut short, or has something that [`save`] does not write.
pub(super) fn load(file: &[u8]) -> Result<Snapshot, Unreadable> {
    let mut reader = Reader(file);
    if reader.take(MAGIC.len())? != MAGIC {
        return Err(Unreadable);
    }
    let mut snapshot = Snapshot::default();
    let mut expires_at_ms = None;
    loop {
        match reader.byte()? {
            EXPIRES_AT_MS => expires_at_ms = Some(i64::from_le_bytes(reader.eight()?)),
            SELECT_DB => drop(reader.len()?),
            FUNCTION => {
                let code = reader.string()?;
                let loaded = snapshot.functions.load(&code, Collision::Refuse);
                loaded.map_err(|_| Unreadable)?;
            }
            END => break,
            kind => {
                let key = reader.string()?;
                let value = reader.value(kind)?;
                let expires_at_ms = expires_at_ms.take();
                snapshot.entries.push((
                    key,
                    Entry {
                        value,
                        expires_at_ms,
                    },
                ));
            }
        }
    }
    reader.eight()?;
    snapshot.len = file.len() - reader.0.len();
    Ok(snapshot)
}

/// What is left to read.
pub(super) struct Reader<'a>(pub(super) &'a [u8]);

impl<'a> Reader<'a> {
    fn take(&mut self, len: usize) -> Result<&'a [u8], Unreadable> {
        let (head, rest) = self.0.split_at_checked(len).ok_or(Unreadable)?;
        self.0 = rest;
        Ok(head)
    }

    pub(super) fn byte(&mut self) -> Result<u8, Unreadable> {
        self.take(1).map(|bytes| bytes[0])
    }

    fn eight(&mut self) -> Result<[u8; 8], Unreadable> {
        self.take(8)?.try_into().map_err(|_| Unreadable)
    }

    fn len(&mut self) -> Result<usize, Unreadable> {
        let first = self.byte()?;
        Ok(match first {
            0..0x40 => usize::from(first),
            0x40..0x80 => usize::from(first & 0x3f) << 8 | usize::from(self.byte()?),
            0x80 => {
                let four = self.take(4)?.try_into().map_err(|_| Unreadable)?;
                u32::from_be_bytes(four) as usize
            }
            0x81 => u64::from_be_bytes(self.eight()?) as usize,
            _ => return Err(Unreadable),
        })
    }

    /// A string, also one that a real server compressed.
    pub(super) fn string(&mut self) -> Result<Bytes, Unreadable> {
        if self.0.first() == Some(&COMPRESSED) {
            self.byte()?;
            let (packed_len, len) = (self.len()?, self.len()?);
            return decompress(self.take(packed_len)?, len);
        }
        let len = self.len()?;
        self.take(len).map(Bytes::copy_from_slice)
    }

    fn value(&mut self, kind: u8) -> Result<Value, Unreadable> {
        if kind == STRING {
            return self.string().map(Value::String);
        }
        let len = self.len()?;
        Ok(match kind {
            LIST => {
                let items: Result<List, _> = (0..len).map(|_| self.string()).collect();
                Value::List(items?)
            }
            SET => {
                let mut set = Set::default();
                for _ in 0..len {
                    set.add(&self.string()?);
                }
                Value::Set(set)
            }
            HASH => {
                let mut hash = Hash::default();
                for _ in 0..len {
                    let field = self.string()?;
                    hash.set(&field, self.string()?);
                }
                Value::Hash(hash)
            }
            ZSET => {
                let mut zset = Zset::default();
                for _ in 0..len {
                    let member = self.string()?;
                    zset.set(&member, f64::from_le_bytes(self.eight()?));
                }
                Value::Zset(zset)
            }
            _ => return Err(Unreadable),
        })
    }
}

/// LZF (`src/lzf_d.c`): bytes as they are, and references to what came before.
fn decompress(mut packed: &[u8], len: usize) -> Result<Bytes, Unreadable> {
    let mut out = Vec::new();
    while let [control, rest @ ..] = packed {
        let control = usize::from(*control);
        packed = rest;
        if control < 32 {
            let (plain, rest) = packed.split_at_checked(control + 1).ok_or(Unreadable)?;
            out.extend_from_slice(plain);
            packed = rest;
            continue;
        }
        let mut count = control >> 5;
        if count == 7 {
            let (more, rest) = packed.split_first().ok_or(Unreadable)?;
            count += usize::from(*more);
            packed = rest;
        }
        let (low, rest) = packed.split_first().ok_or(Unreadable)?;
        packed = rest;
        let back = ((control & 31) << 8 | usize::from(*low)) + 1;
        let from = out.len().checked_sub(back).ok_or(Unreadable)?;
        // It may refer to what it is writing.
        for at in from..from + count + 2 {
            out.push(out[at]);
        }
        if out.len() > len {
            return Err(Unreadable);
        }
    }
    match out.len() == len {
        true => Ok(out.into()),
        false => Err(Unreadable),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_type_and_length_comes_back_and_nothing_short_does() {
        let mut hash = Hash::default();
        hash.set(b"field", "value".into());
        let mut set = Set::default();
        set.add(b"7");
        let mut zset = Zset::default();
        zset.set(b"member", -1.5);
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
            db.load(
                key,
                Entry {
                    value,
                    expires_at_ms,
                },
            );
        }
        let snapshot = save(&db, &Functions::default());
        let mut again = Db::default();
        for (key, entry) in load(&snapshot).expect("it is whole").entries {
            again.load(key, entry);
        }
        assert_eq!(format!("{:?}", again.iter_all().collect::<Vec<_>>()), {
            format!("{:?}", db.iter_all().collect::<Vec<_>>())
        });
        for len in 0..snapshot.len() {
            assert!(load(&snapshot[..len]).is_err(), "{len} bytes");
        }
    }
}

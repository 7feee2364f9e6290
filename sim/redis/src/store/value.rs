//! The values of keys: Redis's five data types.
//!
//! Each type is a plain collection that implements its own order and the encoding that
//! `OBJECT ENCODING` names. Expiry, watching and the deletion of empty collections belong to
//! the keyspace (`db`).

mod hash;
mod limits;
mod list;
mod set;
mod zset;

use bytes::Bytes;

use crate::wire::number::parse_i64;
pub(crate) use hash::Hash;
pub(crate) use limits::{Limits, Listpack};
pub(crate) use list::{End, List};
pub(crate) use set::Set;
pub(crate) use zset::Zset;

/// A key's value.
#[derive(Clone, Debug)]
pub(crate) enum Value {
    String(Bytes),
    Hash(Hash),
    List(List),
    Set(Set),
    Zset(Zset),
}

impl Value {
    /// The name of the type in `TYPE`.
    pub(crate) fn type_name(&self) -> &'static str {
        match self {
            Value::String(_) => "string",
            Value::Hash(_) => "hash",
            Value::List(_) => "list",
            Value::Set(_) => "set",
            Value::Zset(_) => "zset",
        }
    }

    /// The name of the encoding in `OBJECT ENCODING`.
    pub(crate) fn encoding(&self) -> &'static str {
        match self {
            Value::String(text) if parse_i64(text).is_some() => "int",
            Value::String(text) if text.len() <= EMBSTR_MAX_BYTES => "embstr",
            Value::String(_) => "raw",
            Value::Hash(hash) => hash.encoding(),
            Value::List(_) => "quicklist",
            Value::Set(set) => set.encoding(),
            Value::Zset(zset) => zset.encoding(),
        }
    }

    /// Whether this is a collection without elements: the keyspace holds none.
    pub(crate) fn is_empty(&self) -> bool {
        match self {
            Value::String(_) => false,
            Value::Hash(hash) => hash.len() == 0,
            Value::List(list) => list.is_empty(),
            Value::Set(set) => set.len() == 0,
            Value::Zset(zset) => zset.len() == 0,
        }
    }
}

/// `OBJ_ENCODING_EMBSTR_SIZE_LIMIT` of `src/object.c`.
const EMBSTR_MAX_BYTES: usize = 44;

/// One of the data types, for functions that read or change any of them.
pub(crate) trait Kind: Sized {
    /// The value, if it is of this type.
    fn of(value: &Value) -> Option<&Self>;
    /// The value for a change, if it is of this type.
    fn of_mut(value: &mut Value) -> Option<&mut Self>;
    /// An empty value of this type.
    fn empty() -> Value;
}

macro_rules! kind {
    ($type:ty, $variant:ident) => {
        impl Kind for $type {
            fn of(value: &Value) -> Option<&Self> {
                match value {
                    Value::$variant(value) => Some(value),
                    _ => None,
                }
            }

            fn of_mut(value: &mut Value) -> Option<&mut Self> {
                match value {
                    Value::$variant(value) => Some(value),
                    _ => None,
                }
            }

            fn empty() -> Value {
                Value::$variant(Default::default())
            }
        }
    };
}

kind!(Bytes, String);
kind!(Hash, Hash);
kind!(List, List);
kind!(Set, Set);
kind!(Zset, Zset);

//! Read access to the keys of a node for observers that are not clients: it expires no key and
//! counts no access.

use std::fmt;

use bytes::Bytes;

use super::node::Node;
use crate::store::keyspace::Entry;
use crate::store::value::Value;

/// A key of a node.
#[derive(Clone, Copy)]
pub struct Key<'n> {
    /// Its name.
    pub name: &'n [u8],
    /// The end of its time to live by the node's clock, in milliseconds since the Unix epoch;
    /// `None` if it has none. An expired key remains until it is accessed.
    pub expires_at_ms: Option<i64>,
    value: &'n Value,
}

impl Node {
    /// The keys of all databases.
    pub fn keys(&self) -> impl Iterator<Item = Key<'_>> {
        let spaces = self.database().spaces();
        let entries = spaces.flat_map(|(_, space)| space.iter_all());
        entries.map(|(name, entry)| Key::of(name, entry))
    }

    /// The key of this name, in the last database that has it.
    pub fn key<'n>(&'n self, name: &'n [u8]) -> Option<Key<'n>> {
        let spaces = self.database().spaces();
        let found = spaces.filter_map(|(_, space)| space.entry(name)).last();
        found.map(|entry| Key::of(name, entry))
    }

    /// Notes from now on which keys change, for [`Node::take_changed`].
    pub fn note_changes(&mut self) {
        self.database_mut().touched = Some(Vec::new());
    }

    /// The names of the keys that were changed since the last call, or deleted by anything but their time to live. One that
    /// was changed twice comes twice.
    pub fn take_changed(&mut self) -> Vec<Bytes> {
        let touched = self.database_mut().touched.as_mut();
        touched.map(std::mem::take).unwrap_or_default()
    }
}

impl<'n> Key<'n> {
    fn of(name: &'n [u8], entry: &'n Entry) -> Key<'n> {
        Key {
            name,
            expires_at_ms: entry.expires_at_ms,
            value: &entry.value,
        }
    }
}

impl Key<'_> {
    /// Whether it can belong to several: a set, a list, or a hash with more than one field.
    pub fn has_several(&self) -> bool {
        match self.value {
            Value::String(_) => false,
            Value::Hash(hash) => hash.len() > 1,
            Value::List(_) | Value::Set(_) | Value::Zset(_) => true,
        }
    }

    /// What says who has the key, if it is a lock: the string, or the only field of a hash.
    pub fn holder(&self) -> Option<&[u8]> {
        match self.value {
            Value::String(text) => Some(text),
            Value::Hash(hash) => match &*hash.iter().take(2).collect::<Vec<_>>() {
                [(field, _)] => Some(field),
                _ => None,
            },
            Value::List(_) | Value::Set(_) | Value::Zset(_) => None,
        }
    }
}

/// The value as readable text: a string, the fields of a hash, or the size of another collection.
impl fmt::Display for Key<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let length = match self.value {
            Value::String(text) => return f.write_str(&String::from_utf8_lossy(text)),
            Value::Hash(hash) => {
                for (place, (field, value)) in hash.iter().enumerate() {
                    let (field, value) = (
                        String::from_utf8_lossy(field),
                        String::from_utf8_lossy(value),
                    );
                    let comma = if place == 0 { "" } else { ", " };
                    write!(f, "{comma}{field}: {value}")?;
                }
                return Ok(());
            }
            Value::List(list) => list.len(),
            Value::Set(set) => set.len(),
            Value::Zset(zset) => zset.len(),
        };
        write!(f, "a {} of {length}", self.value.type_name())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::NodeConfig;

    #[test]
    fn a_look_changes_nothing() {
        let mut node = Node::new(NodeConfig::default());
        let conn = node.accept();
        let mut effects = Vec::new();
        let commands = b"SET a one PX 5\r\nHSET b f 1 g 2\r\nRPUSH c x y\r\n";
        node.receive(conn, commands, 1_000_000, &mut effects);
        node.receive(conn, b"GET b\r\n", 9_000_000, &mut effects);
        let held = node.keys().map(|key| {
            let name = String::from_utf8_lossy(key.name);
            let several = if key.has_several() { " (several)" } else { "" };
            format!("{name} = {key}{several} until {:?}", key.expires_at_ms)
        });
        let expected = [
            "a = one until Some(1005)",
            "b = f: 1, g: 2 (several) until None",
            "c = a list of 2 (several) until None",
        ];
        assert_eq!(held.collect::<Vec<_>>(), expected);
        node.note_changes();
        node.receive(conn, b"HSET d mine 1\r\n", 9_000_000, &mut effects);
        assert_eq!(node.take_changed(), ["d"]);
        assert_eq!(node.take_changed(), [""; 0]);
        assert!(node.key(b"e").is_none());
        let mine = node.key(b"d").expect("it is there");
        assert_eq!(mine.holder(), Some(&b"mine"[..]));
        let holders = node.keys().map(|key| key.holder().map(<[u8]>::to_vec));
        let expected = [Some(b"one".to_vec()), None, None, Some(b"mine".to_vec())];
        assert_eq!(holders.collect::<Vec<_>>(), expected);
    }
}

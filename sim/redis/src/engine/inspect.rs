//! Read access to the keys of a node for observers that are not clients: it expires no key and
//! counts no access.

use std::fmt;

use super::node::Node;
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
        entries.map(|(name, entry)| Key {
            name,
            expires_at_ms: entry.expires_at_ms,
            value: &entry.value,
        })
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
    }
}

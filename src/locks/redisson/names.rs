//! The names of keys and channels, so that Redisson and this code see each other's locks. The
//! braces make Redis Cluster put all keys of a lock into one slot.

use crate::Owner;
use locklab_env::Env;

/// `prefix:{name}`; a name that already has braces keeps them (`prefixName` of
/// `RedissonObject`).
pub(crate) fn prefixed(prefix: &str, name: &str) -> String {
    match name.contains('{') {
        true => format!("{prefix}:{name}"),
        false => format!("{prefix}:{{{name}}}"),
    }
}

/// The channel of the messages that a release of this lock publishes.
pub(crate) fn channel(name: &str) -> String {
    prefixed("redisson_lock__channel", name)
}

/// The channel of Redis's keyspace notifications for a key of the first database, if the node
/// is configured to send them.
pub(crate) fn keyspace_channel(name: &str) -> String {
    format!("__keyspace@0__:{name}")
}

/// The key of the kept answer to one release request.
pub(crate) fn latch(name: &str, request: &str) -> String {
    format!("{}:{request}", prefixed("redisson_unlock_latch", name))
}

/// The key of a lock's counter for fencing tokens.
pub(crate) fn token(name: &str) -> String {
    prefixed("redisson_lock_token", name)
}

/// A client's identity on the nodes: the UUID that a process draws when it starts.
#[derive(Debug, Clone)]
pub(crate) struct Identity {
    uuid: String,
    /// The suffix of each of its owners.
    mark: &'static str,
}

impl Identity {
    /// Draws an identity, a random UUID of version 4.
    pub(crate) fn draw(env: &impl Env) -> Self {
        let uuid = uuid(env);
        Self { uuid, mark: "" }
    }

    /// The same client, with a suffix for each of its owners.
    pub(crate) fn with_suffix(&self, mark: &'static str) -> Self {
        let uuid = self.uuid.clone();
        Self { uuid, mark }
    }

    /// A holder's name on the nodes, `uuid:thread`; the field of the lock's hash.
    pub(crate) fn holder(&self, owner: Owner) -> String {
        format!("{}:{}{}", self.uuid, owner.0, self.mark)
    }
}

/// A random UUID of version 4.
pub(crate) fn uuid(env: &impl Env) -> String {
    let (high, low) = (env.random(), env.random());
    format!(
        "{:08x}-{:04x}-4{:03x}-{:04x}-{:012x}",
        high >> 32,
        (high >> 16) & 0xffff,
        high & 0xfff,
        0x8000 | (low >> 48) & 0x3fff,
        low & 0xffff_ffff_ffff,
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_redissons() {
        for (name, expected) in [
            ("lock", "redisson_lock__channel:{lock}"),
            ("{a}:lock", "redisson_lock__channel:{a}:lock"),
        ] {
            assert_eq!(channel(name), expected);
        }
        assert_eq!(latch("lock", "r"), "redisson_unlock_latch:{lock}:r");
        assert_eq!(token("lock"), "redisson_lock_token:{lock}");
    }
}

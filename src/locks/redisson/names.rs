//! The names of keys and channels, so that a lock held by a Redisson is seen by ours and
//! the other way round. The braces make Redis Cluster put all of a lock into one slot.

use crate::Owner;
use locklab_env::Env;

/// `prefix:{name}`; a name that has braces of its own keeps those (`prefixName` of
/// `RedissonObject`).
pub(crate) fn prefixed(prefix: &str, name: &str) -> String {
    match name.contains('{') {
        true => format!("{prefix}:{name}"),
        false => format!("{prefix}:{{{name}}}"),
    }
}

/// Where the release of a lock of this name is published.
pub(crate) fn channel(name: &str) -> String {
    prefixed("redisson_lock__channel", name)
}

/// Where Redis itself tells of what happens to a key of the first database, if it is
/// configured to.
pub(crate) fn keyspace_channel(name: &str) -> String {
    format!("__keyspace@0__:{name}")
}

/// Where the answer to one request to release is kept.
pub(crate) fn latch(name: &str, request: &str) -> String {
    format!("{}:{request}", prefixed("redisson_unlock_latch", name))
}

/// Where the fencing tokens of a lock are counted.
pub(crate) fn token(name: &str) -> String {
    prefixed("redisson_lock_token", name)
}

/// A client as the nodes know it: the UUID that a process draws when it starts.
#[derive(Debug, Clone)]
pub(crate) struct Identity {
    uuid: String,
    /// Stands behind each of its owners.
    mark: &'static str,
}

impl Identity {
    /// Draws one, a random UUID of version 4.
    pub(crate) fn draw(env: &impl Env) -> Self {
        let uuid = uuid(env);
        Self { uuid, mark: "" }
    }

    /// The same client, with a mark behind each of its owners.
    pub(crate) fn marked(&self, mark: &'static str) -> Self {
        let uuid = self.uuid.clone();
        Self { uuid, mark }
    }

    /// A holder as the nodes know it, `uuid:thread`; the field of the lock's hash.
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

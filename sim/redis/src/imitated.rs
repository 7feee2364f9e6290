//! The servers that a node can imitate: their names and versions. Which commands they add is in the
//! command table.

use std::fmt;
use std::str::FromStr;

/// A server that a node imitates. All have the commands of [`VERSION`](crate::VERSION); later ones
/// add those with which a lock is released without a script, and report their own version.
///
/// ```
/// use locklab_redis::Imitated;
///
/// assert_eq!("redis-8.4".parse(), Ok(Imitated::Redis8_4));
/// assert_eq!(Imitated::default().version(), locklab_redis::VERSION);
/// ```
#[derive(Copy, Clone, PartialEq, Eq, Debug, Default)]
pub enum Imitated {
    /// Redis 7.0.
    #[default]
    Redis7_0,
    /// Redis 8.4: adds DELEX, DIGEST, CLIENT SETINFO, and IFEQ, IFNE, IFDEQ and IFDNE of SET.
    Redis8_4,
    /// Valkey 9.0: adds DELIFEQ, CLIENT SETINFO, and IFEQ of SET.
    Valkey9_0,
}

impl Imitated {
    /// Each of them.
    pub const ALL: [Imitated; 3] = [Imitated::Redis7_0, Imitated::Redis8_4, Imitated::Valkey9_0];

    /// The product, and the version without its last part: `redis-8.4`.
    pub fn name(self) -> &'static str {
        match self {
            Imitated::Redis7_0 => "redis-7.0",
            Imitated::Redis8_4 => "redis-8.4",
            Imitated::Valkey9_0 => "valkey-9.0",
        }
    }

    /// The server's name, as HELLO reports it.
    pub fn product(self) -> &'static str {
        match self {
            Imitated::Redis7_0 | Imitated::Redis8_4 => "redis",
            Imitated::Valkey9_0 => "valkey",
        }
    }

    /// The version that the server reports: `8.4.0`.
    pub fn version(self) -> &'static str {
        match self {
            Imitated::Redis7_0 => crate::VERSION,
            Imitated::Redis8_4 => "8.4.0",
            Imitated::Valkey9_0 => "9.0.0",
        }
    }

    /// The version of Redis that the server claims to be compatible with.
    pub(crate) fn redis_version(self) -> &'static str {
        match self {
            // Valkey began as a copy of this one.
            Imitated::Valkey9_0 => "7.2.4",
            _ => self.version(),
        }
    }
}

impl fmt::Display for Imitated {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for Imitated {
    type Err = UnknownServer;

    fn from_str(name: &str) -> Result<Self, UnknownServer> {
        let mut all = Imitated::ALL.into_iter();
        all.find(|server| server.name() == name)
            .ok_or(UnknownServer)
    }
}

/// The name is not that of a server that a node can imitate.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub struct UnknownServer;

impl fmt::Display for UnknownServer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names = Imitated::ALL.map(Imitated::name);
        write!(f, "a node can be like one of {}", names.join(", "))
    }
}

impl std::error::Error for UnknownServer {}

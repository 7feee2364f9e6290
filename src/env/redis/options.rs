//! How a client treats its connections. Client libraries differ here, and a lock inherits it:
//! see "The client's connections" in `docs/limits.md`.

use serde::{Deserialize, Serialize};

use locklab_history::{Name, RESOURCE};

/// The treatment of a client's connections to the servers of its lock.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct ClientOptions {
    /// When it connects for the first time.
    pub connect: Connect,
    /// What it does about a connection that was closed while it was idle.
    pub on_close: OnClose,
    /// How often a command is sent again, each time on a new connection, whose connection broke
    /// before the reply came. The command may have been executed. One that is not answered in
    /// time is not sent again, and neither is one in a transaction.
    pub resend: u32,
}

/// When a client connects for the first time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Connect {
    /// When its process starts.
    AtStart,
    /// With its first command.
    WhenNeeded,
}

/// What a client does about a connection that was closed while it was idle.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum OnClose {
    /// It watches the socket. When the end of the stream or a reset has arrived, the next command
    /// opens a new connection.
    Reconnect,
    /// It does not look. The next command is sent on the closed connection and fails, and the one
    /// after it opens a new connection.
    Fail,
}

impl ClientOptions {
    /// A client that connects at its start, does not watch its sockets, and sends nothing twice.
    pub const PLAIN: ClientOptions = ClientOptions {
        connect: Connect::AtStart,
        on_close: OnClose::Fail,
        resend: 0,
    };

    /// The options for connections to `server`. The protected resource is no Redis server, and
    /// its client is plain.
    pub fn of(self, server: &Name) -> ClientOptions {
        match &**server {
            RESOURCE => ClientOptions::PLAIN,
            _ => self,
        }
    }

    /// Whether they are the default.
    pub fn is_default(&self) -> bool {
        *self == ClientOptions::default()
    }
}

impl Default for ClientOptions {
    /// What most of seven libraries do, by `docs/limits.md`. Where a library sends again, it does so
    /// three times (redis-py 6, go-redis), ten times (redis-py 8) or without end (ioredis, Lettuce).
    fn default() -> Self {
        ClientOptions {
            connect: Connect::AtStart,
            on_close: OnClose::Reconnect,
            resend: 3,
        }
    }
}

//! The address of a server, as a sentinel knows it.

use std::fmt;
use std::net::SocketAddr;

/// The address of a server. A sentinel compares hosts as texts, as Redis does with
/// `resolve-hostnames` and `announce-hostnames` on.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Address {
    /// A name or an IP address.
    pub host: String,
    /// The TCP port.
    pub port: u16,
}

impl fmt::Display for Address {
    /// `host port`, as events spell it.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.host, self.port)
    }
}

impl From<SocketAddr> for Address {
    fn from(address: SocketAddr) -> Self {
        Address {
            host: address.ip().to_string(),
            port: address.port(),
        }
    }
}

//! The options of a proxy.

use std::io;
use std::net::{IpAddr, SocketAddr};

use locklab_history::Name;
use locklab_values::dist::Dist;
use locklab_vecmap::{VecMap, VecSet};

/// The hosts of a run and the links between them.
#[derive(Debug, Clone)]
pub struct Options {
    /// Every host that connects or is connected to.
    pub hosts: VecMap<Name, Host>,
    /// The host that connects at each of these public addresses, wherever its connections come from:
    /// a program that does not bind them to the address of its host.
    pub gates: VecMap<SocketAddr, Name>,
    /// One-way latency of every link. Connections of a host to itself have none.
    pub latency: Dist,
    /// The probability that one transmission is lost, 0 to 1.
    pub loss: f64,
    /// The seed of the stream `network` for latency and loss.
    pub seed: u64,
    /// The data to keep.
    pub keep: Keep,
}

/// A host of a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Host {
    /// The source address of its connections. No two hosts have the same.
    pub ip: IpAddr,
    /// Whether it waits for the proxy's greeting.
    pub greeting: Greeting,
}

/// How a host learns that a connection that it opened is established.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Greeting {
    /// It reads one byte, `0x01`, before anything else. The proxy writes this byte at the end of
    /// the handshake.
    Waits,
    /// It does not: the program does not know about the proxy.
    None,
}

/// The data that a proxy keeps.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Keep {
    /// Every segment with data, for [`Proxy::take_messages`](crate::Proxy::take_messages).
    Messages,
    /// Nothing.
    Nothing,
}

impl Options {
    /// # Errors
    /// `InvalidInput` if two hosts share an address, or `latency` or `loss` is impossible.
    pub(crate) fn check(&self) -> io::Result<()> {
        let addresses: VecSet<IpAddr> = self.hosts.values().map(|host| host.ip).collect();
        let problem = if addresses.len() < self.hosts.len() {
            "two hosts have the same address".into()
        } else if !(0.0..=1.0).contains(&self.loss) {
            format!("a loss must be from 0 to 1, not {}", self.loss)
        } else {
            match self.latency.problem() {
                Some(problem) => problem,
                None => return Ok(()),
            }
        };
        Err(io::Error::new(io::ErrorKind::InvalidInput, problem))
    }
}

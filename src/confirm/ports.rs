//! Ports for the servers of a run.

use std::net::{Ipv4Addr, SocketAddr, TcpListener};
use std::process;

use locklab_world::random::Stream;

use crate::history::ClockKind;
use crate::platform::machine::read_clock;

/// Below 32768, where Linux's range of ports for outgoing connections begins. Within that range
/// a client that repeatedly connects to a dead node would eventually get that node's port as
/// its own, connect to itself, and prevent the node from restarting.
const RANGE: std::ops::Range<u16> = 10_000..32_000;

/// Different ports that were free a moment ago; fewer than `count` if the range is crowded.
/// Another program may take one before it is used.
pub(super) fn free(count: usize) -> Vec<SocketAddr> {
    let seed = read_clock(ClockKind::Monotonic) ^ u64::from(process::id());
    let mut stream = Stream::new(seed, "ports");
    let mut held = Vec::new();
    for _ in 0..100 * count {
        if held.len() == count {
            break;
        }
        let port = RANGE.start + stream.below(u64::from(RANGE.end - RANGE.start)) as u16;
        held.extend(TcpListener::bind((Ipv4Addr::LOCALHOST, port)));
    }
    held.iter()
        .filter_map(|listener| listener.local_addr().ok())
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ports_are_free_and_different() {
        let ports = free(20);
        let held: Vec<_> = ports.iter().map(TcpListener::bind).collect();
        assert_eq!(held.len(), 20);
        // All are bound at the same time, so no port was returned twice. Another test run may
        // have taken one of them first.
        assert!(held.iter().filter(|listener| listener.is_ok()).count() >= 18);
        assert!(ports.iter().all(|address| address.ip().is_loopback()));
    }
}

//! Ports for servers.

use std::hash::{BuildHasher, RandomState};
use std::net::{Ipv4Addr, TcpListener};
use std::sync::LazyLock;
use std::sync::atomic::{AtomicU64, Ordering};

/// Below 32768, where Linux's range of ports for outgoing connections begins: such a
/// connection could keep a server from restarting on its port.
const RANGE: std::ops::Range<u64> = 10_000..32_000;

/// Where this process continues its search. Each process begins at a random port, so that two
/// rarely try the same one.
static NEXT: LazyLock<AtomicU64> = LazyLock::new(|| AtomicU64::new(RandomState::new().hash_one(0)));

/// Ports that were free a moment ago. This process gets each port only once; another process
/// may take one before it is used.
///
/// # Panics
///
/// If the range has too few free ports.
pub fn free_ports<const COUNT: usize>() -> [u16; COUNT] {
    let len = RANGE.end - RANGE.start;
    let mut found = (0..len).filter_map(|_| {
        let place = NEXT.fetch_add(1, Ordering::Relaxed) % len;
        let port = u16::try_from(RANGE.start + place).ok()?;
        TcpListener::bind((Ipv4Addr::LOCALHOST, port))
            .is_ok()
            .then_some(port)
    });
    std::array::from_fn(|_| found.next().expect("the loopback has free ports"))
}

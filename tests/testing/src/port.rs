//! Ports for servers.

use std::hash::{BuildHasher, RandomState};
use std::net::{Ipv4Addr, TcpListener};
use std::sync::LazyLock;
use std::sync::atomic::{AtomicU64, Ordering};

/// Below the 32768 from which Linux takes the ports of outgoing connections: one of those
/// would keep a server that ended from starting again.
const RANGE: std::ops::Range<u64> = 10_000..32_000;

/// Where this process goes on to look. Each begins elsewhere, so that two seldom try the
/// same port.
static NEXT: LazyLock<AtomicU64> = LazyLock::new(|| AtomicU64::new(RandomState::new().hash_one(0)));

/// Ports that nobody used a moment ago. This process is given each only once; another may
/// take one before it is used.
///
/// # Panics
///
/// If the range is crowded.
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

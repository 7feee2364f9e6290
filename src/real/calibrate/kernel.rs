//! When this machine's kernel sends a TCP segment again.
//!
//! A filter on a socket makes the kernel drop what arrives there, as if the network had lost it.
//! The filter is taken away between two transmissions, so that the next one arrives: when it does
//! is what is measured. This needs no privileges, and nothing but the loopback interface.

use std::io::{self, Read, Write};
use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::sync::mpsc;
use std::thread;
use std::time::{Duration, Instant};

use locklab_values::tcp::Phase;
use socket2::{SockFilter, SockRef};

/// The retransmissions that are measured, of each phase.
pub const RETRANSMISSIONS: u32 = 4;

/// `BPF_RET | BPF_K`: the program that keeps no byte of any packet.
const DROP: u16 = 0x06;

/// When a sender in this phase transmits for the n-th time after the first, by the model; in
/// nanoseconds after the first.
pub fn model_ns(phase: Phase, retransmission: u32) -> u64 {
    (1..=retransmission).map(|n| phase.wait_ns(n)).sum()
}

/// The same by this machine's kernel.
///
/// # Errors
///
/// If the kernel has no such filters, or the loopback interface fails.
pub fn measure(phase: Phase, retransmission: u32) -> io::Result<Duration> {
    let (before_ns, at_ns) = (
        model_ns(phase, retransmission - 1),
        model_ns(phase, retransmission),
    );
    // Late in the interval: timers of a kernel are late and never early.
    let heal_after = Duration::from_nanos(before_ns + (at_ns - before_ns) * 2 / 3);
    match phase {
        Phase::Opening => opening(heal_after),
        Phase::Established => established(heal_after),
    }
}

fn opening(heal_after: Duration) -> io::Result<Duration> {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
    drop_all(&SockRef::from(&listener))?;
    let address = listener.local_addr()?;
    let begun = Instant::now();
    let connecting = thread::spawn(move || TcpStream::connect(address).map(|_| begun.elapsed()));
    sleep_until(begun + heal_after);
    SockRef::from(&listener).detach_filter()?;
    connecting
        .join()
        .unwrap_or_else(|panic| std::panic::resume_unwind(panic))
}

fn established(heal_after: Duration) -> io::Result<Duration> {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
    let mut sender = TcpStream::connect(listener.local_addr()?)?;
    let (mut receiver, _) = listener.accept()?;
    // A round trip is measured before the loss, as on a connection in use.
    sender.write_all(b"1")?;
    receiver.read_exact(&mut [0])?;
    receiver.write_all(b"2")?;
    sender.read_exact(&mut [0])?;
    drop_all(&SockRef::from(&receiver))?;
    let (arrived, arrival) = mpsc::channel();
    let mut reading = receiver.try_clone()?;
    let begun = Instant::now();
    thread::spawn(move || {
        // The other end handles the answer; an error here needs no report.
        let _ = arrived.send(reading.read_exact(&mut [0]).map(|()| begun.elapsed()));
    });
    sender.write_all(b"3")?;
    sleep_until(begun + heal_after);
    SockRef::from(&receiver).detach_filter()?;
    arrival
        .recv()
        .unwrap_or_else(|_| Err(io::ErrorKind::BrokenPipe.into()))
}

fn drop_all(socket: &SockRef<'_>) -> io::Result<()> {
    socket.attach_filter(&[SockFilter::new(DROP, 0, 0, 0)])
}

fn sleep_until(then: Instant) {
    thread::sleep(then.saturating_duration_since(Instant::now()));
}

#[cfg(test)]
mod tests {
    use super::*;

    /// It arrives when the kernel sends it again: neither when it was written nor when the filter
    /// was taken away.
    #[test]
    fn dropped_segment_arrives_with_the_next_retransmission() {
        let took = measure(Phase::Established, 1).expect("the kernel has filters");
        assert!(took > Duration::from_millis(180), "{took:?}");
    }
}

//! A probe of the machine: how late it wakes a thread for a timer, and a process for a message.
//!
//! A run waits most of its time, and goes on when a timer ends or a message has arrived. The probe
//! does the same: it sleeps, then sends a byte over a connection and waits for it to come back.

use std::io::{self, Read, Write};
use std::net::{Ipv4Addr, Shutdown, TcpListener, TcpStream};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use locklab_runner::run::Lateness;

/// A connection to a thread that sends back what it gets.
pub(super) struct Probe {
    connection: TcpStream,
    echo: Option<JoinHandle<()>>,
}

/// What one measurement found, in nanoseconds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Sample {
    /// How late the timer was.
    pub(super) timer_ns: u64,
    /// How late a message was that was sent when the timer ended: that, and the way there and back.
    pub(super) message_ns: u64,
}

impl Probe {
    /// Connects to a new thread.
    pub(super) fn start() -> io::Result<Self> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
        let connection = TcpStream::connect(listener.local_addr()?)?;
        let (there, _) = listener.accept()?;
        connection.set_nodelay(true)?;
        there.set_nodelay(true)?;
        Ok(Self {
            connection,
            echo: Some(thread::spawn(move || echo(there))),
        })
    }

    /// Sleeps for this time, and asks.
    pub(super) fn measure(&mut self, sleep: Duration) -> io::Result<Sample> {
        let before = Instant::now();
        thread::sleep(sleep);
        let timer = before.elapsed().saturating_sub(sleep);
        self.connection.write_all(b"?")?;
        self.connection.read_exact(&mut [0])?;
        let message = before.elapsed().saturating_sub(sleep);
        Ok(Sample {
            timer_ns: nanoseconds(timer),
            message_ns: nanoseconds(message),
        })
    }
}

impl Drop for Probe {
    fn drop(&mut self) {
        // Fails if the connection is closed, and then the other thread has ended.
        let _ = self.connection.shutdown(Shutdown::Both);
        if let Some(echo) = self.echo.take() {
            // It does nothing that can panic.
            let _ = echo.join();
        }
    }
}

/// Answers until the connection is closed.
fn echo(mut connection: TcpStream) {
    let mut byte = [0];
    while connection.read_exact(&mut byte).is_ok() && connection.write_all(&byte).is_ok() {}
}

/// What these measurements come to.
pub(super) fn lateness(samples: &[Sample]) -> Lateness {
    let of = |ns: fn(&Sample) -> u64| {
        let mut all: Vec<u64> = samples.iter().map(ns).collect();
        all.sort_unstable();
        all
    };
    let (timers, messages) = (of(|it| it.timer_ns), of(|it| it.message_ns));
    Lateness {
        longest_ns: timers.last().copied().unwrap_or(0),
        timer_ns: all_but_a_hundredth(&timers),
        message_ns: all_but_a_hundredth(&messages),
        start_ns: 0,
    }
}

/// The least of these ascending values that 99 of 100 do not exceed.
fn all_but_a_hundredth(sorted: &[u64]) -> u64 {
    let place = sorted.len() * 99 / 100;
    sorted.get(place).copied().unwrap_or(0)
}

fn nanoseconds(time: Duration) -> u64 {
    u64::try_from(time.as_nanos()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lateness_is_the_99th_percentile_and_the_longest_delay() {
        let sample = |ns| Sample {
            timer_ns: ns,
            message_ns: 2 * ns,
        };
        let samples: Vec<Sample> = (1..=1000).rev().map(sample).collect();
        let expected = Lateness {
            longest_ns: 1000,
            timer_ns: 991,
            message_ns: 1982,
            start_ns: 0,
        };
        assert_eq!(lateness(&samples), expected);
        assert_eq!(lateness(&[]), Lateness::default());
    }

    #[test]
    fn a_message_is_late_by_more_than_its_timer() {
        let mut probe = Probe::start().expect("the loopback interface works");
        let sample = probe.measure(Duration::from_millis(1)).expect("it answers");
        assert!(sample.message_ns > sample.timer_ns, "{sample:?}");
    }
}

//! Waiting for events whose time is not known.

use std::fmt::Display;
use std::thread;
use std::time::{Duration, Instant};

/// The timeout of every wait: far longer than needed, so that only a hang reaches it.
pub const TIMEOUT: Duration = Duration::from_secs(60);

const PAUSE: Duration = Duration::from_millis(5);

/// Calls `ask` repeatedly until it succeeds.
///
/// # Panics
///
/// If it has not succeeded after [`TIMEOUT`], with the last error.
#[track_caller]
pub fn until<T, E: Display>(ask: impl FnMut() -> Result<T, E>) -> T {
    match try_until(ask) {
        Ok(answer) => answer,
        Err(excuse) => panic!("{excuse}"),
    }
}

/// Calls `ask` repeatedly until it succeeds.
///
/// # Errors
///
/// The last error, if it has not succeeded after [`TIMEOUT`].
pub fn try_until<T, E>(mut ask: impl FnMut() -> Result<T, E>) -> Result<T, E> {
    let start = Instant::now();
    loop {
        match ask() {
            Err(_) if start.elapsed() < TIMEOUT => thread::sleep(PAUSE),
            answer => return answer,
        }
    }
}

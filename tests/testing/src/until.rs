//! Waiting for what happens in its own time.

use std::fmt::Display;
use std::thread;
use std::time::{Duration, Instant};

/// How long anything is waited for: far longer than it takes, so that only what hangs fails.
pub const PATIENCE: Duration = Duration::from_secs(60);

const PAUSE: Duration = Duration::from_millis(5);

/// Asks again and again, until there is an answer.
///
/// # Panics
///
/// If there is none after [`PATIENCE`], with the last excuse.
#[track_caller]
pub fn until<T, E: Display>(ask: impl FnMut() -> Result<T, E>) -> T {
    match try_until(ask) {
        Ok(answer) => answer,
        Err(excuse) => panic!("{excuse}"),
    }
}

/// Asks again and again, until there is an answer.
///
/// # Errors
///
/// The last excuse, if there is no answer after [`PATIENCE`].
pub fn try_until<T, E>(mut ask: impl FnMut() -> Result<T, E>) -> Result<T, E> {
    let start = Instant::now();
    loop {
        match ask() {
            Err(_) if start.elapsed() < PATIENCE => thread::sleep(PAUSE),
            answer => return answer,
        }
    }
}

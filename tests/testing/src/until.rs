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
pub fn until<T, E: Display>(mut ask: impl FnMut() -> Result<T, E>) -> T {
    let start = Instant::now();
    loop {
        match ask() {
            Ok(answer) => return answer,
            Err(excuse) => assert!(start.elapsed() < PATIENCE, "{excuse}"),
        }
        thread::sleep(PAUSE);
    }
}

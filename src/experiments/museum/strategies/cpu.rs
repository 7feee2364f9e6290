//! The processor time of this thread.

use std::time::Duration;

use nix::time::{ClockId, clock_gettime};

/// How much processor time this thread has used.
pub(super) fn of_this_thread() -> Duration {
    let time = clock_gettime(ClockId::CLOCK_THREAD_CPUTIME_ID).map(Duration::from);
    time.expect("every Linux and macOS has this clock")
}

//! The thread that does nothing but wake up.

use std::fs::File;
use std::os::unix::fs::FileExt;
use std::sync::Barrier;
use std::thread;
use std::time::Duration;

use super::clocks;
use super::pace::Until;
use crate::beats::{BEAT_NS, Beats};

/// Beats until the end; meets the caller at `begun` after the first beat.
pub(super) fn beat(threshold_ns: u64, begun: &Barrier, until: Until<'_>) -> Beats {
    let mut beats = Beats::new(threshold_ns);
    let processor = Processor::of_this_thread();
    beats.add(clocks::read(), processor.waited_ns());
    begun.wait();
    // A pause that lasts beyond the end is seen too.
    loop {
        thread::sleep(Duration::from_nanos(BEAT_NS));
        beats.add(clocks::read(), processor.waited_ns());
        if until.is_over() {
            return beats;
        }
    }
}

/// What Linux says of a thread and its processor; elsewhere nothing.
struct Processor(Option<File>);

impl Processor {
    fn of_this_thread() -> Self {
        Processor(File::open("/proc/thread-self/schedstat").ok())
    }

    /// For how long the thread has been ready and had no processor: the second of three numbers
    /// (`Documentation/scheduler/sched-stats.rst` of Linux).
    fn waited_ns(&self) -> Option<u64> {
        let mut text = [0; 64];
        let read = self.0.as_ref()?.read_at(&mut text, 0).ok()?;
        let text = std::str::from_utf8(&text[..read]).ok()?;
        text.split(' ').nth(1)?.parse().ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    #[cfg(target_os = "linux")]
    fn linux_says_how_long_a_thread_has_waited() {
        let processor = Processor::of_this_thread();
        let before = processor.waited_ns().expect("Linux says so");
        assert!(processor.waited_ns() >= Some(before));
    }
}

//! A pulse that misses beats when the machine stalls: a run on a machine that stalled proves
//! nothing.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

/// The time between two beats.
const BEAT: Duration = Duration::from_millis(5);

/// A thread that does nothing but notice when it is late.
pub(super) struct Heartbeat {
    state: Arc<State>,
    thread: Option<JoinHandle<()>>,
}

#[derive(Default)]
struct State {
    stop: AtomicBool,
    longest_ns: AtomicU64,
}

impl Heartbeat {
    /// Starts to beat.
    pub(super) fn start() -> Self {
        let state = Arc::new(State::default());
        let beating = state.clone();
        Self {
            state,
            thread: Some(thread::spawn(move || beating.beat())),
        }
    }

    /// Forgets the stalls so far.
    pub(super) fn forget(&self) {
        self.state.longest_ns.store(0, Ordering::Relaxed);
    }

    /// The largest delay of a beat so far, in nanoseconds.
    pub(super) fn longest_stall_ns(&self) -> u64 {
        self.state.longest_ns.load(Ordering::Relaxed)
    }
}

impl State {
    fn beat(&self) {
        while !self.stop.load(Ordering::Relaxed) {
            let before = Instant::now();
            thread::sleep(BEAT);
            let late = before.elapsed().saturating_sub(BEAT);
            let late_ns = u64::try_from(late.as_nanos()).unwrap_or(u64::MAX);
            self.longest_ns.fetch_max(late_ns, Ordering::Relaxed);
        }
    }
}

impl Drop for Heartbeat {
    fn drop(&mut self) {
        self.state.stop.store(true, Ordering::Relaxed);
        if let Some(thread) = self.thread.take() {
            // It does nothing that can panic.
            let _ = thread.join();
        }
    }
}

//! A pulse that misses beats when the machine stalls: a run on a machine that stalled proves
//! nothing. It also measures how late the machine is while the run takes place.

use std::io;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use super::probe::{Probe, Sample, lateness};
use locklab_runner::pool::lock;
use locklab_runner::run::Lateness;

/// The time between two beats.
const BEAT: Duration = Duration::from_millis(5);

/// A thread that does nothing but notice how late it is.
pub(super) struct Heartbeat {
    state: Arc<State>,
    thread: Option<JoinHandle<()>>,
}

#[derive(Default)]
struct State {
    stop: AtomicBool,
    samples: Mutex<Vec<Sample>>,
}

impl Heartbeat {
    /// Starts to beat.
    ///
    /// # Errors
    ///
    /// If no connection on the loopback interface can be opened.
    pub(super) fn start() -> io::Result<Self> {
        let probe = Probe::start()?;
        let state = Arc::new(State::default());
        let beating = state.clone();
        Ok(Self {
            state,
            thread: Some(thread::spawn(move || beating.beat(probe))),
        })
    }

    /// Forgets the beats so far.
    pub(super) fn forget(&self) {
        lock(&self.state.samples).clear();
    }

    /// How late the beats were so far.
    pub(super) fn lateness(&self) -> Lateness {
        lateness(&lock(&self.state.samples))
    }
}

impl State {
    fn beat(&self, mut probe: Probe) {
        while !self.stop.load(Ordering::Relaxed) {
            // The connection stays open until the probe ends.
            let Ok(sample) = probe.measure(BEAT) else {
                return;
            };
            lock(&self.samples).push(sample);
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

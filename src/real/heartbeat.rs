//! A pulse that misses beats when the machine stalls: a run on a machine that stalled proves
//! nothing. It also measures how late the machine is while runs take place: one pulse, however many they are.

use std::io;
use std::sync::{Arc, Mutex, Weak};
use std::thread;
use std::time::Duration;

use super::probe::{Probe, Sample, lateness};
use locklab_runner::pool::lock;
use locklab_runner::run::Lateness;

/// The time between two beats.
const BEAT: Duration = Duration::from_millis(5);

type Samples = Mutex<Vec<Sample>>;

/// Those who count the beats of this process. A thread beats as long as there are any.
static COUNTING: Mutex<Vec<Weak<Samples>>> = Mutex::new(Vec::new());

/// Counts the beats, and notices how late each is.
pub(super) struct Heartbeat {
    samples: Arc<Samples>,
}

impl Heartbeat {
    /// Starts to count.
    ///
    /// # Errors
    ///
    /// If no connection on the loopback interface can be opened.
    pub(super) fn start() -> io::Result<Self> {
        let samples = Arc::new(Samples::default());
        let mut counting = lock(&COUNTING);
        if counting.is_empty() {
            let probe = Probe::start()?;
            thread::spawn(move || beat(probe));
        }
        counting.push(Arc::downgrade(&samples));
        Ok(Self { samples })
    }

    /// Forgets the beats so far.
    pub(super) fn forget(&self) {
        lock(&self.samples).clear();
    }

    /// How late the beats were so far.
    pub(super) fn lateness(&self) -> Lateness {
        lateness(&lock(&self.samples))
    }
}

/// Beats until nobody counts.
fn beat(mut probe: Probe) {
    // The connection stays open until the probe ends.
    while let Ok(sample) = probe.measure(BEAT) {
        let mut counting = lock(&COUNTING);
        counting.retain(|samples| {
            let samples = samples.upgrade();
            samples.inspect(|it| lock(it).push(sample)).is_some()
        });
        if counting.is_empty() {
            return;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn counts(heartbeat: &Heartbeat) -> bool {
        heartbeat.forget();
        (0..1000).any(|_| {
            thread::sleep(BEAT);
            heartbeat.lateness() != Lateness::default()
        })
    }

    #[test]
    fn one_pulse_is_counted_by_all_and_goes_on_when_it_is_needed_again() {
        for _ in 0..2 {
            let first = Heartbeat::start().expect("the loopback interface works");
            let second = Heartbeat::start().expect("it does");
            assert_eq!(lock(&COUNTING).len(), 2);
            assert!(counts(&first) && counts(&second));
            drop(first);
            assert!(counts(&second));
            assert_eq!(lock(&COUNTING).len(), 1);
            drop(second);
            let ends = (0..1000).any(|_| {
                thread::sleep(BEAT);
                lock(&COUNTING).is_empty()
            });
            assert!(ends);
        }
    }
}

//! The observer of one process of a simulated run: it records events, and injects the faults that
//! are placed at failpoints.

use std::cell::Cell;
use std::rc::Rc;

use locklab_env::observe::Observer;
use locklab_history::{Event, Failpoint, Name};
use locklab_world::Host;

use super::injector::Faults;
use super::recorder::Recorder;

/// Observes one process of a simulated run.
#[derive(Clone)]
pub(super) struct WorldObserver {
    host: Host,
    name: Name,
    recorder: Rc<Recorder>,
    faults: Rc<Faults>,
    numbers: Rc<Numbers>,
}

#[derive(Default)]
struct Numbers {
    calls: Cell<u32>,
    grants: Cell<u32>,
}

impl WorldObserver {
    pub(super) fn new(host: Host, name: Name, recorder: Rc<Recorder>, faults: Rc<Faults>) -> Self {
        Self {
            host,
            name,
            recorder,
            faults,
            numbers: Rc::default(),
        }
    }
}

impl Observer for WorldObserver {
    fn record(&self, event: Event) {
        if !self.recorder.is_killing() {
            self.recorder.record(&self.host, &self.name, event);
        }
    }

    async fn reach(&self, point: Failpoint) {
        let due = self.faults.reached(&self.name, point, self.host.now_ns());
        if !due.is_empty() {
            let faults = self.faults.clone();
            self.host
                .interrupt(move |world| faults.inject_due(&due, world))
                .await;
        }
    }

    fn next_call(&self) -> u32 {
        increment(&self.numbers.calls)
    }

    fn next_grant(&self) -> u32 {
        increment(&self.numbers.grants)
    }
}

fn increment(number: &Cell<u32>) -> u32 {
    number.set(number.get() + 1);
    number.get()
}

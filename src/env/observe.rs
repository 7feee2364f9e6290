//! The observer of a process: records its events, and lets faults be injected at named points
//! of its program.

use std::future::Future;
use std::rc::Rc;

use crate::Points;
use locklab_history::{Event, Failpoint};

/// An observer of one process.
pub trait Observer: Clone + 'static {
    /// Records an event, with true time and the clocks of the process's host.
    fn record(&self, event: Event);

    /// Marks the program's own failpoint `point`. A fault that is placed here takes effect before
    /// this returns.
    fn reach(&self, point: Failpoint) -> impl Future<Output = ()>;

    /// Returns this observer as a callback for an [`Env`](crate::Env), for the failpoints inside an
    /// algorithm; these are recorded.
    fn points(&self) -> Points {
        let observer = self.clone();
        Rc::new(move |point| {
            let observer = observer.clone();
            Box::pin(async move {
                observer.record(Event::reached(point));
                observer.reach(point).await;
            })
        })
    }

    /// The next number for a call of this client; continues after a restart.
    fn next_call(&self) -> u32;

    /// The next number for a grant to this client; continues after a restart.
    fn next_grant(&self) -> u32;
}

/// An observer that does nothing, for a program outside the laboratory.
#[derive(Debug, Clone, Copy)]
pub struct NoopObserver;

impl Observer for NoopObserver {
    fn record(&self, _: Event) {}

    async fn reach(&self, _: Failpoint) {}

    fn next_call(&self) -> u32 {
        0
    }

    fn next_grant(&self) -> u32 {
        0
    }
}

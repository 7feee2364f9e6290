//! Whoever watches a process: takes down what it does, and lets faults strike at named
//! points of its program.

use std::future::Future;
use std::rc::Rc;

use crate::Points;
use locklab_history::{Event, Failpoint};

/// An observer of one process.
pub trait Observer: Clone + 'static {
    /// Takes down an event, with true time and the clocks of the process's host.
    fn record(&self, event: Event);

    /// The program has come to `point`, a point of its own.
    /// A fault that is placed here takes effect before this returns.
    fn reach(&self, point: Failpoint) -> impl Future<Output = ()>;

    /// This observer as an [`Env`](crate::Env) knows it, for the points inside an
    /// algorithm; these are taken down.
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

    /// The next number for a call of this client; goes on after a restart.
    fn next_call(&self) -> u32;

    /// The next number for a grant to this client; goes on after a restart.
    fn next_grant(&self) -> u32;
}

/// Nobody watches: for a program outside a laboratory.
#[derive(Debug, Clone, Copy)]
pub struct Unobserved;

impl Observer for Unobserved {
    fn record(&self, _: Event) {}

    async fn reach(&self, _: Failpoint) {}

    fn next_call(&self) -> u32 {
        0
    }

    fn next_grant(&self) -> u32 {
        0
    }
}

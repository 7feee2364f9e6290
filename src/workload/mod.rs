//! What the lab's clients do with a lock, and the resource that it protects; or, without
//! a lock, with a set. All of it is written against [`Env`](crate::env::Env) and an [`Observer`], so the same
//! programs run in the world and as processes on a real machine.

use std::future::Future;
use std::rc::Rc;

use crate::env::Points;
use crate::history::Event;

pub mod adds;
pub mod client;
pub mod resource;

/// Whoever watches a process: takes down what it does, and lets faults strike at named
/// points of its program.
pub trait Observer: Clone + 'static {
    /// Takes down an event, with true time and the clocks of the process's host.
    fn record(&self, event: Event);

    /// The program has come to `point`, one of [`fault::POINTS`](crate::fault::POINTS).
    /// A fault that is placed here takes effect before this returns.
    fn reach(&self, point: &'static str) -> impl Future<Output = ()>;

    /// This observer as an [`Env`](crate::env::Env) knows it, for the points inside an
    /// algorithm; these are taken down.
    fn points(&self) -> Points {
        let observer = self.clone();
        Rc::new(move |point| {
            let observer = observer.clone();
            Box::pin(async move {
                observer.record(Event::Reached {
                    point: point.into(),
                });
                observer.reach(point).await;
            })
        })
    }

    /// The next number for a call of this client; goes on after a restart.
    fn next_call(&self) -> u32;

    /// The next number for a grant to this client; goes on after a restart.
    fn next_grant(&self) -> u32;
}

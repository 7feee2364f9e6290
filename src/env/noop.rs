//! An environment for unit tests: sleep returns immediately, and nothing else happens.

use std::cell::Cell;
use std::future::{Future, pending, ready};
use std::io;
use std::rc::Rc;

use tokio::io::DuplexStream;

use super::{Duration, Env};
use locklab_history::{ClockKind, Failpoint, Name};

/// The environment.
#[derive(Clone, Default)]
pub struct NoopEnv {
    /// The total sleep of all tasks.
    pub slept: Rc<Cell<Duration>>,
    /// The value of every random draw.
    pub drawn: u64,
}

impl Env for NoopEnv {
    type Stream = DuplexStream;

    fn now_ns(&self, _: ClockKind) -> u64 {
        0
    }

    fn sleep(&self, duration: Duration) -> impl Future<Output = ()> + 'static {
        self.slept.set(self.slept.get() + duration);
        ready(())
    }

    fn connect(&self, _: &Name) -> impl Future<Output = io::Result<DuplexStream>> + 'static {
        pending()
    }

    fn spawn(&self, _: impl Future<Output = ()> + 'static) {}

    fn random(&self) -> u64 {
        self.drawn
    }

    fn reach(&self, _: Failpoint) -> impl Future<Output = ()> {
        ready(())
    }
}

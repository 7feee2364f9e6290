//! A lock's only access to its environment: two clocks, sleep, connections, tasks and random
//! numbers.
//!
//! Lock code uses its environment through [`Env`] alone, so the same code runs in a simulator
//! and on a real machine. This crate depends on neither.

use std::fmt;
use std::future::Future;
use std::io;
use std::pin::Pin;
use std::rc::Rc;

use tokio::io::{AsyncRead, AsyncWrite};

use crate::redis::{ClientOptions, Target};
use locklab_history::{ClockKind, Failpoint, Name};

pub mod any;
pub mod noop;
pub mod observe;
pub mod redis;
pub mod zookeeper;

/// A length of time; the [`Env`] determines the clock that measures it.
pub use std::time::Duration;

/// The environment of a lock. One value per process; clones share.
pub trait Env: Clone + 'static {
    /// A connection to another process.
    type Stream: AsyncRead + AsyncWrite + Unpin + 'static;

    /// The reading of one of this host's clocks, in nanoseconds of that clock.
    fn now_ns(&self, clock: ClockKind) -> u64;

    /// Sleeps by the monotonic clock.
    fn sleep(&self, duration: Duration) -> impl Future<Output = ()> + 'static;

    /// Connects to a host of the scenario: `n1`, `resource`.
    fn connect(&self, to: &Name) -> impl Future<Output = io::Result<Self::Stream>> + 'static;

    /// The target of a client for `name`: the node of that name, unless the client has to ask
    /// sentinels which node it is.
    fn target(&self, name: &Name) -> Target {
        Target::Node(name.clone())
    }

    /// How a client treats its connection to `name`.
    fn client_options(&self, name: &Name) -> ClientOptions {
        ClientOptions::default().of(name)
    }

    /// The kind of the scenario's coordination service, if it has one.
    fn coordination(&self) -> Coordination {
        Coordination::Simulated
    }

    /// Runs a task concurrently with the caller, until the process ends.
    fn spawn(&self, task: impl Future<Output = ()> + 'static);

    /// Draws 64 bits from this process's own random stream.
    fn random(&self) -> u64;

    /// Marks a [`Failpoint`] of the algorithm, a named point between two of its steps. The
    /// failpoint is recorded, and a fault may be injected exactly here.
    fn reach(&self, point: Failpoint) -> impl Future<Output = ()>;
}

/// A coordination service, which determines the protocol of its clients.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Coordination {
    /// That of the simulator: the crate `locklab-services`.
    Simulated,
    /// ZooKeeper.
    ZooKeeper,
}

/// The callback for the failpoints that a process reaches.
pub type Points = Rc<dyn Fn(Failpoint) -> Pin<Box<dyn Future<Output = ()>>>>;

/// A callback that does nothing, for a process outside the laboratory.
pub fn no_points() -> Points {
    Rc::new(|_| Box::pin(std::future::ready(())))
}

/// A timeout.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Elapsed;

impl fmt::Display for Elapsed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("no answer in time")
    }
}

/// Waits for `future`, at most for `limit` if there is one.
pub async fn timeout<E: Env, T>(
    env: &E,
    limit: Option<Duration>,
    future: impl Future<Output = T>,
) -> Result<T, Elapsed> {
    let Some(limit) = limit else {
        return Ok(future.await);
    };
    tokio::select! {
        biased;
        value = future => Ok(value),
        () = env.sleep(limit) => Err(Elapsed),
    }
}

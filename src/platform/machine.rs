//! [`Env`] on a real machine: tokio on a current-thread runtime with a local set.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::future::Future;
use std::io;
use std::net::SocketAddr;
use std::rc::Rc;
use std::time::Duration;

use locklab_units::NS_PER_S;
use locklab_world::random::{Rng, Stream};
use nix::time::{ClockId, clock_gettime};
use tokio::net::TcpStream;

use crate::env::{Env, Points, unwatched};
use crate::history::{ClockKind, Failpoint, Name};

/// A process of this machine.
#[derive(Clone)]
pub struct Machine {
    directory: Rc<BTreeMap<Name, SocketAddr>>,
    random: Rc<RefCell<Stream>>,
    points: Points,
}

impl Machine {
    /// The process called `name` in the run of `seed`, with the addresses of the other
    /// processes.
    pub fn new(directory: BTreeMap<Name, SocketAddr>, seed: u64, name: &str) -> Self {
        let random = Stream::new(seed, &format!("clients/{name}"));
        Self {
            directory: Rc::new(directory),
            random: Rc::new(RefCell::new(random)),
            points: unwatched(),
        }
    }

    /// The same process, with an observer that is notified of the points it reaches.
    pub fn watched(self, points: Points) -> Self {
        Self { points, ..self }
    }
}

impl Env for Machine {
    type Stream = TcpStream;

    fn now_ns(&self, clock: ClockKind) -> u64 {
        read_clock(clock)
    }

    fn sleep(&self, duration: Duration) -> impl Future<Output = ()> + 'static {
        tokio::time::sleep(duration)
    }

    fn connect(&self, to: &Name) -> impl Future<Output = io::Result<TcpStream>> + 'static {
        let address = self.directory.get(to).copied();
        let to = to.clone();
        async move {
            let address = address.ok_or_else(|| {
                io::Error::new(
                    io::ErrorKind::NotFound,
                    format!("no process is called {to}"),
                )
            })?;
            let stream = TcpStream::connect(address).await?;
            stream.set_nodelay(true)?;
            Ok(stream)
        }
    }

    fn spawn(&self, task: impl Future<Output = ()> + 'static) {
        tokio::task::spawn_local(task);
    }

    fn random(&self) -> u64 {
        self.random.borrow_mut().next_u64()
    }

    fn reach(&self, point: Failpoint) -> impl Future<Output = ()> {
        (self.points)(point)
    }
}

/// Reads a clock of the machine. All processes of one machine share both clocks, so the
/// monotonic one also serves as true time.
pub fn read_clock(clock: ClockKind) -> u64 {
    let id = match clock {
        ClockKind::Wall => ClockId::CLOCK_REALTIME,
        ClockKind::Monotonic => ClockId::CLOCK_MONOTONIC,
    };
    let time = clock_gettime(id).expect("every Linux and macOS has these two clocks");
    time.tv_sec() as u64 * NS_PER_S + time.tv_nsec() as u64
}

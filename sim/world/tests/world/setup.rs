//! Shared by the tests of the world: a world with simple numbers, and a diary in which the
//! programs on its hosts record what they see, and when.

use std::cell::RefCell;
use std::fmt::Display;
use std::future::{Future, poll_fn};
use std::pin::pin;
use std::rc::Rc;
use std::task::Poll;
use std::time::Duration;

use locklab_values::dist::Dist;
use locklab_world::{Config, Host, HostConfig, HostId, TaskOrder, World};

/// The port of every server here.
pub const PORT: u16 = 7;

/// One-way latency of every link, in milliseconds.
pub const LATENCY_MS: u64 = 3;

/// One millisecond of virtual time.
pub const MS: u64 = 1_000_000;

/// One second of virtual time.
pub const SECOND: u64 = 1_000 * MS;

/// A world without randomness: links of 3 ms that lose nothing, and tasks that run in the order in
/// which they became ready.
pub fn config() -> Config {
    Config {
        latency: Dist::Constant(LATENCY_MS as f64),
        order: TaskOrder::FirstInFirstOut,
        ..Config::default()
    }
}

/// A world of `N` hosts with correct clocks.
pub fn world<const N: usize>() -> (World, [HostId; N]) {
    world_with(config())
}

/// The same with another configuration.
pub fn world_with<const N: usize>(config: Config) -> (World, [HostId; N]) {
    let world = World::new(config, &[HostConfig::default(); N]);
    let hosts = world.hosts().try_into().expect("as many as asked for");
    (world, hosts)
}

/// Milliseconds as a `Duration`, for `sleep`.
pub fn ms(milliseconds: u64) -> Duration {
    Duration::from_millis(milliseconds)
}

/// Lines of the form `<milliseconds> <what>`, by all programs of a world.
#[derive(Clone, Default)]
pub struct Diary(Rc<RefCell<Vec<String>>>);

impl Diary {
    /// Records what `host` sees now.
    pub fn note(&self, host: &Host, what: impl Display) {
        let line = format!("{} {what}", host.now_ns() as f64 / MS as f64);
        self.0.borrow_mut().push(line);
    }

    /// Starts `program` on `host`, with this diary to write in.
    pub fn start<F, Fut>(&self, world: &mut World, host: HostId, program: F)
    where
        F: Fn(Host, Diary) -> Fut + 'static,
        Fut: Future<Output = ()> + 'static,
    {
        let diary = self.clone();
        world.start(host, move |host| program(host, diary.clone()));
    }

    /// Runs the world for at most an hour, then compares.
    #[track_caller]
    pub fn check(&self, world: &mut World, expected: &[&str]) {
        world.run(3_600 * SECOND);
        assert_eq!(*self.0.borrow(), expected);
    }

    /// All lines so far.
    pub fn lines(&self) -> Vec<String> {
        self.0.borrow().clone()
    }
}

/// The result of `future`, or `None` if `limit` passes first on the host's monotonic clock; then
/// the future is dropped.
pub async fn within<T>(host: &Host, limit: Duration, future: impl Future<Output = T>) -> Option<T> {
    let mut future = pin!(future);
    let mut limit = pin!(host.sleep(limit));
    poll_fn(|cx| {
        if let Poll::Ready(output) = future.as_mut().poll(cx) {
            return Poll::Ready(Some(output));
        }
        limit.as_mut().poll(cx).map(|()| None)
    })
    .await
}

/// The outcome of an operation on a socket, for the diary.
pub fn outcome<T: Display>(result: std::io::Result<T>) -> String {
    match result {
        Ok(value) => value.to_string(),
        Err(error) => format!("{:?}", error.kind()),
    }
}

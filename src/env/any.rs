//! A type-erased [`Env`], for locks of other crates.

use std::future::Future;
use std::io;
use std::pin::Pin;
use std::rc::Rc;

use tokio::io::{AsyncRead, AsyncWrite};

use super::{Coordination, Duration, Env};
use crate::redis::{ClientOptions, Target};
use locklab_history::{ClockKind, Failpoint, Name};

/// Any [`Env`].
#[derive(Clone)]
pub struct AnyEnv(Rc<dyn DynEnv>);

impl AnyEnv {
    /// This environment.
    pub fn new(env: impl Env) -> Self {
        AnyEnv(Rc::new(env))
    }
}

/// Any stream of bytes.
pub trait ByteStream: AsyncRead + AsyncWrite + Unpin {}

impl<S: AsyncRead + AsyncWrite + Unpin> ByteStream for S {}

type BoxFuture<'a, T> = Pin<Box<dyn Future<Output = T> + 'a>>;

/// The object-safe form of [`Env`].
trait DynEnv {
    fn now_ns(&self, clock: ClockKind) -> u64;
    fn sleep(&self, duration: Duration) -> BoxFuture<'static, ()>;
    fn connect(&self, to: &Name) -> BoxFuture<'static, io::Result<Box<dyn ByteStream>>>;
    fn target(&self, name: &Name) -> Target;
    fn client_options(&self, name: &Name) -> ClientOptions;
    fn coordination(&self) -> Coordination;
    fn spawn(&self, task: BoxFuture<'static, ()>);
    fn random(&self) -> u64;
    fn reach(&self, point: Failpoint) -> BoxFuture<'_, ()>;
}

impl<E: Env> DynEnv for E {
    fn now_ns(&self, clock: ClockKind) -> u64 {
        Env::now_ns(self, clock)
    }

    fn sleep(&self, duration: Duration) -> BoxFuture<'static, ()> {
        Box::pin(Env::sleep(self, duration))
    }

    fn connect(&self, to: &Name) -> BoxFuture<'static, io::Result<Box<dyn ByteStream>>> {
        let connecting = Env::connect(self, to);
        Box::pin(async move {
            let stream: Box<dyn ByteStream> = Box::new(connecting.await?);
            Ok(stream)
        })
    }

    fn target(&self, name: &Name) -> Target {
        Env::target(self, name)
    }

    fn client_options(&self, name: &Name) -> ClientOptions {
        Env::client_options(self, name)
    }

    fn coordination(&self) -> Coordination {
        Env::coordination(self)
    }

    fn spawn(&self, task: BoxFuture<'static, ()>) {
        Env::spawn(self, task);
    }

    fn random(&self) -> u64 {
        Env::random(self)
    }

    fn reach(&self, point: Failpoint) -> BoxFuture<'_, ()> {
        Box::pin(Env::reach(self, point))
    }
}

impl Env for AnyEnv {
    type Stream = Box<dyn ByteStream>;

    fn now_ns(&self, clock: ClockKind) -> u64 {
        self.0.now_ns(clock)
    }

    fn sleep(&self, duration: Duration) -> impl Future<Output = ()> + 'static {
        self.0.sleep(duration)
    }

    fn connect(&self, to: &Name) -> impl Future<Output = io::Result<Self::Stream>> + 'static {
        self.0.connect(to)
    }

    fn target(&self, name: &Name) -> Target {
        self.0.target(name)
    }

    fn client_options(&self, name: &Name) -> ClientOptions {
        self.0.client_options(name)
    }

    fn coordination(&self) -> Coordination {
        self.0.coordination()
    }

    fn spawn(&self, task: impl Future<Output = ()> + 'static) {
        self.0.spawn(Box::pin(task));
    }

    fn random(&self) -> u64 {
        self.0.random()
    }

    fn reach(&self, point: Failpoint) -> impl Future<Output = ()> {
        self.0.reach(point)
    }
}

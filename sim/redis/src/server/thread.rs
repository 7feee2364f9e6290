//! The thread of a server: its event loop, start and stop.

use std::future::Future;
use std::io;
use std::panic;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};

use tokio::sync::Notify;
use tokio::task::LocalSet;

use super::StartError;

/// Signals a server to stop. Clones are the same signal.
#[derive(Clone, Debug, Default)]
pub struct Stop(Arc<(Notify, AtomicBool)>);

impl Stop {
    /// Gives the signal: the server ends as a killed process does.
    pub fn signal(&self) {
        self.0.1.store(true, Ordering::Release);
        self.0.0.notify_one();
    }

    /// Waits for the signal.
    pub(super) async fn signalled(&self) {
        self.0.0.notified().await;
    }

    /// Whether the signal was given.
    pub fn is_signalled(&self) -> bool {
        self.0.1.load(Ordering::Acquire)
    }
}

/// A running server.
#[derive(Debug)]
pub(super) struct Thread {
    stop: Stop,
    handle: Option<JoinHandle<io::Result<()>>>,
}

impl Thread {
    /// Runs `serve` on a thread of this name, which the system may truncate.
    pub(super) fn start<F>(name: &str, serve: F) -> Result<Self, StartError>
    where
        F: FnOnce(Stop) -> io::Result<()> + Send + 'static,
    {
        let stop = Stop::default();
        let stopped = stop.clone();
        let builder = thread::Builder::new().name(name.to_owned());
        let handle = builder.spawn(move || serve(stopped));
        Ok(Thread {
            stop,
            handle: Some(handle.map_err(StartError::Thread)?),
        })
    }

    /// Stops the server and waits until it has ended.
    ///
    /// # Panics
    ///
    /// If the server panicked, so that a test that uses it fails.
    pub(super) fn stop(&mut self) {
        self.stop.signal();
        let ended = self.handle.take().map(JoinHandle::join);
        match ended {
            Some(Err(panicked)) if !thread::panicking() => panic::resume_unwind(panicked),
            // The clients have already seen the error.
            _ => {}
        }
    }
}

impl Drop for Thread {
    fn drop(&mut self) {
        self.stop();
    }
}

/// Runs a server on this thread until it ends.
///
/// # Errors
///
/// If the event loop cannot be created, or if the server fails.
pub(super) fn run(server: impl Future<Output = io::Result<()>>) -> io::Result<()> {
    let mut runtime = tokio::runtime::Builder::new_current_thread();
    let runtime = runtime.enable_io().enable_time().build()?;
    LocalSet::new().block_on(&runtime, server)
}

//! The thread that a server runs on: its event loop, its start, its end.

use std::future::Future;
use std::io;
use std::panic;
use std::sync::Arc;
use std::thread::{self, JoinHandle};

use tokio::sync::Notify;
use tokio::task::LocalSet;

use super::StartError;

/// Tells a server to end.
pub(super) type Stop = Arc<Notify>;

/// A running server.
#[derive(Debug)]
pub(super) struct Thread {
    stop: Stop,
    handle: Option<JoinHandle<io::Result<()>>>,
}

impl Thread {
    /// Runs this on a thread of this name, which the system may cut short.
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

    /// Ends the server, and waits for that.
    ///
    /// # Panics
    ///
    /// If the server did: whoever tests with it shall see that.
    pub(super) fn stop(&mut self) {
        self.stop.notify_one();
        let ended = self.handle.take().map(JoinHandle::join);
        match ended {
            Some(Err(panicked)) if !thread::panicking() => panic::resume_unwind(panicked),
            // What it could not serve its clients have seen.
            _ => {}
        }
    }
}

impl Drop for Thread {
    fn drop(&mut self) {
        self.stop();
    }
}

/// Runs a server to its end, on this thread.
///
/// # Errors
///
/// If there can be no event loop, and those of the server.
pub(super) fn run(server: impl Future<Output = io::Result<()>>) -> io::Result<()> {
    let mut runtime = tokio::runtime::Builder::new_current_thread();
    let runtime = runtime.enable_io().enable_time().build()?;
    LocalSet::new().block_on(&runtime, server)
}

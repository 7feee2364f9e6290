//! A child process that ends with its owner.

use std::process::{Child, Command, Stdio};

/// A child process. Dropping this kills it.
#[derive(Debug)]
pub struct Process(Child);

impl Process {
    /// Starts the process with empty input and discards its output.
    ///
    /// # Errors
    ///
    /// If it cannot be started.
    pub fn start(command: &mut Command) -> std::io::Result<Self> {
        let quiet = command.stdin(Stdio::null()).stdout(Stdio::null());
        quiet.stderr(Stdio::null()).spawn().map(Process)
    }

    /// The process id.
    pub fn id(&self) -> u32 {
        self.0.id()
    }

    /// Whether the process has ended.
    pub fn has_ended(&mut self) -> bool {
        !matches!(self.0.try_wait(), Ok(None))
    }

    /// Kills the process if it has not ended.
    pub fn end(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

impl From<Child> for Process {
    fn from(child: Child) -> Self {
        Process(child)
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        self.end();
    }
}

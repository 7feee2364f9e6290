//! One process of a real run, in the hands of the bench: command, heard, stopped, killed.

use std::io::{self, BufRead, BufReader, Write};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{self, ChildStdin, ChildStdout, ExitStatus, Stdio};
use std::sync::mpsc::Sender;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle};

use nix::errno::Errno;
use nix::sys::signal::{Signal, kill};
use nix::sys::wait::{Id, WaitPidFlag, waitid};
use nix::unistd::Pid;
use serde::Serialize;

use super::redis_server;
use super::wire::{ChildMessage, Command, Job, Role};
use crate::history::{Failpoint, Name, Record};

/// A running process. Dropped, it is killed.
pub(super) struct Child {
    process: process::Child,
    stdin: ChildStdin,
    listener: Option<JoinHandle<()>>,
}

impl Child {
    /// Starts `locklab process` with this job. What it says goes to `collector`, under this
    /// name and number.
    pub(super) fn start(
        locklab: &Path,
        job: &Job,
        who: Who,
        collector: Collector,
    ) -> io::Result<Self> {
        let mut process = process::Command::new(locklab)
            .arg("process")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            // A group of its own: what is typed at the terminal is for the bench alone.
            .process_group(0)
            .spawn()?;
        let (Some(stdin), Some(stdout)) = (process.stdin.take(), process.stdout.take()) else {
            unreachable!("both were asked for")
        };
        let format = match job.role {
            Role::Guard { .. } => OutputFormat::RedisLog,
            Role::Client(_) | Role::Resource { .. } => OutputFormat::Json,
        };
        let listener = thread::spawn(move || listen(stdout, &who, format, &collector));
        let mut child = Self {
            process,
            stdin,
            listener: Some(listener),
        };
        child.write(job);
        Ok(child)
    }

    /// Tells it something. If it is dead, its listener says so.
    pub(super) fn tell(&mut self, command: &Command) {
        self.write(command);
    }

    fn write(&mut self, value: &impl Serialize) {
        let mut line = serde_json::to_vec(value).expect("jobs have string keys only");
        line.push(b'\n');
        let _ = self.stdin.write_all(&line);
    }

    /// Stops it (SIGSTOP); see [`Child::await_stop`].
    pub(super) fn stop(&self) {
        self.signal(Signal::SIGSTOP);
    }

    /// Waits until it really stands still, or is dead.
    pub(super) fn await_stop(&self) {
        // Any other error means that there is nothing to wait for: it is dead.
        while waitid(Id::Pid(self.pid()), WaitPidFlag::WSTOPPED) == Err(Errno::EINTR) {}
    }

    /// Lets it go on (SIGCONT).
    pub(super) fn go_on(&self) {
        self.signal(Signal::SIGCONT);
    }

    /// Ends it (SIGKILL, which a stopped process obeys too). On return it is gone, and
    /// all that it had said has been heard.
    pub(super) fn kill(&mut self) -> io::Result<ExitStatus> {
        // An error means that it is dead already.
        let _ = self.process.kill();
        let status = self.process.wait();
        if let Some(listener) = self.listener.take() {
            // A listener that panicked has said so.
            let _ = listener.join();
        }
        status
    }

    /// The process is not reaped before [`Child::kill`], so its id is still its own.
    fn signal(&self, signal: Signal) {
        let _ = kill(self.pid(), signal);
    }

    fn pid(&self) -> Pid {
        Pid::from_raw(self.process.id().cast_signed())
    }
}

impl Drop for Child {
    fn drop(&mut self) {
        let _ = self.kill();
    }
}

/// Which start of which host's process this is.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Who {
    /// The host.
    pub(super) host: Name,
    /// The number of the start; the first is 1.
    pub(super) start: u32,
}

/// What a process writes on its standard output.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum OutputFormat {
    /// A [`ChildMessage`] per line.
    Json,
    /// The log of a Redis server.
    RedisLog,
}

/// Where all listeners of a run bring what they hear.
#[derive(Clone)]
pub(super) struct Collector {
    records: Arc<Mutex<Vec<Record>>>,
    event: Sender<(Who, ChildEvent)>,
}

/// What the bench must act on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum ChildEvent {
    /// The process can be used.
    Ready,
    /// It waits at a watched point.
    Reached(Failpoint),
    /// A client's rounds are over.
    Finished,
    /// The process is dead, for whatever reason; the end of its output.
    Ended(String),
}

impl Collector {
    /// An collector that sends what must be acted on to `event`.
    pub(super) fn new(event: Sender<(Who, ChildEvent)>) -> Self {
        Self {
            records: Arc::default(),
            event,
        }
    }

    /// What has happened so far, in the order in which it was heard.
    pub(super) fn records(&self) -> MutexGuard<'_, Vec<Record>> {
        // Nobody leaves it half changed.
        self.records.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// How many of the last lines of a dead process are told.
const LAST_LINES: usize = 5;

fn listen(stdout: ChildStdout, who: &Who, format: OutputFormat, collector: &Collector) {
    let mut last_words: Vec<String> = Vec::new();
    // If the bench is over, nobody needs the event.
    let report = |event| {
        let _ = collector.event.send((who.clone(), event));
    };
    for line in BufReader::new(stdout).lines().map_while(Result::ok) {
        match format.understand(&line) {
            Some(ChildMessage::Record(record)) => collector.records().push(record),
            Some(ChildMessage::Ready) => report(ChildEvent::Ready),
            Some(ChildMessage::Reached(point)) => report(ChildEvent::Reached(point)),
            Some(ChildMessage::Finished) => report(ChildEvent::Finished),
            Some(ChildMessage::Failed(why)) => last_words.push(why),
            None => last_words.push(line),
        }
        if last_words.len() > LAST_LINES {
            last_words.remove(0);
        }
    }
    report(ChildEvent::Ended(last_words.join(" | ")));
}

impl OutputFormat {
    fn understand(self, line: &str) -> Option<ChildMessage> {
        match self {
            OutputFormat::Json => serde_json::from_str(line).ok(),
            // A guard that could not become the server speaks JSON.
            OutputFormat::RedisLog => match serde_json::from_str(line) {
                Ok(said @ ChildMessage::Failed(_)) => Some(said),
                _ => redis_server::is_ready(line).then_some(ChildMessage::Ready),
            },
        }
    }
}

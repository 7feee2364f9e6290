//! One process of a real run, as controlled by the testbed: commands, output, signals.

use std::io::{self, BufRead, BufReader, Write};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{self, ChildStdin, ChildStdout, ExitStatus, Stdio};
use std::sync::mpsc::Sender;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle};

use nix::errno::Errno;
use nix::sys::signal::{Signal, killpg};
use nix::sys::wait::{Id, WaitPidFlag, waitid};
use nix::unistd::Pid;
use serde::Serialize;

use super::child_protocol::{ChildMessage, Command, Job, Role, ServerKind};
use super::{redis_server, zookeeper_server};
use locklab_history::{Failpoint, Name, Record};

/// A running process. Dropping it kills the process.
pub(super) struct Child {
    process: process::Child,
    stdin: ChildStdin,
    listener: Option<JoinHandle<()>>,
}

impl Child {
    /// Starts `locklab process` with this job. Its output goes to `collector`, under this name
    /// and start number.
    pub(super) fn start(
        locklab: &Path,
        job: &Job,
        who: ProcessId,
        collector: Collector,
    ) -> io::Result<Self> {
        let mut process = process::Command::new(locklab)
            .arg("process")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            // A process group of its own: terminal signals such as Ctrl-C reach only the testbed.
            .process_group(0)
            .spawn()?;
        let (Some(stdin), Some(stdout)) = (process.stdin.take(), process.stdout.take()) else {
            unreachable!("both were asked for")
        };
        let format = match job.role {
            Role::Guard(ref job) => OutputFormat::Log(job.kind),
            Role::Client(_) | Role::Resource(_) | Role::Janitor { .. } => OutputFormat::Json,
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

    /// Sends it a command. If it is dead, the listener on its output reports that.
    pub(super) fn send(&mut self, command: &Command) {
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

    /// Waits until the process has stopped or is dead.
    pub(super) fn await_stop(&self) {
        // Any other error means that the process is dead, so there is nothing to wait for.
        while waitid(Id::Pid(self.pid()), WaitPidFlag::WSTOPPED) == Err(Errno::EINTR) {}
    }

    /// Continues it (SIGCONT).
    pub(super) fn resume(&self) {
        self.signal(Signal::SIGCONT);
    }

    /// Kills it (SIGKILL, which also ends a stopped process). On return the process is gone,
    /// and all its output has been read.
    pub(super) fn kill(&mut self) -> io::Result<ExitStatus> {
        self.signal(Signal::SIGKILL);
        let status = self.process.wait();
        if let Some(listener) = self.listener.take() {
            // A listener that panicked has already printed its message.
            let _ = listener.join();
        }
        status
    }

    /// Sends a signal to the process and to those that it has started: a Redis server forks to
    /// save its data. The process is not reaped before [`Child::kill`], so its id is not reused.
    /// An error means that it is already dead.
    fn signal(&self, signal: Signal) {
        let _ = killpg(self.pid(), signal);
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

/// Identifies one start of a host's process.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct ProcessId {
    /// The host.
    pub(super) host: Name,
    /// The number of the start, counted from 1.
    pub(super) start: u32,
}

/// The format of a process's standard output.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum OutputFormat {
    /// A [`ChildMessage`] per line.
    Json,
    /// The log of a server.
    Log(ServerKind),
}

/// Collects the output of all processes of a run.
#[derive(Clone)]
pub(super) struct Collector {
    records: Arc<Mutex<Vec<Record>>>,
    event: Sender<(ProcessId, ChildEvent)>,
}

/// An event that the testbed must handle.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum ChildEvent {
    /// The process is ready.
    Ready,
    /// The process is blocked at a watched failpoint.
    Reached(Failpoint),
    /// A replica has its master's data; a member of ZooKeeper leads, or has its leader's.
    Synchronised,
    /// A sentinel reports an event: `+switch-master`.
    Notice(String),
    /// The process waited until it was to begin, and has begun; see [`ChildMessage::Began`].
    Began {
        /// When it was to begin, in nanoseconds of the machine's monotonic clock.
        due_ns: u64,
        /// When it began.
        at_ns: u64,
    },
    /// A client has finished its rounds.
    Finished,
    /// The operator's command for this fault of the schedule was accepted.
    Ordered(usize),
    /// The process is dead, for any reason; the end of its output.
    Ended(String),
}

impl ChildEvent {
    /// Whether the process is ready. A sentinel does not say so, but that it monitors its master.
    pub(super) fn is_ready(&self) -> bool {
        match self {
            ChildEvent::Ready => true,
            ChildEvent::Notice(notice) => notice == "+monitor",
            _ => false,
        }
    }
}

impl Collector {
    /// A collector that sends the events for the testbed to `event`.
    pub(super) fn new(event: Sender<(ProcessId, ChildEvent)>) -> Self {
        Self {
            records: Arc::default(),
            event,
        }
    }

    /// The records so far, in the order of arrival.
    pub(super) fn records(&self) -> MutexGuard<'_, Vec<Record>> {
        // No code panics while the records are in an inconsistent state.
        self.records.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The number of last output lines of a dead process that are reported.
const LAST_LINES: usize = 5;

fn listen(stdout: ChildStdout, who: &ProcessId, format: OutputFormat, collector: &Collector) {
    let mut last_words: Vec<String> = Vec::new();
    // If the testbed is gone, the event is not needed.
    let report = |event| {
        let _ = collector.event.send((who.clone(), event));
    };
    for line in BufReader::new(stdout).lines().map_while(Result::ok) {
        match format.parse(&line) {
            Some(Output::Record(record)) => collector.records().push(record),
            Some(Output::Event(event)) => report(event),
            Some(Output::Words(words)) => last_words.push(words),
            None => last_words.push(line),
        }
        if last_words.len() > LAST_LINES {
            last_words.remove(0);
        }
    }
    report(ChildEvent::Ended(last_words.join(" | ")));
}

/// The meaning of a line of output.
enum Output {
    Record(Record),
    Event(ChildEvent),
    /// The process explains itself.
    Words(String),
}

impl OutputFormat {
    fn parse(self, line: &str) -> Option<Output> {
        let message = serde_json::from_str(line).ok();
        match (self, message) {
            (OutputFormat::Json, Some(message)) => Some(message.into()),
            (OutputFormat::Json, None) => None,
            // A guard that could not execute the server writes JSON.
            // So does one that has waited, before it executes it.
            (
                OutputFormat::Log(_),
                Some(message @ (ChildMessage::Failed(_) | ChildMessage::Began { .. })),
            ) => Some(message.into()),
            (OutputFormat::Log(kind), _) => event_of(kind, line).map(Output::Event),
        }
    }
}

/// The event that a line of a server's log reports.
fn event_of(kind: ServerKind, line: &str) -> Option<ChildEvent> {
    match kind {
        ServerKind::Redis => match redis_server::LogLine::read(line) {
            redis_server::LogLine::Ready => Some(ChildEvent::Ready),
            redis_server::LogLine::Synchronised => Some(ChildEvent::Synchronised),
            redis_server::LogLine::Notice(notice) => Some(ChildEvent::Notice(notice)),
            redis_server::LogLine::Other => None,
        },
        ServerKind::ZooKeeper => match zookeeper_server::LogLine::read(line) {
            zookeeper_server::LogLine::Ready => Some(ChildEvent::Ready),
            zookeeper_server::LogLine::Joined => Some(ChildEvent::Synchronised),
            zookeeper_server::LogLine::Other => None,
        },
    }
}

impl From<ChildMessage> for Output {
    fn from(message: ChildMessage) -> Self {
        match message {
            ChildMessage::Record(record) => Output::Record(record),
            ChildMessage::Ready => Output::Event(ChildEvent::Ready),
            ChildMessage::Reached(point) => Output::Event(ChildEvent::Reached(point)),
            ChildMessage::Began { due_ns, at_ns } => {
                Output::Event(ChildEvent::Began { due_ns, at_ns })
            }
            ChildMessage::Finished => Output::Event(ChildEvent::Finished),
            ChildMessage::Failed(why) => Output::Words(why),
        }
    }
}

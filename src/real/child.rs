//! One process of a real run, as controlled by the testbed: commands, output, signals.

use std::io::{self, BufRead, BufReader, Write};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{self, ChildStderr, ChildStdin, ChildStdout, ExitStatus, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::Sender;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use nix::errno::Errno;
use nix::sys::signal::{Signal, killpg};
use nix::sys::wait::{Id, WaitPidFlag, WaitStatus, waitid};
use nix::unistd::Pid;
use serde::Serialize;

use super::child_protocol::{Accessed, ChildMessage, Command, Job, Role, ServerKind};
use super::foreign::deaths::Deaths;
use super::foreign::leftovers::Own;
use super::foreign::processes::stat;
use super::foreign::told::{self, News, OutputEnd, Told};
use super::kept::Kept;
use super::{postgres, redis_server, zookeeper_server};
use crate::real_env::read_clock;
use locklab_history::{Access, ClockKind, Event, Failpoint, Name, Record};
use locklab_runner::nemesis::trigger::DueFault;

/// A running process. Dropping it kills the process.
pub(super) struct Child {
    process: process::Child,
    stdin: ChildStdin,
    listeners: Vec<JoinHandle<()>>,
    stages: Arc<Stages>,
    /// What a foreign program wrote last.
    words: LastWords,
    _own: Own,
}

/// How far the end of a process has come, for the threads that read its output.
#[derive(Default)]
struct Stages {
    /// It is being killed: it does not end by itself.
    is_killed: AtomicBool,
    /// It has ended. Its output may be open still: it may have started others.
    is_over: Arc<AtomicBool>,
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
        let is_foreign = matches!(job.role, Role::Foreign(_));
        let mut process = process::Command::new(locklab)
            .arg("process")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(match is_foreign {
                true => Stdio::piped(),
                false => Stdio::inherit(),
            })
            // A process group of its own: terminal signals such as Ctrl-C reach only the testbed.
            .process_group(0)
            .spawn()?;
        let own = Own::new(process.id());
        let (Some(stdin), Some(stdout)) = (process.stdin.take(), process.stdout.take()) else {
            unreachable!("both were asked for")
        };
        let stages = Arc::new(Stages::default());
        let (errors, of_thread) = (process.stderr.take(), stages.clone());
        let words = LastWords::default();
        let listeners = match job.role {
            Role::Foreign(_) => {
                let (words, heard) = (words.clone(), words.clone());
                let listener = thread::spawn(move || {
                    listen_to_program(stdout, &who, &heard, &collector, &of_thread);
                });
                let over = stages.is_over.clone();
                let errors =
                    errors.map(|errors| thread::spawn(move || overhear(errors, &over, &words)));
                [listener].into_iter().chain(errors).collect()
            }
            Role::Guard(ref job) => {
                let format = OutputFormat::Log(job.kind);
                vec![thread::spawn(move || {
                    listen(stdout, &who, format, &collector)
                })]
            }
            Role::Client(_) | Role::Resource(_) | Role::Drill(_) | Role::Janitor { .. } => {
                let format = OutputFormat::Json;
                vec![thread::spawn(move || {
                    listen(stdout, &who, format, &collector)
                })]
            }
        };
        let mut child = Self {
            process,
            stdin,
            listeners,
            stages,
            words,
            _own: own,
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

    /// Waits until the process stands still or is dead.
    pub(super) fn await_stop(&self) {
        await_stop(self.pid());
    }

    /// Continues it (SIGCONT).
    pub(super) fn resume(&self) {
        self.signal(Signal::SIGCONT);
    }

    /// Kills it (SIGKILL, which also ends a stopped process). On return the process is gone,
    /// and all its output has been read.
    pub(super) fn kill(&mut self) -> io::Result<ExitStatus> {
        self.stages.is_killed.store(true, Ordering::Relaxed);
        self.signal(Signal::SIGKILL);
        let status = self.process.wait();
        self.stages.is_over.store(true, Ordering::Relaxed);
        for listener in self.listeners.drain(..) {
            // A listener that panicked has already printed its message.
            let _ = listener.join();
        }
        status
    }

    /// The last lines of a foreign program's output. All of it is read when [`Child::kill`] returns.
    pub(super) fn last_words(&self) -> String {
        self.words.joined()
    }

    /// Sends a signal to the process and to those that it has started: a Redis server forks to
    /// save its data. The process is not reaped before [`Child::kill`], so its id is not reused.
    /// An error means that it is already dead.
    fn signal(&self, signal: Signal) {
        let _ = killpg(self.pid(), signal);
    }

    /// The number of the process, and of its group.
    pub(super) fn id(&self) -> u32 {
        self.process.id()
    }

    fn pid(&self) -> Pid {
        Pid::from_raw(self.process.id().cast_signed())
    }
}

/// Waits until a child of this process, to which SIGSTOP was sent, stands still or is dead.
///
/// One in an uninterruptible sleep stands still and has not stopped: it stops when it wakes. A shell sleeps so in `vfork`
/// until its child has become another program, and if that was stopped before, until both go on.
pub(super) fn await_stop(process: Pid) {
    const LOOK: Duration = Duration::from_micros(500);
    /// So many looks in a row: one might have been between two steps of the process.
    const LOOKS: u32 = 4;
    let flags = WaitPidFlag::WSTOPPED | WaitPidFlag::WNOHANG;
    let mut asleep = 0;
    // Any other error means that it is dead, so there is nothing to wait for.
    while let Ok(WaitStatus::StillAlive) | Err(Errno::EINTR) = waitid(Id::Pid(process), flags) {
        let is_asleep = stat(process).first().is_some_and(|state| state == "D");
        asleep = if is_asleep { asleep + 1 } else { 0 };
        if asleep == LOOKS {
            return;
        }
        thread::sleep(LOOK);
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
    accesses: Arc<Mutex<Vec<Accessed>>>,
    told: Arc<Mutex<Vec<Told>>>,
    kept: Arc<Kept>,
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
    /// A foreign program has ended by itself.
    Exited,
    /// A foreign program told that it is at this point.
    Told(Failpoint),
    /// The resource served this client, which is now at this point.
    Served(Name, Failpoint),
    /// These faults are due at a step of the host, at which the proxy holds its data back.
    AtStep(Vec<DueFault>),
    /// The reply has arrived by which this node grants a foreign program the lock.
    Granted(Name),
    /// The operator's command for this fault of the schedule was accepted.
    Ordered(usize),
    /// It was refused, for this reason.
    Refused(usize, String),
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
    /// A collector that keeps so much, and sends the events for the testbed to `event`.
    pub(super) fn new(event: Sender<(ProcessId, ChildEvent)>, kept: Arc<Kept>) -> Self {
        Self {
            records: Arc::default(),
            accesses: Arc::default(),
            told: Arc::default(),
            kept,
            event,
        }
    }

    /// The records so far, in the order of arrival.
    pub(super) fn records(&self) -> MutexGuard<'_, Vec<Record>> {
        // No code panics while the records are in an inconsistent state.
        self.records.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The accesses of foreign programs so far, in the order of arrival.
    pub(super) fn accesses(&self) -> MutexGuard<'_, Vec<Accessed>> {
        self.accesses.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// What foreign programs told so far, in the order of arrival.
    pub(super) fn told(&self) -> MutexGuard<'_, Vec<Told>> {
        self.told.lock().unwrap_or_else(PoisonError::into_inner)
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
            Some(Output::Record(record)) => {
                let served = served(&record);
                collector.records().push(record);
                served.into_iter().for_each(&report);
            }
            Some(Output::Accessed(accessed)) => {
                if collector.kept.accesses.take(1, accessed.record.at_ns) {
                    let served = served(&accessed.record);
                    collector.accesses().push(accessed);
                    served.into_iter().for_each(&report);
                }
            }
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

/// The event that a client was served by the resource.
fn served(record: &Record) -> Option<ChildEvent> {
    match &record.event {
        Event::Access { client, access, .. } => Some(ChildEvent::Served(
            client.clone(),
            match access {
                Access::Read { .. } => Failpoint::Read,
                Access::Write { .. } => Failpoint::Wrote,
            },
        )),
        _ => None,
    }
}

/// The last lines of a program that are not part of the protocol.
#[derive(Clone, Default)]
struct LastWords(Arc<Mutex<Vec<String>>>);

impl LastWords {
    fn add(&self, line: &str) {
        let mut lines = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        lines.push(line.chars().take(LONGEST_WORDS).collect());
        if lines.len() > LAST_LINES {
            lines.remove(0);
        }
    }

    fn joined(&self) -> String {
        let lines = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        lines.join(" | ")
    }
}

/// The longest line that is reported, in characters.
const LONGEST_WORDS: usize = 200;

/// Reads what a program writes to its standard error.
fn overhear(errors: ChildStderr, is_over: &AtomicBool, words: &LastWords) {
    told::read_lines(errors, is_over, |line, _, _| {
        if let Some(line) = line {
            words.add(line);
        }
    });
}

/// Reads the output of a process that becomes a foreign program.
fn listen_to_program(
    stdout: ChildStdout,
    who: &ProcessId,
    words: &LastWords,
    collector: &Collector,
    stages: &Stages,
) {
    // If the testbed is gone, the event is not needed.
    let report = |event| {
        let _ = collector.event.send((who.clone(), event));
    };
    let note = |news, after_ns, by_ns| {
        collector.told().push(Told {
            host: who.host.clone(),
            start: who.start,
            after_ns,
            by_ns,
            news,
        });
    };
    let now_ns = read_clock(ClockKind::Monotonic);
    note(News::Began, now_ns, now_ns);
    let (mut is_program, mut deaths) = (false, Deaths::default());
    let (end, after_ns, by_ns) =
        told::read_lines(stdout, &stages.is_over, |line, after_ns, by_ns| {
            let Some(line) = line else {
                for (process, after_ns, by_ns) in deaths.look(by_ns) {
                    note(News::Gone(process), after_ns, by_ns);
                }
                return;
            };
            // The last one says that it could not become the program.
            let may_be_own = !is_program || line.starts_with(FAILED);
            let own = may_be_own
                .then(|| serde_json::from_str(line).ok())
                .flatten();
            is_program |= matches!(own, None | Some(ChildMessage::Began { .. }));
            if let Some(own) = own {
                match own.into() {
                    Output::Event(event) => report(event),
                    Output::Words(why) => words.add(&why),
                    Output::Record(_) | Output::Accessed(_) => {}
                }
                return;
            }
            match News::read(line) {
                None => words.add(line),
                Some(_) if !collector.kept.lines.take(1, after_ns) => {}
                Some(news) => {
                    if let News::Line(line) = &news {
                        if let Some(process) = line.pid {
                            deaths.watch(process, after_ns);
                        }
                        if let Some(point) = line.word.failpoint() {
                            report(ChildEvent::Told(point));
                        }
                    }
                    note(news, after_ns, by_ns);
                }
            }
        });
    if !stages.is_killed.load(Ordering::Relaxed) {
        note(News::Ended, after_ns, by_ns);
    }
    report(ChildEvent::Ended(match end {
        // When all its output is read, that is known: see `Child::last_words`.
        OutputEnd::Closed => String::new(),
        OutputEnd::Flood => FLOOD.into(),
    }));
}

/// How a [`ChildMessage::Failed`] begins.
const FAILED: &str = "{\"failed\":";

/// Why a program that does nothing but write is ended.
const FLOOD: &str = "it wrote more than 16 MB, and was ended";

/// The meaning of a line of output.
enum Output {
    Record(Record),
    Accessed(Accessed),
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
        ServerKind::Postgres => postgres::is_ready(line).then_some(ChildEvent::Ready),
    }
}

impl From<ChildMessage> for Output {
    fn from(message: ChildMessage) -> Self {
        match message {
            ChildMessage::Record(record) => Output::Record(record),
            ChildMessage::Accessed(accessed) => Output::Accessed(accessed),
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

#[cfg(test)]
mod tests;

//! A process with the library: it reads orders from its standard input, and writes lines to its standard output.

use std::io::{self, BufRead, BufReader, Write};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{self, ChildStdin, Command, Stdio};
use std::sync::mpsc::Sender;
use std::thread;

use locklab_history::{ClockKind, Name};
use nix::sys::signal::{Signal, killpg};
use nix::unistd::Pid;
use serde::Serialize;

use super::Event;
use super::protocol::{Line, Order};
use crate::child::await_stop;
use crate::child_protocol::{DrillJob, Job, Role};
use crate::foreign::leftovers::Own;
use crate::real_env::read_clock;

/// A running process. Dropping it kills it, and what it has started in its group.
pub struct Process {
    child: process::Child,
    stdin: ChildStdin,
    _own: Own,
}

/// The longest line that is read, in bytes.
const LONGEST: usize = 64 << 10;

impl Process {
    /// Starts it; its lines go to `events`, and what it writes to its standard error is this program's.
    ///
    /// # Errors
    ///
    /// If Locklab cannot start itself.
    pub fn start(
        locklab: &Path,
        job: DrillJob,
        by: Name,
        events: Sender<Event>,
    ) -> io::Result<Process> {
        let mut child = Command::new(locklab)
            .arg("process")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            // A process group of its own, so that what it starts ends with it.
            .process_group(0)
            .spawn()?;
        let own = Own::new(child.id());
        let (Some(mut stdin), Some(stdout)) = (child.stdin.take(), child.stdout.take()) else {
            unreachable!("both were asked for")
        };
        let job = Job {
            bench: process::id(),
            role: Role::Drill(Box::new(job)),
        };
        write(&mut stdin, &job)?;
        thread::spawn(move || {
            let mut lines = BufReader::new(stdout);
            let mut line = Vec::new();
            loop {
                line.clear();
                let read = io::Read::take(&mut lines, LONGEST as u64).read_until(b'\n', &mut line);
                if !matches!(read, Ok(1..)) {
                    break;
                }
                let at_ns = read_clock(ClockKind::Monotonic);
                // Other lines are the program's own.
                if let Some(line) = Line::read(&line) {
                    let by = by.clone();
                    if events.send(Event::Said { by, line, at_ns }).is_err() {
                        return;
                    }
                }
            }
            let _ = events.send(Event::Ended { by });
        });
        Ok(Process {
            child,
            stdin,
            _own: own,
        })
    }

    /// Gives it an order. If it is dead, its end is an event.
    pub fn order(&mut self, order: &Order) {
        let _ = write(&mut self.stdin, order);
    }

    /// Stops it, with its group; on return it has stopped, or is dead.
    pub fn stop(&self) {
        self.signal(Signal::SIGSTOP);
        await_stop(self.pid());
    }

    /// Lets it go on.
    pub fn resume(&self) {
        self.signal(Signal::SIGCONT);
    }

    fn signal(&self, signal: Signal) {
        let _ = killpg(self.pid(), signal);
    }

    fn pid(&self) -> Pid {
        Pid::from_raw(self.child.id().cast_signed())
    }
}

fn write(stdin: &mut ChildStdin, value: &impl Serialize) -> io::Result<()> {
    let mut line = serde_json::to_vec(value)?;
    line.push(b'\n');
    stdin.write_all(&line)?;
    stdin.flush()
}

impl Drop for Process {
    fn drop(&mut self) {
        self.signal(Signal::SIGKILL);
        let _ = self.child.wait();
    }
}

//! The processes of this machine, and whose they are: by their group, or by their environment, which they have
//! inherited unless they cleared it.

use std::fmt::Display;
use std::fs;
use std::path::Path;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use locklab_history::Name;
use locklab_runner::pool::lock;
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

use super::environment::{HOST, RUN};

/// A process.
pub(super) struct Process {
    pub(super) number: Pid,
    group: Option<Pid>,
    marks: Vec<Vec<u8>>,
}

impl Process {
    fn read(number: i32) -> Process {
        let group = stat(number).get(2).and_then(|group| group.parse().ok());
        Process {
            number: Pid::from_raw(number),
            group: group.map(Pid::from_raw),
            marks: marks(number),
        }
    }

    /// Whether it is a process of this client: in one of its groups, or with its environment.
    pub(super) fn is_of(&self, host: &Name, groups: &[Pid], run: &Path) -> bool {
        let run = format!("{RUN}={}", run.display());
        let own = format!("{HOST}={host}");
        let mut hosts = self
            .marks
            .iter()
            .filter(|it| it.starts_with(HOST.as_bytes()));
        let has_run = self.marks.iter().any(|it| it == run.as_bytes());
        // One that has put away its host may be that of any.
        self.group.is_some_and(|group| groups.contains(&group))
            || has_run && hosts.all(|it| it == own.as_bytes())
    }
}

/// All processes, as they were at most so long ago. Reading them takes some milliseconds of a processor, so all runs
/// share what was read.
pub(super) fn listing(age: Duration) -> Arc<Vec<Process>> {
    static LISTING: Mutex<Option<(Instant, Arc<Vec<Process>>)>> = Mutex::new(None);
    let mut listing = lock(&LISTING);
    match &*listing {
        Some((read, processes)) if read.elapsed() < age => processes.clone(),
        _ => {
            let read = Instant::now();
            let processes = Arc::new(numbers().map(Process::read).collect());
            *listing = Some((read, Arc::clone(&processes)));
            processes
        }
    }
}

/// Signals the processes that have the environment of one of these clients, in whatever group.
pub(crate) fn signal(hosts: &[&Name], run: &Path, signal: Signal) {
    let all = listing(Duration::ZERO);
    let is_of = |it: &&Process| hosts.iter().any(|host| it.is_of(host, &[], run));
    for process in all.iter().filter(is_of) {
        // An error means that it has ended.
        let _ = kill(process.number, signal);
    }
}

/// What the kernel says of a process after its name, from its state on; nothing if it is gone.
pub(crate) fn stat(process: impl Display) -> Vec<String> {
    let stat = fs::read_to_string(format!("/proc/{process}/stat")).unwrap_or_default();
    // The name before it may have any characters.
    let rest = stat.rsplit_once(") ").map_or("", |(_, rest)| rest);
    rest.split_whitespace().map(str::to_owned).collect()
}

/// What the environment of a process says of a run and its hosts. A process of another user, or a zombie, has none.
pub(super) fn marks(process: i32) -> Vec<Vec<u8>> {
    let environment = fs::read(format!("/proc/{process}/environ")).unwrap_or_default();
    let marks = environment.split(|byte| *byte == 0);
    let marks = marks.filter(|it| {
        [RUN, HOST]
            .iter()
            .any(|name| it.starts_with(name.as_bytes()))
    });
    marks.map(<[u8]>::to_vec).collect()
}

/// The numbers of all processes.
pub(super) fn numbers() -> impl Iterator<Item = i32> {
    let processes = fs::read_dir("/proc").into_iter().flatten().flatten();
    processes.filter_map(|entry| entry.file_name().to_str()?.parse().ok())
}

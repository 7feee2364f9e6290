//! Processes that a foreign program has started, and that left its process group: they are known by
//! the run in their environment, which they have inherited.

use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::time::Duration;

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

use super::environment::RUN;

/// How often the processes of this machine are searched; one may start another meanwhile.
const ROUNDS: u32 = 20;

/// Ends all processes of the run with this folder, but this one. A process with another environment
/// than it was given is not found.
pub(crate) fn end(folder: &Path) {
    let mut mark = format!("{RUN}=").into_bytes();
    mark.extend(folder.as_os_str().as_bytes());
    for _ in 0..ROUNDS {
        let found = marked(&mark);
        for process in &found {
            // An error means that it has ended.
            let _ = kill(*process, Signal::SIGKILL);
        }
        if found.is_empty() {
            return;
        }
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// The processes of which the environment has this variable, but this one and the dead.
fn marked(mark: &[u8]) -> Vec<Pid> {
    let processes = fs::read_dir("/proc").into_iter().flatten().flatten();
    let numbers = processes.filter_map(|entry| entry.file_name().to_str()?.parse::<i32>().ok());
    let is_marked = |number: &i32| {
        // A process of another user, or a zombie, has none.
        let environment = fs::read(format!("/proc/{number}/environ")).unwrap_or_default();
        let mut variables = environment.split(|byte| *byte == 0);
        variables.any(|variable| variable == mark)
    };
    let is_own = |number: &i32| *number == std::process::id().cast_signed();
    numbers
        .filter(|number| !is_own(number) && is_marked(number))
        .map(Pid::from_raw)
        .collect()
}

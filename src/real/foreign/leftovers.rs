//! Processes that a foreign program has started, and that left its process group.
//!
//! A program that runs nothing else but this attack adopts orphans ([`adopt`]): whoever has lost its parent
//! becomes its child, and is ended with the run. Elsewhere, and when Locklab is killed, such processes are known
//! by the run in their environment only, which they have inherited, unless they cleared it.

use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use nix::sys::prctl;
use nix::sys::signal::{Signal, kill};
use nix::sys::wait::{WaitPidFlag, waitpid};
use nix::unistd::Pid;

use super::environment::RUN;
use super::processes::{marks, numbers, stat};

/// How often the processes of this machine are searched; one may start another meanwhile.
const ROUNDS: u32 = 20;

/// The children of this process that it has started itself. A number may be there twice: it is free for another
/// process once its own has been waited for.
static OWN: Mutex<Vec<u32>> = Mutex::new(Vec::new());

/// A child that is no orphan, until this is dropped.
pub(crate) struct Own(u32);

impl Own {
    /// The process with this number.
    pub(crate) fn new(process: u32) -> Own {
        own(|all| all.push(process));
        Own(process)
    }
}

impl Drop for Own {
    fn drop(&mut self) {
        own(|all| {
            if let Some(place) = all.iter().position(|process| *process == self.0) {
                all.swap_remove(place);
            }
        });
    }
}

fn own<T>(with: impl FnOnce(&mut Vec<u32>) -> T) -> T {
    with(&mut OWN.lock().unwrap_or_else(PoisonError::into_inner))
}

/// Makes this process the parent of every orphan among its descendants, whatever its environment, group and
/// session. From now on the end of a run ends all of its children that no run has started itself: not for a program
/// with children of its own.
pub fn adopt() {
    // Without it, orphans are searched by their environment.
    let _ = prctl::set_child_subreaper(true);
}

/// A run of foreign programs that is under way, until this is dropped.
#[derive(Debug)]
pub(crate) struct UnderWay(());

/// How many are.
static RUNS: AtomicUsize = AtomicUsize::new(0);

impl UnderWay {
    /// A run begins.
    pub(crate) fn begin() -> UnderWay {
        RUNS.fetch_add(1, Ordering::SeqCst);
        UnderWay(())
    }
}

impl Drop for UnderWay {
    fn drop(&mut self) {
        if RUNS.fetch_sub(1, Ordering::SeqCst) == 1 {
            end_those_adopted(|_| true);
        }
    }
}

/// Ends the orphans of the run with this folder that this process has adopted, if it adopts any, and their descendants,
/// which it then adopts. While other runs are under way, one that has cleared its environment may be theirs: the
/// last of the runs ends it.
pub(crate) fn end_adopted(folder: &Path) {
    let mark = mark(folder);
    end_those_adopted(|process| has_mark(process.as_raw(), &mark));
}

fn end_those_adopted(are_meant: impl Fn(&Pid) -> bool) {
    if prctl::get_child_subreaper() != Ok(true) {
        return;
    }
    for _ in 0..ROUNDS {
        let mut adopted = adopted();
        adopted.retain(&are_meant);
        for process in &adopted {
            // An error means that it has ended, or is not waited for yet.
            let _ = kill(*process, Signal::SIGKILL);
            let _ = waitpid(*process, Some(WaitPidFlag::WNOHANG));
        }
        if adopted.is_empty() {
            return;
        }
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// The children of this process that it has not started itself, also those that have ended.
fn adopted() -> Vec<Pid> {
    let this = std::process::id();
    let is_child = |number: &i32| {
        let parent = stat(number).into_iter().nth(1);
        parent.and_then(|parent| parent.parse().ok()) == Some(this)
    };
    let children = numbers().filter(is_child);
    let others = children.filter(|number| !own(|all| all.contains(&number.cast_unsigned())));
    others.map(Pid::from_raw).collect()
}

/// Ends all processes of the run with this folder, but this one. A process with another environment
/// than it was given is not found.
pub(crate) fn end(folder: &Path) {
    let mark = mark(folder);
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

/// What the environment of a process of the run with this folder has.
fn mark(folder: &Path) -> Vec<u8> {
    let mut mark = format!("{RUN}=").into_bytes();
    mark.extend(folder.as_os_str().as_bytes());
    mark
}

/// Whether the environment of a process has this variable.
fn has_mark(process: i32, mark: &[u8]) -> bool {
    marks(process).iter().any(|it| it == mark)
}

/// The processes of which the environment has this variable, but this one and the dead.
fn marked(mark: &[u8]) -> Vec<Pid> {
    let is_own = |number: &i32| *number == std::process::id().cast_signed();
    numbers()
        .filter(|number| !is_own(number) && has_mark(*number, mark))
        .map(Pid::from_raw)
        .collect()
}

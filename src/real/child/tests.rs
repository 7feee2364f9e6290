//! Processes that are to stand still.

use std::fs;
use std::os::unix::process::CommandExt;
use std::process;
use std::sync::mpsc;
use std::thread;
use std::time::{Duration, Instant};

use nix::sys::signal::{Signal, killpg};
use nix::sys::stat::Mode;
use nix::unistd::{Pid, mkfifo};

use super::{await_stop, stat};

/// Starts a program by `posix_spawn`, which first waits for the writer of a pipe: the parent sleeps in `vfork`.
const FORKS: &str = "
import os, sys
os.posix_spawn('/bin/true', ['true'], {}, file_actions=[(os.POSIX_SPAWN_OPEN, 0, sys.argv[1], os.O_RDONLY, 0)])
";

/// Whether it sleeps uninterruptibly, and has a child: while it loads, it sleeps so without one.
fn is_in_vfork(process: Pid) -> bool {
    let state = |process: &str, at: usize| stat(process).get(at).cloned().unwrap_or_default();
    let all = fs::read_dir("/proc").expect("it can be read").flatten();
    let mut all = all.map(|it| it.file_name().to_string_lossy().into_owned());
    let process = process.to_string();
    all.any(|it| state(&it, 1) == process) && state(&process, 0) == "D"
}

/// SIGSTOP does not stop it, since its child is to go on first, and that is stopped.
#[test]
fn a_process_in_vfork_stands_still() {
    const PATIENCE: Duration = Duration::from_secs(60);
    let folder = std::env::temp_dir().join(format!("locklab-vfork-{}", process::id()));
    fs::create_dir_all(&folder).expect("the folder can be made");
    let pipe = folder.join("pipe");
    mkfifo(&pipe, Mode::S_IRWXU).expect("a pipe can be made");
    let parent = process::Command::new("python3")
        .args(["-c", FORKS])
        .arg(&pipe)
        .process_group(0)
        .spawn();
    if let Ok(mut parent) = parent {
        let pid = Pid::from_raw(parent.id().cast_signed());
        let (begun, is_asleep) = (Instant::now(), || is_in_vfork(pid));
        while !is_asleep() && begun.elapsed() < PATIENCE {
            thread::sleep(Duration::from_millis(1));
        }
        let was_asleep = is_asleep();
        killpg(pid, Signal::SIGSTOP).expect("it lives");
        let (done, waited) = mpsc::channel();
        thread::spawn(move || {
            await_stop(pid);
            let _ = done.send(());
        });
        let is_told = waited.recv_timeout(PATIENCE / 6).is_ok();
        killpg(pid, Signal::SIGKILL).expect("it lives");
        parent.wait().expect("it is a child");
        assert!(was_asleep && is_told, "{was_asleep} {is_told}");
    }
    fs::remove_dir_all(&folder).expect("the folder can be removed");
}

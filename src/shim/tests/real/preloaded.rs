//! This program as a process with the library: a test starts it again, and asks it for its
//! clocks.

use std::env;
use std::ffi::OsString;
use std::fs::{self, File};
use std::io::{self, BufRead, BufReader, Read, Write};
use std::path::Path;
use std::process::{Child, Command, Stdio};

use locklab_values::units::NS_PER_S;
use nix::time::{ClockId, clock_gettime};

use crate::address;
use crate::folder::Folder;

/// The variable that tells a process of this program to be the child; its value is the task.
const TASK: &str = "LOCKLAB_SHIM_TASK";

/// The variable with the folder for its files.
const FOLDER: &str = "LOCKLAB_SHIM_FOLDER";

/// The clocks that [`clocks`] reads, in this order.
const CLOCKS: [ClockId; 6] = [
    ClockId::CLOCK_REALTIME,
    ClockId::CLOCK_REALTIME_COARSE,
    ClockId::CLOCK_MONOTONIC,
    ClockId::CLOCK_MONOTONIC_COARSE,
    ClockId::CLOCK_MONOTONIC_RAW,
    ClockId::CLOCK_BOOTTIME,
];

/// The task of this program as the child; in a normal test run it does nothing.
#[test]
fn child() {
    match env::var(TASK).as_deref() {
        Ok("clocks") => {
            let readings: Vec<String> = CLOCKS.map(|id| now_ns(id).to_string()).into();
            println!("\nanswer {}", readings.join(" "));
        }
        Ok("monotonic") => {
            let (readings, backwards) = watch();
            println!("\nanswer {readings} {backwards}");
        }
        Ok("files") => {
            files(Path::new(&env::var(FOLDER).unwrap())).unwrap();
            println!("\nanswer 0");
        }
        Ok(task) => {
            let (task, port) = task.split_once(' ').expect("a task and a port");
            let port = port.parse().unwrap();
            match task {
                "listen" => address::listen(port).unwrap(),
                "connect" => answer(address::connect(port).unwrap()),
                "connect-in-vain" => answer(address::connect_in_vain(port).map(u8::from)),
                _ => panic!("an unknown task: {task}"),
            }
        }
        Err(_) => {}
    }
}

fn answer(bytes: [u8; 2]) {
    println!("\nanswer {} {}", bytes[0], bytes[1]);
}

/// Writes and syncs three files, each with a second name. One goes, and one is replaced.
fn files(folder: &Path) -> io::Result<()> {
    for name in ["kept", "gone", "replaced"] {
        let mut file = File::create(folder.join(name))?;
        file.write_all(b"synced")?;
        file.sync_all()?;
        fs::hard_link(folder.join(name), folder.join(format!("{name}-too")))?;
    }
    fs::remove_file(folder.join("gone"))?;
    let new = File::create(folder.join("new"))?;
    new.sync_all()?;
    fs::rename(folder.join("new"), folder.join("replaced"))
}

/// A clock, in nanoseconds: in a process with the library as that shows it.
pub fn now_ns(id: ClockId) -> u64 {
    let time = clock_gettime(id).unwrap();
    time.tv_sec() as u64 * NS_PER_S + time.tv_nsec() as u64
}

/// Reads the monotonic clocks until the input ends, or longer if that is soon. How often, and how often one had gone back.
fn watch() -> (u64, u64) {
    println!("\nbegun");
    let input = std::thread::spawn(|| std::io::stdin().read_to_end(&mut Vec::new()));
    let clocks = &CLOCKS[2..5];
    let (mut last_ns, mut readings, mut backwards) = (0, 0, 0);
    while !input.is_finished() || readings < 10_000 {
        for clock in clocks {
            let ns = now_ns(*clock);
            backwards += u64::from(ns < last_ns);
            last_ns = ns;
            readings += 1;
        }
    }
    (readings, backwards)
}

/// A process of this program. Dropping this kills it.
pub struct Preloaded(Child);

impl Preloaded {
    /// Starts a process with these clocks.
    pub fn start(folder: &Folder, clock: Option<&Path>, task: &str) -> Preloaded {
        Self::start_noting(folder, clock, None, task)
    }

    /// The same, with a log of syncs.
    pub fn start_noting(
        folder: &Folder,
        clock: Option<&Path>,
        synced: Option<&Path>,
        task: &str,
    ) -> Preloaded {
        let variables = locklab_shim::environment(&folder.library, clock, synced);
        Self::start_in(folder, variables, task)
    }

    /// Starts a process with the library and these variables for it.
    pub fn start_with(
        folder: &Folder,
        variables: &[(OsString, OsString)],
        task: &str,
    ) -> Preloaded {
        let mut all = locklab_shim::environment(&folder.library, None, None);
        all.extend_from_slice(variables);
        Self::start_in(folder, all, task)
    }

    fn start_in(folder: &Folder, variables: Vec<(OsString, OsString)>, task: &str) -> Preloaded {
        let child = Command::new(env::current_exe().unwrap())
            .args(["--exact", "preloaded::child", "--nocapture"])
            .env(TASK, task)
            .env(FOLDER, folder.join("data"))
            .envs(variables)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn();
        Preloaded(child.expect("this program starts again"))
    }

    /// Waits for a line that begins so, and returns the numbers that follow.
    pub fn await_line(&mut self, start: &str) -> Vec<u64> {
        let output = self.0.stdout.as_mut().expect("the output is a pipe");
        let mut reader = BufReader::with_capacity(1, output);
        loop {
            let mut line = String::new();
            let len = reader.read_line(&mut line).unwrap();
            assert!(len > 0, "the process ended without {start:?}");
            if let Some(numbers) = line.strip_prefix(start) {
                let numbers = numbers.split_whitespace();
                return numbers.map(|number| number.parse().unwrap()).collect();
            }
        }
    }

    /// Ends its input, and returns its answer.
    pub fn finish(mut self) -> Vec<u64> {
        if let Some(mut input) = self.0.stdin.take() {
            input.flush().unwrap();
        }
        self.await_line("answer")
    }
}

impl Drop for Preloaded {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// The readings of a process with these clocks: time of day, precise and coarse; monotonic,
/// precise, coarse and raw; and one that the library leaves alone. In nanoseconds.
pub fn clocks(folder: &Folder, clock: Option<&Path>) -> [u64; 6] {
    let answer = Preloaded::start(folder, clock, "clocks").finish();
    answer.try_into().expect("a reading of each clock")
}

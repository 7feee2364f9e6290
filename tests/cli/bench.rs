//! A folder to run the program in, and the result of a run.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::sync::atomic::{AtomicUsize, Ordering};

use locklab_testing::until;
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use serde_json::Value;

/// An empty folder, removed at the end of a test that went well.
pub struct Bench {
    pub folder: PathBuf,
}

/// A finished process.
pub struct Done {
    /// The exit code; `None` after a signal.
    pub code: Option<i32>,
    /// Standard output.
    pub out: String,
    /// Standard error.
    pub err: String,
}

/// The folders so far: two tests may give theirs the same name, and run at the same time.
static FOLDERS: AtomicUsize = AtomicUsize::new(0);

impl Bench {
    /// A folder of its own for the test of this name.
    pub fn new(test: &str) -> Self {
        let number = FOLDERS.fetch_add(1, Ordering::Relaxed);
        let name = format!("locklab-cli-{}-{number}-{test}", std::process::id());
        let folder = std::env::temp_dir().join(name);
        fs::create_dir_all(&folder).expect("the temporary folder can be written");
        Self { folder }
    }

    /// The program in this folder, without settings from the tester's terminal.
    pub fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_locklab"));
        self.settle(command.args(arguments));
        command
    }

    /// Lets a command run in this folder, without settings from the tester's terminal.
    pub fn settle(&self, command: &mut Command) {
        command
            .current_dir(&self.folder)
            .env_clear()
            // Which planted mistake is switched on; see `cargo xtask plants`.
            .envs(std::env::var_os("LOCKLAB_PLANT").map(|plant| ("LOCKLAB_PLANT", plant)))
            .stdin(Stdio::null());
    }

    /// Runs the program until it exits.
    pub fn locklab(&self, arguments: &[&str]) -> Done {
        Done::from(self.command(arguments).output().expect("the program runs"))
    }

    /// Writes a file, and returns its name.
    pub fn write<'n>(&self, name: &'n str, contents: &str) -> &'n str {
        fs::write(self.folder.join(name), contents).expect("the folder can be written");
        name
    }

    /// Runs a command of this folder, and sends it a signal when it has kept a finished part.
    pub fn interrupt(&self, mut command: Command, signal: Signal) -> Done {
        let parts = || -> usize {
            let files = self.files().into_iter();
            let ledgers = files.filter(|name| name.ends_with(".jsonl"));
            // One that is written anew has had another name meanwhile.
            let read = ledgers.filter_map(|name| fs::read_to_string(self.folder.join(name)).ok());
            read.map(|ledger| ledger.matches("\"done\":").count()).sum()
        };
        let before = parts();
        let child = command.stdout(Stdio::piped()).stderr(Stdio::piped());
        let child = child.spawn().expect("it starts");
        until(|| {
            (parts() > before)
                .then_some(())
                .ok_or("no part is finished")
        });
        let pid = i32::try_from(child.id()).expect("a process id");
        kill(Pid::from_raw(pid), signal).expect("it is still there");
        Done::from(child.wait_with_output().expect("it ends"))
    }

    pub fn read(&self, name: &str) -> String {
        fs::read_to_string(self.folder.join(name)).expect(name)
    }

    /// Requires the same files with the same bytes in two folders, but for ledgers, which a sweep keeps.
    #[track_caller]
    pub fn assert_alike(&self, one: &str, other: &str) {
        self.assert_alike_but(one, other, &[]);
    }

    /// The same, but for files that name one of `unlike`.
    #[track_caller]
    pub fn assert_alike_but(&self, one: &str, other: &str, unlike: &[&str]) {
        let files = |out: &str| -> Vec<String> {
            let out = format!("{out}/");
            let files = self.files().into_iter();
            let below = files.filter_map(|name| Some(name.strip_prefix(&out)?.to_owned()));
            let ends = |name: &str| unlike.iter().any(|end| name.ends_with(end));
            below
                .filter(|name| !name.ends_with(".jsonl") && !ends(name))
                .collect()
        };
        let names = files(one);
        assert!(!names.is_empty(), "{one} is empty");
        assert_eq!(files(other), names);
        for name in names {
            let read = |out: &str| {
                let path = self.folder.join(out).join(&name);
                fs::read(path).expect("it was written")
            };
            assert!(read(one) == read(other), "{name} differs");
        }
    }

    /// Every file below the folder, by its path from there, sorted.
    pub fn files(&self) -> Vec<String> {
        let mut found = Vec::new();
        collect(&self.folder, &self.folder, &mut found);
        found.sort();
        found
    }
}

impl Drop for Bench {
    fn drop(&mut self) {
        if !std::thread::panicking() {
            // A leftover folder among temporary ones does no harm.
            let _ = fs::remove_dir_all(&self.folder);
        }
    }
}

impl Done {
    /// Both streams and the exit code as text; the program is called `locklab`.
    pub fn told(&self) -> String {
        let code = self.code.map_or("a signal".into(), |code| code.to_string());
        format!("{}{}exit {code}", named(&self.out), named(&self.err))
    }

    /// Standard output, with the program's name in place of its path.
    pub fn printed(&self) -> String {
        named(&self.out)
    }

    /// Standard error, with the program's name in place of its path.
    pub fn complained(&self) -> String {
        named(&self.err)
    }

    /// Both streams in one line, with single spaces: wherever lines were folded.
    pub fn in_one_line(&self) -> String {
        let words = self
            .out
            .split_whitespace()
            .chain(self.err.split_whitespace());
        words.collect::<Vec<_>>().join(" ")
    }

    /// Standard output as data.
    pub fn json(&self) -> Value {
        serde_json::from_str(&self.out)
            .unwrap_or_else(|error| panic!("{error}\n{}{}", self.out, self.err))
    }
}

impl From<Output> for Done {
    fn from(output: Output) -> Self {
        Done {
            code: output.status.code(),
            out: String::from_utf8(output.stdout).expect("UTF-8"),
            err: without_times(&String::from_utf8(output.stderr).expect("UTF-8")),
        }
    }
}

/// The text without what a slow machine adds to it: how far the work is, and how long it took.
fn without_times(text: &str) -> String {
    let tells_time = |line: &str| {
        let line = line.trim_end();
        let tells_rest = line.contains(" to go") || line.contains(", time left unknown");
        let is_progress = line.contains(" %, ") && tells_rest;
        is_progress || line.starts_with("took ")
    };
    let lines = text.split_inclusive('\n');
    lines.filter(|line| !tells_time(line)).collect()
}

fn named(text: &str) -> String {
    text.replace(env!("CARGO_BIN_EXE_locklab"), "locklab")
}

fn collect(folder: &Path, root: &Path, found: &mut Vec<String>) {
    for entry in fs::read_dir(folder).expect("a folder") {
        let path = entry.expect("an entry").path();
        match path.is_dir() {
            true => collect(&path, root, found),
            false => {
                let below = path.strip_prefix(root).expect("it is below");
                found.push(below.to_string_lossy().into_owned());
            }
        }
    }
}

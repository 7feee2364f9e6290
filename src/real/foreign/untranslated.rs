//! Programs that the preloaded library does not reach, so that their clocks cannot be wrong: those that are linked
//! statically, and those in Go, whose runtime reads clocks and waits without the C library. A run in which a fault bends
//! the clock of such a program would show the program a host that nobody has: its clocks right, while the bench believes
//! them wrong. So it is refused: before anything is started, if the program itself shows it, and otherwise when one of
//! the processes that it has become or started does.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use locklab_history::{Name, Schedule};
use locklab_model::scenario::Scenario;
use locklab_runner::pool::lock;
use nix::unistd::Pid;

use super::processes::{Process, listing};
use crate::ConfirmError;
use crate::clients::Program;

/// Why a program is not reached.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Why {
    /// It has the runtime of Go.
    Go,
    /// It is linked statically.
    Static,
    /// It runs without the library, though it could load it.
    NotLoaded,
}

impl Why {
    /// The reason in words, after the name of the program.
    pub(crate) fn words(self) -> &'static str {
        match self {
            Why::Go => "is a Go program, and these read clocks and wait without the C library",
            Why::Static => "is linked statically, and loads no library",
            Why::NotLoaded => {
                "runs without the library of LD_PRELOAD, as with an emptied environment or as another user"
            }
        }
    }
}

/// Refuses faults that would bend the clock of a program that is known not to be reached, by its file.
pub(crate) fn check(
    program: &Program,
    scenario: &Scenario,
    schedule: &Schedule,
) -> Result<(), ConfirmError> {
    let Some((host, bends)) = bent(scenario, schedule) else {
        return Ok(());
    };
    let Some(why) = of_program(&program.name) else {
        return Ok(());
    };
    Err(ConfirmError::Untranslated {
        host,
        program: program.name.clone(),
        why: why.words(),
        bends,
    })
}

/// A client whose clock may be wrong, and by what, in words.
pub(crate) fn bent(scenario: &Scenario, schedule: &Schedule) -> Option<(Name, String)> {
    let is_client = |host: &str| {
        let number = host.strip_prefix('c').and_then(|it| it.parse::<u32>().ok());
        number.is_some_and(|number| (1..=scenario.topology.clients).contains(&number))
    };
    let by_fault = schedule.faults.iter().find_map(|fault| {
        let host = fault.effect.hosts().find(|host| is_client(host))?.clone();
        let bends = format!("fault `{}` ({})", fault.name, fault.kind().name());
        fault.kind().is_preloaded().then_some((host, bends))
    });
    by_fault.or_else(|| {
        let own = scenario.clocks.host.keys().find(|host| is_client(host))?;
        Some((Name::from(&**own), format!("`clocks.host.{own}`")))
    })
}

/// Why a program of this name is not reached; `None` if it may be.
pub(crate) fn of_program(name: &str) -> Option<Why> {
    of_file(&found(name)?)
}

/// The file of a program, as the system finds it.
fn found(name: &str) -> Option<PathBuf> {
    if name.contains('/') {
        return Some(name.into());
    }
    let path = std::env::var_os("PATH")?;
    let mut files = std::env::split_paths(&path).map(|folder| folder.join(name));
    files.find(|file| file.is_file())
}

/// Why a program with this file is not reached; `None` if it may be, and of what is no program of the machine.
fn of_file(file: &Path) -> Option<Why> {
    let elf = Elf::read(&File::open(file).ok()?)?;
    if elf.is_go {
        return Some(Why::Go);
    }
    (elf.is_program && !elf.is_dynamic).then_some(Why::Static)
}

/// What the headers of a program or of a library say, in the format of Linux.
#[derive(Debug, PartialEq)]
struct Elf {
    /// Whether it is a program, and not a library.
    is_program: bool,
    /// Whether a loader loads libraries for it.
    is_dynamic: bool,
    /// Whether it has the runtime of Go.
    is_go: bool,
}

impl Elf {
    /// Reads the headers; `None` of another file, or of one for another processor.
    fn read(file: &File) -> Option<Elf> {
        const HEADER: usize = 64;
        const SEGMENT: usize = 56;
        const SECTION: usize = 64;
        /// More than a linker writes.
        const MOST: usize = 4096;
        const INTERPRETER: u32 = 3;
        const NOTES: u32 = 4;
        const POSITION_INDEPENDENT: u16 = 3;
        let header = bytes(file, 0, HEADER)?;
        if !header.starts_with(b"\x7fELF\x02\x01") {
            return None;
        }
        let count = |at| usize::from(u16_at(&header, at)).min(MOST);
        let segments = bytes(file, u64_at(&header, 32), count(56) * SEGMENT)?;
        let segments = || segments.chunks_exact(SEGMENT);
        let kind = |segment: &[u8]| u32::from_le_bytes(segment[..4].try_into().unwrap_or_default());
        let is_dynamic = segments().any(|segment| kind(segment) == INTERPRETER);
        // Go's linker notes the build, and its toolchain keeps what was built in a section. Either may be stripped.
        let is_noted = segments()
            .filter(|segment| kind(segment) == NOTES)
            .any(|segment| {
                let length = (u64_at(segment, 32) as usize).min(MOST);
                let note = bytes(file, u64_at(segment, 8), length).unwrap_or_default();
                note.windows(8).any(|part| part == b"\x04\0\0\0Go\0\0")
            });
        let sections = bytes(file, u64_at(&header, 40), count(60) * SECTION).unwrap_or_default();
        let sections: Vec<&[u8]> = sections.chunks_exact(SECTION).collect();
        let names = sections
            .get(usize::from(u16_at(&header, 62)))
            .and_then(|names| {
                bytes(
                    file,
                    u64_at(names, 24),
                    (u64_at(names, 32) as usize).min(MOST << 8),
                )
            });
        let is_kept = names.is_some_and(|names| {
            names
                .split(|byte| *byte == 0)
                .any(|name| name == b".go.buildinfo")
        });
        // A static program may be independent of its position too; a library has no entry.
        let is_library = u16_at(&header, 16) == POSITION_INDEPENDENT && u64_at(&header, 24) == 0;
        Some(Elf {
            is_program: !is_library,
            is_dynamic,
            is_go: is_noted || is_kept,
        })
    }
}

fn bytes(file: &File, at: u64, length: usize) -> Option<Vec<u8>> {
    let mut bytes = vec![0; length];
    file.read_exact_at(&mut bytes, at).ok()?;
    Some(bytes)
}

fn u16_at(bytes: &[u8], at: usize) -> u16 {
    bytes
        .get(at..at + 2)
        .map_or(0, |it| u16::from_le_bytes([it[0], it[1]]))
}

fn u64_at(bytes: &[u8], at: usize) -> u64 {
    let number = bytes.get(at..at + 8).and_then(|it| it.try_into().ok());
    number.map_or(0, u64::from_le_bytes)
}

/// Why a process is not reached, with its program; `None` if it is, or is not there, or has not begun.
fn of_process(
    process: Pid,
    locklab: &Path,
    known: &mut BTreeMap<PathBuf, Option<Why>>,
) -> Option<(PathBuf, Why)> {
    let folder = PathBuf::from(format!("/proc/{process}"));
    let program = fs::read_link(folder.join("exe")).ok()?;
    // It waits for the beginning, and is our own until then.
    if program == locklab {
        return None;
    }
    let maps = fs::read_to_string(folder.join("maps")).ok()?;
    let mapped = |line: &str| Some(line.split_whitespace().nth(5)?.to_owned());
    let mut files: Vec<String> = maps
        .lines()
        .filter(|line| line.contains(" r-xp "))
        .filter_map(mapped)
        .collect();
    files.dedup();
    for file in files.iter().filter(|file| file.starts_with('/')) {
        let file = PathBuf::from(file);
        let why = *known.entry(file.clone()).or_insert_with(|| of_file(&file));
        // A library that is linked statically is the loader.
        let counts = |why: &Why| *why == Why::Go || file == program;
        if let Some(why) = why.filter(counts) {
            return Some((file, why));
        }
    }
    let is_mapped = |start: &str| {
        let name = |file: &String| {
            file.rsplit('/')
                .next()
                .is_some_and(|name| name.starts_with(start))
        };
        files.iter().any(name)
    };
    // The loader maps the preloaded libraries before the C library.
    let has_begun = is_mapped("libc.so") || is_mapped("libc-") || is_mapped("libc.musl");
    (has_begun && !is_mapped("liblocklab_shim.so")).then_some((program, Why::NotLoaded))
}

/// Looks at the processes of clients whose clocks may be wrong, as long as it lives.
pub(crate) struct Watch {
    state: Arc<Mutex<State>>,
    looker: Option<JoinHandle<()>>,
}

struct State {
    is_over: bool,
    run: PathBuf,
    locklab: PathBuf,
    /// Per client the groups of its processes, one for each start.
    groups: BTreeMap<Name, Vec<Pid>>,
    known: BTreeMap<PathBuf, Option<Why>>,
    found: Option<(Name, PathBuf, Why)>,
}

/// How often it looks.
const EVERY: Duration = Duration::from_millis(500);

impl Watch {
    /// Begins to look, if there are such clients.
    pub(crate) fn start(hosts: Vec<Name>, run: &Path, locklab: &Path) -> Watch {
        let is_over = hosts.is_empty();
        let state = Arc::new(Mutex::new(State {
            is_over,
            run: run.into(),
            // As the system names the file of a process.
            locklab: fs::canonicalize(locklab).unwrap_or_else(|_| locklab.into()),
            groups: hosts.into_iter().map(|host| (host, vec![])).collect(),
            known: BTreeMap::new(),
            found: None,
        }));
        let own = state.clone();
        let looker = (!is_over).then(|| {
            thread::spawn(move || {
                while !lock(&own).is_over {
                    lock(&own).look(&listing(EVERY / 2));
                    thread::park_timeout(EVERY);
                }
            })
        });
        Watch { state, looker }
    }

    /// A process of a host was started, in a group of its own.
    pub(crate) fn started(&self, host: &Name, group: u32) {
        if let Some(groups) = lock(&self.state).groups.get_mut(host) {
            groups.push(Pid::from_raw(group.cast_signed()));
        }
    }

    /// The host and the program of a process that was found not to be reached.
    pub(crate) fn found(&self) -> Option<(Name, PathBuf, Why)> {
        lock(&self.state).found.clone()
    }

    /// The same, after another look.
    pub(crate) fn look(&self) -> Option<(Name, PathBuf, Why)> {
        lock(&self.state).look(&listing(Duration::ZERO));
        self.found()
    }
}

impl State {
    fn look(&mut self, all: &[Process]) {
        for (host, groups) in &self.groups {
            if self.found.is_some() {
                return;
            }
            let locklab = &self.locklab;
            let mut own = all.iter().filter(|it| it.is_of(host, groups, &self.run));
            let found = own.find_map(|it| of_process(it.number, locklab, &mut self.known));
            self.found = found.map(|(program, why)| (host.clone(), program, why));
        }
    }
}

impl Drop for Watch {
    fn drop(&mut self) {
        lock(&self.state).is_over = true;
        if let Some(looker) = self.looker.take() {
            looker.thread().unpark();
            // One that panicked has already printed its message.
            let _ = looker.join();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_that_loads_libraries_may_be_reached_and_a_script_too() {
        let own = std::env::current_exe().expect("this program");
        let elf = Elf::read(&File::open(&own).expect("it is there")).expect("headers");
        let expected = Elf {
            is_program: true,
            is_dynamic: true,
            is_go: false,
        };
        assert_eq!(elf, expected);
        assert_eq!(of_file(&own), None);
        assert_eq!(of_file(Path::new(file!())), None);
        assert_eq!(of_file(Path::new("/dev/null")), None);
    }

    /// A header, one segment of this kind with these bytes, and one section for names.
    fn elf(kind: u32, note: &[u8], names: &[u8]) -> Vec<u8> {
        let mut file = vec![0; 64 + 56 + 64];
        file[..6].copy_from_slice(b"\x7fELF\x02\x01");
        let mut put = |at: usize, bytes: &[u8]| file[at..at + bytes.len()].copy_from_slice(bytes);
        put(16, &2_u16.to_le_bytes());
        put(32, &64_u64.to_le_bytes());
        put(40, &120_u64.to_le_bytes());
        put(56, &1_u16.to_le_bytes());
        put(60, &1_u16.to_le_bytes());
        put(64, &kind.to_le_bytes());
        put(64 + 8, &184_u64.to_le_bytes());
        put(64 + 32, &(note.len() as u64).to_le_bytes());
        put(120 + 24, &(184 + note.len() as u64).to_le_bytes());
        put(120 + 32, &(names.len() as u64).to_le_bytes());
        file.extend(note);
        file.extend(names);
        file
    }

    #[test]
    fn go_and_static_programs_are_known_by_their_headers() {
        let folder = std::env::temp_dir().join(format!("locklab-elf-{}", std::process::id()));
        let check = |bytes: &[u8], expected| {
            fs::write(&folder, bytes).expect("it can be written");
            assert_eq!(of_file(&folder), expected);
        };
        let note = b"\x04\0\0\0\x53\0\0\0\x04\0\0\0Go\0\0id";
        check(&elf(4, note, b"\0.text\0"), Some(Why::Go));
        check(
            &elf(3, b"/lib/ld.so", b"\0.text\0.go.buildinfo\0"),
            Some(Why::Go),
        );
        check(&elf(3, b"/lib/ld.so", b"\0.text\0"), None);
        check(&elf(1, b"", b"\0.text\0"), Some(Why::Static));
        // Cut off, or another format.
        check(&elf(1, b"", b"\0.text\0")[..100], None);
        check(b"#!/bin/sh\n", None);
        fs::remove_file(&folder).expect("it was written");
    }
}

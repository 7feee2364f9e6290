//! The file form of a recorded run: JSON Lines.
//!
//! The first line is the header, followed by one line for each record and one for each message;
//! the last line is the footer. The first key of a line identifies its kind:
//!
//! ```text
//! {"locklab":"0.1.0","format":1,"scenario":…,"seed":7,"schedule":…,"environment":"world"}
//! {"at_ns":0,"host":"c1","wall_ns":…,"mono_ns":…,"event":"invoke","call":1,"op":"acquire"}
//! {"sent_ns":0,"arrived_ns":1200000,"from":"c1","to":"n1","label":"SET lock … NX PX 1000"}
//! {"end":{"at_ns":…,"records":1,"messages":1,"trace_hash":"…","verdicts":{…}}}
//! ```
//!
//! The same recording always has the same bytes. A file that was truncated, by a full disk or a
//! killed process, has no footer, and is rejected instead of read as a shorter run.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, ensure};
use locklab_vecmap::VecMap;
use serde::{Deserialize, Serialize};
use xxhash_rust::xxh3::xxh3_64;

use locklab_check::{Property, Verdict};
use locklab_history::Schedule;
use locklab_history::{History, Message, Record};

/// The version of Locklab, which a recording names.
pub const VERSION: &str = env!("CARGO_PKG_VERSION");

/// The version of the file form; it grows when a build of before cannot read what is written now.
/// `docs/formats.md` describes it.
pub const FORMAT: u32 = 1;

/// A recorded run: how to repeat it, what happened, and its verdicts.
#[derive(Debug, Clone, PartialEq)]
pub struct Recording {
    /// Everything needed to repeat the run.
    pub header: Header,
    /// The history.
    pub history: History,
    /// The results.
    pub footer: Footer,
}

/// Everything needed to repeat a run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Header {
    /// The version of Locklab that recorded it; see [`VERSION`].
    pub locklab: String,
    /// The version of the file form; see [`FORMAT`].
    pub format: u32,
    /// The scenario, after all overrides.
    pub scenario: serde_json::Value,
    /// The seed of the run.
    pub seed: u64,
    /// The faults drawn for the run.
    pub schedule: Schedule,
    /// Where it ran.
    pub environment: Environment,
    /// The version of the servers if they were real: `7.0.15` of Redis, `Valkey 8.0.1` of another
    /// product. [`server_name`] has both.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub redis: Option<String>,
    /// The command line of the clients, if they are a program of somebody else; else empty.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub program: Vec<String>,
    /// Why the history does not show whether a property holds: a violation counts, and anything else is
    /// inconclusive.
    #[serde(default, skip_serializing_if = "VecMap::is_empty")]
    pub unshown: VecMap<Property, String>,
    /// The longest lease that foreign programs told, or gave the key of their lock, in nanoseconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lease_ns: Option<u64>,
    /// The lock that it is about, if foreign programs have several.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lock: Option<String>,
}

/// The name and version of real servers: `Redis 7.0.15`.
pub fn server_name(version: &str) -> String {
    match version.starts_with(|first: char| first.is_ascii_digit()) {
        true => format!("Redis {version}"),
        false => version.to_owned(),
    }
}

/// Where a run took place.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Environment {
    /// In the simulator.
    World,
    /// On real Redis servers.
    Redis,
}

/// The results of a run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Footer {
    /// The hash of the run's trace, in hexadecimal digits; equal runs have equal hashes. A run
    /// on real Redis has no trace: in a file this is the hash of the lines before the last.
    pub trace_hash: String,
    /// The verdicts at the time of recording.
    pub verdicts: VecMap<Property, Verdict>,
}

/// Why a file could not be read as a recording.
#[derive(Debug, thiserror::Error)]
pub enum FileError {
    /// It does not start like a recording.
    #[error("{}:1: this is not a recording of a run, a .jsonl file that `locklab run` wrote; one begins with {{\"locklab\":\"{VERSION}\",…", path.display())]
    NotARecording {
        /// The file.
        path: PathBuf,
    },
    /// Its lines end as on Windows.
    #[error("{}:1: the lines end as those of Windows do (CRLF), which no recording's do; convert the file with `dos2unix`, or copy it again as a binary file", path.display())]
    WindowsLines {
        /// The file.
        path: PathBuf,
    },
    /// It has another form than this build reads.
    #[error("{}:1: recorded by Locklab {version} in format {format}, and Locklab {VERSION} reads format {FORMAT}; {}", path.display(), match format > &FORMAT { true => "read it with a newer version", false => "run the scenario again" })]
    OtherFormat {
        /// The file.
        path: PathBuf,
        /// The version of Locklab in its header.
        version: String,
        /// The version of its form; 0 if it names none.
        format: u32,
    },
    /// It ends too early, or lines in the middle are missing.
    #[error("{}:{line}: the recording is truncated: {what}", path.display())]
    Truncated {
        /// The file.
        path: PathBuf,
        /// The last line, counted from 1.
        line: usize,
        /// The missing part.
        what: String,
    },
    /// A line is not valid at its position in a recording.
    #[error("{}:{line}: {what}", path.display())]
    BadLine {
        /// The file.
        path: PathBuf,
        /// The line, counted from 1.
        line: usize,
        /// The reason.
        what: String,
    },
}

/// The recording as the bytes of a file.
pub fn write(recording: &Recording) -> Vec<u8> {
    let Recording {
        header,
        history,
        footer,
    } = recording;
    // Records take some 150 bytes each.
    let mut file =
        Vec::with_capacity(1024 + 160 * (history.records.len() + history.messages.len()));
    write_line(&mut file, header);
    for record in &history.records {
        write_line(&mut file, record);
    }
    for message in &history.messages {
        write_line(&mut file, message);
    }
    let trace_hash = match header.environment {
        Environment::World => footer.trace_hash.clone(),
        Environment::Redis => format!("{:016x}", xxh3_64(&file)),
    };
    let end = End {
        at_ns: history.end_ns,
        records: history.records.len(),
        messages: history.messages.len(),
        trace_hash,
        verdicts: footer.verdicts.clone(),
    };
    write_line(&mut file, &LastLine { end });
    file
}

/// The maximum size of a recording, in bytes. Runs end before theirs get as large.
const LARGEST: u64 = 1 << 30;

/// The bytes of the recording at `path`.
///
/// # Errors
///
/// If it is no regular file, larger than any recording, or cannot be read.
pub fn bytes(path: &Path) -> anyhow::Result<Vec<u8>> {
    let name = path.display();
    let cannot = || format!("cannot read {name}; give a .jsonl file that `locklab run` wrote");
    let found = fs::metadata(path).with_context(cannot)?;
    ensure!(
        found.is_file(),
        "{name} is no regular file; give a .jsonl file that `locklab run` wrote"
    );
    ensure!(
        found.len() <= LARGEST,
        "{name} has {} bytes, and no recording has more than {LARGEST}",
        found.len()
    );
    fs::read(path).with_context(cannot)
}

/// Reads a recording from the bytes of the file at `path`, which is named in errors
/// only.
///
/// # Errors
///
/// If the bytes are not a complete recording of a supported version; the error gives the line
/// and the reason.
pub fn read(file: &[u8], path: &Path) -> Result<Recording, FileError> {
    let mut reader = Reader {
        path,
        line: 0,
        rest: file,
        is_cut: false,
    };
    let header = reader.header()?;
    let mut history = History::default();
    while let Some(line) = reader.next() {
        match Kind::of(line) {
            Some(Kind::Record) if history.messages.is_empty() => {
                let record: Record = reader.parse(line)?;
                let last = history.records.last();
                if last.is_some_and(|last| last.at_ns > record.at_ns) {
                    return Err(reader.bad("this record is earlier than the one before it".into()));
                }
                history.records.push(record);
            }
            Some(Kind::Record) => {
                return Err(reader.bad("a record follows a message".into()));
            }
            Some(Kind::Message) => history.messages.push(reader.parse::<Message>(line)?),
            Some(Kind::End) => {
                let LastLine { end } = reader.parse(line)?;
                return reader.finish(header, history, end);
            }
            None => {
                // If the line is not JSON, that is the better error message.
                reader.parse::<serde_json::Value>(line)?;
                let what =
                    "a line begins with \"at_ns\", \"sent_ns\" or \"end\"; this one does not";
                return Err(reader.bad(what.into()));
            }
        }
    }
    Err(reader.truncated("it has no last line, which begins with {\"end\":".into()))
}

#[derive(Serialize, Deserialize)]
struct LastLine {
    end: End,
}

#[derive(Serialize, Deserialize)]
struct End {
    at_ns: u64,
    records: usize,
    messages: usize,
    trace_hash: String,
    verdicts: VecMap<Property, Verdict>,
}

fn write_line(file: &mut Vec<u8>, line: &impl Serialize) {
    // Writing to memory cannot fail, and none of these types fails to serialize: the keys of
    // all maps are strings or names.
    serde_json::to_writer(&mut *file, line).expect("a recording can be written as JSON");
    file.push(b'\n');
}

/// The kind of a line after the first.
enum Kind {
    Record,
    Message,
    End,
}

impl Kind {
    fn of(line: &[u8]) -> Option<Kind> {
        match first_key(line)? {
            b"at_ns" => Some(Kind::Record),
            b"sent_ns" => Some(Kind::Message),
            b"end" => Some(Kind::End),
            _ => None,
        }
    }
}

fn first_key(line: &[u8]) -> Option<&[u8]> {
    let object = line.trim_ascii_start().strip_prefix(b"{")?;
    let key = object.trim_ascii_start().strip_prefix(b"\"")?;
    key.split(|&byte| byte == b'"').next()
}

/// Reads a file line by line.
struct Reader<'f> {
    path: &'f Path,
    /// The number of the last line read.
    line: usize,
    rest: &'f [u8],
    /// Whether the last line read has no newline at its end.
    is_cut: bool,
}

impl<'f> Reader<'f> {
    fn next(&mut self) -> Option<&'f [u8]> {
        if self.rest.is_empty() {
            return None;
        }
        self.line += 1;
        let end = self.rest.iter().position(|&byte| byte == b'\n');
        let (line, rest) = self.rest.split_at(end.unwrap_or(self.rest.len()));
        self.rest = rest.strip_prefix(b"\n").unwrap_or(rest);
        self.is_cut = end.is_none();
        Some(line)
    }

    /// The first line. Its version is checked before anything that depends on it.
    fn header(&mut self) -> Result<Header, FileError> {
        #[derive(Deserialize)]
        struct Version {
            locklab: String,
            #[serde(default)]
            format: u32,
        }
        let line = self.next().unwrap_or_default();
        if first_key(line) != Some(b"locklab") {
            return Err(FileError::NotARecording {
                path: self.path.into(),
            });
        }
        if line.ends_with(b"\r") {
            return Err(FileError::WindowsLines {
                path: self.path.into(),
            });
        }
        let Version {
            locklab: version,
            format,
        } = self.parse(line)?;
        if format != FORMAT {
            return Err(FileError::OtherFormat {
                path: self.path.into(),
                version,
                format,
            });
        }
        self.parse(line)
    }

    fn parse<T: Deserialize<'f>>(&self, line: &'f [u8]) -> Result<T, FileError> {
        serde_json::from_slice(line).map_err(|error| {
            if self.is_cut {
                self.truncated("its last line is incomplete".into())
            } else {
                // The parser sees a single line, so its line number, always 1, would be
                // misleading.
                let what = error.to_string();
                let what = what.split(" at line 1 column").next().unwrap_or_default();
                self.bad(format!("{what}, at column {}", error.column()))
            }
        })
    }

    fn finish(
        mut self,
        header: Header,
        history: History,
        end: End,
    ) -> Result<Recording, FileError> {
        for (name, expected, found) in [
            ("records", end.records, history.records.len()),
            ("messages", end.messages, history.messages.len()),
        ] {
            if expected != found {
                let what = format!("its last line counts {expected} {name}, but it has {found}");
                return Err(self.truncated(what));
            }
        }
        if self.next().is_some() {
            return Err(self.bad("there is text after the recording's last line".into()));
        }
        Ok(Recording {
            header,
            history: History {
                end_ns: end.at_ns,
                ..history
            },
            footer: Footer {
                trace_hash: end.trace_hash,
                verdicts: end.verdicts,
            },
        })
    }

    fn bad(&self, what: String) -> FileError {
        FileError::BadLine {
            path: self.path.into(),
            line: self.line,
            what,
        }
    }

    fn truncated(&self, what: String) -> FileError {
        FileError::Truncated {
            path: self.path.into(),
            line: self.line,
            what,
        }
    }
}

#[cfg(test)]
mod tests;

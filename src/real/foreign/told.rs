//! What a foreign program tells: lines of JSON with the key `locklab`, on its standard output or on the descriptor
//! `LOCKLAB_FD`. `docs/attack.md` is the protocol.
//!
//! A line is written at an unknown time: after the pipe was last seen empty, and before the line was
//! read from it. Both times are kept. The program may say more exactly when it was.

use std::io::{self, ErrorKind, Read};
use std::os::fd::AsFd;
use std::sync::atomic::{AtomicBool, Ordering};

use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use serde::Deserialize;
use serde_json::Value;

use crate::real_env::read_clock;
use locklab_history::{ClockKind, Failpoint, Name};
use locklab_values::untrusted;

/// What a program tells of its lock.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Word {
    /// It is about to call acquire.
    Acquiring,
    /// It was granted the lock.
    Acquired,
    /// An attempt failed; it does not have the lock.
    Refused,
    /// It has extended its lease.
    Extended,
    /// It has noticed that it no longer has the lock.
    Lost,
    /// It is about to call release.
    Releasing,
    /// Its release returned.
    Released,
}

impl Word {
    /// The failpoint at which a scenario places a fault; none for a word that no failpoint means.
    pub(crate) fn failpoint(self) -> Option<Failpoint> {
        Some(match self {
            Word::Acquiring => Failpoint::Acquiring,
            Word::Acquired => Failpoint::Acquired,
            Word::Lost => Failpoint::Stopped,
            Word::Releasing => Failpoint::Releasing,
            Word::Released => Failpoint::Released,
            Word::Refused | Word::Extended => return None,
        })
    }
}

/// A line of the protocol. Other keys are allowed, and mean nothing.
#[derive(Debug, Clone, PartialEq, Deserialize)]
pub(crate) struct Line {
    /// What it tells.
    #[serde(rename = "locklab")]
    pub(crate) word: Word,
    /// When it happened, by the program's monotonic clock.
    #[serde(default)]
    pub(crate) ns: Option<u64>,
    /// How long the program may rely on the lock from then on, in milliseconds.
    #[serde(default)]
    pub(crate) ttl_ms: Option<f64>,
    /// The fencing token of the grant.
    #[serde(default)]
    pub(crate) token: Option<u64>,
    /// How many keys a release has deleted.
    #[serde(default)]
    pub(crate) removed: Option<u32>,
    /// The name of the lock, for a program with several.
    #[serde(default)]
    pub(crate) lock: Option<Text>,
    /// Whether other readers may have it too.
    #[serde(default)]
    pub(crate) shared: Option<bool>,
    /// How many may have it at once, if it is a semaphore.
    #[serde(default)]
    pub(crate) permits: Option<u32>,
    /// Which of the program's tasks it is, if each asks for itself.
    #[serde(default)]
    pub(crate) task: Option<Text>,
    /// The process of the holder, if the belief is to end with it.
    #[serde(default)]
    pub(crate) pid: Option<u32>,
}

/// A name that a program gives: a text or a number.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(untagged)]
pub(crate) enum Text {
    /// A text.
    Words(String),
    /// A number.
    Number(i64),
}

impl Text {
    /// The name: at most 80 characters, without control characters.
    pub(crate) fn name(&self) -> Name {
        const LONGEST: usize = 80;
        let text = match self {
            Text::Words(words) => words.clone(),
            Text::Number(number) => number.to_string(),
        };
        let text = untrusted::line(&text);
        text.chars().take(LONGEST).collect::<String>().into()
    }
}

/// What became known of a program's process.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum News {
    /// It began.
    Began,
    /// It told this.
    Line(Line),
    /// It meant to tell something, and this is what is wrong with it.
    Garbled(String),
    /// It has ended by itself.
    Ended,
    /// A process has ended that it had told as the holder's.
    Gone(u32),
}

/// News of a process, and when it came about, in nanoseconds of the machine's monotonic clock.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Told {
    /// The host.
    pub(crate) host: Name,
    /// The number of the start of its process.
    pub(crate) start: u32,
    /// Not before this.
    pub(crate) after_ns: u64,
    /// Not after this.
    pub(crate) by_ns: u64,
    /// The news.
    pub(crate) news: News,
}

/// With this a line of the protocol usually begins; anything may stand before it.
const BEGINNING: &str = "{\"locklab\"";

impl News {
    /// Reads a line of output; `None` if it is the program's own.
    pub(crate) fn read(line: &str) -> Option<News> {
        let place = line.rfind(BEGINNING).or_else(|| object(line))?;
        Some(match serde_json::from_str(&line[place..]) {
            Ok(line) => News::Line(line),
            Err(error) => {
                // The same mistake is the same wherever it stands in its line.
                let why = error.to_string();
                let why = why.split(" at line ").next().unwrap_or(&why);
                let why = ["f64", "u64", "u32"]
                    .iter()
                    .fold(why.to_owned(), |why, number| {
                        why.replace(&format!("expected {number}"), "expected a number")
                    });
                News::Garbled(why.chars().take(LONGEST_WHY).collect())
            }
        })
    }
}

/// Where the object of the protocol begins in a line whose keys stand in another order, or with spaces: some languages
/// sort them.
fn object(line: &str) -> Option<usize> {
    let place = line.find('{').filter(|_| line.contains("\"locklab\""))?;
    let object: serde_json::Map<String, Value> = serde_json::from_str(&line[place..]).ok()?;
    object.contains_key("locklab").then_some(place)
}

/// The longest line, in bytes. A longer one is no line of the protocol.
const LONGEST_LINE: usize = 64 << 10;

/// The most output of a process that is read, in bytes.
const MOST_OUTPUT: usize = 16 << 20;

/// The longest reason that is kept of a line that makes no sense, in characters: it quotes the line.
const LONGEST_WHY: usize = 200;

/// How long the reader waits for output before it knows that there was none, in milliseconds.
const GLANCE_MS: u16 = 5;

/// Why the output of a process is read no further.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum OutputEnd {
    /// It has ended, or has closed its output.
    Closed,
    /// It has written too much.
    Flood,
}

/// Reads lines until the output ends, or `stop` is set and nothing is left. Calls `take` with each
/// line, the time at which it was not there yet, and the time at which it was; and, whenever nothing is left,
/// with none.
pub(crate) fn read_lines(
    mut output: impl Read + AsFd,
    stop: &AtomicBool,
    mut take: impl FnMut(Option<&str>, u64, u64),
) -> (OutputEnd, u64, u64) {
    let mut lines = Lines::default();
    let mut chunk = vec![0; 64 << 10];
    let mut after_ns = now_ns();
    loop {
        let stopped = stop.load(Ordering::Relaxed);
        let before_ns = now_ns();
        match is_readable(&output) {
            Ok(true) => {}
            Ok(false) if stopped => return (OutputEnd::Closed, after_ns, now_ns()),
            Ok(false) => {
                after_ns = before_ns;
                take(None, after_ns, after_ns);
                continue;
            }
            Err(_) => return (OutputEnd::Closed, after_ns, now_ns()),
        }
        let read = match output.read(&mut chunk) {
            Err(error) if error.kind() == ErrorKind::Interrupted => continue,
            read => read.unwrap_or(0),
        };
        let by_ns = now_ns();
        if read == 0 {
            return (OutputEnd::Closed, after_ns, by_ns);
        }
        lines.take(&chunk[..read], |line| take(Some(line), after_ns, by_ns));
        if lines.bytes > MOST_OUTPUT {
            return (OutputEnd::Flood, after_ns, by_ns);
        }
    }
}

/// Waits a moment for output, or for its end.
fn is_readable(output: &impl AsFd) -> io::Result<bool> {
    let mut glance = [PollFd::new(output.as_fd(), PollFlags::POLLIN)];
    match poll(&mut glance, PollTimeout::from(GLANCE_MS)) {
        Ok(ready) => Ok(ready > 0),
        Err(nix::errno::Errno::EINTR) => Ok(false),
        Err(error) => Err(error.into()),
    }
}

fn now_ns() -> u64 {
    read_clock(ClockKind::Monotonic)
}

/// Cuts output into lines.
#[derive(Default)]
struct Lines {
    begun: Vec<u8>,
    /// Whether the line that has begun is too long, and is left out.
    is_too_long: bool,
    /// How much was taken.
    bytes: usize,
}

impl Lines {
    fn take(&mut self, chunk: &[u8], mut each: impl FnMut(&str)) {
        self.bytes += chunk.len();
        for part in chunk.split_inclusive(|byte| *byte == b'\n') {
            let (text, is_whole) = match part.split_last() {
                Some((b'\n', text)) => (text, true),
                _ => (part, false),
            };
            self.is_too_long |= self.begun.len() + text.len() > LONGEST_LINE;
            if !self.is_too_long {
                self.begun.extend_from_slice(text);
            }
            if is_whole {
                if !self.is_too_long {
                    each(&String::from_utf8_lossy(&self.begun));
                }
                self.begun.clear();
                self.is_too_long = false;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(chunks: &[&[u8]]) -> Vec<String> {
        let (mut lines, mut found) = (Lines::default(), Vec::new());
        for chunk in chunks {
            lines.take(chunk, |line| found.push(line.to_owned()));
        }
        found
    }

    #[test]
    fn output_is_cut_into_lines_wherever_reads_end() {
        let whole = ["one".to_owned(), String::new(), "two".to_owned()];
        assert_eq!(lines(&[b"one\n\ntwo\nthree"]), whole);
        assert_eq!(lines(&[b"on", b"e", b"\n", b"\ntw", b"o\n"]), whole);
        assert_eq!(lines(&[b"\xff\xfe\n"]), ["\u{fffd}\u{fffd}"]);
    }

    #[test]
    fn a_line_without_end_takes_no_memory_and_the_next_one_is_read() {
        let long = vec![b'x'; LONGEST_LINE];
        assert_eq!(lines(&[&long, b"x", b"\nnext\n"]), ["next"]);
        assert_eq!(lines(&[&long, b"\n"]).len(), 1);
    }

    #[test]
    fn a_line_of_the_protocol_may_follow_other_text() {
        let acquired = |ns, ttl_ms| {
            Some(News::Line(Line {
                word: Word::Acquired,
                ns,
                ttl_ms,
                token: None,
                removed: None,
                lock: None,
                shared: None,
                permits: None,
                task: None,
                pid: None,
            }))
        };
        let read = News::read;
        assert_eq!(read(r#"{"locklab":"acquired"}"#), acquired(None, None));
        assert_eq!(
            read(r#"working... {"locklab":"acquired","ns":7,"ttl_ms":0.5,"level":"info"}"#),
            acquired(Some(7), Some(0.5))
        );
        for other in [
            r#"{"ttl_ms":0.5,"locklab":"acquired","ns":7}"#,
            r#"[1] { "ns": 7, "ttl_ms": 0.5, "locklab": "acquired" }"#,
        ] {
            assert_eq!(read(other), acquired(Some(7), Some(0.5)), "{other}");
        }
        assert_eq!(read("acquired"), None);
        assert_eq!(read(r#"{"note":"\"locklab\""}"#), None);
        assert_eq!(read(r#"{"level":"info"}"#), None);
        for garbled in [
            r#"{"locklab":"grabbed"}"#,
            r#"{"locklab":"acquired","ns":-1}"#,
            r#"{"locklab""#,
            r#"{"locklab":"acquired"} and more"#,
        ] {
            assert!(matches!(read(garbled), Some(News::Garbled(_))), "{garbled}");
        }
        let why = r#"invalid type: string "9", expected a number"#;
        assert_eq!(
            read(r#"{"locklab":"acquired","ttl_ms":"9"}"#),
            Some(News::Garbled(why.to_owned()))
        );
    }
}

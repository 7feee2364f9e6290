//! What was done to the servers, and when: in memory for LAB.LOG, as lines for people, and as JSON
//! Lines in a file.

use std::fs::File;
use std::io::Write as _;
use std::path::Path;
use std::time::{Instant, SystemTime};

use anyhow::Context;
use locklab_values::units::fractional_ms_from_ns;
use serde::Serialize;

/// The most entries that LAB.LOG keeps: the last ones.
const MAX_ENTRIES: usize = 10_000;

/// Where lines for people go, such as standard error.
pub type Say = fn(&str);

/// The record of a program's faults.
pub struct Record {
    start: Instant,
    entries: Vec<String>,
    file: Option<File>,
    say: Say,
}

/// A line of the file.
#[derive(Serialize)]
struct Entry<'a> {
    /// Milliseconds since the servers were started.
    at_ms: f64,
    /// Milliseconds since the Unix epoch, by the machine's clock.
    unix_ms: u64,
    /// The server; absent: all.
    #[serde(skip_serializing_if = "Option::is_none")]
    server: Option<&'a str>,
    /// The command.
    command: &'a str,
    /// Its further arguments.
    arguments: &'a [&'a str],
}

impl Record {
    /// An empty record, from now on.
    ///
    /// # Errors
    ///
    /// If the file cannot be created.
    pub fn new(file: Option<&Path>, say: Say) -> anyhow::Result<Self> {
        let create = |path: &Path| {
            File::create(path).with_context(|| format!("cannot create {}", path.display()))
        };
        Ok(Record {
            start: Instant::now(),
            entries: Vec::new(),
            file: file.map(create).transpose()?,
            say,
        })
    }

    /// Records a command that was carried out now: its name, its server, further arguments.
    pub fn add(&mut self, words: &[&str]) {
        let at_ms = fractional_ms_from_ns(self.start.elapsed().as_nanos() as u64);
        let (command, rest) = words.split_first().unwrap_or((&"", &[]));
        let line = format!("{at_ms:.3} {command} {}", rest.join(" "));
        let line = line.trim_end().to_owned();
        (self.say)(&line);
        if self.entries.len() == MAX_ENTRIES {
            self.entries.remove(0);
        }
        self.entries.push(line);
        let Some(file) = &mut self.file else {
            return;
        };
        let since_epoch = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
        let (server, arguments) = rest
            .split_first()
            .map_or((None, rest), |(server, rest)| (Some(*server), rest));
        let entry = Entry {
            at_ms,
            unix_ms: since_epoch.map_or(0, |since| since.as_millis() as u64),
            server,
            command,
            arguments,
        };
        let written = serde_json::to_string(&entry)
            .map_err(std::io::Error::other)
            .and_then(|entry| writeln!(file, "{entry}"));
        if let Err(error) = written {
            self.tell(&format!(
                "cannot write the record, and does not go on with it: {error}"
            ));
            self.file = None;
        }
    }

    /// Says a line that is no entry.
    pub fn tell(&self, line: &str) {
        (self.say)(line);
    }

    /// All entries, oldest first.
    pub fn entries(&self) -> &[String] {
        &self.entries
    }
}

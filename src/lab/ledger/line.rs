//! The lines of a ledger: JSON objects that begin with a checksum of their rest.

use std::io::{self, BufRead};

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use xxhash_rust::xxh3::xxh3_64;

use super::Places;

/// A line after the header.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Line {
    /// How much there is to do of a stage. For `status`; nothing relies on it.
    Planned {
        /// The stage.
        stage: String,
        /// The number of its runs.
        runs: u64,
    },
    /// Finished parts.
    Done(Done),
    /// All of the work is done. For `status`; nothing relies on it.
    Complete {
        /// The number of runs of all stages.
        runs: u64,
    },
}

/// Finished parts, all of one job.
#[derive(Debug, Serialize, Deserialize)]
pub struct Done {
    /// The stage.
    pub stage: String,
    /// The parts.
    pub parts: Places,
    /// The number of their runs.
    pub runs: u64,
    /// What they come to together, as JSON: a ledger does not know what it is.
    pub result: Box<RawValue>,
}

impl Line {
    /// The stage of finished parts.
    pub(super) fn done(&self) -> Option<&str> {
        match self {
            Line::Done(done) => Some(&done.stage),
            Line::Planned { .. } | Line::Complete { .. } => None,
        }
    }

    /// Whether it is of this stage.
    pub(super) fn is_of(&self, name: &str) -> bool {
        match self {
            Line::Done(Done { stage, .. }) | Line::Planned { stage, .. } => stage == name,
            Line::Complete { .. } => false,
        }
    }
}

/// `{"sum":"…",` and the rest of the object, of which the sum is the hash.
pub(super) fn write(entry: &impl Serialize) -> serde_json::Result<String> {
    let json = serde_json::to_string(entry)?;
    let rest = &json["{".len()..];
    Ok(format!("{START}{}{AFTER_SUM}{rest}\n", sum(rest)))
}

/// `None` for a line that is not exactly what was written.
pub(super) fn read<T: DeserializeOwned>(line: &str) -> Option<T> {
    let (found, rest) = line.strip_prefix(START)?.split_once(AFTER_SUM)?;
    if found != sum(rest) {
        return None;
    }
    serde_json::from_str(&format!("{{{rest}")).ok()
}

/// The next line; empty for bytes that are no text, and `None` at the end of the file. A last line without
/// its end is not there: a process is writing it, or was killed while it did.
pub(super) fn next(file: &mut impl BufRead) -> io::Result<Option<String>> {
    let mut bytes = Vec::new();
    file.read_until(b'\n', &mut bytes)?;
    Ok(match bytes.pop() {
        Some(b'\n') => Some(String::from_utf8(bytes).unwrap_or_default()),
        _ => None,
    })
}

const START: &str = "{\"sum\":\"";
const AFTER_SUM: &str = "\",";

fn sum(text: &str) -> String {
    format!("{:016x}", xxh3_64(text.as_bytes()))
}

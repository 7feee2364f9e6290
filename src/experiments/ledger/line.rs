//! The lines of a ledger: JSON objects that begin with a checksum of their rest.

use std::io::{self, BufRead};

use serde::de::{DeserializeOwned, IgnoredAny};
use serde::{Deserialize, Serialize};
use xxhash_rust::xxh3::xxh3_64;

use super::Places;

/// A line after the header.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Line<T> {
    /// How much there is to do of a stage. For `status`; nothing relies on it.
    Planned {
        /// The stage.
        stage: String,
        /// The number of its runs.
        runs: u64,
    },
    /// Parts that are finished, all of one job.
    Done {
        /// The stage.
        stage: String,
        /// The parts.
        parts: Places,
        /// The number of their runs.
        runs: u64,
        /// What they come to together.
        result: T,
    },
    /// All of the work is done. For `status`; nothing relies on it.
    Complete {
        /// The number of runs of all stages.
        runs: u64,
    },
}

impl<T> Line<T> {
    /// The stage of finished parts.
    pub(super) fn done(&self) -> Option<&str> {
        match self {
            Line::Done { stage, .. } => Some(stage),
            Line::Planned { .. } | Line::Complete { .. } => None,
        }
    }

    /// Whether it is of this stage.
    pub(super) fn is_of(&self, name: &str) -> bool {
        match self {
            Line::Done { stage, .. } | Line::Planned { stage, .. } => stage == name,
            Line::Complete { .. } => false,
        }
    }
}

/// A line of any result.
pub(super) type AnyLine = Line<IgnoredAny>;

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

//! What is wrong with a scenario, and where.

use std::fmt;
use std::io;
use std::path::PathBuf;

/// A scenario that cannot be run, said the way compilers say it:
/// `scenarios/x.toml:12:3: unknown key "qorum" in [lock]; did you mean "quorum"?`
#[derive(Debug, thiserror::Error)]
pub enum ScenarioError {
    /// It is there and cannot be understood, or asks for something impossible.
    #[error("{place}: {what}")]
    Invalid {
        /// Where.
        place: Place,
        /// What, and if possible what to write instead.
        what: String,
    },
    /// There is no such file, and no scenario of that name ships.
    #[error("there is no file \"{name}\", and no scenario of that name ships{}", did_you_mean_one_of_many(.name, .shipped))]
    NotFound {
        /// The path or name asked for.
        name: String,
        /// The names of all scenarios that ship.
        shipped: Vec<String>,
    },
    /// The file is there and cannot be read.
    #[error("cannot read the scenario {}: {source}", path.display())]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
}

/// Where the culprit stands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Place {
    /// In a file; line and column (in characters) count from 1.
    File {
        /// The file, as it was asked for.
        file: String,
        /// Line.
        line: usize,
        /// Column.
        column: usize,
    },
    /// In an option of the command line, such as `--set lock.ttl_ms=0`.
    Option(String),
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Place::File { file, line, column } => write!(f, "{file}:{line}:{column}"),
            Place::Option(option) => f.write_str(option),
        }
    }
}

/// More names than this are no help in an error.
const MOST_LISTED: usize = 16;

/// `; did you mean "quorum"?`, or else what there is to choose from.
pub(super) fn did_you_mean(word: &str, candidates: &[String]) -> String {
    if let Some(nearest) = nearest(word, candidates) {
        return format!("; did you mean \"{nearest}\"?");
    }
    match candidates {
        [] => String::new(),
        many if many.len() > MOST_LISTED => String::new(),
        [only] => format!("; it can only be \"{only}\""),
        [first @ .., last] => {
            let first: Vec<String> = first.iter().map(|name| format!("\"{name}\"")).collect();
            format!("; it can be {} or \"{last}\"", first.join(", "))
        }
    }
}

/// `; did you mean "kleppmann/k1"?`, or else how to see them all.
fn did_you_mean_one_of_many(name: &str, shipped: &[String]) -> String {
    match nearest(name, shipped) {
        Some(nearest) => format!("; did you mean \"{nearest}\"?"),
        None => "; those that do: locklab list scenarios".into(),
    }
}

/// The candidate with the fewest slips of a finger between it and the word, if a
/// third of the word, at most, would have been mistyped; or else one that goes on where
/// the word ends, as `hold_ms` does where `hold` was written.
fn nearest<'a>(word: &str, candidates: &'a [String]) -> Option<&'a str> {
    let slips = |candidate: &str| strsim::damerau_levenshtein(word, candidate);
    let allowed = (word.chars().count() / 3).max(1);
    let mistyped = candidates
        .iter()
        .map(|candidate| (slips(candidate), candidate.as_str()))
        .filter(|(slips, _)| *slips <= allowed)
        .min()
        .map(|(_, candidate)| candidate);
    let cut_short = || {
        let mut longer = candidates.iter().filter(|name| name.starts_with(word));
        longer.next().map(String::as_str)
    };
    mistyped.or_else(|| cut_short().filter(|_| word.len() >= 3))
}

//! Errors in a scenario, with their location.

use std::fmt;
use std::io;
use std::path::{Path, PathBuf};

use super::names;

/// An invalid scenario, reported in the format of compilers:
/// `scenarios/x.toml:12:3: unknown key "qorum" in [lock]; did you mean "quorum"?`
#[derive(Debug, thiserror::Error)]
pub enum ScenarioError {
    /// The file exists but cannot be parsed, or contains an invalid value.
    #[error("{place}: {what}")]
    Invalid {
        /// The location.
        place: Place,
        /// The error, and if possible a correction.
        what: String,
    },
    /// There is no such file, and no shipped scenario of that name.
    #[error("\"{name}\" is neither a file nor a shipped scenario{}", did_you_mean_one_of_many(.name, .shipped))]
    NotFound {
        /// The requested path or name.
        name: String,
        /// The names of all shipped scenarios.
        shipped: Vec<String>,
    },
    /// Several shipped scenarios could be meant.
    #[error("\"{name}\" could be {}; write one of them", listed(.names))]
    Several {
        /// The requested name.
        name: String,
        /// The names of those that are called so.
        names: Vec<String>,
    },
    /// A folder is no scenario.
    #[error("{} is a folder; name its files, as in {0}/*.toml, or look through all of them with `locklab check {0}`", without_slash(.path))]
    Folder {
        /// The folder, as requested.
        path: String,
    },
    /// The file exists but cannot be read.
    #[error("cannot read the scenario {}: {source}", path.display())]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// The reason.
        source: io::Error,
    },
}

/// The location of the error.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Place {
    /// In a file; line and column (in characters) count from 1.
    File {
        /// The file, as requested.
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

/// The maximum number of names that an error lists.
const MAX_LISTED: usize = 16;

/// `; did you mean "quorum"?`, or else the alternatives.
pub fn did_you_mean(word: &str, candidates: &[String]) -> String {
    if let Some(nearest) = nearest(word, candidates) {
        return format!("; did you mean \"{nearest}\"?");
    }
    match candidates {
        [] => String::new(),
        many if many.len() > MAX_LISTED => String::new(),
        [only] => format!("; it can only be \"{only}\""),
        several => format!("; it can be {}", listed(several)),
    }
}

/// `"a", "b" or "c"`.
fn listed(names: &[String]) -> String {
    let quoted: Vec<String> = names.iter().map(|name| format!("\"{name}\"")).collect();
    match &quoted[..] {
        [first @ .., last] if !first.is_empty() => format!("{} or {last}", first.join(", ")),
        few => few.concat(),
    }
}

fn without_slash(path: &str) -> &str {
    match path.trim_end_matches('/') {
        "" => path,
        path => path,
    }
}

/// `; did you mean "kleppmann/k1"?`, or else how to list them all. A shipped scenario has no ending,
/// and a file has one.
fn did_you_mean_one_of_many(name: &str, shipped: &[String]) -> String {
    let with_ending = format!("{name}.toml");
    let bare = name.strip_suffix(".toml").unwrap_or(name);
    let bare = bare.strip_prefix("scenarios/").unwrap_or(bare);
    let nearest = match names::find(bare) {
        Ok((name, _)) => Some(name),
        Err(_) if Path::new(&with_ending).is_file() => Some(&*with_ending),
        Err(_) => nearest(bare, shipped),
    };
    match nearest {
        Some(nearest) => format!("; did you mean \"{nearest}\"?"),
        None => "; `locklab list scenarios` lists those that ship".into(),
    }
}

/// The candidate closest to the word, if at most a third of the word was mistyped; or else one
/// that starts with the word, such as `hold_ms` for `hold`; or else the longest with which the word
/// starts, such as `read` for `reading`.
pub fn nearest<'a>(word: &str, candidates: &'a [String]) -> Option<&'a str> {
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
    let too_long = || {
        let begins = candidates.iter().filter(|name| name.len() >= 3);
        let begins = begins.filter(|name| word.starts_with(name.as_str()));
        begins.max_by_key(|name| name.len()).map(String::as_str)
    };
    mistyped
        .or_else(|| cut_short().filter(|_| word.len() >= 3))
        .or_else(too_long)
}

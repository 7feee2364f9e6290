//! The choice of locks on a command line.

use std::ffi::OsStr;

use clap_complete::engine::{ArgValueCompleter, CompletionCandidate};
use locklab_model::scenario::did_you_mean;

use super::{Row, rows};

/// The names of the locks and of their forms; the plain form of a lock that has others is `redlock ()`.
fn lock_names() -> Vec<String> {
    let names = locklab_locks::catalogue()
        .into_iter()
        .map(|entry| entry.name.to_owned());
    let rows = rows();
    let forms = rows.iter().filter(|row| row.own_name() != row.entry.name);
    names
        .chain(forms.map(|row| row.own_name().into_owned()))
        .collect()
}

/// Reads the name of a lock or of a form, in capital or small letters.
///
/// # Errors
///
/// If there is none, with the names that are similar.
pub(crate) fn lock(text: &str) -> Result<String, String> {
    let names = lock_names();
    let is_called = |name: &&String| name.eq_ignore_ascii_case(text);
    let found = names.iter().find(is_called).cloned();
    found.ok_or_else(|| format!("unknown lock{}", meant(text, &names)))
}

/// What somebody may mean who asks for a lock that is none of these: a library's name is not its lock's.
pub(crate) fn meant(text: &str, names: &[String]) -> String {
    let mut locks = locklab_locks::catalogue();
    locks.retain(|lock| {
        let mut libraries = lock.libraries.iter();
        libraries.any(|library| library.eq_ignore_ascii_case(text))
    });
    let of_library: Vec<&str> = locks.iter().map(|lock| lock.name).collect();
    if !of_library.is_empty() {
        return format!(
            "; {text} is a library, and its lock is here {}",
            of_library.join(" or ")
        );
    }
    match did_you_mean(text, names) {
        none if none.is_empty() => "; `locklab list locks` has their names".into(),
        hint => hint,
    }
}

/// The rows selected by `names`; all rows if `names` is empty.
pub(crate) fn chosen_rows(names: &[String]) -> Vec<Row> {
    let mut rows = rows();
    rows.retain(|row| names.is_empty() || names.iter().any(|name| row.is_called(name)));
    rows
}

/// The names of the locks and of their forms, for a shell to complete.
pub(crate) fn lock_completer() -> ArgValueCompleter {
    ArgValueCompleter::new(|current: &OsStr| {
        let begun = current.to_string_lossy().into_owned();
        let names = lock_names().into_iter();
        let names = names.filter(|name| name.starts_with(&begun));
        names.map(CompletionCandidate::new).collect::<Vec<_>>()
    })
}

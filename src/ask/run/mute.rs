//! Runs of somebody else's program of which nothing can be judged.

use std::error::Error;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use locklab_lab::layout;
use locklab_real::ConfirmError;
use locklab_values::untrusted;
use locklab_vecmap::VecMap;

/// After so many runs that show nothing, and none that shows something, the others would not either.
const ENOUGH: u64 = 3;

/// What the runs of a command showed.
#[derive(Default)]
pub(super) struct Shown {
    /// Whether one showed something.
    something: AtomicBool,
    /// How many showed nothing.
    nothing: AtomicU64,
}

impl Shown {
    /// A run showed something.
    pub(super) fn something(&self) {
        self.something.store(true, Ordering::Relaxed);
    }

    /// A run of so many showed nothing. Whether the others would not either.
    pub(super) fn nothing(&self, runs: u64) -> bool {
        let nothing = self.nothing.fetch_add(1, Ordering::Relaxed) + 1;
        nothing >= ENOUGH.min(runs) && !self.something.load(Ordering::Relaxed)
    }
}

/// Why a run that ended with this error shows nothing, if another run of the same program may show something.
pub(super) fn why_mute(error: &(dyn Error + Send + Sync + 'static)) -> Option<String> {
    match error.downcast_ref()? {
        error @ (ConfirmError::Mute { .. } | ConfirmError::SeveralKeys { .. }) => {
            Some(error.to_string())
        }
        _ => None,
    }
}

/// What is told of the runs that show nothing, by seed.
pub(super) fn describe(mute: &VecMap<u64, String>) -> Option<String> {
    let (first, why) = mute.iter().next()?;
    let which = match mute.len() {
        1 => format!("with seed {first}"),
        several => format!("{several} runs, the first with seed {first}"),
    };
    let why = untrusted::line(why);
    Some(layout::fold(&format!("  not judged, {which}: {why}")))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// After which of these runs a command of so many ends; `.` is one that shows something.
    fn end(runs: u64, shown: &str) -> Option<usize> {
        let all = Shown::default();
        shown.chars().position(|run| match run {
            '.' => {
                all.something();
                false
            }
            _ => all.nothing(runs),
        })
    }

    #[test]
    fn a_command_ends_if_its_first_runs_show_nothing() {
        assert_eq!(end(20, "mmmm"), Some(2));
        assert_eq!(end(20, "mm.mmmm"), None);
        assert_eq!(end(20, ".mmmm"), None);
        assert_eq!(end(1, "m"), Some(0));
        assert_eq!(end(2, "mm"), Some(1));
    }

    #[test]
    fn other_errors_end_it() {
        assert_eq!(why_mute(&ConfirmError::Stopped), None);
        let keys = vec!["a".into(), "b".into()];
        let several = why_mute(&ConfirmError::SeveralKeys { keys });
        assert!(several.is_some_and(|why| why.contains("name one with --key")));
    }
}

//! The progress of long work: a bar on a terminal, otherwise occasional lines.

use std::fmt::Write;
use std::sync::Mutex;
use std::time::Duration;

use indicatif::{HumanCount, ProgressBar, ProgressState, ProgressStyle};

use super::say::tell;
use crate::runner::pool::lock;

/// Counts runs.
pub(super) struct Progress {
    bar: ProgressBar,
    what: String,
    /// Without a terminal: the tenths of the work that have been announced.
    announced: Option<Mutex<u64>>,
}

impl Progress {
    /// Progress of `runs` runs of something.
    pub(super) fn new(what: &str, runs: u64) -> Self {
        let bar = ProgressBar::new(runs);
        let style = "{msg} {wide_bar} {human_pos} of {human_len} runs, {rate}, {eta} to go";
        let rate = |state: &ProgressState, out: &mut dyn Write| {
            // A rate that cannot be written would not be visible either.
            let _ = write!(out, "{}/s", HumanCount(state.per_sec() as u64));
        };
        let style = ProgressStyle::with_template(style).unwrap_or(ProgressStyle::default_bar());
        bar.set_style(style.with_key("rate", rate));
        bar.set_message(what.to_owned());
        if !bar.is_hidden() {
            bar.enable_steady_tick(Duration::from_millis(200));
        }
        let announced = bar.is_hidden().then(|| Mutex::new(0));
        Self {
            bar,
            what: what.to_owned(),
            announced,
        }
    }

    /// Adds `runs` to the count.
    pub(super) fn add(&self, runs: u64) {
        self.bar.inc(runs);
        if let Some(announced) = &self.announced {
            let (done, all) = (self.bar.position(), self.bar.length().unwrap_or(0).max(1));
            let mut announced = lock(announced);
            // Short work is not announced, only its result.
            if all >= LONG && done * 10 / all > *announced {
                *announced = done * 10 / all;
                let (done, all) = (HumanCount(done), HumanCount(all));
                tell!("{}: {done} of {all} runs", self.what);
            }
        }
    }

    /// Removes the bar.
    pub(super) fn clear(&self) {
        self.bar.finish_and_clear();
    }
}

/// The minimum number of runs for which lines are printed without a terminal: a few seconds.
const LONG: u64 = 20_000;

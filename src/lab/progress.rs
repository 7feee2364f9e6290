//! The progress of long work: a bar on a terminal, otherwise a line every ten seconds.

use std::fmt::Write;
use std::sync::mpsc::{self, RecvTimeoutError, Sender};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use indicatif::{HumanCount, HumanDuration, ProgressBar, ProgressState, ProgressStyle};

use super::layout::{self, Characters};
use super::output::status;
use locklab_values::untrusted;

/// How often a line is printed where there is no terminal. Shorter work prints none, only its
/// result.
const PERIOD: Duration = Duration::from_secs(10);

/// Counts what is done: runs, or scenarios.
pub struct Progress {
    bar: ProgressBar,
    /// Without a terminal: what prints the lines.
    lines: Option<Lines>,
}

impl Progress {
    /// Progress of `all` runs of something.
    pub fn new(doing: &str, all: u64) -> Self {
        Self::of(doing, "runs", all)
    }

    /// Progress of something that is counted in other `units`.
    pub fn of(doing: &str, units: &'static str, all: u64) -> Self {
        let bar = ProgressBar::new(all);
        let style = format!(
            "{{msg}} {{wide_bar}} {{human_pos}} of {{human_len}} {units}, {{rate}}, {{eta}} to go"
        );
        let rate = |state: &ProgressState, out: &mut dyn Write| {
            // A rate that cannot be written would not be visible either.
            let _ = write!(out, "{}/s", HumanCount(state.per_sec() as u64));
        };
        let style = ProgressStyle::with_template(&style).unwrap_or(ProgressStyle::default_bar());
        let style = match layout::characters() {
            Characters::Ascii => style.progress_chars("#>-"),
            Characters::Unicode => style,
        };
        bar.set_style(style.with_key("rate", rate));
        bar.set_message(untrusted::line(doing));
        if !bar.is_hidden() {
            bar.enable_steady_tick(Duration::from_millis(200));
        }
        let lines = bar.is_hidden().then(|| Lines::start(&bar, doing, units));
        Self { bar, lines }
    }

    /// Progress of something that takes nobody knows how many runs.
    pub fn counting(doing: &str) -> Self {
        let bar = ProgressBar::no_length();
        let style = ProgressStyle::with_template("{spinner} {msg}: {human_pos} runs, {elapsed}");
        bar.set_style(style.unwrap_or(ProgressStyle::default_spinner()));
        bar.set_message(untrusted::line(doing));
        if !bar.is_hidden() {
            bar.enable_steady_tick(Duration::from_millis(200));
        }
        let lines = bar.is_hidden().then(|| Lines::start(&bar, doing, "runs"));
        Self { bar, lines }
    }

    /// Adds `done` to the count.
    pub fn add(&self, done: u64) {
        self.bar.inc(done);
    }

    /// Prints something, above the bar if there is one.
    pub fn aside(&self, print: impl FnOnce()) {
        self.bar.suspend(print);
    }

    /// Removes the bar, and ends the lines.
    pub fn clear(self) {
        self.bar.finish_and_clear();
        if let Some(Lines { end, printer }) = self.lines {
            drop(end);
            // A printer that panicked has already printed its message.
            let _ = printer.join();
        }
    }
}

/// A thread that prints a line now and then, however long a single run takes. It ends when the
/// sender is dropped.
struct Lines {
    end: Sender<()>,
    printer: JoinHandle<()>,
}

impl Lines {
    fn start(bar: &ProgressBar, doing: &str, units: &'static str) -> Self {
        let (end, ended) = mpsc::channel();
        let (bar, doing, begun) = (bar.clone(), doing.to_owned(), Instant::now());
        let printer = thread::spawn(move || {
            while ended.recv_timeout(PERIOD) == Err(RecvTimeoutError::Timeout) {
                let done = bar.position();
                match bar.length() {
                    Some(all) => status!("{}", line(&doing, units, done, all, begun.elapsed())),
                    None => status!("{doing}: {} {units}", HumanCount(done)),
                }
            }
        });
        Self { end, printer }
    }
}

/// How much of the work is done, and how long the rest takes at the same pace.
fn line(doing: &str, units: &str, done: u64, all: u64, since: Duration) -> String {
    let share = 100 * u128::from(done) / u128::from(all.max(1));
    let counts = (HumanCount(done), HumanCount(all));
    let left = match done {
        0 => "time left unknown".into(),
        done => {
            let pace = since.as_secs_f64() / done as f64;
            let left = Duration::try_from_secs_f64(pace * all.saturating_sub(done) as f64);
            format!(
                "about {} to go",
                HumanDuration(left.unwrap_or(Duration::MAX))
            )
        }
    };
    format!(
        "{doing}: {share} %, {} of {} {units}, {left}",
        counts.0, counts.1
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_has_the_share_done_and_the_time_left() {
        let check = |done, all, seconds, expected: &str| {
            let told = line("running", "runs", done, all, Duration::from_secs(seconds));
            assert_eq!(told, expected);
        };
        check(0, 300, 10, "running: 0 %, 0 of 300 runs, time left unknown");
        check(
            1,
            300,
            10,
            "running: 0 %, 1 of 300 runs, about 50 minutes to go",
        );
        check(
            5_000,
            20_000,
            10,
            "running: 25 %, 5,000 of 20,000 runs, about 30 seconds to go",
        );
        check(
            20_000,
            20_000,
            10,
            "running: 100 %, 20,000 of 20,000 runs, about 0 seconds to go",
        );
        check(0, 0, 10, "running: 0 %, 0 of 0 runs, time left unknown");
        check(
            u64::MAX,
            u64::MAX,
            10,
            &format!(
                "running: 100 %, {0} of {0} runs, about 0 seconds to go",
                HumanCount(u64::MAX)
            ),
        );
    }
}

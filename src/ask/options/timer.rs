//! How long a command took: commands that take more than 2 s print their duration.

use std::time::{Duration, Instant};

use locklab_lab::output::status;

/// A command that took less says nothing of it.
const LONG: Duration = Duration::from_secs(2);

/// Measures from its start on.
pub(crate) struct Timer {
    /// `None` for what runs as long as its user, or another process, wants.
    begun: Option<Instant>,
}

impl Timer {
    /// Begins to measure a command that has an end of its own.
    pub(crate) fn start(has_end: bool) -> Self {
        Self {
            begun: has_end.then(Instant::now),
        }
    }

    /// Says how long it was.
    pub(crate) fn stop(self) {
        let took = self.begun.map(|begun| begun.elapsed());
        if let Some(took) = took.filter(|took| *took >= LONG) {
            status!("took {}", words(took));
        }
    }
}

/// In the two largest units that it has.
pub(crate) fn words(took: Duration) -> String {
    let seconds = took.as_secs();
    let (hours, minutes) = (seconds / 3600, seconds / 60 % 60);
    match (hours, minutes) {
        (0, 0) => format!("{seconds} s"),
        (0, minutes) => format!("{minutes} min {} s", seconds % 60),
        (hours, minutes) => format!("{hours} h {minutes} min"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_two_largest_units() {
        for (seconds, expected) in [
            (2, "2 s"),
            (59, "59 s"),
            (60, "1 min 0 s"),
            (3599, "59 min 59 s"),
            (3600, "1 h 0 min"),
            (90_061, "25 h 1 min"),
        ] {
            assert_eq!(words(Duration::from_secs(seconds)), expected);
        }
    }
}

//! How long a command took, told at its end if it was long.

use std::time::{Duration, Instant};

use indicatif::HumanDuration;

use super::Command;
use super::say::tell;

/// A command that took less says nothing of it.
const LONG: Duration = Duration::from_secs(2);

/// Measures from its start on.
pub(super) struct Took {
    /// `None` for what runs as long as its user, or another process, wants.
    begun: Option<Instant>,
}

impl Took {
    /// Begins to measure.
    pub(super) fn start(command: Option<&Command>) -> Self {
        let begun = match command {
            Some(Command::Serve(_) | Command::Process) => None,
            _ => Some(Instant::now()),
        };
        Self { begun }
    }

    /// Says how long it was.
    pub(super) fn tell(self) {
        let took = self.begun.map(|begun| begun.elapsed());
        if let Some(took) = took.filter(|took| *took >= LONG) {
            tell!("took {}", HumanDuration(took));
        }
    }
}

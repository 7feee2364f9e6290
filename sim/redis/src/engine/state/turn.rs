//! The amount of work of a node in the current call.

use std::collections::VecDeque;

use super::busy::INSTRUCTIONS_PER_COMMAND;

/// The turn that began with the current call.
#[derive(Default)]
pub(in crate::engine) struct Turn {
    /// When it ends, by the machine's monotonic clock; `None` on a node that reads no clock, whose
    /// requests take no time.
    pub(in crate::engine) ends_us: Option<u64>,
    /// The work since the clock was read, in instructions of scripts.
    pub(in crate::engine) work: u64,
    /// The client whose requests the end of the turn interrupted.
    pub(in crate::engine) amid: Option<u64>,
    /// The clients whose requests wait for another turn.
    pub(in crate::engine) queue: VecDeque<u64>,
}

impl Turn {
    /// Counts a request.
    pub(in crate::engine) fn count_request(&mut self) {
        self.work += INSTRUCTIONS_PER_COMMAND;
    }

    /// Counts a script of this many instructions.
    pub(in crate::engine) fn count_script(&mut self, instructions: u64) {
        self.work = self.work.saturating_add(instructions);
    }

    /// Defers a client's requests to the next turn.
    pub(in crate::engine) fn queue(&mut self, client: u64) {
        self.queue.push_back(client);
    }

    /// Whether a client's requests wait.
    pub(in crate::engine) fn is_queued(&self, client: u64) -> bool {
        self.queue.contains(&client)
    }

    /// Whether any client's requests wait.
    pub(in crate::engine) fn is_awaited(&self) -> bool {
        !self.queue.is_empty()
    }
}

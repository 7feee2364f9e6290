//! The part of a run that the picture shows, which `crop` chooses.

use locklab_history::Message;

/// A span of true time, both ends included, in nanoseconds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Window {
    /// True time of its beginning, in nanoseconds.
    pub from_ns: u64,
    /// True time of its end, in nanoseconds.
    pub to_ns: u64,
}

impl Window {
    /// Whether the instant is in the window.
    pub fn contains(self, at_ns: u64) -> bool {
        (self.from_ns..=self.to_ns).contains(&at_ns)
    }

    /// Whether any part of the message's transit is in the window.
    pub fn shows(self, message: &Message) -> bool {
        let arrived_ns = message.arrived_ns.unwrap_or(message.sent_ns);
        message.sent_ns <= self.to_ns && arrived_ns >= self.from_ns
    }
}

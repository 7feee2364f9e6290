//! The clients that see every call.

/// The monitors.
#[derive(Default)]
pub(in crate::engine) struct Monitors {
    /// In the order of registration.
    pub(in crate::engine) clients: Vec<u64>,
    /// The lines that follow the reply to the running command.
    pub(in crate::engine) after_reply: Vec<String>,
}

impl Monitors {
    /// Adds a client; returns whether it is new.
    pub(in crate::engine) fn add(&mut self, client: u64) -> bool {
        let new = !self.contains(client);
        if new {
            self.clients.push(client);
        }
        new
    }

    /// Whether a client is a monitor.
    pub(in crate::engine) fn contains(&self, client: u64) -> bool {
        self.clients.contains(&client)
    }

    /// Removes a monitor.
    pub(in crate::engine) fn forget(&mut self, client: u64) {
        self.clients.retain(|monitor| *monitor != client);
    }
}

//! The output that the driver has not taken yet.

/// The maximum output before the next request, in bytes: beyond it requests wait until the driver
/// has taken the output.
pub(in crate::engine) const ENOUGH_BYTES: usize = 16 << 20;

/// An upper bound of the output since the driver last took it. Output shared by clients counts
/// once.
#[derive(Default)]
pub(in crate::engine) struct PendingOutput {
    pub(in crate::engine) bytes: usize,
}

impl PendingOutput {
    /// Whether the driver has to take it before the next request.
    pub(in crate::engine) fn is_enough(&self) -> bool {
        self.bytes > ENOUGH_BYTES
    }

    /// Counts appended output.
    pub(in crate::engine) fn add(&mut self, bytes: usize) {
        self.bytes += bytes;
    }

    /// Resets the count when the driver takes all output.
    pub(in crate::engine) fn clear(&mut self) {
        self.bytes = 0;
    }
}

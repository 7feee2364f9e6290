//! `appendfsync`.

/// When the append-only file is made durable: `appendfsync`.
#[derive(Copy, Clone, PartialEq, Eq, Debug, Default)]
pub enum Fsync {
    /// Before any reply.
    Always,
    /// Once a second.
    #[default]
    EverySecond,
    /// When the kernel decides.
    No,
}

impl Fsync {
    /// The value of `appendfsync`.
    pub(in crate::engine) fn name(self) -> &'static str {
        match self {
            Fsync::Always => "always",
            Fsync::EverySecond => "everysec",
            Fsync::No => "no",
        }
    }
}

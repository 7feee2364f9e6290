//! When expired keys are deleted that no client asks for.

/// The state of the cycle.
pub(in crate::engine) struct ActiveExpiry {
    /// The switch of DEBUG SET-ACTIVE-EXPIRE.
    pub(in crate::engine) enabled: bool,
    /// The phase of the periodic work: a wall-clock time at which all of it was due, as if the
    /// server had started then, a little after the epoch.
    pub(in crate::engine) phase_us: u64,
    /// The last tick that was done, or the first time that the node saw.
    pub(in crate::engine) last_us: Option<u64>,
}

impl ActiveExpiry {
    /// Servers do not tick together: the seed of a start determines the phase. The number is far
    /// larger than any period, so the phase is uniform within each of them.
    pub(in crate::engine) fn new(seed: u64) -> Self {
        ActiveExpiry {
            enabled: true,
            phase_us: seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 32,
            last_us: None,
        }
    }
}

//! The clocks of a machine, read at one moment.

/// Four clocks, read one after the other, in nanoseconds.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Reading {
    /// Time that the machine was awake; its rate is that of the wall clock. Linux corrects the rate of
    /// both, to follow a time server.
    pub monotonic_ns: u64,
    /// The same, with the time that the machine was suspended.
    pub boot_ns: u64,
    /// Time of day since 1970.
    pub wall_ns: u64,
    /// Time that the machine was awake by its oscillator alone, whose rate nothing corrects.
    pub raw_ns: u64,
    /// How long the four took: how far any two of them may be from the same moment.
    pub unsure_ns: u64,
}

/// The difference of two times of a clock that may go back.
pub(crate) fn signed_ns(later: u64, earlier: u64) -> i64 {
    // Both are times since 1970 or since a start, far below 2⁶³.
    later.wrapping_sub(earlier).cast_signed()
}

/// Nanoseconds in milliseconds, with sign and fraction.
pub(crate) fn signed_ms(ns: i64) -> f64 {
    let ms = locklab_values::units::fractional_ms_from_ns(ns.unsigned_abs());
    match ns < 0 {
        true => -ms,
        false => ms,
    }
}

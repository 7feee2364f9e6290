//! A host's two clocks. Each is a linear function of virtual time until a fault changes it.
//!
//! The *wall* clock shows the time of day: it may have an offset and a rate error, and may be
//! stepped; Redis expires keys by it. The *monotonic* clock has the same rate error, since one
//! oscillator drives both, but is never stepped; it stops while its machine is suspended.

use locklab_values::units::NS_PER_S;

/// The default reading of a right wall clock when a run begins: 2016-02-08 00:00 UTC, the day
/// of Kleppmann's article. Any date would do; a real one makes `TIME` plausible.
pub const EPOCH_NS: u64 = 1_454_889_600 * NS_PER_S;

/// The clocks of one host.
#[derive(Debug, Clone)]
pub struct Clocks {
    /// Virtual time at which the readings below were taken.
    settled_ns: u64,
    wall_ns: u64,
    mono_ns: u64,
    drift_ppm: i64,
    suspended: bool,
}

impl Clocks {
    /// The clocks of a run that begins at `epoch_ns`, exact except for a constant offset of the
    /// wall clock and a rate error of both, in parts per million (100 000 runs 10 % fast).
    pub fn new(epoch_ns: u64, offset_ns: i64, drift_ppm: i64) -> Self {
        let drift_ppm = drift_ppm.max(SLOWEST_PPM);
        Self {
            settled_ns: 0,
            wall_ns: epoch_ns.saturating_add_signed(offset_ns),
            mono_ns: 0,
            drift_ppm,
            suspended: false,
        }
    }

    /// The wall clock at virtual time `now_ns`, nanoseconds since the Unix epoch.
    pub fn wall_ns(&self, now_ns: u64) -> u64 {
        self.wall_ns
            .saturating_add(self.stretch(now_ns - self.settled_ns))
    }

    /// The monotonic clock at virtual time `now_ns`, nanoseconds since the start.
    pub fn mono_ns(&self, now_ns: u64) -> u64 {
        if self.suspended {
            return self.mono_ns;
        }
        self.mono_ns
            .saturating_add(self.stretch(now_ns - self.settled_ns))
    }

    /// The virtual time at which the monotonic clock will first read `mono_ns` on its current
    /// course; if it is suspended, as if it resumed immediately.
    pub fn when_mono(&self, mono_ns: u64, now_ns: u64) -> u64 {
        let remaining = mono_ns.saturating_sub(self.mono_ns(now_ns));
        if self.drift_ppm == 0 {
            return now_ns.saturating_add(remaining);
        }
        let wait_ns = (u128::from(remaining) * MILLION as u128).div_ceil(self.rate());
        now_ns.saturating_add(u64::try_from(wait_ns).unwrap_or(u64::MAX))
    }

    /// Steps the wall clock, backwards if negative.
    pub fn step_wall(&mut self, step_ns: i64, now_ns: u64) {
        self.settle(now_ns);
        self.wall_ns = self.wall_ns.saturating_add_signed(step_ns);
    }

    /// Sets the rate error from now on; returns the previous one.
    pub fn set_drift_ppm(&mut self, drift_ppm: i64, now_ns: u64) -> i64 {
        self.settle(now_ns);
        std::mem::replace(&mut self.drift_ppm, drift_ppm.max(SLOWEST_PPM))
    }

    /// Stops the monotonic clock, or lets it continue.
    pub fn set_suspended(&mut self, suspended: bool, now_ns: u64) {
        self.settle(now_ns);
        self.suspended = suspended;
    }

    fn settle(&mut self, now_ns: u64) {
        self.mono_ns = self.mono_ns(now_ns);
        self.wall_ns = self.wall_ns(now_ns);
        self.settled_ns = now_ns;
    }

    /// How far the oscillator advances in `elapsed_ns` of virtual time.
    fn stretch(&self, elapsed_ns: u64) -> u64 {
        if self.drift_ppm == 0 {
            return elapsed_ns;
        }
        let stretched_ns = u128::from(elapsed_ns) * self.rate() / MILLION as u128;
        u64::try_from(stretched_ns).unwrap_or(u64::MAX)
    }

    /// How far the oscillator advances in a million steps of true time.
    fn rate(&self) -> u128 {
        (i128::from(MILLION) + i128::from(self.drift_ppm)) as u128
    }
}

const MILLION: i64 = 1_000_000;

/// A clock never stops completely: its lowest rate is one millionth of the right one.
const SLOWEST_PPM: i64 = 1 - MILLION;

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: u64 = NS_PER_S;

    #[test]
    fn a_step_moves_the_wall_clock_alone() {
        let mut clocks = Clocks::new(EPOCH_NS, 0, 0);
        clocks.step_wall(-(SECOND as i64), 5 * SECOND);
        assert_eq!(clocks.wall_ns(6 * SECOND), EPOCH_NS + 5 * SECOND);
        assert_eq!(clocks.mono_ns(6 * SECOND), 6 * SECOND);
    }

    #[test]
    fn suspension_stops_the_monotonic_clock_alone() {
        let mut clocks = Clocks::new(EPOCH_NS, 0, 0);
        clocks.set_suspended(true, SECOND);
        clocks.set_suspended(false, 10 * SECOND);
        assert_eq!(clocks.mono_ns(11 * SECOND), 2 * SECOND);
        assert_eq!(clocks.wall_ns(11 * SECOND), EPOCH_NS + 11 * SECOND);
    }

    #[test]
    fn fast_clock_reaches_a_reading_early_but_not_before_when_mono() {
        for drift_ppm in [-500_000, -7, 0, 3, 100_000] {
            let clocks = Clocks::new(EPOCH_NS, 0, drift_ppm);
            let due = clocks.when_mono(10 * SECOND + 1, 0);
            assert!(clocks.mono_ns(due) > 10 * SECOND);
            assert!(clocks.mono_ns(due - 1) <= 10 * SECOND);
        }
    }

    #[test]
    fn never_is_never_reached_too_early() {
        for drift_ppm in [SLOWEST_PPM, -500_000, 0, i64::MAX] {
            let mut clocks = Clocks::new(EPOCH_NS, 0, drift_ppm);
            clocks.set_suspended(true, SECOND);
            clocks.set_suspended(false, 10 * SECOND);
            assert!(clocks.when_mono(u64::MAX, 11 * SECOND) >= 11 * SECOND);
        }
        let slow = Clocks::new(EPOCH_NS, 0, -500_000);
        assert_eq!(slow.when_mono(u64::MAX, SECOND), u64::MAX);
    }

    #[test]
    fn a_rate_counts_from_its_beginning() {
        let mut clocks = Clocks::new(EPOCH_NS, 0, 0);
        clocks.set_drift_ppm(100_000, 10 * SECOND);
        assert_eq!(clocks.mono_ns(20 * SECOND), 21 * SECOND);
    }
}

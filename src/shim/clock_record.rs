//! The errors of the clocks of a host: the record that `preload/clock.c` maps, and the formula by
//! which it, and we, convert right readings into wrong ones.

use nix::time::{ClockId, clock_gettime};

use locklab_values::units::NS_PER_S;

/// The lowest rate error: a clock never stops completely, as in the simulator.
pub const SLOWEST_PPM: i64 = 1 - MILLION;

/// The highest rate error: a clock that runs a thousand times as fast as it should.
pub const FASTEST_PPM: i64 = 1_000 * MILLION;

const MILLION: i64 = 1_000_000;

/// One reading of both clocks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Readings {
    /// The time of day, in nanoseconds since the Unix epoch.
    pub wall_ns: u64,
    /// The monotonic clock, in nanoseconds since some start.
    pub mono_ns: u64,
}

impl Readings {
    /// The machine's own clocks now, if the reading process is not itself given wrong ones.
    pub fn of_machine() -> Readings {
        // In this order also in `preload/clock.c`.
        Readings {
            wall_ns: machine_ns(ClockId::CLOCK_REALTIME),
            mono_ns: machine_mono_ns(),
        }
    }
}

/// The machine's monotonic clock now, which is true time for all that a [`ClockRecord`] says.
pub(crate) fn machine_mono_ns() -> u64 {
    machine_ns(ClockId::CLOCK_MONOTONIC)
}

fn machine_ns(clock: ClockId) -> u64 {
    let time = clock_gettime(clock).expect("every Linux and macOS has these two clocks");
    time.tv_sec().cast_unsigned() * NS_PER_S + time.tv_nsec().cast_unsigned()
}

/// The errors of the two clocks of a host, as a linear function of the machine's own. The default
/// is no error.
///
/// A file holds it in 72 bytes: eight bytes `LLCLOCK3`, then each field in the order below, in
/// eight bytes and the machine's byte order. It may be read without a lock, at any time: the
/// version is odd while the rest changes, and is greater after each change. Fields that are read
/// between two reads of the same even version are consistent.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct ClockRecord {
    /// Counts changes; odd while one is under way.
    pub version: u64,
    /// The machine's monotonic clock, in nanoseconds, when this rate began to apply.
    pub base_mono_ns: u64,
    /// How far the wall clock was ahead at that time, in nanoseconds.
    pub wall_offset_ns: i64,
    /// How far the monotonic clock was ahead at that time, in nanoseconds.
    pub mono_offset_ns: i64,
    /// How much faster than right both clocks have run since, in parts per million: 100 000 is
    /// 10 % fast.
    pub drift_ppm: i64,
    /// Whether the monotonic clock has been stopped since the base; in the file 1 or 0.
    pub frozen: bool,
    /// How often a stall of one of the host's threads has begun or ended: odd while one lasts.
    pub stalls: u64,
    /// Whether the disk of the host is full; in the file 1 or 0.
    pub disk_full: bool,
}

/// The length of a record in a file, in bytes.
pub(crate) const RECORD_LEN: usize = 72;

/// The offset of the version in the file, in bytes.
pub(crate) const VERSION_AT: usize = 8;

const MAGIC: [u8; 8] = *b"LLCLOCK3";

impl ClockRecord {
    /// The bytes of the file.
    pub fn to_bytes(&self) -> [u8; RECORD_LEN] {
        let fields = [
            MAGIC,
            self.version.to_ne_bytes(),
            self.base_mono_ns.to_ne_bytes(),
            self.wall_offset_ns.to_ne_bytes(),
            self.mono_offset_ns.to_ne_bytes(),
            self.drift_ppm.to_ne_bytes(),
            u64::from(self.frozen).to_ne_bytes(),
            self.stalls.to_ne_bytes(),
            u64::from(self.disk_full).to_ne_bytes(),
        ];
        let mut bytes = [0; RECORD_LEN];
        bytes.copy_from_slice(fields.as_flattened());
        bytes
    }

    /// The record of a file's first 72 bytes; `None` if they are no record of this layout.
    pub fn from_bytes(bytes: &[u8; RECORD_LEN]) -> Option<ClockRecord> {
        let (fields, _) = bytes.as_chunks::<8>();
        let &[
            magic,
            version,
            base,
            wall,
            mono,
            drift,
            frozen,
            stalls,
            disk_full,
        ] = fields
        else {
            return None;
        };
        (magic == MAGIC).then(|| ClockRecord {
            version: u64::from_ne_bytes(version),
            base_mono_ns: u64::from_ne_bytes(base),
            wall_offset_ns: i64::from_ne_bytes(wall),
            mono_offset_ns: i64::from_ne_bytes(mono),
            drift_ppm: i64::from_ne_bytes(drift),
            frozen: u64::from_ne_bytes(frozen) != 0,
            stalls: u64::from_ne_bytes(stalls),
            disk_full: u64::from_ne_bytes(disk_full) != 0,
        })
    }

    /// The readings of the host's clocks when the machine's are `right`. With *e* the machine's
    /// monotonic time since the base:
    ///
    /// - wall = right wall + `wall_offset_ns` + *e* × `drift_ppm` / 1 000 000
    /// - mono = right mono + `mono_offset_ns` + *e* × `drift_ppm` / 1 000 000, or, while frozen,
    ///   what it was at the base
    ///
    /// Fractions of a nanosecond are cut off. A reading below 0 is 0, and none exceeds
    /// `i64::MAX` (292 years). This is what `preload/clock.c` calculates.
    ///
    /// The machine's two clocks cannot be read at the same instant. So a drifting wall clock
    /// shows `drift_ppm` of the time in between too much or too little: some nanoseconds, unless
    /// the reader had to wait for a processor. The monotonic clock has no such error.
    pub fn readings(&self, right: Readings) -> Readings {
        let elapsed_ns = i128::from(right.mono_ns) - i128::from(self.base_mono_ns);
        let drift_ns = elapsed_ns * i128::from(self.drift_ppm) / i128::from(MILLION);
        let mono_ns = match self.frozen {
            true => i128::from(self.base_mono_ns),
            false => i128::from(right.mono_ns) + drift_ns,
        };
        Readings {
            wall_ns: clamp(i128::from(right.wall_ns) + i128::from(self.wall_offset_ns) + drift_ns),
            mono_ns: clamp(mono_ns + i128::from(self.mono_offset_ns)),
        }
    }

    /// The record after a change when the machine's monotonic clock showed `mono_ns`. What was
    /// shown before stays.
    pub(crate) fn changed(
        mut self,
        mono_ns: u64,
        change: impl FnOnce(&mut ClockRecord),
    ) -> ClockRecord {
        self.settle(mono_ns);
        change(&mut self);
        self.version += 2;
        self
    }

    /// See [`ClockFile::step_wall`](crate::ClockFile::step_wall).
    pub(crate) fn step_wall(&mut self, by_ns: i64) {
        self.wall_offset_ns = self.wall_offset_ns.saturating_add(by_ns);
    }

    /// See [`ClockFile::set_drift_ppm`](crate::ClockFile::set_drift_ppm).
    pub(crate) fn set_drift_ppm(&mut self, drift_ppm: i64) {
        self.drift_ppm = drift_ppm.clamp(SLOWEST_PPM, FASTEST_PPM);
    }

    /// Moves the base to `mono_ns` of the machine's monotonic clock, without a change of any
    /// later reading: the offsets take in what has added up.
    fn settle(&mut self, mono_ns: u64) {
        let elapsed_ns = i128::from(mono_ns) - i128::from(self.base_mono_ns);
        let drift_ns = elapsed_ns * i128::from(self.drift_ppm) / i128::from(MILLION);
        let mono_ahead_ns = match self.frozen {
            true => -elapsed_ns,
            false => drift_ns,
        };
        self.wall_offset_ns = sum(self.wall_offset_ns, drift_ns);
        self.mono_offset_ns = sum(self.mono_offset_ns, mono_ahead_ns);
        self.base_mono_ns = mono_ns;
    }
}

fn clamp(ns: i128) -> u64 {
    ns.clamp(0, i128::from(i64::MAX)) as u64
}

fn sum(offset_ns: i64, more_ns: i128) -> i64 {
    let sum_ns = i128::from(offset_ns) + more_ns;
    sum_ns.clamp(i128::from(i64::MIN), i128::from(i64::MAX)) as i64
}

#[cfg(test)]
mod tests {
    use super::*;
    use locklab_values::random::Stream;

    const S: u64 = NS_PER_S;

    fn at(wall_ns: u64, mono_ns: u64) -> Readings {
        Readings { wall_ns, mono_ns }
    }

    #[test]
    fn a_record_survives_its_bytes() {
        let record = ClockRecord {
            version: 4,
            base_mono_ns: u64::MAX,
            wall_offset_ns: -5,
            mono_offset_ns: i64::MIN,
            drift_ppm: -6,
            frozen: true,
            stalls: 3,
            disk_full: true,
        };
        let bytes = record.to_bytes();
        assert_eq!(ClockRecord::from_bytes(&bytes), Some(record));
        assert_eq!(bytes[VERSION_AT..][..8], 4_u64.to_ne_bytes());
        assert_eq!(bytes[24..32], (-5_i64).to_ne_bytes());
        assert_eq!(ClockRecord::from_bytes(&[0; RECORD_LEN]), None);
    }

    #[test]
    fn record_without_errors_changes_no_reading() {
        let right = at(1_700_000_000 * S + 7, 3 * S + 1);
        assert_eq!(ClockRecord::default().readings(right), right);
    }

    #[test]
    fn offsets_are_added_and_drift_counts_from_the_base() {
        let record = ClockRecord {
            base_mono_ns: 10 * S,
            wall_offset_ns: -3 * S as i64,
            mono_offset_ns: 2 * S as i64,
            drift_ppm: 100_000,
            ..ClockRecord::default()
        };
        let wrong = record.readings(at(1_000 * S, 20 * S));
        assert_eq!(wrong, at(998 * S, 23 * S));
        // A reading taken just before the base has not drifted the other way by a nanosecond more.
        let early = record.readings(at(1_000 * S, 10 * S - 15));
        assert_eq!(early, at(997 * S - 1, 12 * S - 16));
    }

    #[test]
    fn a_frozen_clock_shows_its_base_while_the_wall_clock_drifts_on() {
        let record = ClockRecord {
            base_mono_ns: 10 * S,
            mono_offset_ns: S as i64,
            drift_ppm: -500_000,
            frozen: true,
            ..ClockRecord::default()
        };
        assert_eq!(record.readings(at(100 * S, 30 * S)), at(90 * S, 11 * S));
    }

    #[test]
    fn to_settle_changes_no_reading() {
        for (drift_ppm, frozen) in [(333_333, false), (-999_999, false), (7, true)] {
            let mut record = ClockRecord {
                base_mono_ns: 10 * S,
                wall_offset_ns: 11,
                mono_offset_ns: -22,
                drift_ppm,
                frozen,
                ..ClockRecord::default()
            };
            let now = at(100 * S + 1, 12 * S + 345_678_901);
            let before = record.readings(now);
            record.settle(now.mono_ns);
            assert_eq!(record.base_mono_ns, now.mono_ns);
            assert_eq!(record.readings(now), before);
        }
    }

    #[test]
    fn readings_that_no_clock_shows_are_cut_off() {
        let check = |offset_ns, drift_ppm, expected| {
            let record = ClockRecord {
                wall_offset_ns: offset_ns,
                mono_offset_ns: offset_ns,
                drift_ppm,
                ..ClockRecord::default()
            };
            let right = at(1_700_000_000 * S, 1_000_000 * S);
            assert_eq!(record.readings(right), at(expected, expected));
        };
        check(i64::MIN, 0, 0);
        check(i64::MAX, FASTEST_PPM, i64::MAX as u64);
        check(i64::MIN, SLOWEST_PPM, 0);
    }

    #[test]
    fn the_slowest_clock_still_runs() {
        let record = ClockRecord {
            drift_ppm: SLOWEST_PPM,
            ..ClockRecord::default()
        };
        assert_eq!(record.readings(at(0, S)).mono_ns, 1_000);
    }

    /// Any sequence of changes, each at a whole millisecond, held to an integral in pieces of one: in
    /// each, a clock advances by a whole number of nanoseconds, so nothing is rounded.
    #[test]
    fn clocks_show_the_integral_of_their_rates_whatever_changes() {
        const MS: u64 = 1_000_000;
        for seed in 0..300 {
            let mut random = Stream::new(seed, "changes");
            let mut right = at(1_700_000_000 * S, 77 * S);
            let mut record = ClockRecord {
                base_mono_ns: right.mono_ns,
                ..ClockRecord::default()
            };
            let (mut expected, mut drift_ppm, mut frozen) = (right, 0, false);
            for _ in 0..100 {
                if random.below(10) == 0 {
                    let change = random.below(3);
                    let amount = random.below(1_999_999) as i64 - 999_999;
                    record = record.changed(right.mono_ns, |record| match change {
                        0 => record.step_wall(amount),
                        1 => record.set_drift_ppm(amount),
                        _ => record.frozen = !record.frozen,
                    });
                    match change {
                        0 => {
                            expected.wall_ns = expected
                                .wall_ns
                                .checked_add_signed(amount)
                                .expect("far from 0")
                        }
                        1 => drift_ppm = amount,
                        _ => frozen = !frozen,
                    }
                }
                assert_eq!(record.readings(right), expected, "seed {seed}");
                right = at(right.wall_ns + MS, right.mono_ns + MS);
                let piece_ns = MS.checked_add_signed(drift_ppm).expect("it runs");
                expected.wall_ns += piece_ns;
                expected.mono_ns += if frozen { 0 } else { piece_ns };
            }
        }
    }
}

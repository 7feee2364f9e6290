//! The C library calculates what Rust does.

use std::fs;

use locklab_shim::{ClockReader, ClockRecord, FASTEST_PPM, Readings, SLOWEST_PPM};
use locklab_values::units::NS_PER_S;

use nix::time::ClockId;

use crate::folder::Folder;
use crate::preloaded::{clocks, now_ns};

const S: i64 = NS_PER_S.cast_signed();

/// Longer than a reader waits for a processor between two clocks.
const WAIT_NS: u64 = 10 * NS_PER_S;

/// A reading of C between two of Rust: the clocks advance in between, except those that are almost
/// or completely stopped, and these show that no nanosecond is missing.
#[track_caller]
fn check(folder: &Folder, record: ClockRecord) -> (Readings, Readings) {
    let path = folder.join("clock");
    fs::write(&path, record.to_bytes()).unwrap();
    let reader = ClockReader::open(&path).unwrap();
    let boot_before_ns = now_ns(ClockId::CLOCK_BOOTTIME);
    let before = reader.now();
    let [wall, wall_coarse, mono, mono_coarse, mono_raw, boot] = clocks(folder, Some(&path));
    let after = reader.now();
    for wall_ns in [wall, wall_coarse] {
        let range = before.wall_ns..=after.wall_ns;
        // See `ClockRecord::readings`: a slow one may be off by what the reader waited.
        let range = match record.drift_ppm < 0 {
            true => range.start() - WAIT_NS..=range.end() + WAIT_NS,
            false => range,
        };
        assert!(range.contains(&wall_ns), "{wall_ns} {range:?} {record:?}");
    }
    for mono_ns in [mono, mono_coarse, mono_raw] {
        let range = before.mono_ns..=after.mono_ns;
        assert!(range.contains(&mono_ns), "{mono_ns} {range:?} {record:?}");
    }
    assert!(
        (boot_before_ns..=now_ns(ClockId::CLOCK_BOOTTIME)).contains(&boot),
        "{boot} is not the machine's"
    );
    (before, after)
}

#[test]
fn c_and_rust_read_the_same_clocks() {
    let folder = Folder::new("formula");
    let mono_ns = Readings::of_machine().mono_ns;
    let base = ClockRecord {
        version: 2,
        base_mono_ns: mono_ns,
        wall_offset_ns: -86_400 * S - 1,
        mono_offset_ns: 3_600 * S + 1,
        ..ClockRecord::default()
    };
    for drift_ppm in [0, 1, -1, 500_000, -333_333, FASTEST_PPM, SLOWEST_PPM] {
        check(&folder, ClockRecord { drift_ppm, ..base });
        // A base a while ago, and one that has not been reached.
        for base_mono_ns in [mono_ns / 3, mono_ns + 7_200 * NS_PER_S] {
            let record = ClockRecord {
                base_mono_ns,
                drift_ppm,
                ..base
            };
            check(&folder, record);
            let frozen = true;
            let (before, after) = check(&folder, ClockRecord { frozen, ..record });
            assert_eq!(before.mono_ns, after.mono_ns);
        }
    }
}

#[test]
fn c_and_rust_agree_to_the_nanosecond_on_a_clock_that_hardly_moves() {
    let folder = Folder::new("nanosecond");
    let base_mono_ns = Readings::of_machine().mono_ns - 12_345_678_901;
    let (before, after) = check(
        &folder,
        ClockRecord {
            base_mono_ns,
            drift_ppm: SLOWEST_PPM,
            ..ClockRecord::default()
        },
    );
    // A hundred milliseconds are a hundred nanoseconds here.
    assert!(before.mono_ns - base_mono_ns >= 12_345);
    assert!(after.mono_ns - before.mono_ns < 60_000);
}

#[test]
fn c_and_rust_cut_off_the_same_readings() {
    let folder = Folder::new("limits");
    for (offset_ns, expected) in [(i64::MIN, 0), (i64::MAX, i64::MAX as u64)] {
        let (before, after) = check(
            &folder,
            ClockRecord {
                wall_offset_ns: offset_ns,
                mono_offset_ns: offset_ns,
                drift_ppm: FASTEST_PPM,
                base_mono_ns: Readings::of_machine().mono_ns,
                ..ClockRecord::default()
            },
        );
        assert_eq!([before.wall_ns, after.mono_ns], [expected; 2]);
    }
}

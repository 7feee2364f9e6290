//! A host's clocks, as our own processes read them.

use std::fs;
use std::io::ErrorKind;

use locklab_shim::{ClockFile, ClockReader, Readings};
use locklab_testing::until;
use locklab_values::units::{NS_PER_MS, NS_PER_S};

use crate::folder::Folder;

const MILLION: u64 = 1_000_000;

/// How far the host's clocks are ahead of the machine's, in nanoseconds, apart from the time
/// between two readings.
fn ahead_ns(reader: &ClockReader) -> (i64, i64) {
    let right = Readings::of_machine();
    let wrong = reader.convert(right);
    (
        wrong.wall_ns.cast_signed() - right.wall_ns.cast_signed(),
        wrong.mono_ns.cast_signed() - right.mono_ns.cast_signed(),
    )
}

fn pass(ns: u64) -> u64 {
    let start_ns = Readings::of_machine().mono_ns;
    until(|| match Readings::of_machine().mono_ns - start_ns {
        passed_ns if passed_ns >= ns => Ok(passed_ns),
        _ => Err("the time has not passed"),
    })
}

#[test]
fn clocks_are_right_until_they_are_changed() {
    let folder = Folder::new("right");
    let path = folder.join("clock");
    let mut clocks = ClockFile::create(&path).unwrap();
    let reader = ClockReader::open(&path).unwrap();
    assert_eq!(ahead_ns(&reader), (0, 0));
    clocks.step_wall(-7).unwrap();
    assert_eq!(ahead_ns(&reader), (-7, 0));
    clocks.step_wall(10).unwrap();
    assert_eq!(ahead_ns(&reader), (3, 0));
}

#[test]
fn frozen_clock_has_lost_time_when_it_resumes() {
    let folder = Folder::new("freeze");
    let path = folder.join("clock");
    let mut clocks = ClockFile::create(&path).unwrap();
    let reader = ClockReader::open(&path).unwrap();
    clocks.step_wall(5).unwrap();
    clocks.freeze().unwrap();
    let frozen = reader.now();
    let frozen_at_ns = clocks.record().base_mono_ns;
    pass(50 * NS_PER_MS);
    let later = reader.now();
    assert_eq!(later.mono_ns, frozen.mono_ns);
    assert!(later.wall_ns >= frozen.wall_ns + 50 * NS_PER_MS);
    clocks.thaw().unwrap();
    let thawed_at_ns = clocks.record().base_mono_ns;
    let lost_ns = (thawed_at_ns - frozen_at_ns).cast_signed();
    assert!(lost_ns >= 50 * NS_PER_MS.cast_signed());
    assert_eq!(ahead_ns(&reader), (5, -lost_ns));
    // To thaw it again changes nothing.
    clocks.thaw().unwrap();
    assert_eq!(ahead_ns(&reader), (5, -lost_ns));
}

#[test]
fn a_rate_error_adds_up_while_it_lasts() {
    let folder = Folder::new("rate");
    let path = folder.join("clock");
    let mut clocks = ClockFile::create(&path).unwrap();
    let reader = ClockReader::open(&path).unwrap();
    assert_eq!(clocks.set_drift_ppm(-100_000).unwrap(), 0);
    let begin_ns = clocks.record().base_mono_ns;
    pass(20 * NS_PER_MS);
    assert_eq!(clocks.set_drift_ppm(i64::MIN).unwrap(), -100_000);
    let end_ns = clocks.record().base_mono_ns;
    assert_eq!(clocks.set_drift_ppm(0).unwrap(), locklab_shim::SLOWEST_PPM);
    let slowest_ns = clocks.record().base_mono_ns - end_ns;
    // At the slowest, all but a millionth is lost.
    let lost_ns = (end_ns - begin_ns) / 10 + slowest_ns - slowest_ns / MILLION;
    let lost_ns = lost_ns.cast_signed();
    let (wall_ns, mono_ns) = ahead_ns(&reader);
    assert_eq!(wall_ns, mono_ns);
    assert!((wall_ns + lost_ns).abs() <= 2, "{wall_ns} {lost_ns}");
}

#[test]
fn clock_file_is_not_overwritten_and_other_files_are_rejected() {
    let folder = Folder::new("file");
    let path = folder.join("clock");
    drop(ClockFile::create(&path).unwrap());
    let again = ClockFile::create(&path).unwrap_err();
    assert_eq!(again.kind(), ErrorKind::AlreadyExists);
    fs::write(&path, [b'x'; 72]).unwrap();
    let other = ClockReader::open(&path).unwrap_err();
    assert_eq!(other.kind(), ErrorKind::InvalidData);
    fs::write(&path, "LLCLOCK3").unwrap();
    let short = ClockReader::open(&path).unwrap_err();
    assert_eq!(short.kind(), ErrorKind::UnexpectedEof);
}

/// Not a test of speed: it prints what the documentation of `ClockReader` says.
#[test]
fn cost_of_a_reading() {
    let folder = Folder::new("cost");
    let path = folder.join("clock");
    let _clocks = ClockFile::create(&path).unwrap();
    let reader = ClockReader::open(&path).unwrap();
    let count = 10_000;
    let cost_ns = |read: &dyn Fn() -> Readings| {
        let start_ns = Readings::of_machine().mono_ns;
        for _ in 0..count {
            assert!(read().wall_ns > NS_PER_S);
        }
        (Readings::of_machine().mono_ns - start_ns) / count
    };
    let [wrong_ns, right_ns] = [cost_ns(&|| reader.now()), cost_ns(&Readings::of_machine)];
    println!("a reading of both clocks: {wrong_ns} ns; of the machine's: {right_ns} ns");
}

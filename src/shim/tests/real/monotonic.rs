//! No change of a rate lets a monotonic clock run backwards.

use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::thread;

use locklab_shim::{ClockFile, ClockReader};

use crate::folder::Folder;
use crate::preloaded::Preloaded;

/// Changes the clocks for this many rounds, and longer while `more` returns true.
fn disturb(clocks: &mut ClockFile, rounds: usize, more: impl Fn() -> bool) {
    for round in 0.. {
        if round >= rounds && !more() {
            break;
        }
        let drift_ppm = [5_000_000, -900_000, 0, 100][round % 4];
        clocks.set_drift_ppm(drift_ppm).unwrap();
        match round % 10 {
            4 => clocks.freeze().unwrap(),
            6 => clocks.thaw().unwrap(),
            _ => {}
        }
        for _ in 0..round % 3 {
            thread::yield_now();
        }
    }
}

#[test]
fn for_a_process_with_the_library() {
    let folder = Folder::new("monotonic");
    let path = folder.join("clock");
    let mut clocks = ClockFile::create(&path).unwrap();
    let mut process = Preloaded::start(&folder, Some(&path), "monotonic");
    process.await_line("begun");
    disturb(&mut clocks, 10_000, || false);
    let [readings, backwards] = process.finish().try_into().unwrap();
    assert_eq!(backwards, 0, "of {readings} readings");
}

#[test]
fn for_a_reader() {
    let folder = Folder::new("monotonic-reader");
    let path = folder.join("clock");
    let mut clocks = ClockFile::create(&path).unwrap();
    let reader = ClockReader::open(&path).unwrap();
    let done = AtomicBool::new(false);
    let readings = AtomicU32::new(0);
    thread::scope(|scope| {
        let watcher = scope.spawn(|| {
            let (mut last_ns, mut backwards) = (0, 0);
            while !done.load(Ordering::Relaxed) {
                let mono_ns = reader.now().mono_ns;
                backwards += u32::from(mono_ns < last_ns);
                last_ns = mono_ns;
                readings.fetch_add(1, Ordering::Relaxed);
            }
            backwards
        });
        let too_few = || !watcher.is_finished() && readings.load(Ordering::Relaxed) < 1_000;
        disturb(&mut clocks, 3_000, too_few);
        done.store(true, Ordering::Relaxed);
        assert_eq!(watcher.join().unwrap(), 0, "of {readings:?} readings");
    });
}

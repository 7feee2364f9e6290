//! The clocks of a host, from the side that makes them wrong.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::path::Path;

use crate::clock_record::{ClockRecord, VERSION_AT, machine_mono_ns};

/// The clocks of one host: a file that its processes read whenever they read a clock. A change
/// applies to all of them when the function returns.
///
/// The host's clocks follow those of the machine, and its rate error is that of the machine plus
/// this one. As in the simulator, one oscillator drives both clocks, only the wall clock is
/// stepped, and only the monotonic clock stops while the machine is suspended.
///
/// Only one process may hold this, and its own clocks must be right: it must not be started with
/// `LOCKLAB_CLOCK`.
#[derive(Debug)]
pub struct ClockFile {
    file: File,
    record: ClockRecord,
}

impl ClockFile {
    /// Creates the file, with clocks that are right. The host's processes find it by
    /// [`environment`](crate::environment).
    ///
    /// # Errors
    ///
    /// If there is such a file: a process that has mapped it would be ended by `SIGBUS`. If it
    /// cannot be written.
    pub fn create(path: &Path) -> io::Result<ClockFile> {
        let record = ClockRecord {
            base_mono_ns: machine_mono_ns(),
            ..ClockRecord::default()
        };
        let file = File::create_new(path)?;
        file.write_all_at(&record.to_bytes(), 0)?;
        Ok(ClockFile { file, record })
    }

    /// Steps the wall clock by `by_ns` nanoseconds, backwards if negative.
    ///
    /// # Errors
    ///
    /// If the file cannot be written.
    pub fn step_wall(&mut self, by_ns: i64) -> io::Result<()> {
        self.change(|record| record.step_wall(by_ns))
    }

    /// Sets the rate error of both clocks from now on, in parts per million: 100 000 is 10 %
    /// fast. Returns the previous one. Beyond [`SLOWEST_PPM`](crate::SLOWEST_PPM) and
    /// [`FASTEST_PPM`](crate::FASTEST_PPM) these hold.
    ///
    /// # Errors
    ///
    /// If the file cannot be written.
    pub fn set_drift_ppm(&mut self, drift_ppm: i64) -> io::Result<i64> {
        let previous_ppm = self.record.drift_ppm;
        self.change(|record| record.set_drift_ppm(drift_ppm))?;
        Ok(previous_ppm)
    }

    /// Stops the monotonic clock, as suspending a machine does. The wall clock continues. The
    /// caller has to stop the processes.
    ///
    /// # Errors
    ///
    /// If the file cannot be written.
    pub fn freeze(&mut self) -> io::Result<()> {
        self.change(|record| record.frozen = true)
    }

    /// Resumes the monotonic clock at the reading at which it stopped.
    ///
    /// # Errors
    ///
    /// If the file cannot be written.
    pub fn thaw(&mut self) -> io::Result<()> {
        self.change(|record| record.frozen = false)
    }

    /// Begins a stall, or ends it: one thread of each of the host's processes stands still meanwhile
    /// (`preload/stall.c` says which one and where), and the others run.
    ///
    /// # Errors
    ///
    /// If the file cannot be written.
    pub fn turn_stall(&mut self) -> io::Result<()> {
        self.change(|record| record.stalls += 1)
    }

    /// Fills the disk of the host, or makes room on it: meanwhile its processes can write to no file.
    ///
    /// # Errors
    ///
    /// If the file cannot be written.
    pub fn set_disk_full(&mut self, is_full: bool) -> io::Result<()> {
        self.change(|record| record.disk_full = is_full)
    }

    /// The current contents of the file.
    pub fn record(&self) -> ClockRecord {
        self.record
    }

    /// Readers wait while the version is odd, so none of them reads a clock between the time that
    /// becomes the base and the moment at which the new record takes effect. Therefore no change of
    /// a rate makes the monotonic clock run backwards.
    fn change(&mut self, change: impl FnOnce(&mut ClockRecord)) -> io::Result<()> {
        self.write_version(self.record.version + 1)?;
        let next = self.record.changed(machine_mono_ns(), change);
        let after_version = VERSION_AT + size_of::<u64>();
        let fields = &next.to_bytes()[after_version..];
        self.file.write_all_at(fields, after_version as u64)?;
        self.write_version(next.version)?;
        self.record = next;
        Ok(())
    }

    fn write_version(&self, version: u64) -> io::Result<()> {
        self.file
            .write_all_at(&version.to_ne_bytes(), VERSION_AT as u64)
    }
}

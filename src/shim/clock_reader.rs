//! The clocks of a host, from the side of our own processes.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::thread;

use locklab_values::units::NS_PER_MS;

use crate::clock_record::{ClockRecord, RECORD_LEN, Readings, machine_mono_ns};

/// Reads the clocks of a host, as a process with the preloaded library does, but in a process
/// without it: one whose own clocks are right.
///
/// It maps nothing, which would take `unsafe`: it reads the file before and after the machine's
/// clocks, until both reads are the same. So a reading of both clocks takes about a microsecond,
/// where the machine's own take 60 ns (measured on a machine of 2026; `cost_of_a_reading` among
/// the tests measures it).
#[derive(Debug)]
pub struct ClockReader {
    file: File,
}

/// As in `preload/clock.c`: a writer that died in the middle of a change must not hang us.
const MAX_WAIT_NS: u64 = 100 * NS_PER_MS;

impl ClockReader {
    /// Opens the file that a [`ClockFile`](crate::ClockFile) writes.
    ///
    /// # Errors
    ///
    /// If it cannot be read, or is no such file (`InvalidData`).
    pub fn open(path: &Path) -> io::Result<ClockReader> {
        let reader = ClockReader {
            file: File::open(path)?,
        };
        reader.record()?;
        Ok(reader)
    }

    /// Both clocks of the host now.
    ///
    /// # Panics
    ///
    /// If the file was cut off since it was opened, or its disk fails.
    pub fn now(&self) -> Readings {
        self.converted(Readings::of_machine)
    }

    /// The readings of the host's clocks when the machine's were `right`, by the current record.
    ///
    /// # Panics
    ///
    /// As [`now`](ClockReader::now).
    pub fn convert(&self, right: Readings) -> Readings {
        self.converted(|| right)
    }

    /// Whether one thread of each of the host's processes is to stand still.
    ///
    /// # Panics
    ///
    /// As [`now`](ClockReader::now).
    pub fn is_stalled(&self) -> bool {
        self.read().stalls % 2 == 1
    }

    fn read(&self) -> ClockRecord {
        self.record()
            .expect("an open clock file keeps its contents")
    }

    fn converted(&self, right: impl Fn() -> Readings) -> Readings {
        let mut before = self.read();
        let mut first_ns = None;
        loop {
            let right = right();
            let after = self.read();
            if before == after && before.version.is_multiple_of(2) {
                return before.readings(right);
            }
            let now_ns = machine_mono_ns();
            if now_ns - *first_ns.get_or_insert(now_ns) > MAX_WAIT_NS {
                return after.readings(right);
            }
            before = after;
            thread::yield_now();
        }
    }

    fn record(&self) -> io::Result<ClockRecord> {
        let mut bytes = [0; RECORD_LEN];
        self.file.read_exact_at(&mut bytes, 0)?;
        ClockRecord::from_bytes(&bytes).ok_or_else(|| {
            io::Error::new(io::ErrorKind::InvalidData, "no clock file of this version")
        })
    }
}

//! A node's disk: what survives the end of the process, and what a power loss destroys.
//!
//! Written data survives the end of the process. It survives a power loss only if it was
//! synced by the node, or written back by the kernel. A disk operation takes no time here, and a
//! sync that returned is really durable. A full disk takes no more data, which its node asks it beforehand.
//!
//! Linux writes back by two numbers (Documentation/admin-guide/sysctl/vm.rst): "Data which has been
//! dirty in-memory for longer than" `dirty_expire_centisecs` "will be written out next time a flusher
//! thread wakes up", which happens each `dirty_writeback_centisecs`. The age is that of the file: it
//! counts from the first write since the file was clean, and all that the file has by then is
//! written (`dirtied_when` in fs/fs-writeback.c). So nothing is written back in the 30 s after the first
//! write to a clean file, and nothing is lost that is older than 35 s.

use std::cell::Cell;
use std::rc::Rc;

use locklab_redis::{DiskWrite, Files};
use locklab_values::units::NS_PER_S;
use locklab_world::Host;

/// The age from which Linux writes a file back: the default of `vm.dirty_expire_centisecs`.
const EXPIRE_NS: u64 = 30 * NS_PER_S;

/// The time between two wake-ups of the thread that does so, in nanoseconds: the default of
/// `vm.dirty_writeback_centisecs`.
pub const FLUSHER_PERIOD_NS: u64 = 5 * NS_PER_S;

/// The disk of one host.
#[derive(Default)]
pub struct Disk {
    files: Files,
    /// A wake-up of the flusher thread, in virtual time. All others are whole periods from it.
    flusher_wakes_ns: u64,
    /// The unsynced parts of the append-only file: where each ends, and when it was written in
    /// virtual time. Everything before them is synced.
    unsynced: Vec<(usize, u64)>,
    /// The length of the synced part of the file.
    synced: usize,
    /// The last power loss that has been applied.
    crashed_ns: Option<u64>,
    started: bool,
    /// How many faults fill it now.
    full: Rc<Cell<u32>>,
    /// Is called when a file has been synced.
    synced_by: Option<Rc<dyn Fn()>>,
}

impl Disk {
    /// An empty disk whose flusher thread wakes at virtual time `flusher_wakes_ns`, and each
    /// [`FLUSHER_PERIOD_NS`].
    pub fn new(flusher_wakes_ns: u64) -> Self {
        Self {
            flusher_wakes_ns: flusher_wakes_ns % FLUSHER_PERIOD_NS,
            ..Self::default()
        }
    }

    /// The same disk, which calls `tell` after each sync.
    pub fn telling(self, tell: Option<Rc<dyn Fn()>>) -> Self {
        Self {
            synced_by: tell,
            ..self
        }
    }

    /// Prepares a start of the host's process: removes data lost in the last power loss.
    /// Returns whether a process has started before.
    pub fn start(&mut self, host: &Host) -> bool {
        if self.crashed_ns != host.crashed_ns() {
            self.crashed_ns = host.crashed_ns();
            self.lose_power(self.crashed_ns.unwrap_or(0));
        }
        std::mem::replace(&mut self.started, true)
    }

    /// Removes everything that is not synced by virtual time `at_ns`.
    pub fn lose_power(&mut self, at_ns: u64) {
        let len = self.written_back(at_ns).unwrap_or(self.synced);
        self.files.aof.truncate(len);
        self.synced = len;
        self.unsynced.clear();
    }

    /// How much of the append-only file the kernel has written back by virtual time `at_ns`; `None`
    /// if it has written back nothing since the last sync.
    fn written_back(&self, at_ns: u64) -> Option<usize> {
        let mut kept = None;
        // The wake-up that writes the file back.
        let mut wakes_ns = None;
        for (end, written_ns) in &self.unsynced {
            // The first write to a clean file.
            if wakes_ns.is_none_or(|wakes_ns| wakes_ns < *written_ns) {
                wakes_ns = Some(self.next_wake_ns(written_ns + EXPIRE_NS));
            }
            if wakes_ns > Some(at_ns) {
                break;
            }
            kept = Some(*end);
        }
        kept
    }

    /// When the flusher thread wakes at `from_ns` or later.
    fn next_wake_ns(&self, from_ns: u64) -> u64 {
        let since_ns = (from_ns + FLUSHER_PERIOD_NS - self.flusher_wakes_ns) % FLUSHER_PERIOD_NS;
        match since_ns {
            0 => from_ns,
            _ => from_ns + FLUSHER_PERIOD_NS - since_ns,
        }
    }

    /// Executes a write of a node at virtual time `now_ns`.
    pub fn write(&mut self, write: DiskWrite, now_ns: u64) {
        match write {
            DiskWrite::Append(bytes) => {
                self.files.aof.extend_from_slice(&bytes);
                self.unsynced.push((self.files.aof.len(), now_ns));
            }
            DiskWrite::Fsync => self.sync(),
            DiskWrite::Rewrite(bytes) => {
                self.files.aof = bytes.to_vec();
                self.sync();
            }
            DiskWrite::Snapshot(bytes) => self.files.snapshot = bytes.to_vec(),
            DiskWrite::Config(lines) => self.files.config = Some(lines),
        }
    }

    /// Fills the disk, as well as others may.
    pub fn fill(&self) {
        self.full.update(|times| times + 1);
    }

    /// Makes room on the disk again, unless others fill it too.
    pub fn make_room(&self) {
        self.full.update(|times| times.saturating_sub(1));
    }

    /// What says whether the disk is full.
    pub fn fullness(&self) -> impl Fn() -> bool + 'static {
        let full = self.full.clone();
        move || full.get() > 0
    }

    /// The contents.
    pub fn files(&self) -> &Files {
        &self.files
    }

    fn sync(&mut self) {
        self.synced = self.files.aof.len();
        self.unsynced.clear();
        if let Some(tell) = &self.synced_by {
            tell();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: u64 = NS_PER_S;

    fn append(disk: &mut Disk, text: &'static str, now_ns: u64) {
        disk.write(DiskWrite::Append(text.into()), now_ns);
    }

    #[test]
    fn power_loss_discards_unsynced_data() {
        let mut disk = Disk::default();
        append(&mut disk, "a", SECOND);
        disk.write(DiskWrite::Fsync, SECOND);
        append(&mut disk, "b", 2 * SECOND);
        disk.lose_power(3 * SECOND);
        assert_eq!(disk.files().aof, b"a");
    }

    /// Whether what was written at 1 s survives a power loss when the flusher wakes at this time.
    fn survives(wakes_ns: u64, lost_ns: u64) -> bool {
        let mut disk = Disk::new(wakes_ns);
        append(&mut disk, "a", SECOND);
        disk.lose_power(lost_ns);
        disk.files().aof == b"a"
    }

    #[test]
    fn the_kernel_writes_back_at_the_first_wake_up_after_half_a_minute() {
        for (wakes_ns, written_back_ns) in [
            (SECOND, 31 * SECOND),
            (SECOND + 1, 31 * SECOND + 1),
            (4 * SECOND, 34 * SECOND),
            (6 * SECOND - 1, 36 * SECOND - 1),
        ] {
            assert!(!survives(wakes_ns, written_back_ns - 1), "{wakes_ns}");
            assert!(survives(wakes_ns, written_back_ns), "{wakes_ns}");
        }
    }

    #[test]
    fn younger_data_of_the_file_is_written_back_with_the_oldest() {
        let contents_after = |lost_ns| {
            let mut disk = Disk::new(3 * SECOND);
            for (text, now_s) in [("a", 1), ("b", 32), ("c", 34), ("d", 40)] {
                append(&mut disk, text, now_s * SECOND);
            }
            disk.lose_power(lost_ns);
            String::from_utf8(disk.files().aof.clone()).expect("letters")
        };
        // The file is dirty from 1 s; written back at 33 s; dirty again from 34 s, so written at 68 s.
        assert_eq!(contents_after(33 * SECOND - 1), "");
        assert_eq!(contents_after(33 * SECOND), "ab");
        assert_eq!(contents_after(68 * SECOND - 1), "ab");
        assert_eq!(contents_after(68 * SECOND), "abcd");
    }
}

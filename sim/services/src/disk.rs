//! A node's disk: what it keeps when the process ends, and what it loses when the power
//! does.
//!
//! What a process has written is safe from its own end; from the machine's it is safe
//! only once it was synced, by the node or by the kernel, which writes back what is older
//! than half a minute. A disk takes no time here, and a sync that returned is true.

use locklab_plant::plant;
use locklab_redis::{DiskWrite, Files};
use locklab_world::Host;

/// The age at which Linux writes data back by itself: `vm.dirty_expire_centisecs`.
const WRITE_BACK_NS: u64 = 30 * 1_000_000_000;

/// The disk of one host.
#[derive(Default)]
pub struct Disk {
    files: Files,
    /// Parts of the append-only file that are not synced: where each ends, and when it
    /// was written in virtual time. What is before them is synced.
    unsynced: Vec<(usize, u64)>,
    /// How much of the file is synced.
    synced: usize,
    /// The losses of power so far that it has seen.
    crashed_ns: Option<u64>,
    started: bool,
}

impl Disk {
    /// A process of the host starts: what the last loss of power took is gone. Says
    /// whether one has started before.
    pub fn start(&mut self, host: &Host) -> bool {
        if self.crashed_ns != host.crashed_ns() {
            self.crashed_ns = host.crashed_ns();
            self.lose_power(self.crashed_ns.unwrap_or(0));
        }
        std::mem::replace(&mut self.started, true)
    }

    /// Everything that is not synced by virtual time `at_ns` is lost.
    pub fn lose_power(&mut self, at_ns: u64) {
        if plant("power-loss-loses-nothing") {
            return;
        }
        let written_back = |(_, written_ns): &&(usize, u64)| at_ns >= written_ns + WRITE_BACK_NS;
        let kept = self.unsynced.iter().take_while(written_back).last();
        let len = kept.map_or(self.synced, |(end, _)| *end);
        self.files.aof.truncate(len);
        self.synced = len;
        self.unsynced.clear();
    }

    /// Carries out what a node asks for at virtual time `now_ns`.
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

    /// What is there.
    pub fn files(&self) -> &Files {
        &self.files
    }

    fn sync(&mut self) {
        if plant("sync-does-nothing") {
            return;
        }
        self.synced = self.files.aof.len();
        self.unsynced.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: u64 = 1_000_000_000;

    fn append(disk: &mut Disk, text: &'static str, now_ns: u64) {
        disk.write(DiskWrite::Append(text.into()), now_ns);
    }

    #[test]
    fn a_loss_of_power_takes_what_was_not_synced() {
        let mut disk = Disk::default();
        append(&mut disk, "a", SECOND);
        disk.write(DiskWrite::Fsync, SECOND);
        append(&mut disk, "b", 2 * SECOND);
        disk.lose_power(3 * SECOND);
        assert_eq!(disk.files().aof, b"a");
    }

    #[test]
    fn the_kernel_writes_back_after_half_a_minute() {
        let mut disk = Disk::default();
        append(&mut disk, "a", SECOND);
        append(&mut disk, "b", 2 * SECOND);
        disk.lose_power(31 * SECOND);
        assert_eq!(disk.files().aof, b"a");
    }
}

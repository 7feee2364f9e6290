//! A node's disk: what survives the end of the process, and what a power loss destroys.
//!
//! Written data survives the end of the process. It survives a power loss only if it was
//! synced, by the node or by the kernel, which writes back data older than half a minute. A
//! disk operation takes no time here, and a sync that returned is really durable.

use locklab_redis::{DiskWrite, Files};
use locklab_values::units::NS_PER_S;
use locklab_world::Host;

/// The age at which Linux writes data back on its own: `vm.dirty_expire_centisecs`.
const WRITE_BACK_NS: u64 = 30 * NS_PER_S;

/// The disk of one host.
#[derive(Default)]
pub struct Disk {
    files: Files,
    /// The unsynced parts of the append-only file: where each ends, and when it was written in
    /// virtual time. Everything before them is synced.
    unsynced: Vec<(usize, u64)>,
    /// The length of the synced part of the file.
    synced: usize,
    /// The last power loss that has been applied.
    crashed_ns: Option<u64>,
    started: bool,
}

impl Disk {
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
        let written_back = |(_, written_ns): &&(usize, u64)| at_ns >= written_ns + WRITE_BACK_NS;
        let kept = self.unsynced.iter().take_while(written_back).last();
        let len = kept.map_or(self.synced, |(end, _)| *end);
        self.files.aof.truncate(len);
        self.synced = len;
        self.unsynced.clear();
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

    /// The contents.
    pub fn files(&self) -> &Files {
        &self.files
    }

    fn sync(&mut self) {
        self.synced = self.files.aof.len();
        self.unsynced.clear();
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

    #[test]
    fn the_kernel_writes_back_after_half_a_minute() {
        let mut disk = Disk::default();
        append(&mut disk, "a", SECOND);
        append(&mut disk, "b", 2 * SECOND);
        disk.lose_power(31 * SECOND);
        assert_eq!(disk.files().aof, b"a");
    }
}

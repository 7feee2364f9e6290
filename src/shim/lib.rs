//! Faults that cannot be injected into a real process from outside: wrong clocks, and a power loss;
//! and its place behind a proxy.
//!
//! A small C library (`preload/`) is loaded into the process before all others (`LD_PRELOAD`)
//! and takes the place of a few functions of the C library:
//!
//! - `clock_gettime`, `gettimeofday` and `time` return the machine's clocks as modified by a
//!   [`ClockFile`]. It may change at any time; processes that map one file are one host, and our
//!   own processes read its clocks with a [`ClockReader`]. All functions that wait until a time, or
//!   for a length of time, wait by these clocks, also while they change, and so do timers:
//!   `preload/waits.h` lists them.
//! - `fsync` and `fdatasync` log how much of each file is on the disk; `rename`, `unlink`, `open`,
//!   `creat`, `fopen` and `freopen`, in all their forms, that a file goes or was emptied. After the
//!   process was killed, [`power::lose_unsynced`] truncates each file to what the log says.
//! - `bind` and `connect` place a process behind a proxy, if it has no options for that: it listens at
//!   another address than the one by which it is known, and connects from that one
//!   ([`behind_proxy`]).
//! - `setsid` and `shmat` keep the processes of a server together ([`in_one_group`]).
//!
//! ```no_run
//! use std::{path::Path, process::Command};
//!
//! # fn main() -> std::io::Result<()> {
//! let folder = Path::new("/tmp/run");
//! let library = locklab_shim::install(folder)?;
//! let (clock, synced) = (folder.join("n1.clock"), folder.join("n1.synced"));
//! let mut clocks = locklab_shim::ClockFile::create(&clock)?;
//! let mut server = Command::new("redis-server")
//!     .envs(locklab_shim::environment(&library, Some(&clock), Some(&synced)))
//!     .args(["--appendonly", "yes", "--dir", "/tmp/run/n1"])
//!     .spawn()?;
//! clocks.step_wall(-5_000_000_000)?;
//! server.kill()?;
//! server.wait()?;
//! locklab_shim::power::lose_unsynced(&folder.join("n1"), &synced)?;
//! # Ok(())
//! # }
//! ```
//!
//! # What it does not reach
//!
//! - `CLOCK_BOOTTIME`, `CLOCK_TAI`, CPU times, time stamps that the kernel gives to files, and the few waits that
//!   `docs/faults.md` names.
//! - A Redis that reads the processor's counter: one built with `USE_PROCESSOR_CLOCK`, whose
//!   log then does not say `monotonic clock: POSIX clock_gettime`.
//! - Programs that are linked statically, or that make system calls themselves, as those in Go do.
//! - Limits of a power loss: see [`power`].
//!
//! Only Linux has it; elsewhere [`install`] fails.

mod clock_file;
mod clock_reader;
mod clock_record;
mod install;
pub mod power;
mod synced;

pub use clock_file::ClockFile;
pub use clock_reader::ClockReader;
pub use clock_record::{ClockRecord, FASTEST_PPM, Readings, SLOWEST_PPM};
pub use install::{behind_proxy, environment, failures_to, from_address, in_one_group, install};
pub use synced::SyncedLog;

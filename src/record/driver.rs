//! The part that meets the machine: its clocks, its disk, and connections to servers.
//!
//! Each measurement has a thread of its own, so that none waits for another. All are paced, so that a
//! server in production hardly notices them.

mod clocks;
mod connection;
mod disk;
mod heartbeat;
mod pace;
mod replica;
mod server;

use std::io;
use std::path::PathBuf;
use std::sync::Barrier;
use std::sync::atomic::AtomicBool;
use std::thread::{self, ScopedJoinHandle};
use std::time::Duration;

use self::disk::Disk;
use self::pace::Until;
use self::replica::Pair;
use self::server::Server;
use super::peer::peer_clock;
use super::recorded::Live;
use super::replication::lag;
pub use super::url::Url;
use super::values::Values;
use locklab_values::units::ns_from_ms;

/// How often the progress is told.
const TELL: Duration = Duration::from_millis(200);

/// What is measured.
#[derive(Debug, Clone)]
pub struct Plan {
    /// For how long.
    pub lasts: Duration,
    /// A wake-up that is later is a pause, in milliseconds.
    pub pause_above_ms: u32,
    /// The server that is asked.
    pub redis: Option<Url>,
    /// How often it is asked.
    pub pings_per_second: u32,
    /// Its replica.
    pub replica: Option<Url>,
    /// The key that may be written, to see when the replica has it.
    pub write_key: Option<String>,
    /// The folder in which a file is synced.
    pub fsync: Option<PathBuf>,
}

/// Why nothing can be measured.
#[derive(Debug, thiserror::Error)]
pub enum RecordError {
    /// There is no connection.
    #[error("cannot connect to {server}; is it running, and is this its address?")]
    Connect {
        /// The server.
        server: String,
        /// What the machine said.
        source: io::Error,
    },
    /// The server refuses something.
    #[error("{server} answers {command} with `{answer}`{hint}")]
    Refused {
        /// The server.
        server: String,
        /// What it was asked.
        command: &'static str,
        /// What it answered.
        answer: String,
        /// What to do about it.
        hint: &'static str,
    },
    /// The two servers are not a master and its replica.
    #[error("{replica} is no replica of {master}: {why}")]
    NotAPair {
        /// What should be the master.
        master: String,
        /// What should be its replica.
        replica: String,
        /// How that is known.
        why: String,
    },
    /// The key that may be written exists.
    #[error("the key `{0}` exists; name one with --write-key that nobody uses")]
    KeyExists(String),
    /// No file can be written and synced.
    #[error("cannot write a file in {}", folder.display())]
    Disk {
        /// Where.
        folder: PathBuf,
        /// What the machine said.
        source: io::Error,
    },
}

/// Measures until the time is over or `stop` is set; `progress` gets the seconds that have passed.
///
/// # Errors
///
/// If a measurement cannot begin. Later failures are part of what is measured.
pub fn record(plan: &Plan, stop: &AtomicBool, progress: &dyn Fn(f64)) -> Result<Live, RecordError> {
    let server = plan.redis.as_ref().map(Server::connect).transpose()?;
    let pair = match (&plan.redis, &plan.replica) {
        (Some(master), Some(replica)) => {
            Some(Pair::connect(master, replica, plan.write_key.as_deref())?)
        }
        _ => None,
    };
    let disk = plan.fsync.as_deref().map(Disk::open).transpose()?;
    let until = Until::after(plan.lasts, stop);
    let threshold_ns = ns_from_ms(u64::from(plan.pause_above_ms));
    let begun = &Barrier::new(2);
    let (beats, asked, offsets, synced) = thread::scope(|scope| {
        let beats = scope.spawn(move || heartbeat::beat(threshold_ns, begun, until));
        // Nothing is measured before the first beat: a pause of it would not be known.
        begun.wait();
        let asked = server.map(|it| scope.spawn(move || it.ask(plan.pings_per_second, until)));
        let offsets = pair.map(|it| scope.spawn(move || it.watch(until)));
        let synced = disk.map(|it| scope.spawn(move || it.sync(until)));
        while !until.is_over() {
            until.sleep(TELL);
            progress(until.passed().as_secs_f64());
        }
        (
            joined(beats),
            asked.map(joined),
            offsets.map(joined),
            synced.map(joined),
        )
    });
    Ok(Live {
        seconds: until.passed().as_secs_f64(),
        pulse: beats.pulse(),
        redis: plan.redis.as_ref().map(Url::to_string),
        latency: asked.as_ref().map(|it| it.asked.latency(beats.stalls())),
        peer_clock: asked.as_ref().and_then(|it| peer_clock(&it.told)),
        replica: plan.replica.as_ref().map(Url::to_string),
        lag: offsets.map(|it| lag(&it.master, &it.replica, &it.writes)),
        fsync_folder: plan.fsync.as_ref().map(|it| it.display().to_string()),
        fsync_ms: synced.map(Values::of),
    })
}

fn joined<T>(thread: ScopedJoinHandle<'_, T>) -> T {
    thread
        .join()
        .unwrap_or_else(|panic| std::panic::resume_unwind(panic))
}

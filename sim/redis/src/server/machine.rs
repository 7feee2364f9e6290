//! The machine of a server: its wall clock, its disk, and pauses of its process. They outlive the
//! process, and other threads may change them while it runs. They may also lend it connections.

use std::fmt;
use std::io;
use std::net::TcpStream;
use std::sync::{Arc, LazyLock, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant, SystemTime};

use tokio::sync::Notify;

use super::sockets::Sockets;
use super::thread::Stop;
use crate::endpoint::Now;
use crate::engine::{DiskWrite, Files};

/// The longest sleep of a paused process before it looks whether it is to go on, or to stop.
const PAUSE_SLICE: Duration = Duration::from_millis(5);

/// A machine of its own for a server. Clones are the same machine.
///
/// ```no_run
/// use std::net::TcpListener;
/// use std::time::Duration;
///
/// use locklab_redis::Server;
/// use locklab_redis::server::{Machine, Stop};
///
/// let machine = Machine::default();
/// let theirs = machine.clone();
/// let listener = TcpListener::bind("127.0.0.1:6379")?;
/// std::thread::spawn(move || Server::builder().serve_on(listener, &theirs, &Stop::default()));
/// machine.step_clock(Duration::from_secs(11).as_micros() as i64); // leases of 10 s are over
/// # Ok::<(), std::io::Error>(())
/// ```
#[derive(Clone)]
pub struct Machine(Arc<Parts>);

struct Parts {
    clock: Mutex<Clock>,
    /// Signals that the clock has changed.
    clock_set: Notify,
    paused_until: Mutex<Option<Instant>>,
    paused: Notify,
    /// `None`: what is written is lost.
    disk: Option<Mutex<Disk>>,
    sockets: Arc<Sockets>,
}

/// The wall clock, as its difference from the clock of the machine on which everything runs.
struct Clock {
    /// How much it was ahead at `since`, in microseconds.
    ahead_us: f64,
    since: Instant,
    /// Its seconds in a second.
    rate: f64,
}

/// The files, and how much of the append-only file is synced.
#[derive(Default)]
struct Disk {
    files: Files,
    synced: usize,
}

impl Machine {
    /// A machine without a disk: what a server writes is lost, and takes no memory.
    pub fn diskless() -> Self {
        Machine(Arc::new(Parts::new(None)))
    }

    /// Lets the wall clock jump by so many microseconds, back if they are negative.
    pub fn step_clock(&self, step_us: i64) {
        lock(&self.0.clock).ahead_us += step_us as f64;
        self.0.clock_set.notify_one();
    }

    /// Lets the wall clock run at this rate from now on: at 1 as fast as true time.
    pub fn set_clock_rate(&self, rate: f64) {
        let mut clock = lock(&self.0.clock);
        clock.ahead_us = clock.ahead_now_us();
        clock.since = Instant::now();
        clock.rate = rate;
        self.0.clock_set.notify_one();
    }

    /// Lets the process stand still for this long, from now: it executes nothing, while its clock
    /// goes on and its kernel accepts connections. A later call replaces an earlier one.
    pub fn pause(&self, duration: Duration) {
        *lock(&self.0.paused_until) = Instant::now().checked_add(duration);
        self.0.paused.notify_one();
    }

    /// Removes from the disk what is not synced, as a power failure does. To be called while no
    /// process runs.
    pub fn lose_power(&self) {
        if let Some(disk) = &self.0.disk {
            let Disk { files, synced } = &mut *lock(disk);
            files.aof.truncate(*synced);
        }
    }

    /// Lets the node serve a client whose connection somebody else has accepted.
    ///
    /// # Errors
    ///
    /// If the system cannot prepare the socket.
    pub fn lend(&self, client: TcpStream) -> io::Result<()> {
        client.set_nonblocking(true)?;
        self.0.sockets.lend(client);
        Ok(())
    }

    /// Takes back the connections that were lent, at once, whatever the node does. Of each it
    /// returns the socket to the client, from which everything can be read that the node has not
    /// read, and the far end of one by which the node serves this client from now on. Neither
    /// blocks.
    pub fn take_back(&self) -> Vec<(TcpStream, TcpStream)> {
        self.0.sockets.take_back()
    }

    pub(super) fn sockets(&self) -> &Arc<Sockets> {
        &self.0.sockets
    }

    /// The time by the clocks of the machine.
    pub(super) fn now(&self) -> Now {
        let Now { wall_us, monotonic } = now();
        let ahead_us = lock(&self.0.clock).ahead_now_us();
        let wall_us = wall_us.saturating_add_signed(ahead_us as i64);
        Now { wall_us, monotonic }
    }

    /// The true time in which the wall clock goes on by `wall`.
    pub(super) fn true_time(&self, wall: Duration) -> Duration {
        let rate = lock(&self.0.clock).rate;
        Duration::try_from_secs_f64(wall.as_secs_f64() / rate).unwrap_or(Duration::MAX)
    }

    /// Waits until the clock has been changed.
    pub(super) async fn clock_set(&self) {
        self.0.clock_set.notified().await;
    }

    /// Lets the thread stand still whenever the process is paused.
    pub(super) async fn keep_pauses(&self, stop: &Stop) {
        loop {
            self.0.paused.notified().await;
            self.stand_still(stop);
        }
    }

    /// Lets the thread stand still as long as the process is paused, unless it is to stop.
    pub(super) fn stand_still(&self, stop: &Stop) {
        // A guard in the condition would be held during the sleep, and the pause could not be ended early.
        let paused_until = || *lock(&self.0.paused_until);
        while let Some(until) = paused_until()
            && let Some(left) = until.checked_duration_since(Instant::now())
            && !left.is_zero()
            && !stop.is_signalled()
        {
            thread::sleep(left.min(PAUSE_SLICE));
        }
    }

    pub(super) fn write(&self, write: DiskWrite) {
        let Some(disk) = &self.0.disk else {
            return;
        };
        let Disk { files, synced } = &mut *lock(disk);
        let syncs = matches!(write, DiskWrite::Fsync | DiskWrite::Rewrite(_));
        files.write(write);
        if syncs {
            *synced = files.aof.len();
        }
    }

    pub(super) fn with_files<R>(&self, read: impl FnOnce(&Files) -> R) -> R {
        match &self.0.disk {
            Some(disk) => read(&lock(disk).files),
            None => read(&Files::default()),
        }
    }
}

impl Parts {
    fn new(disk: Option<Mutex<Disk>>) -> Self {
        Parts {
            clock: Mutex::default(),
            clock_set: Notify::new(),
            paused_until: Mutex::default(),
            paused: Notify::new(),
            disk,
            sockets: Arc::default(),
        }
    }
}

impl Default for Machine {
    /// A machine with an empty disk.
    fn default() -> Self {
        Machine(Arc::new(Parts::new(Some(Mutex::default()))))
    }
}

impl fmt::Debug for Machine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Machine").finish_non_exhaustive()
    }
}

impl Clock {
    fn ahead_now_us(&self) -> f64 {
        self.ahead_us + self.since.elapsed().as_secs_f64() * 1e6 * (self.rate - 1.0)
    }
}

impl Default for Clock {
    fn default() -> Self {
        Clock {
            ahead_us: 0.0,
            since: Instant::now(),
            rate: 1.0,
        }
    }
}

/// What is locked is valid even after a panic: each change is complete.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The current time of the clocks of the machine on which everything runs.
fn now() -> Now {
    static START: LazyLock<Instant> = LazyLock::new(Instant::now);
    let wall = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
    Now {
        // A wall clock before 1970 is read as 1970.
        wall_us: wall.map_or(0, |wall| wall.as_micros() as u64),
        monotonic: START.elapsed(),
    }
}

//! The interface of a host for the programs on it.

use std::future::{Future, poll_fn};
use std::io;
use std::net::SocketAddr;
use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context, Poll};
use std::time::Duration;

use locklab_values::random::Stream;
use turmoil_net::shim::tokio::net::{TcpListener, TcpStream};

use super::packet::address_of;
use super::task::{Key, Timer};
use super::{Clocks, Core, HostId, World};

/// A host as seen by a program on it: its clocks, its sockets, its tasks.
#[derive(Clone)]
pub struct Host {
    pub(super) core: Rc<Core>,
    pub(super) id: HostId,
}

impl Host {
    /// The identifier of this host.
    pub fn id(&self) -> HostId {
        self.id
    }

    /// The seed of the run.
    pub fn seed(&self) -> u64 {
        self.core.seed
    }

    /// True time: nanoseconds of virtual time since the run began. For recording events only; a
    /// program may use only its host's clocks.
    pub fn now_ns(&self) -> u64 {
        self.core.now_ns.get()
    }

    /// The reading of a right wall clock when the run began, nanoseconds since the Unix epoch.
    pub fn epoch_ns(&self) -> u64 {
        self.core.epoch_ns
    }

    /// The wall clock, nanoseconds since the Unix epoch.
    pub fn wall_ns(&self) -> u64 {
        let now_ns = self.now_ns();
        self.core.hosts.borrow()[self.id.index()]
            .clocks
            .wall_ns(now_ns)
    }

    /// The monotonic clock, nanoseconds since the run began.
    pub fn mono_ns(&self) -> u64 {
        let now_ns = self.now_ns();
        self.core.hosts.borrow()[self.id.index()]
            .clocks
            .mono_ns(now_ns)
    }

    /// The virtual time at which this host last lost power, if it ever did. The code that keeps
    /// the host's disk needs it to drop unsynced data.
    pub fn crashed_ns(&self) -> Option<u64> {
        self.core.hosts.borrow()[self.id.index()].crashed_ns
    }

    /// The random stream with this name, from its beginning.
    pub fn stream(&self, name: &str) -> Stream {
        self.core.stream(name)
    }

    /// Sleeps for `duration` of the monotonic clock.
    pub fn sleep(&self, duration: Duration) -> Sleep {
        let duration_ns = u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX);
        let deadline_ns = self.mono_ns().saturating_add(duration_ns);
        Sleep {
            host: self.clone(),
            deadline_ns,
            looks: None,
            armed: None,
        }
    }

    /// Sleeps until the wall clock shows `wall_ns`, as a process that looks at it each `every`, from now on: if the
    /// clock jumps beyond that time, it wakes when it looks next. Nothing happens at the looks between.
    pub fn sleep_until_wall(&self, wall_ns: u64, every: Duration) -> Sleep {
        let left_ns = wall_ns.saturating_sub(self.wall_ns());
        let mut sleep = self.sleep(Duration::from_nanos(left_ns));
        sleep.looks = Some(Looks {
            wall_ns,
            began_ns: self.mono_ns(),
            every_ns: u64::try_from(every.as_nanos()).unwrap_or(u64::MAX).max(1),
        });
        sleep
    }

    /// Runs `future` as a task of this host's process.
    pub fn spawn(&self, future: impl Future<Output = ()> + 'static) {
        self.core.spawn(self.id, Box::pin(future));
    }

    /// Connects to `port` of `to`.
    ///
    /// # Errors
    /// The connection is refused if no socket listens there. Two cases differ from Linux: an
    /// attempt without an answer for 131 s is refused, where Linux reports a timeout; and the
    /// attempt is refused, where Linux connects, if the other end has accepted and closed
    /// before a paused process could look. Later operations on the stream fail as in TCP: it is
    /// reset when the other end is gone, or when data has been retransmitted without success
    /// for 924.6 s.
    pub async fn connect(&self, to: HostId, port: u16) -> io::Result<TcpStream> {
        TcpStream::connect(SocketAddr::new(address_of(to), port)).await
    }

    /// Listens on `port`.
    ///
    /// # Errors
    /// If a socket of this host already uses that port.
    pub async fn listen(&self, port: u16) -> io::Result<TcpListener> {
        TcpListener::bind(SocketAddr::new(address_of(self.id), port)).await
    }

    /// Calls `act` on the world as soon as the running task yields, before anything else
    /// happens; resolves when `act` has run. The effect of `act` on this host (a pause, a kill)
    /// therefore comes exactly at this point in the program.
    pub async fn interrupt(&self, act: impl FnOnce(&mut World) + 'static) {
        self.defer(act);
        let mut given_way = false;
        poll_fn(|cx| {
            if std::mem::replace(&mut given_way, true) {
                return Poll::Ready(());
            }
            cx.waker().wake_by_ref();
            Poll::Pending
        })
        .await;
    }

    /// Calls `act` on the world as soon as the running task yields, before anything else happens.
    pub fn defer(&self, act: impl FnOnce(&mut World) + 'static) {
        self.core.deferred.borrow_mut().push(Box::new(act));
    }

    /// Ends the run after the tasks that are ready now have run.
    pub fn stop_world(&self) {
        self.core.stopped.set(true);
    }
}

/// A sleep, measured by the monotonic clock of a host.
#[must_use = "a sleep does nothing unless awaited"]
pub struct Sleep {
    host: Host,
    deadline_ns: u64,
    /// What its end follows from, if that is a reading of the wall clock.
    looks: Option<Looks>,
    armed: Option<(Key, u64)>,
}

/// A sleep until the wall clock shows a time.
struct Looks {
    wall_ns: u64,
    /// When it began, by the monotonic clock.
    began_ns: u64,
    /// The time between two looks at the wall clock.
    every_ns: u64,
}

impl Looks {
    /// Its end by the monotonic clock, which was `deadline_ns` before the wall clock was set. The host does not know of
    /// that before it looks.
    fn deadline_ns(&self, clocks: &Clocks, now_ns: u64, deadline_ns: u64) -> u64 {
        let mono_ns = clocks.mono_ns(now_ns);
        let left_ns = self.wall_ns.saturating_sub(clocks.wall_ns(now_ns));
        let looks = (mono_ns - self.began_ns).div_ceil(self.every_ns);
        let next_look_ns = self
            .began_ns
            .saturating_add(looks.saturating_mul(self.every_ns));
        mono_ns
            .saturating_add(left_ns)
            .max(next_look_ns.min(deadline_ns))
    }
}

impl Future for Sleep {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
        let core = self.host.core.clone();
        let now_ns = core.now_ns.get();
        let due_ns = {
            let hosts = core.hosts.borrow();
            let clocks = &hosts[self.host.id.index()].clocks;
            let is_over = |deadline_ns: u64| clocks.mono_ns(now_ns) >= deadline_ns;
            let deadline_ns = match &self.looks {
                Some(looks) if !is_over(self.deadline_ns) => {
                    looks.deadline_ns(clocks, now_ns, self.deadline_ns)
                }
                _ => self.deadline_ns,
            };
            self.deadline_ns = deadline_ns;
            if is_over(deadline_ns) {
                drop(hosts);
                self.disarm();
                return Poll::Ready(());
            }
            clocks.when_mono(self.deadline_ns, now_ns)
        };
        if let Some((key, armed_for_ns)) = self.armed
            && armed_for_ns == due_ns
            && let Some(timer) = core.timers.borrow_mut().get_mut(key)
        {
            timer.waker.clone_from(cx.waker());
            return Poll::Pending;
        }
        self.disarm();
        let timer = Timer {
            host: self.host.id,
            follows_wall: self.looks.is_some(),
            waker: cx.waker().clone(),
        };
        let key = core.timers.borrow_mut().insert_with(|_| timer);
        core.schedule(due_ns, super::Event::Timer(key));
        self.armed = Some((key, due_ns));
        Poll::Pending
    }
}

impl Sleep {
    fn disarm(&mut self) {
        if let Some((key, _)) = self.armed.take() {
            self.host.core.timers.borrow_mut().remove(key);
        }
    }
}

impl Drop for Sleep {
    fn drop(&mut self) {
        self.disarm();
    }
}

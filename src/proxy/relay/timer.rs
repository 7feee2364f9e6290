//! A timer for the model's next event, by `CLOCK_MONOTONIC`.

pub(super) use machine::Timer;

/// Linux has timers of nanoseconds that epoll can wait for.
#[cfg(target_os = "linux")]
mod machine {
    use std::cell::Cell;
    use std::io;
    use std::os::fd::{AsFd, AsRawFd, RawFd};
    use std::task::{Context, Poll};
    use std::time::Duration;

    use nix::sys::time::TimeSpec;
    use nix::sys::timerfd::{ClockId, Expiration, TimerFd, TimerFlags, TimerSetTimeFlags};
    use tokio::io::unix::AsyncFd;

    /// A timer that can be reset.
    pub(crate) struct Timer {
        file: AsyncFd<File>,
        /// When it ends.
        set_to_ns: Cell<Option<u64>>,
    }

    struct File(TimerFd);

    impl AsRawFd for File {
        fn as_raw_fd(&self) -> RawFd {
            self.0.as_fd().as_raw_fd()
        }
    }

    impl Timer {
        #[expect(
            deprecated,
            reason = "`register` is unsafe: the descriptor has to stay open, which this one does"
        )]
        pub(crate) fn new() -> io::Result<Self> {
            let flags = TimerFlags::TFD_NONBLOCK | TimerFlags::TFD_CLOEXEC;
            let file = TimerFd::new(ClockId::CLOCK_MONOTONIC, flags)?;
            Ok(Self {
                file: AsyncFd::new(File(file))?,
                set_to_ns: Cell::new(None),
            })
        }

        /// Lets it end at this time; `None` lets it be, since ending for nothing does no harm.
        pub(crate) fn set(&self, at_ns: Option<u64>) {
            if at_ns.is_none() || at_ns == self.set_to_ns.get() {
                return;
            }
            // Zero would switch it off.
            let at = Duration::from_nanos(at_ns.unwrap_or(u64::MAX).max(1));
            let end = Expiration::OneShot(TimeSpec::from_duration(at));
            let result = self
                .file
                .get_ref()
                .0
                .set(end, TimerSetTimeFlags::TFD_TIMER_ABSTIME);
            result.expect("a timer can be set to any time");
            self.set_to_ns.set(at_ns);
        }

        /// Ready when it has ended since the last call.
        pub(crate) fn poll_ended(&self, cx: &mut Context<'_>) -> Poll<()> {
            loop {
                let Poll::Ready(Ok(mut guard)) = self.file.poll_read_ready(cx) else {
                    return Poll::Pending;
                };
                guard.clear_ready();
                if self.file.get_ref().0.wait().is_ok() {
                    self.set_to_ns.set(None);
                    return Poll::Ready(());
                }
            }
        }
    }
}

/// Elsewhere tokio's timer has to do, which rounds up to whole milliseconds.
#[cfg(not(target_os = "linux"))]
mod machine {
    use std::cell::{Cell, RefCell};
    use std::future::Future;
    use std::io;
    use std::pin::Pin;
    use std::task::{Context, Poll, Waker};
    use std::time::Duration;

    use tokio::time::{Sleep, sleep};

    use crate::clock::now_ns;

    /// A timer that can be reset.
    #[derive(Default)]
    pub(crate) struct Timer {
        sleep: RefCell<Option<Pin<Box<Sleep>>>>,
        set_to_ns: Cell<Option<u64>>,
        waker: RefCell<Option<Waker>>,
    }

    impl Timer {
        pub(crate) fn new() -> io::Result<Self> {
            Ok(Self::default())
        }

        /// Lets it end at this time.
        pub(crate) fn set(&self, at_ns: Option<u64>) {
            if at_ns == self.set_to_ns.replace(at_ns) {
                return;
            }
            *self.sleep.borrow_mut() = at_ns.map(|at_ns| {
                let left_ns = at_ns.saturating_sub(now_ns());
                Box::pin(sleep(Duration::from_nanos(left_ns)))
            });
            if let Some(waker) = self.waker.take() {
                waker.wake();
            }
        }

        /// Ready when it has ended since the last call.
        pub(crate) fn poll_ended(&self, cx: &mut Context<'_>) -> Poll<()> {
            *self.waker.borrow_mut() = Some(cx.waker().clone());
            let mut sleep = self.sleep.borrow_mut();
            let has_ended = sleep
                .as_mut()
                .is_some_and(|sleep| sleep.as_mut().poll(cx).is_ready());
            if !has_ended {
                return Poll::Pending;
            }
            *sleep = None;
            self.set_to_ns.set(None);
            Poll::Ready(())
        }
    }
}

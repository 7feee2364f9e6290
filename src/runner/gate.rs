//! The task of a client that stands still while the other tasks of its process run, such as the renewal of a lock.

use std::cell::{Cell, RefCell};
use std::future::{Future, poll_fn};
use std::pin::pin;
use std::rc::Rc;
use std::task::{Poll, Waker};

/// What a client's task passes each time that it goes on.
#[derive(Clone, Default)]
pub(super) struct Gate(Rc<State>);

#[derive(Default)]
struct State {
    /// The stalls in force.
    stalls: Cell<u32>,
    /// The task, if it was to go on meanwhile.
    waiting: RefCell<Option<Waker>>,
}

impl Gate {
    /// A stall begins.
    pub(super) fn shut(&self) {
        self.0.stalls.set(self.0.stalls.get() + 1);
    }

    /// A stall ends.
    pub(super) fn open(&self) {
        self.0.stalls.set(self.0.stalls.get().saturating_sub(1));
        if self.is_open()
            && let Some(waiting) = self.0.waiting.take()
        {
            waiting.wake();
        }
    }

    fn is_open(&self) -> bool {
        self.0.stalls.get() == 0
    }

    /// Runs the task.
    pub(super) async fn holds_up(self, task: impl Future<Output = ()>) {
        let mut task = pin!(task);
        poll_fn(|context| {
            if self.is_open() {
                return task.as_mut().poll(context);
            }
            self.0.waiting.replace(Some(context.waker().clone()));
            Poll::Pending
        })
        .await;
    }
}

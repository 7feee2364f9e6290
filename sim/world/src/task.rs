//! Tasks, the queue of ready tasks, and timers.

use std::collections::VecDeque;
use std::future::Future;
use std::pin::Pin;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Wake, Waker};

use locklab_values::random::Stream;

use super::HostId;

/// A future that the world polls; it stays on the world's thread.
pub(super) type BoxFuture = Pin<Box<dyn Future<Output = ()>>>;

/// The index of a slot in [`Slots`], with the generation of its value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Key {
    index: u32,
    generation: u32,
}

/// Values with keys that are never reused.
pub(super) struct Slots<T> {
    slots: Vec<(u32, Option<T>)>,
    free: Vec<u32>,
}

impl<T> Slots<T> {
    pub(super) fn new() -> Self {
        Self {
            slots: Vec::new(),
            free: Vec::new(),
        }
    }

    /// Stores the value that `make` builds from its key.
    pub(super) fn insert_with(&mut self, make: impl FnOnce(Key) -> T) -> Key {
        let index = self.free.pop().unwrap_or_else(|| {
            self.slots.push((0, None));
            (self.slots.len() - 1) as u32
        });
        let slot = &mut self.slots[index as usize];
        let key = Key {
            index,
            generation: slot.0,
        };
        slot.1 = Some(make(key));
        key
    }

    pub(super) fn get_mut(&mut self, key: Key) -> Option<&mut T> {
        let (generation, value) = self.slots.get_mut(key.index as usize)?;
        value.as_mut().filter(|_| *generation == key.generation)
    }

    pub(super) fn remove(&mut self, key: Key) -> Option<T> {
        let (generation, value) = self.slots.get_mut(key.index as usize)?;
        if *generation != key.generation {
            return None;
        }
        let removed = value.take()?;
        *generation = generation.wrapping_add(1);
        self.free.push(key.index);
        Some(removed)
    }

    /// All values with their keys, in the order of their slots.
    pub(super) fn iter(&self) -> impl Iterator<Item = (Key, &T)> {
        self.slots
            .iter()
            .enumerate()
            .filter_map(|(index, (generation, value))| {
                let key = Key {
                    index: index as u32,
                    generation: *generation,
                };
                value.as_ref().map(|value| (key, value))
            })
    }
}

/// One task.
pub(super) struct Task {
    pub(super) host: HostId,
    /// `None` while it is being polled.
    pub(super) future: Option<BoxFuture>,
    pub(super) waker: Waker,
    pub(super) alarm: Arc<TaskWaker>,
}

/// The waker of a task: puts the task into the ready queue, once until it is polled.
pub(super) struct TaskWaker {
    task: Key,
    queued: AtomicBool,
    ready: Arc<ReadyQueue>,
}

impl TaskWaker {
    pub(super) fn new(task: Key, ready: Arc<ReadyQueue>) -> Arc<Self> {
        Arc::new(Self {
            task,
            queued: AtomicBool::new(false),
            ready,
        })
    }

    /// Resets the waker before a poll: later wakes queue the task again.
    pub(super) fn reset(&self) {
        self.queued.store(false, Ordering::Relaxed);
    }
}

impl Wake for TaskWaker {
    fn wake(self: Arc<Self>) {
        self.wake_by_ref();
    }

    fn wake_by_ref(self: &Arc<Self>) {
        if !self.queued.swap(true, Ordering::Relaxed) {
            self.ready.push(self.task);
        }
    }
}

/// Tasks that can continue. Behind a mutex only because a [`Waker`] must be `Sync`; one thread
/// uses it, so there is never contention.
#[derive(Default)]
pub(super) struct ReadyQueue(Mutex<VecDeque<Key>>);

impl ReadyQueue {
    pub(super) fn push(&self, task: Key) {
        self.lock().push_back(task);
    }

    /// Whether no task is ready.
    pub(super) fn is_empty(&self) -> bool {
        self.lock().is_empty()
    }

    /// The next task: the one that has waited longest, or one drawn from `shuffle`.
    pub(super) fn pop(&self, shuffle: Option<&mut Stream>) -> Option<Key> {
        let mut queue = self.lock();
        match shuffle {
            Some(stream) if queue.len() > 1 => {
                let index = stream.below(queue.len() as u64) as usize;
                queue.remove(index)
            }
            _ => queue.pop_front(),
        }
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, VecDeque<Key>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A sleeping task.
pub(super) struct Timer {
    pub(super) host: HostId,
    /// Whether its end follows from the wall clock.
    pub(super) follows_wall: bool,
    pub(super) waker: Waker,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_is_never_valid_twice() {
        let mut slots = Slots::new();
        let first = slots.insert_with(|_| 'a');
        assert_eq!(slots.remove(first), Some('a'));
        let second = slots.insert_with(|_| 'b');
        assert_eq!(slots.get_mut(first), None);
        assert_eq!(slots.remove(first), None);
        assert_eq!(slots.get_mut(second), Some(&mut 'b'));
    }

    #[test]
    fn a_task_is_queued_once_until_it_is_polled() {
        let ready = Arc::new(ReadyQueue::default());
        let key = Key {
            index: 0,
            generation: 0,
        };
        let alarm = TaskWaker::new(key, ready.clone());
        alarm.wake_by_ref();
        alarm.wake_by_ref();
        assert_eq!(ready.pop(None), Some(key));
        assert_eq!(ready.pop(None), None);
        alarm.reset();
        alarm.wake_by_ref();
        assert_eq!(ready.pop(None), Some(key));
    }
}

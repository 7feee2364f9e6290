//! A lock of one writer or several readers, which each of them may take again. A writer may read as well, and may go on
//! reading when it has released its writing (a downgrade); a reader may not write. Java's `ReentrantReadWriteLock`.

use super::{Act, Model, Step};

/// See the module.
pub struct ReentrantReadWrite;

/// Who writes and how often, and who reads, sorted; a reader is there as often as it reads.
#[derive(Debug, Clone, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct State {
    writer: Option<(u32, u32)>,
    readers: Vec<u32>,
}

impl Model for ReentrantReadWrite {
    type State = State;

    fn init(&self) -> State {
        State::default()
    }

    fn step(&self, state: &State, call: &Step) -> Option<State> {
        let reads = state.readers.binary_search(&call.holder);
        let mut state = state.clone();
        match (call.act, state.writer) {
            (Act::Acquire, Some((writer, _))) if writer != call.holder => return None,
            (Act::Acquire, _) if call.shared => {
                let (Ok(place) | Err(place)) = reads;
                state.readers.insert(place, call.holder);
            }
            (Act::Acquire, Some((writer, count))) => state.writer = Some((writer, count + 1)),
            (Act::Acquire, None) if !state.readers.is_empty() => return None,
            (Act::Acquire, None) => state.writer = Some((call.holder, 1)),
            (Act::Release, Some((writer, count))) if writer == call.holder && !call.shared => {
                state.writer = (count > 1).then_some((writer, count - 1));
            }
            (Act::Release, _) => drop(state.readers.remove(reads.ok()?)),
            (Act::Extend, Some((writer, _))) if writer == call.holder => {}
            (Act::Extend, _) => drop(reads.ok()?),
        }
        Some(state)
    }
}

//! A lock of one writer or several readers. A holder may read several times, and may not write while
//! anybody reads, itself included.

use super::{Act, Model, Step};

/// See the module.
pub struct ReadWrite;

/// Who writes, and who reads, sorted; a reader is there as often as it reads.
#[derive(Debug, Clone, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct State {
    writer: Option<u32>,
    readers: Vec<u32>,
}

impl Model for ReadWrite {
    type State = State;

    fn init(&self) -> State {
        State::default()
    }

    fn step(&self, state: &State, call: &Step) -> Option<State> {
        let writes = state.writer == Some(call.holder);
        let reads = state.readers.binary_search(&call.holder);
        let mut state = state.clone();
        match call.act {
            Act::Acquire if state.writer.is_some() => return None,
            Act::Acquire if call.shared => {
                let (Ok(place) | Err(place)) = reads;
                state.readers.insert(place, call.holder);
            }
            Act::Acquire if !state.readers.is_empty() => return None,
            Act::Acquire => state.writer = Some(call.holder),
            Act::Release if writes && !call.shared => state.writer = None,
            Act::Release => drop(state.readers.remove(reads.ok()?)),
            Act::Extend => drop((writes || reads.is_ok()).then_some(())?),
        }
        Some(state)
    }
}

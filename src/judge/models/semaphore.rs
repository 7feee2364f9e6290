//! A semaphore. Each holder returns no more permits than it has taken. Its permits do not expire here;
//! a semaphore whose permits have deadlines is judged by intervals alone.

use super::{Act, Model, Step};

/// See the module.
pub struct Semaphore {
    /// How many permits there are.
    pub permits: u32,
}

impl Model for Semaphore {
    /// Who has how many permits, by holder; nobody has none.
    type State = Vec<(u32, u32)>;

    fn init(&self) -> Self::State {
        Vec::new()
    }

    fn step(&self, state: &Self::State, call: &Step) -> Option<Self::State> {
        let place = state.binary_search_by_key(&call.holder, |&(holder, _)| holder);
        let mut state = state.clone();
        match call.act {
            Act::Acquire => {
                let taken: u64 = state.iter().map(|&(_, permits)| u64::from(permits)).sum();
                if taken + u64::from(call.permits) > u64::from(self.permits) {
                    return None;
                }
                match place {
                    Ok(place) => state[place].1 += call.permits,
                    Err(place) => state.insert(place, (call.holder, call.permits)),
                }
            }
            Act::Release => {
                let place = place.ok()?;
                let left = state[place].1.checked_sub(call.permits)?;
                match left {
                    0 => drop(state.remove(place)),
                    left => state[place].1 = left,
                }
            }
            Act::Extend => drop(place.ok()?),
        }
        Some(state)
    }
}

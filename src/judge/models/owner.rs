//! A mutex that its holder alone may release, and may not take again.

use super::{Act, Model, Step};

/// See the module.
pub struct Owner;

impl Model for Owner {
    /// The holder.
    type State = Option<u32>;

    fn init(&self) -> Option<u32> {
        None
    }

    fn step(&self, state: &Option<u32>, call: &Step) -> Option<Option<u32>> {
        let is_own = *state == Some(call.holder);
        match call.act {
            Act::Acquire => state.is_none().then_some(Some(call.holder)),
            Act::Release => is_own.then_some(None),
            Act::Extend => is_own.then_some(*state),
        }
    }
}

//! A mutex that its holder may take again. It is free when it was released as often as it was taken.

use super::{Act, Model, Step};

/// See the module.
pub struct Reentrant;

impl Model for Reentrant {
    /// The holder, and how often it has taken the lock.
    type State = Option<(u32, u32)>;

    fn init(&self) -> Self::State {
        None
    }

    fn step(&self, state: &Self::State, call: &Step) -> Option<Self::State> {
        match (*state, call.act) {
            (None, Act::Acquire) => Some(Some((call.holder, 1))),
            (Some((holder, _)), _) if holder != call.holder => None,
            (Some((holder, count)), Act::Acquire) => Some(Some((holder, count + 1))),
            (Some((_, 1)), Act::Release) => Some(None),
            (Some((holder, count)), Act::Release) => Some(Some((holder, count - 1))),
            (Some(held), Act::Extend) => Some(Some(held)),
            (None, Act::Release | Act::Extend) => None,
        }
    }
}

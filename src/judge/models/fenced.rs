//! A mutex with an owner whose grants have fencing tokens: each is higher than all before.

use super::{Act, Model, Step, next_token};

/// See the module.
pub struct Fenced;

impl Model for Fenced {
    /// The holder, and the least token of the next grant.
    type State = (Option<u32>, u64);

    fn init(&self) -> Self::State {
        (None, 0)
    }

    fn step(&self, &(holder, least): &Self::State, call: &Step) -> Option<Self::State> {
        match call.act {
            Act::Acquire if holder.is_some() => None,
            Act::Acquire => Some((Some(call.holder), next_token(least, call.token)?)),
            _ if holder != Some(call.holder) => None,
            Act::Release => Some((None, least)),
            Act::Extend => Some((holder, least)),
        }
    }
}

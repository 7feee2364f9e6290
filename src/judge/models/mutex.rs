//! A mutex that anybody may release, as `knossos` has it.

use super::{Act, Model, Step};

/// See the module.
pub struct Mutex;

impl Model for Mutex {
    /// Whether it is held.
    type State = bool;

    fn init(&self) -> bool {
        false
    }

    fn step(&self, &is_held: &bool, call: &Step) -> Option<bool> {
        match call.act {
            Act::Acquire => (!is_held).then_some(true),
            Act::Release => is_held.then_some(false),
            Act::Extend => is_held.then_some(true),
        }
    }

    fn is_alike(&self, one: &Step, other: &Step) -> bool {
        one.act == other.act
    }
}

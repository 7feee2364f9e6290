//! A mutex that its holder may take again, whose grants have fencing tokens: a new holder's is higher than all before,
//! and a holder that takes the lock again has its token again. Hazelcast's `FencedLock`.

use super::{Act, Model, Step, next_token};

/// See the module.
pub struct ReentrantFenced;

/// The state of such a lock.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct State {
    /// The holder, how often it has taken the lock, and its token, if that is known.
    held: Option<(u32, u32, Option<u64>)>,
    /// The least token of the next holder.
    least: u64,
}

impl Model for ReentrantFenced {
    type State = State;

    fn init(&self) -> State {
        State {
            held: None,
            least: 0,
        }
    }

    fn step(&self, state: &State, call: &Step) -> Option<State> {
        let State { held, least } = *state;
        let (held, least) = match (held, call.act) {
            (None, Act::Acquire) => {
                let least = next_token(least, call.token)?;
                (Some((call.holder, 1, call.token)), least)
            }
            (Some((holder, ..)), _) if holder != call.holder => return None,
            (Some((holder, count, Some(token))), Act::Acquire) => {
                let is_same = call.token.is_none_or(|other| other == token);
                (
                    is_same.then_some(Some((holder, count + 1, Some(token))))?,
                    least,
                )
            }
            (Some((holder, count, None)), Act::Acquire) => {
                let least = next_token(least, call.token)?;
                (Some((holder, count + 1, call.token)), least)
            }
            (Some((_, 1, _)), Act::Release) => (None, least),
            (Some((holder, count, token)), Act::Release) => {
                (Some((holder, count - 1, token)), least)
            }
            (held @ Some(_), Act::Extend) => (held, least),
            (None, Act::Release | Act::Extend) => return None,
        };
        Some(State { held, least })
    }
}

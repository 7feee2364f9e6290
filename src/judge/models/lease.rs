//! A mutex with a lease, and with renewal.
//!
//! Time enters the model. A grant that returned with a deadline excludes others until then: from the
//! deadline on the lock may expire, at any moment or never, so it is free for the next call of acquire
//! that takes effect at or after the deadline, and still its holder's if the holder releases or extends
//! it first. A grant without a deadline never expires. A grant that nobody was told of may expire at
//! once. An extension replaces the deadline; one that nobody was told of can only make it earlier, since its holder
//! counts on nothing more.
//!
//! A call takes effect between its invocation and its return, and calls take effect in the order of
//! time. The state has the earliest time at which the last of them can have. An earlier time forbids
//! nothing that a later one allows, so no other needs to be tried.

use super::{Act, Model, Step, next_token};

/// See the module.
pub struct Lease {
    /// Whether others may release what a holder has.
    pub anybody_releases: bool,
}

/// The state of a lock with a lease.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct State {
    /// The holder, and when its lease may end.
    held: Option<(u32, u64)>,
    /// The least token of the next grant.
    least: u64,
    /// When the last call took effect, at the earliest.
    now_ns: u64,
}

impl Model for Lease {
    type State = State;

    fn init(&self) -> State {
        State {
            held: None,
            least: 0,
            now_ns: 0,
        }
    }

    fn step(&self, state: &State, call: &Step) -> Option<State> {
        let deadline_ns = || call.deadline_ns.unwrap_or(u64::MAX);
        let mut next = State {
            now_ns: state.now_ns.max(call.invoked_ns),
            ..*state
        };
        match (call.act, state.held) {
            (Act::Acquire, held) => {
                if let Some((_, until_ns)) = held {
                    next.now_ns = next.now_ns.max(until_ns);
                }
                next.held = Some((call.holder, if call.is_known { deadline_ns() } else { 0 }));
                next.least = next_token(state.least, call.token)?;
            }
            (Act::Release, Some(_)) if self.anybody_releases => next.held = None,
            (_, Some((holder, until_ns))) if holder == call.holder => match call.act {
                Act::Extend if call.is_known => {
                    next.held = Some((holder, call.deadline_ns.unwrap_or(until_ns)));
                }
                // What changes nothing need not be tried.
                Act::Extend if deadline_ns() >= until_ns => return None,
                Act::Extend => next.held = Some((holder, deadline_ns())),
                _ => next.held = None,
            },
            _ => return None,
        }
        // A lease without end never makes room.
        (next.now_ns <= call.returned_ns && next.now_ns != u64::MAX).then_some(next)
    }
}

//! Whether a history is linearizable: whether its calls, each at some moment between its invocation
//! and its return, are in some order what the model allows.
//!
//! The search is Wing and Gong's with Lowe's memory: it tries calls one after the other, goes back
//! where none fits, and never again enters a set of calls in a state that it has left. A call whose
//! outcome nobody knows may take effect at any moment after its invocation, or never. A call that
//! failed took no effect, and is not in the search.
//!
//! A call returned before another if its return is earlier than the other's invocation. If both are at
//! one instant, either may have been first, unless they are of one process.

mod rest;

use std::collections::BTreeSet;

use self::rest::{Rest, Taken};
use crate::models::{Model, Step};

/// A call of the search.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Searched {
    /// The call.
    pub step: Step,
    /// Its index among all calls, for evidence.
    pub index: usize,
    /// The process that called.
    pub process: u32,
}

/// What came of a search.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Found {
    /// Some order explains the history.
    Order,
    /// None does.
    None(Stuck),
    /// The budget was spent.
    BudgetSpent {
        /// How far the search came: the most calls that were put in order.
        ordered: usize,
        /// How many calls have to be.
        calls: usize,
        /// How often it tried a call in a state.
        tried: u64,
    },
}

/// Where no order goes on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Stuck {
    /// The call that cannot have returned when it did, an index among all calls: what came before it
    /// can be put in order, in several ways perhaps, and with it no more.
    pub call: usize,
    /// The last calls of one such order.
    pub before: Vec<usize>,
}

/// Searches for an order of the calls, which are sorted by invocation, and tries a call in a state at
/// most `budget` times.
pub fn search<M: Model>(model: &M, calls: &[Searched], budget: u64) -> Found {
    Search::new(model, calls).run(budget)
}

struct Search<'s, M: Model> {
    model: &'s M,
    calls: &'s [Searched],
    /// How many calls have returned, and so have to be in the order.
    due: usize,
    /// Those of them that are not in the order.
    known: Rest,
    /// The calls of unknown outcome that are not in the order.
    unknown: Rest,
    /// Per call: the last call of the same process, if it returned at the instant of this invocation.
    just_before: Vec<Option<u32>>,
    /// Per call: whether it is in the order.
    is_in: Vec<bool>,
    /// How many of those that have to be in the order are.
    ordered: usize,
    path: Vec<Frame<M::State>>,
    /// What can be next in each frame of the path.
    candidates: Vec<u32>,
    left: BTreeSet<Key<M::State>>,
    stuck: Option<(u64, Stuck)>,
    most: usize,
}

/// A state on the path.
struct Frame<S> {
    state: S,
    /// Where its candidates begin.
    from: usize,
    /// The next of them to try.
    next: usize,
    /// The call that led here.
    by: Option<u32>,
    /// When the call that has to be next returned, if calls of unknown outcome may come before it and
    /// have not been added to the candidates yet: they are tried last.
    unknown_until_ns: Option<u64>,
}

/// What a search need not enter twice: the calls in the order, and the state after them.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
struct Key<S> {
    known: Taken,
    unknown: Taken,
    state: S,
}

impl<'s, M: Model> Search<'s, M> {
    fn new(model: &'s M, calls: &'s [Searched]) -> Self {
        let places = |is_known: bool| {
            let places = (0..).zip(calls);
            places
                .filter_map(move |(place, call)| (call.step.is_known == is_known).then_some(place))
        };
        Search {
            model,
            calls,
            due: places(true).count(),
            known: Rest::of(places(true), calls.len()),
            unknown: Rest::of(places(false), calls.len()),
            just_before: just_before(calls),
            is_in: vec![false; calls.len()],
            ordered: 0,
            path: Vec::with_capacity(calls.len() + 1),
            candidates: Vec::new(),
            left: BTreeSet::new(),
            stuck: None,
            most: 0,
        }
    }

    fn run(mut self, budget: u64) -> Found {
        let mut tried = 0;
        self.enter(self.model.init(), None);
        loop {
            if self.ordered == self.due {
                return Found::Order;
            }
            let Some(frame) = self.path.last_mut() else {
                return Found::None(self.stuck.map_or(
                    Stuck {
                        call: 0,
                        before: vec![],
                    },
                    |(_, stuck)| stuck,
                ));
            };
            let Some(&place) = self.candidates.get(frame.next) else {
                match frame.unknown_until_ns.take() {
                    Some(until_ns) => self.add_unknown(until_ns),
                    None => self.leave(),
                }
                continue;
            };
            if tried == budget {
                return Found::BudgetSpent {
                    ordered: self.most,
                    calls: self.due,
                    tried,
                };
            }
            tried += 1;
            frame.next += 1;
            let step = &self.calls[place as usize].step;
            if let Some(state) = self.model.step(&frame.state, step) {
                self.enter(state, Some(place));
            }
        }
    }

    /// Puts a call into the order, unless all that can follow has been tried.
    fn enter(&mut self, state: M::State, by: Option<u32>) {
        if let Some(place) = by {
            self.is_in[place as usize] = true;
            match self.calls[place as usize].step.is_known {
                true => {
                    self.known.remove(place);
                    self.ordered += 1;
                    self.most = self.most.max(self.ordered);
                }
                false => self.unknown.remove(place),
            }
        }
        let from = self.candidates.len();
        let due = self.add_known();
        let due_ns = due.map(|due| self.calls[due as usize].step.returned_ns);
        let first_unknown = self.unknown.iter().next();
        let asked_ns = first_unknown.map(|first| self.calls[first as usize].step.invoked_ns);
        self.path.push(Frame {
            state,
            from,
            next: from,
            by,
            unknown_until_ns: due_ns.filter(|_| asked_ns.is_some() && asked_ns <= due_ns),
        });
        if let Some(due) = due {
            self.note(due);
        }
        self.remember(from);
    }

    /// Leaves nothing to try in a state that was left before.
    fn remember(&mut self, from: usize) {
        let frame = self.path.last().expect("it was just entered");
        let ways = self.candidates.len() - from + usize::from(frame.unknown_until_ns.is_some());
        // A state with one way on is not worth remembering: the next one is.
        if ways < 2 {
            return;
        }
        let key = Key {
            known: self.known.taken(),
            unknown: self.unknown.taken(),
            state: frame.state.clone(),
        };
        if !self.left.insert(key) {
            self.candidates.truncate(from);
            let frame = self.path.last_mut().expect("it was just entered");
            frame.unknown_until_ns = None;
        }
    }

    fn leave(&mut self) {
        let Some(frame) = self.path.pop() else {
            return;
        };
        self.candidates.truncate(frame.from);
        if let Some(place) = frame.by {
            self.is_in[place as usize] = false;
            match self.calls[place as usize].step.is_known {
                true => {
                    self.known.restore(place);
                    self.ordered -= 1;
                }
                false => self.unknown.restore(place),
            }
        }
    }

    /// Adds the calls that can be next and have returned: those that no call outside the order returned
    /// before. Returns the call outside that returns first, which has to be next at the latest.
    fn add_known(&mut self) -> Option<u32> {
        let from = self.candidates.len();
        let mut due: Option<u32> = None;
        let calls = self.calls;
        let returned = |place: u32| calls[place as usize].step.returned_ns;
        for place in self.known.iter() {
            let call = &calls[place as usize].step;
            if due.is_some_and(|due| returned(due) < call.invoked_ns) {
                break;
            }
            self.candidates.push(place);
            if due.is_none_or(|due| call.returned_ns < returned(due)) {
                due = Some(place);
            }
        }
        let due_ns = returned(due?);
        let mut kept = from;
        for index in from..self.candidates.len() {
            let place = self.candidates[index];
            if self.may_be_next(place, due_ns) {
                self.candidates[kept] = place;
                kept += 1;
            }
        }
        self.candidates.truncate(kept);
        // What returns first is tried first.
        self.candidates[from..].sort_by_key(|&place| returned(place));
        due
    }

    /// Adds the calls of unknown outcome that can be next. Of those that are alike the first is enough: what an order
    /// does with a later one, another does with the first, and has the later one left for later.
    fn add_unknown(&mut self, due_ns: u64) {
        let step = |place: u32| &self.calls[place as usize].step;
        let asked = |place: &u32| step(*place).invoked_ns <= due_ns;
        let mut next: Vec<u32> = Vec::new();
        for place in self.unknown.iter().take_while(asked) {
            let is_like = |&other: &u32| self.model.is_alike(step(other), step(place));
            if self.may_be_next(place, due_ns) && !next.iter().any(is_like) {
                next.push(place);
            }
        }
        self.candidates.extend(next);
    }

    /// Whether a call can come before one that returned then.
    fn may_be_next(&self, place: u32, due_ns: u64) -> bool {
        let first = self.just_before[place as usize];
        self.calls[place as usize].step.invoked_ns <= due_ns
            && first.is_none_or(|first| self.is_in[first as usize])
    }

    /// Remembers the place where the search came furthest: the call that has to return next.
    fn note(&mut self, due: u32) {
        let due_ns = self.calls[due as usize].step.returned_ns;
        if { self.stuck.as_ref() }.is_none_or(|&(furthest_ns, _)| due_ns > furthest_ns) {
            let index = |place: u32| self.calls[place as usize].index;
            let path = self.path.iter().rev().filter_map(|frame| frame.by);
            let mut before: Vec<usize> = path.take(4).map(index).collect();
            before.reverse();
            let call = index(due);
            self.stuck = Some((due_ns, Stuck { call, before }));
        }
    }
}

fn just_before(calls: &[Searched]) -> Vec<Option<u32>> {
    let processes = calls.iter().map(|call| call.process as usize + 1).max();
    let mut last: Vec<Option<u32>> = vec![None; processes.unwrap_or(0)];
    let mut before = Vec::with_capacity(calls.len());
    for (place, call) in (0..).zip(calls) {
        let last = &mut last[call.process as usize];
        let touches =
            last.filter(|&last| calls[last as usize].step.returned_ns == call.step.invoked_ns);
        before.push(touches);
        // What never returned is before nothing.
        if call.step.is_known {
            *last = Some(place);
        }
    }
    before
}

#[cfg(test)]
mod tests;

//! The observations of clients of the service, and a check for those that a linearizable service
//! cannot produce.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::rc::Rc;

/// The history that all clients of a run write. Times are true times in nanoseconds.
pub type Shared = Rc<RefCell<History>>;

/// The time from the first transmission of a request to its answer.
#[derive(Clone, Copy, Debug)]
pub struct Span {
    pub began_ns: u64,
    pub ended_ns: u64,
}

#[derive(Default)]
pub struct History {
    pub nodes: Vec<Node>,
    pub listings: Vec<Listing>,
    pub beliefs: Vec<Belief>,
    /// For each session, until when its client knew that it would live.
    pub alive_until_ns: BTreeMap<u64, u64>,
}

/// A node whose creation was confirmed to a client.
#[derive(Debug)]
pub struct Node {
    pub number: u64,
    pub session: u64,
    pub created: Span,
    /// From the request to delete it to the answer.
    pub deleted: Option<Span>,
}

/// An answer to CHILDREN: the nodes' numbers.
#[derive(Debug)]
pub struct Listing {
    pub asked: Span,
    pub numbers: Vec<u64>,
}

/// A period in which a client was certain that it held the lock.
#[derive(Debug)]
pub struct Belief {
    pub session: u64,
    pub held: Span,
}

impl History {
    /// Records that the service confirmed the session of a client that had asked at `asked_ns`.
    pub fn session_lives(&mut self, session: u64, asked_ns: u64, timeout_ns: u64) {
        let until_ns = self.alive_until_ns.entry(session).or_default();
        *until_ns = (*until_ns).max(asked_ns + timeout_ns);
    }

    /// The time until which a session's client knows that the session is alive.
    pub fn lives_until_ns(&self, session: u64) -> u64 {
        self.alive_until_ns.get(&session).copied().unwrap_or(0)
    }

    /// Every violation of a rule.
    pub fn violations(&self) -> Vec<String> {
        [self.numbers(), self.contents(), self.exclusion()].concat()
    }

    /// A node that was requested after another existed has the higher number.
    fn numbers(&self) -> Vec<String> {
        let mut broken = Vec::new();
        for one in &self.nodes {
            for other in &self.nodes {
                let is_later = one.created.ended_ns < other.created.began_ns;
                if is_later && other.number <= one.number {
                    broken.push(format!("numbers descend: {one:?}, then {other:?}"));
                }
            }
        }
        broken
    }

    /// A node is listed from the answer to its creation until its deletion is requested, as long
    /// as its session is known to live; and never after the answer to its deletion.
    fn contents(&self) -> Vec<String> {
        let mut broken = Vec::new();
        for listing in &self.listings {
            for node in &self.nodes {
                let is_listed = listing.numbers.contains(&node.number);
                let was_there = node.created.ended_ns < listing.asked.began_ns;
                let is_still_there = node
                    .deleted
                    .is_none_or(|deleted| deleted.began_ns > listing.asked.ended_ns)
                    && self.lives_until_ns(node.session) > listing.asked.ended_ns;
                let is_gone = node
                    .deleted
                    .is_some_and(|deleted| deleted.ended_ns < listing.asked.began_ns);
                if was_there && is_still_there && !is_listed {
                    broken.push(format!("lost: {node:?} is not in {listing:?}"));
                }
                if is_gone && is_listed {
                    broken.push(format!("came back: {node:?} is in {listing:?}"));
                }
            }
        }
        broken
    }

    /// No two clients are certain at the same time.
    fn exclusion(&self) -> Vec<String> {
        let mut broken = Vec::new();
        for (place, one) in self.beliefs.iter().enumerate() {
            for other in &self.beliefs[place + 1..] {
                let begin_ns = one.held.began_ns.max(other.held.began_ns);
                let end_ns = one.held.ended_ns.min(other.held.ended_ns);
                if begin_ns < end_ns {
                    let sessions = (one.session, other.session);
                    broken.push(format!(
                        "both hold: {sessions:?}, from {begin_ns} to {end_ns}"
                    ));
                }
            }
        }
        broken
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn span(began_ns: u64, ended_ns: u64) -> Span {
        Span { began_ns, ended_ns }
    }

    fn check(fill: impl FnOnce(&mut History), expected: &[&str]) {
        let mut history = History::default();
        let node = |number, created| Node {
            number,
            session: 1,
            created,
            deleted: None,
        };
        history.nodes.push(node(7, span(10, 20)));
        history.session_lives(1, 10, 1_000);
        fill(&mut history);
        let found = history.violations();
        assert_eq!(found.len(), expected.len(), "{found:?}");
        for (found, expected) in found.iter().zip(expected) {
            assert!(found.starts_with(expected), "{found}");
        }
    }

    fn list(history: &mut History, asked: Span, numbers: &[u64]) {
        let numbers = numbers.to_vec();
        history.listings.push(Listing { asked, numbers });
    }

    #[test]
    fn linearizable_history_passes() {
        check(|history| list(history, span(15, 30), &[]), &[]);
        check(|history| list(history, span(30, 40), &[7]), &[]);
        check(|history| list(history, span(900, 1_100), &[]), &[]);
    }

    #[test]
    fn lost_or_resurrected_node_is_detected() {
        check(|history| list(history, span(30, 40), &[]), &["lost"]);
        let back = |history: &mut History| {
            history.nodes[0].deleted = Some(span(50, 60));
            list(history, span(55, 65), &[7]);
            list(history, span(70, 80), &[7]);
        };
        check(back, &["came back"]);
    }

    #[test]
    fn numbers_that_descend_and_holders_that_meet_are_noticed() {
        let descend = |history: &mut History| {
            history.nodes.push(Node {
                number: 6,
                session: 1,
                created: span(30, 40),
                deleted: None,
            });
        };
        check(descend, &["numbers descend"]);
        let meet = |history: &mut History| {
            for (session, held) in [
                (1, span(100, 200)),
                (2, span(200, 300)),
                (3, span(250, 260)),
            ] {
                history.beliefs.push(Belief { session, held });
            }
        };
        check(meet, &["both hold"]);
    }
}

//! The attempts of a client to be granted the lock: its requests that ask for the key, one to each node.

use locklab_vecmap::VecSet;

use super::PATIENCE_NS;
use super::visits::Visit;
use crate::Name;

/// An attempt.
#[derive(Debug, Clone, Default)]
pub(super) struct Attempt {
    /// The places of its requests among the visits.
    pub(super) asks: Vec<usize>,
}

impl Attempt {
    /// When its first request left.
    pub(super) fn sent_ns(&self, visits: &[Visit]) -> u64 {
        let sent = self.asks.iter().map(|ask| visits[*ask].exchange.sent_ns);
        sent.min().unwrap_or(0)
    }

    /// When the last of its replies arrived; 0 if none did.
    pub(super) fn answered_ns(&self, visits: &[Visit]) -> u64 {
        self.replies_ns(visits).max().unwrap_or(0)
    }

    /// How many of its requests were answered.
    pub(super) fn answers(&self, visits: &[Visit]) -> usize {
        self.replies_ns(visits).count()
    }

    fn replies_ns(&self, visits: &[Visit]) -> impl Iterator<Item = u64> {
        let answered = self.asks.iter().map(|ask| visits[*ask].answered_ns());
        answered.flatten()
    }

    /// Whether all its replies came while the program was waiting for sure.
    pub(super) fn is_prompt(&self, visits: &[Visit]) -> bool {
        self.asks.iter().all(|ask| {
            let sent_ns = visits[*ask].exchange.sent_ns;
            let answered_ns = visits[*ask].answered_ns();
            answered_ns.is_some_and(|at_ns| at_ns <= sent_ns + PATIENCE_NS)
        })
    }
}

/// The attempts of a client, in the order in which they began. One ends with a request that names the key and
/// does not ask for it, such as a release, and with a node that is asked again.
pub(super) fn attempts(visits: &[Visit], client: &Name) -> Vec<Attempt> {
    let mut own: Vec<usize> = (0..visits.len())
        .filter(|place| visits[*place].exchange.client == *client && visits[*place].names)
        .collect();
    own.sort_by_key(|place| (visits[*place].exchange.sent_ns, *place));
    let mut attempts: Vec<Attempt> = Vec::new();
    let mut asked: VecSet<&Name> = VecSet::new();
    let mut goes_on = false;
    for place in own {
        let visit = &visits[place];
        if !visit.asks {
            goes_on = false;
            continue;
        }
        if !goes_on || !asked.insert(&visit.exchange.node) {
            attempts.push(Attempt::default());
            asked = VecSet::from([&visit.exchange.node]);
        }
        goes_on = true;
        if let Some(attempt) = attempts.last_mut() {
            attempt.asks.push(place);
        }
    }
    attempts
}

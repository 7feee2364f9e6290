//! When a program that neither shows nor tells anything counts as having acquired its lock.
//!
//! Nobody knows at its first grant that it is such a program: a word, or a use of the resource, may follow. When it
//! is granted the lock again, it has let a whole grant pass without either. So its second grant is the first that
//! counts, and programs that show or tell are struck as ever: by what they say.

use locklab_history::Name;
use locklab_values::units::NS_PER_MS;
use locklab_vecmap::{VecMap, VecSet};

/// How long after the reply that grants it the lock such a program counts as having acquired it, in nanoseconds.
/// By then it has read the reply, also on a busy machine, and works under its lock.
pub(crate) const READS_NS: u64 = 20 * NS_PER_MS;

/// The clients that have neither shown nor told anything yet.
#[derive(Debug)]
pub(crate) struct Mute {
    /// How many nodes have to grant the lock.
    majority: usize,
    clients: VecMap<Name, Granted>,
}

/// What a client was granted.
#[derive(Debug, Default)]
struct Granted {
    /// The nodes that have granted it the lock in this attempt.
    nodes: VecSet<Name>,
    /// The attempts in which a majority did.
    times: u32,
}

impl Mute {
    /// Clients of a lock on so many independent nodes.
    pub(crate) fn new(clients: &[Name], nodes: usize) -> Self {
        let clients = clients.iter().cloned();
        Mute {
            majority: nodes / 2 + 1,
            clients: clients.map(|client| (client, Granted::default())).collect(),
        }
    }

    /// This client has shown or told something.
    pub(crate) fn speaks(&mut self, client: &Name) {
        self.clients.remove(client);
    }

    /// Whether this client has shown and told nothing.
    pub(crate) fn has(&self, client: &Name) -> bool {
        self.clients.contains_key(client)
    }

    /// Whether this client has shown and told nothing, and was granted the lock once.
    pub(crate) fn is_granted_once(&self, client: &Name) -> bool {
        let granted = self.clients.get(client);
        granted.is_some_and(|granted| granted.times == 1)
    }

    /// A node has granted a client the lock. Whether it has the lock now, and let an earlier grant pass in silence.
    /// A node that grants it once more begins another attempt.
    pub(crate) fn is_granted(&mut self, client: &Name, node: &Name) -> bool {
        let Some(granted) = self.clients.get_mut(client) else {
            return false;
        };
        if granted.nodes.contains(node) {
            granted.nodes.clear();
        }
        granted.nodes.insert(node.clone());
        if granted.nodes.len() != self.majority {
            return false;
        }
        granted.times += 1;
        granted.times > 1
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Which of these grants of c1 count, by the nodes that give them one after the other.
    fn count(nodes: usize, granted: &[&str]) -> Vec<bool> {
        let c1: Name = "c1".into();
        let mut mute = Mute::new(&["c1".into(), "c2".into()], nodes);
        let granted = granted.iter();
        let count = granted.map(|node| mute.is_granted(&c1, &(*node).into()));
        count.collect()
    }

    #[test]
    fn the_first_grant_may_be_that_of_a_program_that_speaks_later() {
        assert_eq!(count(1, &["n1", "n1", "n1"]), [false, true, true]);
    }

    #[test]
    fn of_three_nodes_two_grant_the_lock() {
        let twice = ["n1", "n2", "n3", "n1", "n2", "n3"];
        let expected = [false, false, false, false, true, false];
        assert_eq!(count(3, &twice), expected);
    }

    #[test]
    fn an_attempt_without_a_majority_is_no_grant() {
        let lost = ["n1", "n1", "n2", "n1", "n3"];
        assert_eq!(count(3, &lost), [false, false, false, false, true]);
    }

    #[test]
    fn a_program_that_speaks_is_left_to_its_words() {
        let (c1, n1): (Name, Name) = ("c1".into(), "n1".into());
        let mut mute = Mute::new(std::slice::from_ref(&c1), 1);
        assert!(!mute.is_granted_once(&c1));
        assert!(!mute.is_granted(&c1, &n1) && mute.has(&c1));
        assert!(mute.is_granted_once(&c1));
        mute.speaks(&c1);
        assert!(!mute.is_granted(&c1, &n1) && !mute.has(&c1));
        assert!(!mute.is_granted_once(&c1));
    }
}

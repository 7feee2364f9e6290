//! Holds counted in the memory of the process. This makes a lock reentrant whose key has no room
//! for a count, as blog texts do with a `ThreadLocal`.
//!
//! The counts ignore leases. A guard that is forgotten leaves its count behind; from then on
//! its owner gets the lock from the count without contacting any node.

use std::cell::RefCell;

use locklab_vecmap::VecMap;

use super::lock::{Grant, Owner};

/// How often each owner of this process has taken the lock.
#[derive(Default)]
pub(super) struct LocalCounts {
    holds: RefCell<VecMap<Owner, Hold>>,
}

struct Hold {
    /// The first grant, the one that the node knows.
    grant: Grant,
    count: u32,
}

/// What remains after one hold is released.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Remaining {
    /// Other holds of the same owner.
    Holds,
    /// No holds: the lock has to be released on the node.
    Nothing,
}

impl LocalCounts {
    /// Adds one hold if `owner` already has any; returns its grant.
    pub(super) fn enter_again(&self, owner: Owner) -> Option<Grant> {
        let mut holds = self.holds.borrow_mut();
        let hold = holds.get_mut(&owner)?;
        hold.count += 1;
        Some(hold.grant.clone())
    }

    /// Adds the owner's first hold, which the node has granted.
    pub(super) fn enter(&self, grant: &Grant) {
        let (grant, count) = (grant.clone(), 1);
        let mut holds = self.holds.borrow_mut();
        holds.insert(grant.owner, Hold { grant, count });
    }

    /// Removes one hold.
    pub(super) fn leave(&self, owner: Owner) -> Remaining {
        let mut holds = self.holds.borrow_mut();
        match holds.get_mut(&owner) {
            Some(hold) if hold.count > 1 => {
                hold.count -= 1;
                Remaining::Holds
            }
            _ => {
                holds.remove(&owner);
                Remaining::Nothing
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn last_release_empties_the_count_and_owners_are_independent() {
        let grant = |owner| Grant {
            owner: Owner(owner),
            token: format!("of {owner}"),
            deadline: None,
            fencing_token: None,
        };
        let counts = LocalCounts::default();
        assert_eq!(counts.enter_again(Owner(1)), None);
        counts.enter(&grant(1));
        assert_eq!(counts.enter_again(Owner(2)), None);
        counts.enter(&grant(2));
        assert_eq!(counts.enter_again(Owner(1)), Some(grant(1)));
        // The hold of one is no hold of the other, whichever leaves first.
        assert_eq!(counts.leave(Owner(2)), Remaining::Nothing);
        counts.enter(&grant(2));
        assert_eq!(counts.leave(Owner(1)), Remaining::Holds);
        assert_eq!(counts.leave(Owner(2)), Remaining::Nothing);
        assert_eq!(counts.leave(Owner(1)), Remaining::Nothing);
        assert_eq!(counts.enter_again(Owner(1)), None);
    }
}

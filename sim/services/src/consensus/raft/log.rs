//! The replicated log, and the two comparisons of logs on which Raft's safety rests.

use bytes::Bytes;

/// One entry. The first has index 1.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Entry {
    /// The term of the leader that proposed it.
    pub(crate) term: u64,
    /// The command for the state machine; empty: none.
    pub(crate) command: Bytes,
}

/// A member's log.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(crate) struct Log(Vec<Entry>);

impl Log {
    /// The index of the last entry; 0 if there is none.
    pub(crate) fn last_index(&self) -> u64 {
        self.0.len() as u64
    }

    /// The term of the last entry; 0 if there is none.
    pub(crate) fn last_term(&self) -> u64 {
        self.0.last().map_or(0, |entry| entry.term)
    }

    /// The entry at an index.
    pub(crate) fn get(&self, index: u64) -> Option<&Entry> {
        self.0.get(usize::try_from(index.checked_sub(1)?).ok()?)
    }

    /// The term of the entry at an index. Index 0, before the first entry, has term 0.
    pub(crate) fn term_at(&self, index: u64) -> Option<u64> {
        match index {
            0 => Some(0),
            _ => self.get(index).map(|entry| entry.term),
        }
    }

    /// At most `max` entries, the first of them at `index`.
    pub(crate) fn from(&self, index: u64, max: usize) -> Vec<Entry> {
        let skipped = index.saturating_sub(1) as usize;
        self.0.iter().skip(skipped).take(max).cloned().collect()
    }

    /// The log matching property (§5.3): if two logs agree on the term of an entry they
    /// agree on all that is before it, so this comparison is enough.
    pub(crate) fn matches(&self, index: u64, term: u64) -> bool {
        self.term_at(index) == Some(term)
    }

    /// The election restriction (§5.4.1): whether a log with this last entry contains
    /// everything of this log that may be committed.
    pub(crate) fn is_at_most(&self, last_term: u64, last_index: u64) -> bool {
        (last_term, last_index) >= (self.last_term(), self.last_index())
    }

    /// The first index with the same term as the entry at `index`.
    pub(crate) fn begin_of_term_at(&self, index: u64) -> u64 {
        let term = self.term_at(index);
        let mut first = index;
        while first > 1 && self.term_at(first - 1) == term {
            first -= 1;
        }
        first
    }

    pub(crate) fn push(&mut self, entry: Entry) {
        self.0.push(entry);
    }

    /// Removes the entry at `index` and all later ones.
    pub(crate) fn cut(&mut self, index: u64) {
        self.0.truncate(index.saturating_sub(1) as usize);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn log(terms: &[u64]) -> Log {
        let entry = |term: &u64| Entry {
            term: *term,
            command: Bytes::new(),
        };
        Log(terms.iter().map(entry).collect())
    }

    #[test]
    fn the_later_term_wins_and_then_the_longer_log() {
        let own = log(&[1, 2, 2]);
        for (term, index, expected) in [
            (2, 3, true),
            (2, 4, true),
            (3, 1, true),
            (2, 2, false),
            (1, 9, false),
        ] {
            assert_eq!(own.is_at_most(term, index), expected, "{term} {index}");
        }
        assert!(log(&[]).is_at_most(0, 0));
    }

    #[test]
    fn logs_match_where_index_and_term_agree() {
        let own = log(&[1, 2]);
        assert!(own.matches(0, 0) && own.matches(1, 1) && own.matches(2, 2));
        assert!(!own.matches(2, 1) && !own.matches(3, 2) && !own.matches(3, 0));
    }

    #[test]
    fn a_term_begins_at_its_first_entry() {
        let own = log(&[1, 2, 2, 2]);
        assert_eq!([1, 2, 4].map(|i| own.begin_of_term_at(i)), [1, 2, 2]);
    }
}

//! The durable state of a member: its term, its vote in that term, and its log.
//!
//! Every change produces a record for the disk. The driver of the member makes the records
//! durable before it sends anything that depends on them (§5, figure 2: "updated on stable
//! storage before responding").

use super::log::{Entry, Log};
use super::message::Member;

/// One change of the durable state. A member's file is a sequence of these.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum Record {
    /// The term, and the vote given in it.
    Term(u64, Option<Member>),
    /// An entry at the end of the log.
    Entry(Entry),
    /// The entry at this index and all later ones were removed.
    Cut(u64),
}

/// Term, vote and log.
#[derive(Debug, Default)]
pub(crate) struct Durable {
    term: u64,
    vote: Option<Member>,
    log: Log,
    unsaved: Vec<Record>,
}

impl Durable {
    /// The state that results from the records of an earlier start.
    pub(crate) fn replay(records: impl IntoIterator<Item = Record>) -> Self {
        let mut durable = Durable::default();
        for record in records {
            durable.change(record);
        }
        durable.unsaved.clear();
        durable
    }

    pub(crate) fn term(&self) -> u64 {
        self.term
    }

    pub(crate) fn vote(&self) -> Option<Member> {
        self.vote
    }

    pub(crate) fn log(&self) -> &Log {
        &self.log
    }

    /// Enters a later term, without a vote.
    pub(super) fn enter(&mut self, term: u64) {
        self.change(Record::Term(term, None));
    }

    /// Records the vote of this term.
    pub(super) fn vote_for(&mut self, candidate: Member) {
        if self.vote != Some(candidate) {
            self.change(Record::Term(self.term, Some(candidate)));
        }
    }

    /// Appends an entry.
    pub(super) fn push(&mut self, entry: Entry) {
        self.change(Record::Entry(entry));
    }

    /// Makes the log contain these entries after `prev_index`. Entries that it already has are
    /// kept: the call may be an old one, and the entries after them are later (§5.3).
    pub(super) fn merge(&mut self, prev_index: u64, entries: Vec<Entry>) {
        for (index, entry) in (prev_index + 1..).zip(entries) {
            match self.log.term_at(index) {
                Some(term) if term == entry.term => continue,
                Some(_) => self.change(Record::Cut(index)),
                None => {}
            }
            self.push(entry);
        }
    }

    /// The changes since the last call.
    pub(crate) fn take_unsaved(&mut self) -> Vec<Record> {
        std::mem::take(&mut self.unsaved)
    }

    fn change(&mut self, record: Record) {
        match &record {
            Record::Term(term, vote) => (self.term, self.vote) = (*term, *vote),
            Record::Entry(entry) => self.log.push(entry.clone()),
            Record::Cut(index) => self.log.cut(*index),
        }
        self.unsaved.push(record);
    }
}

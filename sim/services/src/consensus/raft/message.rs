//! What members ask of each other: the two calls of Raft, each with its answer.

use super::log::Entry;

/// A member's place in the list of members, which is the same for all of them.
pub(crate) type Member = usize;

/// A call.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum Request {
    Vote(VoteRequest),
    Append(AppendRequest),
}

/// RequestVote (§5.2).
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct VoteRequest {
    pub(crate) term: u64,
    pub(crate) candidate: Member,
    pub(crate) last_index: u64,
    pub(crate) last_term: u64,
}

/// AppendEntries (§5.3); without entries, a heartbeat.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct AppendRequest {
    pub(crate) term: u64,
    pub(crate) leader: Member,
    /// The entry before the first of `entries`.
    pub(crate) prev_index: u64,
    pub(crate) prev_term: u64,
    /// Up to where the leader's log is committed.
    pub(crate) commit: u64,
    pub(crate) entries: Vec<Entry>,
}

/// An answer to either call.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Answer {
    /// The term of whoever answers.
    pub(crate) term: u64,
    pub(crate) verdict: Verdict,
}

/// What was answered.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Verdict {
    /// The vote is the candidate's, or the entries are in the log.
    Yes,
    /// It is not, or they are not.
    No,
    /// They are not, for lack of the entry before them: try from this index, at which
    /// the logs may still agree.
    TryFrom(u64),
}

/// What the asking member remembers of a call until the answer comes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Sent {
    /// The term in which it asked.
    pub(crate) term: u64,
    /// If all is well, up to where the logs agree then; 0 for a vote.
    pub(crate) up_to: u64,
    /// The last round of confirmation that had begun; see `reads`.
    pub(crate) round: u64,
}

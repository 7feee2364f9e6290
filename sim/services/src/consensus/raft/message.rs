//! The messages between members: the two calls of Raft, each with its answer.

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
    /// The index up to which the leader's log is committed.
    pub(crate) commit: u64,
    pub(crate) entries: Vec<Entry>,
}

/// An answer to either call.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Answer {
    /// The term of the answering member.
    pub(crate) term: u64,
    pub(crate) verdict: Verdict,
}

/// The result of a call.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Verdict {
    /// The vote was granted, or the entries are in the log.
    Yes,
    /// The vote or the entries were rejected.
    No,
    /// The entries were rejected because the entry before them is missing: try from this index,
    /// up to which the logs may agree.
    TryFrom(u64),
}

/// The state that the calling member keeps until the answer arrives.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Sent {
    /// The term in which the call was made.
    pub(crate) term: u64,
    /// The index up to which the logs agree if the call succeeds; 0 for a vote.
    pub(crate) up_to: u64,
    /// The last round of confirmation that had begun; see `reads`.
    pub(crate) round: u64,
}

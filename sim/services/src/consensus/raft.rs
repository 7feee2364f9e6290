//! Raft, as D. Ongaro and J. Ousterhout describe it in "In Search of an Understandable
//! Consensus Algorithm" (extended version, 2014). Sections (§) are those of that paper.
//!
//! [`Raft`] is one member. It knows roles, terms, votes and the log, but neither the meaning of
//! entries nor the transport of calls. A call from another member goes in and its answer comes
//! out; [`Raft::request_for`] returns the next call for another member whenever the link to it
//! is free. Time is the member's monotonic clock, in nanoseconds.
//!
//! `election` selects the leader, `replication` distributes its entries, `reads` confirms that
//! it still leads. Beyond the paper's core: a leader without answers from a majority for the
//! longest election timeout steps down, so that its waiting clients learn of it. Not
//! implemented, since nothing here needs it: snapshots, membership changes, pre-vote.
//! of membership, the pre-vote.

#[cfg(test)]
mod campaign;
mod durable;
mod election;
mod log;
mod message;
mod reads;
mod replication;
#[cfg(test)]
mod tests;

pub(crate) use self::durable::{Durable, Record};
pub(crate) use self::log::Entry;
pub(crate) use self::message::{
    Answer, AppendRequest, Member, Request, Sent, Verdict, VoteRequest,
};
pub(crate) use self::reads::ReadPoint;
use locklab_vecmap::VecSet;

use self::replication::Leading;
use super::config::Timing;

/// Draws a number in 0..n.
pub(crate) type Random = Box<dyn FnMut(u64) -> u64>;

/// One member.
pub(crate) struct Raft {
    me: Member,
    size: usize,
    timing: Timing,
    random: Random,
    durable: Durable,
    role: Role,
    /// The index up to which the log is known to be committed.
    commit: u64,
    /// When this member stands for election, unless it is the leader.
    election_due_ns: u64,
}

/// The role of a member in its term.
enum Role {
    Follower { leader: Option<Member> },
    Candidate(Votes),
    Leader(Leading),
}

/// The votes that a candidate has received.
#[derive(Default)]
struct Votes {
    answered: VecSet<Member>,
    votes: VecSet<Member>,
}

impl Raft {
    /// The member `me` of `size`, with its durable state from an earlier start.
    pub(crate) fn new(
        me: Member,
        size: usize,
        timing: Timing,
        random: Random,
        durable: Durable,
        now_ns: u64,
    ) -> Self {
        let mut raft = Raft {
            me,
            size,
            timing,
            random,
            durable,
            role: Role::Follower { leader: None },
            commit: 0,
            election_due_ns: 0,
        };
        raft.put_election_off(now_ns);
        raft
    }

    /// Its term, vote and log.
    pub(crate) fn durable(&self) -> &Durable {
        &self.durable
    }

    /// The changes of the durable state that are not saved yet.
    pub(crate) fn take_unsaved(&mut self) -> Vec<Record> {
        self.durable.take_unsaved()
    }

    /// The index up to which the log is committed, as far as this member knows.
    pub(crate) fn commit(&self) -> u64 {
        self.commit
    }

    /// The leader that this member knows.
    pub(crate) fn leader(&self) -> Option<Member> {
        match &self.role {
            Role::Follower { leader } => *leader,
            Role::Candidate(_) => None,
            Role::Leader(_) => Some(self.me),
        }
    }

    /// The term in which this member leads; `None` if it does not.
    pub(crate) fn leads_in(&self) -> Option<u64> {
        match &self.role {
            Role::Leader(_) => Some(self.durable.term()),
            _ => None,
        }
    }

    /// When [`Raft::tick`] must be called next.
    pub(crate) fn next_tick_ns(&self) -> u64 {
        match &self.role {
            Role::Leader(_) => self.steps_down_ns(),
            _ => self.election_due_ns,
        }
    }

    /// Does what is due at `now_ns`.
    pub(crate) fn tick(&mut self, now_ns: u64) {
        if now_ns < self.next_tick_ns() {
            return;
        }
        match self.role {
            Role::Leader(_) => self.follow(None, now_ns),
            _ => self.stand(now_ns),
        }
    }

    /// Answers another member's call.
    pub(crate) fn answer(&mut self, request: Request, now_ns: u64) -> Answer {
        let term = match &request {
            Request::Vote(request) => request.term,
            Request::Append(request) => request.term,
        };
        self.see_term(term, now_ns);
        let verdict = match request {
            _ if term < self.durable.term() => Verdict::No,
            Request::Vote(request) => self.vote(&request, now_ns),
            Request::Append(request) => self.append(request, now_ns),
        };
        Answer {
            term: self.durable.term(),
            verdict,
        }
    }

    /// The next call to `peer`, if any. Must be called only while no call to it is pending.
    pub(crate) fn request_for(&mut self, peer: Member, now_ns: u64) -> Option<(Request, Sent)> {
        match &self.role {
            Role::Follower { .. } => None,
            Role::Candidate(ballot) => {
                (!ballot.answered.contains(&peer)).then(|| self.vote_request())
            }
            Role::Leader(_) => self.append_request(peer, now_ns),
        }
    }

    /// When there will be a call to `peer`, if nothing happens before.
    pub(crate) fn next_request_ns(&self, peer: Member) -> Option<u64> {
        match &self.role {
            Role::Follower { .. } => None,
            Role::Candidate(ballot) => (!ballot.answered.contains(&peer)).then_some(0),
            Role::Leader(leading) => leading.due_ns(peer, self.durable.log().last_index()),
        }
    }

    /// Handles the answer to a call.
    pub(crate) fn answered(&mut self, peer: Member, sent: Sent, answer: Answer, now_ns: u64) {
        self.see_term(answer.term, now_ns);
        // An answer to a call of another term is of no use in this one.
        if sent.term != self.durable.term() || answer.term != sent.term {
            return;
        }
        match &self.role {
            Role::Follower { .. } => {}
            Role::Candidate(_) => self.count(peer, answer.verdict, now_ns),
            Role::Leader(_) => self.progressed(peer, sent, answer.verdict, now_ns),
        }
    }

    /// A call will not be answered. It may still have arrived.
    pub(crate) fn unanswered(&mut self, peer: Member) {
        if let Role::Leader(leading) = &mut self.role {
            leading.repeat(peer);
        }
    }

    /// §5.1: a member that sees a later term enters it as a follower.
    fn see_term(&mut self, term: u64, now_ns: u64) {
        if term > self.durable.term() {
            self.durable.enter(term);
            // A follower keeps its timeout: a candidate that cannot win must not keep others
            // from standing.
            match self.role {
                Role::Leader(_) => self.follow(None, now_ns),
                _ => self.role = Role::Follower { leader: None },
            }
        }
    }

    fn follow(&mut self, leader: Option<Member>, now_ns: u64) {
        self.role = Role::Follower { leader };
        self.put_election_off(now_ns);
    }

    fn peers(&self) -> impl Iterator<Item = Member> + use<> {
        let me = self.me;
        (0..self.size).filter(move |peer| *peer != me)
    }
}

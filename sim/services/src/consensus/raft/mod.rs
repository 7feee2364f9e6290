//! Raft, as D. Ongaro and J. Ousterhout describe it in "In Search of an Understandable
//! Consensus Algorithm" (extended version, 2014). Sections (§) are those of that paper.
//!
//! [`Raft`] is one member: it knows roles, terms, votes and the log, and neither what
//! entries mean nor how calls travel. A call from another member goes in and its answer
//! comes out; what to ask another member is fetched with [`Raft::request_for`] whenever
//! the way there is free. Time is the member's monotonic clock, in nanoseconds.
//!
//! `election` is who leads, `replication` what the leader does with entries, `reads` how
//! it makes sure that it still leads. Beyond the paper's core: a leader that a majority
//! has not answered for the longest election timeout steps down, so that whoever waits
//! for it learns of it. Not implemented, since nothing here needs it: snapshots, changes
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

use std::collections::BTreeSet;

pub(crate) use self::durable::{Durable, Record};
pub(crate) use self::log::Entry;
pub(crate) use self::message::{
    Answer, AppendRequest, Member, Request, Sent, Verdict, VoteRequest,
};
pub(crate) use self::reads::ReadPoint;
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
    /// Up to where the log is known to be committed.
    commit: u64,
    /// When this member stands for election, unless it leads.
    election_due_ns: u64,
}

/// What a member is in its term.
enum Role {
    Follower { leader: Option<Member> },
    Candidate(Ballot),
    Leader(Leading),
}

/// What a candidate has heard.
#[derive(Default)]
struct Ballot {
    answered: BTreeSet<Member>,
    votes: BTreeSet<Member>,
}

impl Raft {
    /// The member `me` of `size`, with what it kept of an earlier life.
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

    /// The changes of these that are not saved yet.
    pub(crate) fn take_unsaved(&mut self) -> Vec<Record> {
        self.durable.take_unsaved()
    }

    /// Up to where the log is committed, as far as this member knows.
    pub(crate) fn commit(&self) -> u64 {
        self.commit
    }

    /// Whom this member takes for the leader.
    pub(crate) fn leader(&self) -> Option<Member> {
        match &self.role {
            Role::Follower { leader } => *leader,
            Role::Candidate(_) => None,
            Role::Leader(_) => Some(self.me),
        }
    }

    /// The term in which this member leads.
    pub(crate) fn leads_in(&self) -> Option<u64> {
        match &self.role {
            Role::Leader(_) => Some(self.durable.term()),
            _ => None,
        }
    }

    /// When it wants [`Raft::tick`] to be called.
    pub(crate) fn next_tick_ns(&self) -> u64 {
        match &self.role {
            Role::Leader(_) => self.steps_down_ns(),
            _ => self.election_due_ns,
        }
    }

    /// The clock reads `now_ns`: does what is due.
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

    /// What to ask `peer` now, if anything; to be called while no call to it is under way.
    pub(crate) fn request_for(&mut self, peer: Member, now_ns: u64) -> Option<(Request, Sent)> {
        match &self.role {
            Role::Follower { .. } => None,
            Role::Candidate(ballot) => {
                (!ballot.answered.contains(&peer)).then(|| self.vote_request())
            }
            Role::Leader(_) => self.append_request(peer, now_ns),
        }
    }

    /// When there will be something to ask `peer`, if nothing happens before.
    pub(crate) fn next_request_ns(&self, peer: Member) -> Option<u64> {
        match &self.role {
            Role::Follower { .. } => None,
            Role::Candidate(ballot) => (!ballot.answered.contains(&peer)).then_some(0),
            Role::Leader(leading) => leading.due_ns(peer, self.durable.log().last_index()),
        }
    }

    /// A call was answered.
    pub(crate) fn answered(&mut self, peer: Member, sent: Sent, answer: Answer, now_ns: u64) {
        self.see_term(answer.term, now_ns);
        // An answer to what was asked in another term is of no use in this one.
        if sent.term != self.durable.term() || answer.term != sent.term {
            return;
        }
        match &self.role {
            Role::Follower { .. } => {}
            Role::Candidate(_) => self.count(peer, answer.verdict, now_ns),
            Role::Leader(_) => self.progressed(peer, sent, answer.verdict, now_ns),
        }
    }

    /// A call will not be answered. It may have arrived.
    pub(crate) fn unanswered(&mut self, peer: Member) {
        if let Role::Leader(leading) = &mut self.role {
            leading.repeat(peer);
        }
    }

    /// §5.1: whoever hears of a later term enters it, as a follower.
    fn see_term(&mut self, term: u64, now_ns: u64) {
        if term > self.durable.term() {
            self.durable.enter(term);
            // A follower's timeout goes on: a candidate that cannot win must not keep
            // others from standing.
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

//! The election of a leader (§5.2, §5.4.1).

use super::message::{Member, Request, Sent, Verdict, VoteRequest};
use super::{Raft, Role, Votes};

impl Raft {
    /// Draws a new timeout from the range, so that members seldom stand at the same time.
    pub(super) fn put_election_off(&mut self, now_ns: u64) {
        let spread_ns = self.timing.longest_ns() - self.timing.shortest_ns();
        let timeout_ns = self.timing.shortest_ns() + (self.random)(spread_ns + 1);
        self.election_due_ns = now_ns.saturating_add(timeout_ns);
    }

    /// Stands for election in the next term.
    pub(super) fn stand(&mut self, now_ns: u64) {
        self.durable.enter(self.durable.term() + 1);
        self.durable.vote_for(self.me);
        self.role = Role::Candidate(Votes::default());
        self.put_election_off(now_ns);
        self.count(self.me, Verdict::Yes, now_ns);
    }

    pub(super) fn vote_request(&self) -> (Request, Sent) {
        let request = VoteRequest {
            term: self.durable.term(),
            candidate: self.me,
            last_index: self.durable.log().last_index(),
            last_term: self.durable.log().last_term(),
        };
        let sent = Sent {
            term: request.term,
            up_to: 0,
            round: 0,
        };
        (Request::Vote(request), sent)
    }

    /// Answers a request for the vote of this term: the first candidate gets it, if its log
    /// contains everything that may be committed.
    pub(super) fn vote(&mut self, request: &VoteRequest, now_ns: u64) -> Verdict {
        let vote = self.durable.vote();
        let is_free = vote.is_none_or(|given_to| given_to == request.candidate);
        let log = self.durable.log();
        if !is_free || !log.is_at_most(request.last_term, request.last_index) {
            return Verdict::No;
        }
        self.durable.vote_for(request.candidate);
        self.put_election_off(now_ns);
        Verdict::Yes
    }

    /// Counts a vote, for or against.
    pub(super) fn count(&mut self, from: Member, verdict: Verdict, now_ns: u64) {
        let Role::Candidate(ballot) = &mut self.role else {
            return;
        };
        ballot.answered.insert(from);
        if verdict == Verdict::Yes {
            ballot.votes.insert(from);
        }
        if ballot.votes.len() > self.size / 2 {
            self.lead(now_ns);
        }
    }
}

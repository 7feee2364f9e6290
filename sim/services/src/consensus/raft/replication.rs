//! Replication of entries from the leader's log to the others, and commitment (§5.3, §5.4.2).

use bytes::Bytes;
use locklab_vecmap::VecMap;

use super::log::Entry;
use super::message::{AppendRequest, Member, Request, Sent, Verdict};
use super::{Raft, Role};

/// The maximum number of entries in one call: a log that is far behind catches up in steps.
const MAX_ENTRIES: usize = 256;

/// The leader's state.
pub(super) struct Leading {
    pub(super) others: VecMap<Member, Progress>,
    /// The last requested round of confirmation; see `reads`.
    pub(super) round: u64,
}

/// The leader's state for one other member.
pub(super) struct Progress {
    /// The first entry to send (`nextIndex`).
    next: u64,
    /// The index up to which the logs are known to agree (`matchIndex`).
    matched: u64,
    /// When it last answered.
    heard_ns: u64,
    /// When a heartbeat is due.
    heartbeat_due_ns: u64,
    /// The last round that was sent, and the last that was answered.
    sent_round: u64,
    pub(super) answered_round: u64,
}

impl Leading {
    /// When the next call to `peer` is due, if the log ends at `last_index`.
    pub(super) fn due_ns(&self, peer: Member, last_index: u64) -> Option<u64> {
        let progress = self.others.get(&peer)?;
        let is_behind = progress.next <= last_index || progress.sent_round < self.round;
        Some(if is_behind {
            0
        } else {
            progress.heartbeat_due_ns
        })
    }

    /// Makes the last call to `peer` be sent again.
    pub(super) fn repeat(&mut self, peer: Member) {
        if let Some(progress) = self.others.get_mut(&peer) {
            progress.heartbeat_due_ns = 0;
        }
    }

    /// The highest value that a majority has reached, counting the others and this member.
    pub(super) fn by_majority(&self, own: u64, others: impl Fn(&Progress) -> u64) -> u64 {
        let mut all: Vec<u64> = self.others.values().map(others).collect();
        all.push(own);
        all.sort_unstable_by(|a, b| b.cmp(a));
        all[all.len() / 2]
    }
}

impl Raft {
    /// Becomes leader and appends an entry of the new term, since only such an entry commits
    /// those before it (§5.4.2, §8).
    pub(super) fn lead(&mut self, now_ns: u64) {
        let next = self.durable.log().last_index() + 1;
        let progress = |peer| {
            let progress = Progress {
                next,
                matched: 0,
                heard_ns: now_ns,
                heartbeat_due_ns: 0,
                sent_round: 0,
                answered_round: 0,
            };
            (peer, progress)
        };
        self.role = Role::Leader(Leading {
            others: self.peers().map(progress).collect(),
            round: 0,
        });
        self.propose(Bytes::new());
    }

    /// Appends a command to the log, if this member leads; returns its index. It may not be
    /// committed there: an entry of another leader may replace it.
    pub(crate) fn propose(&mut self, command: Bytes) -> Option<u64> {
        let term = self.leads_in()?;
        self.durable.push(Entry { term, command });
        self.advance_commit();
        Some(self.durable.log().last_index())
    }

    pub(super) fn append_request(&mut self, peer: Member, now_ns: u64) -> Option<(Request, Sent)> {
        let (log, term) = (self.durable.log(), self.durable.term());
        let Role::Leader(leading) = &mut self.role else {
            return None;
        };
        if leading.due_ns(peer, log.last_index())? > now_ns {
            return None;
        }
        let round = leading.round;
        let progress = leading.others.get_mut(&peer)?;
        progress.heartbeat_due_ns = now_ns.saturating_add(self.timing.heartbeat_ns());
        progress.sent_round = round;
        let prev_index = progress.next - 1;
        let request = AppendRequest {
            term,
            leader: self.me,
            prev_index,
            prev_term: log.term_at(prev_index)?,
            commit: self.commit,
            entries: log.from(progress.next, MAX_ENTRIES),
        };
        let up_to = prev_index + request.entries.len() as u64;
        Some((Request::Append(request), Sent { term, up_to, round }))
    }

    /// Handles entries or a heartbeat from the leader of this term.
    pub(super) fn append(&mut self, request: AppendRequest, now_ns: u64) -> Verdict {
        self.follow(Some(request.leader), now_ns);
        let log = self.durable.log();
        if !log.matches(request.prev_index, request.prev_term) {
            // §5.3: go back by a term at a time, not by an entry.
            let try_from = match log.get(request.prev_index) {
                Some(_) => log.begin_of_term_at(request.prev_index),
                None => log.last_index() + 1,
            };
            return Verdict::TryFrom(try_from);
        }
        let agreed = request.prev_index + request.entries.len() as u64;
        self.durable.merge(request.prev_index, request.entries);
        self.commit = self.commit.max(request.commit.min(agreed));
        Verdict::Yes
    }

    /// Handles the answer of a follower.
    pub(super) fn progressed(&mut self, peer: Member, sent: Sent, verdict: Verdict, now_ns: u64) {
        let Role::Leader(leading) = &mut self.role else {
            return;
        };
        let Some(progress) = leading.others.get_mut(&peer) else {
            return;
        };
        progress.heard_ns = now_ns;
        progress.answered_round = progress.answered_round.max(sent.round);
        match verdict {
            Verdict::Yes => {
                progress.matched = progress.matched.max(sent.up_to);
                progress.next = progress.matched + 1;
            }
            Verdict::No => {}
            Verdict::TryFrom(index) => {
                let earlier = index.min(progress.next.saturating_sub(1));
                progress.next = earlier.max(progress.matched + 1);
            }
        }
        self.advance_commit();
    }

    /// Commits the entries of this term that a majority has, with all entries before them. An
    /// entry of an earlier term alone is not, however many have it (§5.4.2, figure 8).
    pub(super) fn advance_commit(&mut self) {
        let Role::Leader(leading) = &self.role else {
            return;
        };
        let log = self.durable.log();
        let reached = leading.by_majority(log.last_index(), |progress| progress.matched);
        if log.term_at(reached) == Some(self.durable.term()) {
            self.commit = self.commit.max(reached);
        }
    }

    /// When this leader steps down unless a majority answers before.
    pub(super) fn steps_down_ns(&self) -> u64 {
        match &self.role {
            Role::Leader(leading) => leading
                .by_majority(u64::MAX, |progress| progress.heard_ns)
                .saturating_add(self.timing.longest_ns()),
            _ => u64::MAX,
        }
    }
}

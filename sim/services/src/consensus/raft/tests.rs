//! Raft's rules, each tested on members that are called directly.

use bytes::Bytes;

use super::*;

use locklab_values::units::NS_PER_MS as MS;

/// The member `me` of three at time 0, in the term of its last log entry. Its log has entries
/// of these terms. It stands for election at 300 ms.
fn member(me: Member, terms: &[u64]) -> Raft {
    let entry = |term: &u64| Entry {
        term: *term,
        command: Bytes::new(),
    };
    let entries = terms.iter().map(|term| Record::Entry(entry(term)));
    let term = Record::Term(terms.last().copied().unwrap_or(0), None);
    start(me, entries.chain([term]).collect())
}

fn start(me: Member, records: Vec<Record>) -> Raft {
    let durable = Durable::replay(records);
    Raft::new(me, 3, Timing::default(), Box::new(|_| 0), durable, 0)
}

fn ask_vote(raft: &mut Raft, term: u64, candidate: Member, last: (u64, u64)) -> Verdict {
    let request = VoteRequest {
        term,
        candidate,
        last_term: last.0,
        last_index: last.1,
    };
    raft.answer(Request::Vote(request), 0).verdict
}

/// Sends entries of these terms, after the entry `prev`, given with its term.
fn append(raft: &mut Raft, term: u64, prev: (u64, u64), terms: &[u64], commit: u64) -> Verdict {
    let entry = |term: &u64| Entry {
        term: *term,
        command: Bytes::new(),
    };
    let request = AppendRequest {
        term,
        leader: 1,
        prev_index: prev.0,
        prev_term: prev.1,
        commit,
        entries: terms.iter().map(entry).collect(),
    };
    raft.answer(Request::Append(request), 0).verdict
}

fn terms(raft: &Raft) -> Vec<u64> {
    let log = raft.durable().log();
    (1..=log.last_index())
        .filter_map(|index| log.term_at(index))
        .collect()
}

/// Lets `raft` call `peer`, which gives this answer.
fn exchange(raft: &mut Raft, peer: Member, verdict: Verdict, now_ns: u64) {
    let (_, sent) = raft.request_for(peer, now_ns).expect("something to ask");
    let term = sent.term;
    raft.answered(peer, sent, Answer { term, verdict }, now_ns);
}

/// Lets a member of three win an election, with the vote of member 1.
fn elect(raft: &mut Raft) {
    raft.tick(raft.next_tick_ns());
    exchange(raft, 1, Verdict::Yes, 300 * MS);
    assert!(raft.leads_in().is_some());
}

#[test]
fn a_member_votes_once_in_a_term_also_after_a_restart() {
    let mut raft = member(0, &[]);
    assert_eq!(ask_vote(&mut raft, 1, 1, (0, 0)), Verdict::Yes);
    assert_eq!(ask_vote(&mut raft, 1, 2, (0, 0)), Verdict::No);
    assert_eq!(ask_vote(&mut raft, 1, 1, (0, 0)), Verdict::Yes);
    let mut again = start(0, raft.take_unsaved());
    assert_eq!(ask_vote(&mut again, 1, 2, (0, 0)), Verdict::No);
    assert_eq!(ask_vote(&mut again, 2, 2, (0, 0)), Verdict::Yes);
}

#[test]
fn a_candidate_has_voted_for_itself() {
    let mut raft = member(0, &[]);
    raft.tick(300 * MS);
    assert_eq!(ask_vote(&mut raft, 1, 1, (0, 0)), Verdict::No);
}

#[test]
fn a_log_that_lacks_entries_gets_no_vote() {
    let vote = |last| ask_vote(&mut member(0, &[1, 2, 2]), 3, 1, last);
    assert_eq!(vote((2, 3)), Verdict::Yes);
    assert_eq!(vote((2, 2)), Verdict::No);
    assert_eq!(vote((1, 9)), Verdict::No);
}

#[test]
fn entries_are_appended_after_an_entry_on_which_both_agree() {
    let mut raft = member(0, &[1, 1, 2, 2]);
    // Too far ahead, and of another term: go back to where the logs may agree.
    assert_eq!(append(&mut raft, 3, (6, 3), &[3], 0), Verdict::TryFrom(5));
    assert_eq!(append(&mut raft, 3, (4, 3), &[3], 0), Verdict::TryFrom(3));
    assert_eq!(append(&mut raft, 3, (2, 1), &[3, 3], 0), Verdict::Yes);
    assert_eq!(terms(&raft), [1, 1, 3, 3]);
    // A late call does not remove the entries of a later one.
    assert_eq!(append(&mut raft, 3, (2, 1), &[3], 0), Verdict::Yes);
    assert_eq!(terms(&raft), [1, 1, 3, 3]);
}

#[test]
fn a_follower_commits_no_further_than_it_agrees() {
    let mut raft = member(0, &[1, 1]);
    assert_eq!(append(&mut raft, 2, (1, 1), &[], 9), Verdict::Yes);
    assert_eq!(raft.commit(), 1);
}

#[test]
fn a_former_leader_is_not_heard() {
    let mut raft = member(0, &[3]);
    assert_eq!(append(&mut raft, 2, (1, 3), &[2], 0), Verdict::No);
    assert_eq!(terms(&raft), [3]);
}

/// Figure 8 of the paper.
#[test]
fn entry_of_an_earlier_term_commits_only_with_one_of_the_current_term() {
    let mut raft = member(0, &[1, 2]);
    elect(&mut raft);
    assert_eq!(terms(&raft), [1, 2, 3]);
    // The first call brings member 1 only the entry of this term, without the one before. The
    // second brings both. In between it would have had only the earlier one.
    exchange(&mut raft, 1, Verdict::TryFrom(2), 300 * MS);
    assert_eq!(raft.commit(), 0);
    let (request, sent) = raft.request_for(1, 300 * MS).expect("entries to send");
    let Request::Append(request) = request else {
        panic!("a leader appends");
    };
    assert_eq!((request.prev_index, request.entries.len()), (1, 2));
    let answer = Answer {
        term: 3,
        verdict: Verdict::Yes,
    };
    // As if the call had brought the entry of term 2 alone.
    raft.answered(1, Sent { up_to: 2, ..sent }, answer, 300 * MS);
    assert_eq!(raft.commit(), 0);
    raft.answered(1, sent, answer, 300 * MS);
    assert_eq!(raft.commit(), 3);
}

#[test]
fn votes_of_a_minority_do_not_elect() {
    let mut raft = member(0, &[]);
    raft.tick(300 * MS);
    exchange(&mut raft, 1, Verdict::No, 300 * MS);
    assert_eq!(raft.leads_in(), None);
    exchange(&mut raft, 2, Verdict::Yes, 300 * MS);
    assert_eq!(raft.leads_in(), Some(1));
}

#[test]
fn a_vote_for_an_earlier_candidacy_does_not_count() {
    let mut raft = member(0, &[]);
    raft.tick(300 * MS);
    let (_, early) = raft.request_for(1, 300 * MS).expect("a vote to ask for");
    raft.tick(600 * MS);
    let answer = Answer {
        term: 1,
        verdict: Verdict::Yes,
    };
    raft.answered(1, early, answer, 601 * MS);
    assert_eq!(raft.leads_in(), None);
}

#[test]
fn a_leader_gives_way_to_a_later_term_and_to_silence() {
    let mut raft = member(0, &[]);
    elect(&mut raft);
    assert_eq!(ask_vote(&mut raft, 2, 1, (9, 9)), Verdict::Yes);
    assert_eq!(raft.leads_in(), None);
    let mut raft = member(0, &[]);
    elect(&mut raft);
    exchange(&mut raft, 2, Verdict::Yes, 500 * MS);
    // 600 ms after the last answer.
    assert_eq!(raft.next_tick_ns(), 1_100 * MS);
    raft.tick(1_100 * MS);
    assert_eq!(raft.leads_in(), None);
}

#[test]
fn read_waits_for_answers_to_requests_sent_after_it() {
    let mut raft = member(0, &[]);
    elect(&mut raft);
    let (_, early) = raft.request_for(1, 300 * MS).expect("entries to send");
    let read = raft.begin_read().expect("it leads");
    assert_eq!(read.index, 1);
    let answer = Answer {
        term: 1,
        verdict: Verdict::Yes,
    };
    raft.answered(1, early, answer, 301 * MS);
    assert!(!raft.is_confirmed(read));
    exchange(&mut raft, 1, Verdict::Yes, 302 * MS);
    assert!(raft.is_confirmed(read));
}

//! A free lock is taken again within its bound while somebody wants it.
//!
//! It is violated by a stretch of true time, longer than the bound, throughout which
//!
//! - nobody held the lock: no client believed in it, each to the deadline of its
//!   lease (so a client that died holds nothing, and one that is cut off holds the
//!   lock no longer than its lease; without deadline, to its release);
//! - some one client wanted it: it called `acquire` again and again, each time sooner
//!   after the last failure than the bound, or is in a call that does not return, or
//!   listens for its turn (it has reached `waiting` and not called again);
//! - no fault stood in that client's way: none was in effect on its own host or on a
//!   host that is not a client. Other clients may be as faulty as they like; that is
//!   what the lock must survive. Nor do faults of clocks excuse it: a lock that
//!   outlives its lease because a clock was set back is found here.
//!
//! Whoever asks for availability ([`Excuse::OwnHost`]) counts only faults of the
//! client's own host.
//!
//! A fault is in effect from its beginning to its end, if it has one; a kill or a
//! crash ends with the restart. A failover by hand is over at once: what it takes, the
//! bound has to cover, as with any other command. The stretch starts afresh after each
//! interruption, so the bound must cover what a client has to wait for at the worst: the
//! lease of a holder that died, the wait between two attempts, and the attempt. Clients
//! that keep each other from the lock for ever (live-lock) violate this as much as a key
//! that nobody deletes.

use super::{Ms, Verdict, Violation};
use crate::history::timeline::Timeline;
use crate::history::{Event, Name, Op, Outcome, Phase, Record};

/// Whose faults excuse that a client does not get a free lock.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Excuse {
    /// Those of its own host, and of every host that is no client.
    Servers,
    /// Those of its own host alone.
    OwnHost,
}

pub(super) fn check(timeline: &Timeline, bound_ns: u64, excuse: Excuse) -> Verdict {
    let mut watch = Watch {
        bound_ns,
        excuse,
        free: free(timeline),
        wanting: (0..timeline.hosts).map(|_| Wanting::default()).collect(),
        hindering: 0,
        first: None,
    };
    for (_, host, record) in timeline.records() {
        if let Event::Invoke { .. } | Event::BeliefBegins { .. } = record.event {
            watch.wanting[host].client = Some(&record.host);
        }
    }
    for (_, host, record) in timeline.records() {
        watch.take(host, record);
    }
    watch.close_all(timeline.end_ns);
    watch.first.into()
}

/// A stretch of true time, in nanoseconds.
#[derive(Clone, Copy)]
struct Stretch {
    from_ns: u64,
    to_ns: u64,
}

/// When nobody held the lock.
fn free(timeline: &Timeline) -> Vec<Stretch> {
    let mut free = Vec::new();
    let mut from_ns = 0;
    for grant in &timeline.grants {
        if grant.begins_ns > from_ns {
            free.push(Stretch {
                from_ns,
                to_ns: grant.begins_ns,
            });
        }
        from_ns = from_ns.max(grant.lapses_ns);
    }
    if timeline.end_ns > from_ns {
        free.push(Stretch {
            from_ns,
            to_ns: timeline.end_ns,
        });
    }
    free
}

struct Watch<'h> {
    bound_ns: u64,
    excuse: Excuse,
    free: Vec<Stretch>,
    /// Per host.
    wanting: Vec<Wanting<'h>>,
    /// How many faults are in effect on hosts that are no clients.
    hindering: usize,
    first: Option<Violation>,
}

#[derive(Default)]
struct Wanting<'h> {
    /// The host's name, if it is a client's.
    client: Option<&'h Name>,
    /// Since when it has wanted the lock with nothing in its way.
    since_ns: Option<u64>,
    /// Whether it is in a call of `acquire`.
    in_call: bool,
    /// When its last call failed.
    failed_ns: u64,
    /// The faults in effect on this host.
    faults: Vec<&'h Name>,
}

impl<'h> Watch<'h> {
    fn take(&mut self, host: usize, record: &'h Record) {
        let now_ns = record.at_ns;
        match &record.event {
            Event::Invoke {
                op: Op::Acquire, ..
            } => {
                let wanting = &self.wanting[host];
                let pause_ns = now_ns.saturating_sub(wanting.failed_ns);
                if !wanting.in_call && pause_ns >= self.bound_ns {
                    self.close(host, now_ns);
                }
                self.wanting[host].in_call = true;
                self.open(host, now_ns);
            }
            Event::Complete {
                op: Op::Acquire,
                outcome,
                ..
            } => {
                if *outcome == Outcome::Ok {
                    self.close(host, now_ns);
                }
                self.wanting[host].in_call = false;
                self.wanting[host].failed_ns = now_ns;
            }
            // It listens for its turn rather than to ask again.
            Event::Reached { point } if &**point == "waiting" => {
                self.wanting[host].in_call = true;
                self.open(host, now_ns);
            }
            Event::Fault {
                fault,
                kind,
                phase: Phase::Begins,
            } if hinders(kind)
                && (self.excuse == Excuse::Servers || self.wanting[host].client.is_some()) =>
            {
                self.wanting[host].faults.push(fault);
                match self.wanting[host].client {
                    Some(_) => self.close(host, now_ns),
                    None => {
                        self.hindering += 1;
                        self.close_all(now_ns);
                    }
                }
                if record.event.is_death() {
                    self.wanting[host].in_call = false;
                }
            }
            Event::Fault {
                fault,
                phase: Phase::Ends,
                ..
            } => self.lift(host, fault, now_ns),
            _ => {}
        }
    }

    /// A fault ends; those whom it hindered and who are still in their calls want
    /// the lock from now on.
    fn lift(&mut self, host: usize, fault: &Name, now_ns: u64) {
        let wanting = &mut self.wanting[host];
        let Some(place) = wanting.faults.iter().position(|&name| name == fault) else {
            return;
        };
        wanting.faults.swap_remove(place);
        let waits = |wanting: &Wanting| wanting.in_call;
        if wanting.client.is_none() {
            self.hindering -= 1;
            for host in 0..self.wanting.len() {
                if waits(&self.wanting[host]) {
                    self.open(host, now_ns);
                }
            }
        } else if waits(wanting) {
            self.open(host, now_ns);
        }
    }

    /// Starts a stretch, unless one has started or a fault is in the way.
    fn open(&mut self, host: usize, now_ns: u64) {
        let wanting = &mut self.wanting[host];
        if self.hindering == 0 && wanting.faults.is_empty() {
            wanting.since_ns.get_or_insert(now_ns);
        }
    }

    fn close_all(&mut self, now_ns: u64) {
        for host in 0..self.wanting.len() {
            self.close(host, now_ns);
        }
    }

    /// Ends a stretch: now, or with the last failure, after which it did not try again.
    fn close(&mut self, host: usize, now_ns: u64) {
        let wanting = &mut self.wanting[host];
        let (Some(client), Some(from_ns)) = (wanting.client, wanting.since_ns.take()) else {
            return;
        };
        let to_ns = if wanting.in_call {
            now_ns
        } else {
            wanting.failed_ns
        };
        self.judge(client, Stretch { from_ns, to_ns });
    }

    /// Looks for a long free stretch within the time that a client wanted the lock.
    fn judge(&mut self, client: &Name, wanted: Stretch) {
        let past = self
            .free
            .partition_point(|free| free.to_ns <= wanted.from_ns);
        let in_vain = self.free[past..]
            .iter()
            .take_while(|free| free.from_ns < wanted.to_ns)
            .map(|free| Stretch {
                from_ns: free.from_ns.max(wanted.from_ns),
                to_ns: free.to_ns.min(wanted.to_ns),
            })
            .find(|both| both.to_ns - both.from_ns > self.bound_ns);
        let Some(Stretch { from_ns, to_ns }) = in_vain else {
            return;
        };
        let at_ns = from_ns + self.bound_ns;
        if self.first.as_ref().is_none_or(|first| at_ns < first.at_ns) {
            self.first = Some(Violation {
                at_ns,
                until_ns: to_ns,
                clients: vec![client.clone()],
                what: format!(
                    "{client} tried in vain to take the lock from {} to {} though nobody held it",
                    Ms(from_ns),
                    Ms(to_ns),
                ),
            });
        }
    }
}

/// Whether a fault of this kind can keep a client from a free lock.
fn hinders(kind: &str) -> bool {
    !matches!(kind, "clock-step" | "clock-rate" | "failover")
}

#[cfg(test)]
mod tests {
    use crate::check::Property::Deadlock;
    use crate::check::story::Story;
    use crate::history::ClockKind::Wall;

    /// The bound is 1000 ms.
    fn story() -> Story {
        Story::new().deadlock_after(1000)
    }

    /// c2 tries every 200 ms from the first time to the last, each attempt 10 ms long.
    fn tries_on(mut story: Story, from_ms: u64, to_ms: u64) -> Story {
        for at_ms in (from_ms..=to_ms).step_by(200) {
            story = story.tries(at_ms, "c2").fails(at_ms + 10, "c2");
        }
        story
    }

    #[test]
    fn a_failover_by_hand_is_no_excuse() {
        let held = tries_on(story().holds(10, "c1"), 20, 20);
        let failed_over = held.fault_begins(100, "s1", "failover");
        let orphaned = failed_over.fault_begins(200, "c1", "kill");
        tries_on(orphaned, 220, 2_020).ends(9_000).expect_violated(
            Deadlock,
            (1_200, 2_030),
            "c2 tried in vain to take the lock from 200.0 ms to 2030.0 ms though nobody held it",
        );
    }

    #[test]
    fn trying_while_another_holds_the_lock_holds() {
        let story = tries_on(story().holds(10, "c1"), 20, 5_020).releases(5_100, "c1");
        story.expect_holds(Deadlock);
    }

    #[test]
    fn trying_for_longer_than_the_bound_with_no_holder_is_violated() {
        let held = tries_on(story().holds(10, "c1"), 20, 20);
        let orphaned = held.fault_begins(100, "c1", "kill");
        tries_on(orphaned, 220, 2_020).ends(9_000).expect_violated(
            Deadlock,
            (1_100, 2_030),
            "c2 tried in vain to take the lock from 100.0 ms to 2030.0 ms though nobody held it",
        );
    }

    #[test]
    fn the_bound_itself_is_not_exceeded() {
        // c2 tries from 20 ms on and fails for the last time at 1020 or 1021 ms.
        let dead = || story().holds(10, "c1").fault_begins(20, "c1", "kill");
        tries_on(dead(), 20, 820)
            .tries(1_000, "c2")
            .fails(1_020, "c2")
            .expect_holds(Deadlock);
        tries_on(dead(), 20, 820)
            .tries(1_000, "c2")
            .fails(1_021, "c2")
            .expect_violation_at(Deadlock, 1_020);
    }

    #[test]
    fn giving_up_and_coming_back_later_starts_afresh() {
        let story = tries_on(story(), 0, 800);
        tries_on(story, 1_810, 2_610).expect_holds(Deadlock);
    }

    #[test]
    fn a_call_that_does_not_return_is_still_trying() {
        story()
            .holds(10, "c1")
            .tries(20, "c2")
            .releases(50, "c1")
            .ends(1_051)
            .expect_violated(
                Deadlock,
                (1_050, 1_051),
                "c2 tried in vain to take the lock from 50.0 ms to 1051.0 ms though nobody held it",
            );
    }

    #[test]
    fn nobody_wanting_it_holds() {
        story()
            .holds(10, "c1")
            .tries(20, "c2")
            .fails(30, "c2")
            .releases(50, "c1")
            .ends(90_000)
            .expect_holds(Deadlock);
    }

    #[test]
    fn one_that_had_the_lock_wants_it_again_from_its_next_attempt() {
        story()
            .tries(0, "c1")
            .granted(10, "c1")
            .releases(20, "c1")
            .tries(900, "c1")
            .fails(1_100, "c1")
            .expect_holds(Deadlock);
    }

    #[test]
    fn of_two_holders_the_one_that_lasts_longer_counts() {
        let both = story().holds(0, "c1").holds(10, "c3").releases(15, "c3");
        tries_on(both, 20, 1_820)
            .releases(1_900, "c1")
            .expect_holds(Deadlock);
    }

    #[test]
    fn a_dead_client_wants_nothing() {
        story()
            .holds(10, "c1")
            .tries(20, "c2")
            .fault_begins(40, "c2", "crash")
            .releases(50, "c1")
            .ends(90_000)
            .expect_holds(Deadlock);
        // Nor is it in its call when it comes back.
        story()
            .holds(10, "c1")
            .tries(20, "c2")
            .fault_begins(40, "c2", "kill")
            .releases(50, "c1")
            .fault_ends(60, "c2", "kill")
            .ends(90_000)
            .expect_holds(Deadlock);
    }

    #[test]
    fn a_holder_that_is_cut_off_holds_the_lock_to_the_end_of_its_lease() {
        let held = tries_on(story().holds_for(10, "c1", Wall, 500), 20, 20);
        let cut_off = held.fault_begins(100, "c1", "partition");
        tries_on(cut_off, 220, 1_620).expect_violated(
            Deadlock,
            (1_510, 1_630),
            "c2 tried in vain to take the lock from 510.0 ms to 1630.0 ms though nobody held it",
        );
    }

    #[test]
    fn a_fault_in_the_clients_way_does_not_count_and_its_end_starts_afresh() {
        for host in ["n1", "c2"] {
            let hindered = |lifted_ms| {
                story()
                    .holds(10, "c1")
                    .tries(20, "c2")
                    .releases(50, "c1")
                    .fault_begins(60, host, "partition")
                    .fault_ends(lifted_ms, host, "partition")
                    .ends(5_000)
            };
            hindered(4_000).expect_holds(Deadlock);
            hindered(3_999).expect_violation_at(Deadlock, 4_999);
        }
    }

    #[test]
    fn a_fault_of_another_client_or_of_clocks_is_no_excuse() {
        for (host, kind) in [("c1", "pause"), ("n1", "clock-step"), ("c2", "clock-rate")] {
            story()
                .holds(10, "c1")
                .tries(20, "c2")
                .releases(50, "c1")
                .fault_begins(60, host, kind)
                .ends(1_100)
                .expect_violation_at(Deadlock, 1_050);
        }
    }

    #[test]
    fn two_that_take_turns_at_failing_are_each_in_vain() {
        let mut story = story();
        for at_ms in (0..1_300).step_by(100) {
            let client = if at_ms % 200 == 0 { "c1" } else { "c2" };
            story = story.tries(at_ms, client).fails(at_ms + 50, client);
        }
        story.expect_violated(
            Deadlock,
            (1_000, 1_250),
            "c1 tried in vain to take the lock from 0.0 ms to 1250.0 ms though nobody held it",
        );
    }

    #[test]
    fn a_stretch_ends_when_the_lock_is_taken() {
        story()
            .tries(0, "c1")
            .tries(0, "c2")
            .granted(600, "c2")
            .releases(700, "c2")
            .granted(1_500, "c1")
            .expect_holds(Deadlock);
    }
}

//! The search held to brute force: every order of every small history, at every instant, by a
//! description of each lock that shares nothing with the models.

use proptest::collection::vec;
use proptest::prelude::*;

use super::*;
use crate::models::Act::{self, Acquire, Extend, Release};
use crate::models::{
    Fenced, Lease, Mutex, Owner, ReadWrite, Reentrant, ReentrantFenced, ReentrantReadWrite,
    Semaphore,
};

const PERMITS: u32 = 2;
const BUDGET: u64 = 1_000_000;
const NEVER: u64 = u64::MAX;

const LEASE: Lease = Lease {
    anybody_releases: false,
};

/// No instant after this one makes a difference.
const LAST_NS: u64 = 40;

/// A lock as a list of holds.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Lock {
    Mutex,
    Owner,
    Reentrant,
    Semaphore,
    ReadWrite,
    ReentrantFenced,
    ReentrantReadWrite,
    Fenced,
    Lease,
}

#[derive(Clone, Copy)]
struct Held {
    holder: u32,
    shared: bool,
    permits: u32,
    until_ns: u64,
    token: Option<u64>,
}

impl Lock {
    /// Every list of holds that the call may leave if it takes effect now; with the highest token.
    fn after(
        self,
        held: &[Held],
        highest: Option<u64>,
        call: &Step,
    ) -> Option<(Vec<Held>, Option<u64>)> {
        let mut after = held.to_vec();
        let own = |held: &Held| held.holder == call.holder;
        let mut token = highest;
        match call.act {
            Acquire => {
                let fits = match self {
                    Lock::Mutex | Lock::Owner | Lock::Fenced | Lock::Lease => held.is_empty(),
                    Lock::Reentrant | Lock::ReentrantFenced => held.iter().all(own),
                    Lock::Semaphore => {
                        held.iter().map(|held| held.permits).sum::<u32>() + call.permits <= PERMITS
                    }
                    Lock::ReadWrite if call.shared => held.iter().all(|held| held.shared),
                    Lock::ReadWrite => held.is_empty(),
                    Lock::ReentrantReadWrite if call.shared => {
                        held.iter().all(|held| held.shared || own(held))
                    }
                    Lock::ReentrantReadWrite => {
                        held.is_empty() || held.iter().any(|held| own(held) && !held.shared)
                    }
                };
                if !fits {
                    return None;
                }
                let has_tokens = matches!(self, Lock::Fenced | Lock::ReentrantFenced | Lock::Lease);
                let own_token = held.iter().find_map(|held| held.token);
                match (has_tokens, call.token, own_token) {
                    (true, Some(_), Some(_)) if call.token != own_token => return None,
                    (true, Some(_), None) if call.token <= highest => return None,
                    (true, Some(_), None) => token = call.token,
                    _ => {}
                }
                let own_token = own_token.or(call.token).filter(|_| has_tokens);
                after.iter_mut().for_each(|held| held.token = own_token);
                after.push(Held {
                    holder: call.holder,
                    shared: call.shared,
                    permits: call.permits,
                    until_ns: match call.is_known {
                        true => call.deadline_ns.unwrap_or(NEVER),
                        false => 0,
                    },
                    token: own_token,
                });
            }
            Release => match self {
                Lock::Mutex => drop(after.pop()?),
                Lock::Semaphore => {
                    let mut left = call.permits;
                    for held in after.iter_mut().filter(|held| own(held)) {
                        let taken = left.min(held.permits);
                        held.permits -= taken;
                        left -= taken;
                    }
                    after.retain(|held| held.permits > 0);
                    if left > 0 {
                        return None;
                    }
                }
                Lock::ReadWrite | Lock::ReentrantReadWrite => {
                    let writing = after.iter().position(|held| own(held) && !held.shared);
                    let reading = after.iter().position(|held| own(held) && held.shared);
                    let place = writing.filter(|_| !call.shared).or(reading)?;
                    after.remove(place);
                }
                _ => drop(after.remove(held.iter().position(own)?)),
            },
            Extend => {
                let place = match self {
                    Lock::Mutex => 0,
                    _ => held.iter().position(own)?,
                };
                let extended = after.get_mut(place)?;
                let until_ns = call.deadline_ns.unwrap_or(extended.until_ns);
                // Nobody counts on more than was told.
                extended.until_ns = match call.is_known {
                    true => until_ns,
                    false => until_ns.min(extended.until_ns),
                };
            }
        }
        Some((after, token))
    }
}

/// Tries every order.
struct Brute<'b> {
    lock: Lock,
    calls: &'b [Searched],
}

impl Brute<'_> {
    fn explains(&self, done: u32, held: &[Held], highest: Option<u64>, from_ns: u64) -> bool {
        let is_done = |place: usize| done & 1 << place != 0;
        let known = |call: &Searched| call.step.is_known;
        if (0..self.calls.len()).all(|place| is_done(place) || !known(&self.calls[place])) {
            return true;
        }
        (0..self.calls.len())
            .filter(|&place| !is_done(place))
            .any(|place| {
                let call = &self.calls[place];
                let has_to_wait = self.calls.iter().enumerate().any(|(other, before)| {
                    let is_before = before.step.returned_ns < call.step.invoked_ns
                        || before.process == call.process && other < place;
                    !is_done(other) && known(before) && is_before
                });
                !has_to_wait && self.takes_effect(done | 1 << place, call, held, highest, from_ns)
            })
    }

    fn takes_effect(
        &self,
        done: u32,
        call: &Searched,
        held: &[Held],
        highest: Option<u64>,
        from_ns: u64,
    ) -> bool {
        let step = &call.step;
        let instants = match self.lock {
            Lock::Lease => from_ns.max(step.invoked_ns)..=step.returned_ns.min(LAST_NS),
            // Only the order matters to a lock without a lease.
            _ => 0..=0,
        };
        instants.into_iter().any(|now_ns| {
            let expired: Vec<Held> = held
                .iter()
                .copied()
                .filter(|held| held.until_ns > now_ns)
                .collect();
            let may_expire = self.lock == Lock::Lease && expired.len() < held.len();
            let expiries = [Some(held), may_expire.then_some(&expired[..])];
            expiries.into_iter().flatten().any(|held| {
                let after = self.lock.after(held, highest, step);
                after.is_some_and(|(held, highest)| self.explains(done, &held, highest, now_ns))
            })
        })
    }
}

/// Calls of some processes, each of which does one thing at a time.
fn calls() -> impl Strategy<Value = Vec<Searched>> {
    let call = (
        (0..3_u32, 0..7_u8, 0..4_u64, 0..5_u64),
        (
            0..6_u64,
            prop::bool::weighted(0.2),
            prop::bool::weighted(0.3),
        ),
        (1..3_u32, prop::option::weighted(0.5, 1..5_u64), 0..2_u32),
    );
    vec(call, 1..7).prop_map(|drawn| {
        let mut free_ns = [0; 3];
        let mut calls = Vec::new();
        for ((process, act, gap, lasts), (lease, is_unknown, shared), (permits, token, owner)) in
            drawn
        {
            let free_ns = &mut free_ns[process as usize];
            let invoked_ns = *free_ns + gap;
            let returned_ns = invoked_ns + lasts;
            *free_ns = returned_ns;
            let act = match act {
                0..=3 => Acquire,
                4..=5 => Release,
                _ => Extend,
            };
            let is_known = !is_unknown;
            calls.push(Searched {
                step: Step {
                    // Two processes may be one holder.
                    holder: process.min(owner + 1),
                    act,
                    is_known,
                    shared,
                    permits,
                    token: token.filter(|_| is_known && act == Acquire),
                    deadline_ns: (lease < 5).then_some(returned_ns + lease),
                    invoked_ns,
                    returned_ns: if is_known { returned_ns } else { NEVER },
                },
                index: 0,
                process,
            });
        }
        calls.sort_by_key(|call| call.step.invoked_ns);
        for (index, call) in calls.iter_mut().enumerate() {
            call.index = index;
        }
        calls
    })
}

fn found(lock: Lock, calls: &[Searched]) -> Found {
    let permits = PERMITS;
    match lock {
        Lock::Mutex => search(&Mutex, calls, BUDGET),
        Lock::Owner => search(&Owner, calls, BUDGET),
        Lock::Reentrant => search(&Reentrant, calls, BUDGET),
        Lock::Semaphore => search(&Semaphore { permits }, calls, BUDGET),
        Lock::ReadWrite => search(&ReadWrite, calls, BUDGET),
        Lock::ReentrantFenced => search(&ReentrantFenced, calls, BUDGET),
        Lock::ReentrantReadWrite => search(&ReentrantReadWrite, calls, BUDGET),
        Lock::Fenced => search(&Fenced, calls, BUDGET),
        Lock::Lease => search(&LEASE, calls, BUDGET),
    }
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: 512,
        failure_persistence: None,
        ..ProptestConfig::default()
    })]

    #[test]
    fn the_search_agrees_with_every_order_tried(calls in calls()) {
        for lock in [
            Lock::Mutex,
            Lock::Owner,
            Lock::Reentrant,
            Lock::Semaphore,
            Lock::ReadWrite,
            Lock::ReentrantFenced,
            Lock::ReentrantReadWrite,
            Lock::Fenced,
            Lock::Lease,
        ] {
            let explained = Brute { lock, calls: &calls }.explains(0, &[], None, 0);
            let found = found(lock, &calls);
            prop_assert_eq!(found == Found::Order, explained, "{:?}: {:?}", lock, found);
        }
    }

    /// Where the search is stuck, no order explains what had returned by then, whatever came later. (A
    /// token or a deadline that came later may be what does not fit.)
    #[test]
    fn the_search_is_stuck_at_the_first_return_that_nothing_explains(calls in calls()) {
        for lock in [Lock::Owner, Lock::Reentrant, Lock::ReadWrite] {
            let Found::None(stuck) = found(lock, &calls) else {
                continue;
            };
            let at_ns = calls[stuck.call].step.returned_ns;
            // What returns after this instant is as if it never did.
            let until = |may_return: &dyn Fn(u64) -> bool| -> Vec<Searched> {
                let mut cut = calls.clone();
                cut.retain(|call| may_return(call.step.returned_ns) || call.step.act != Act::Extend);
                for call in &mut cut {
                    if !may_return(call.step.returned_ns) {
                        call.step.is_known = false;
                        call.step.returned_ns = NEVER;
                        call.step.token = None;
                    }
                }
                cut
            };
            let with = until(&|returned_ns| returned_ns <= at_ns);
            prop_assert!(matches!(found(lock, &with), Found::None(_)), "{:?}", lock);
        }
    }
}

fn call(process: u32, act: Act, invoked_ns: u64, returned_ns: u64) -> Searched {
    Searched {
        step: Step {
            holder: process,
            act,
            is_known: returned_ns != NEVER,
            shared: false,
            permits: 1,
            token: None,
            deadline_ns: None,
            invoked_ns,
            returned_ns,
        },
        index: 0,
        process,
    }
}

#[test]
fn a_spent_budget_says_how_far_it_came() {
    let calls = [
        call(1, Acquire, 0, 1),
        call(1, Release, 2, 3),
        call(2, Acquire, 4, 5),
    ];
    let spent = |ordered| Found::BudgetSpent {
        ordered,
        calls: 3,
        tried: ordered as u64,
    };
    assert_eq!(search(&Owner, &calls, 2), spent(2));
    assert_eq!(search(&Owner, &calls, 3), Found::Order);
}

#[test]
fn a_lock_that_was_taken_twice_is_free_after_two_releases() {
    let once = [
        call(1, Acquire, 0, 1),
        call(1, Acquire, 2, 3),
        call(1, Release, 4, 5),
    ];
    let other = call(2, Acquire, 8, 9);
    let held = [&once[..], &[other]].concat();
    assert!(matches!(search(&Reentrant, &held, BUDGET), Found::None(_)));
    let free = [&once[..], &[call(1, Release, 6, 7), other]].concat();
    assert_eq!(search(&Reentrant, &free, BUDGET), Found::Order);
}

#[test]
fn a_release_of_unknown_outcome_may_take_effect_later_or_never() {
    let released = [call(1, Acquire, 0, 1), call(1, Release, 2, NEVER)];
    let later = [&released[..], &[call(2, Acquire, 8, 9)]].concat();
    assert_eq!(search(&Owner, &later, BUDGET), Found::Order);
    let never = [&released[..], &[call(1, Release, 8, 9)]].concat();
    assert_eq!(search(&Owner, &never, BUDGET), Found::Order);
    let twice = [&later[..], &[call(1, Release, 10, 11)]].concat();
    assert!(matches!(search(&Owner, &twice, BUDGET), Found::None(_)));
}

/// Time is what tells these apart: the second grant returned before or after the first one's deadline.
#[test]
fn a_lease_makes_room_at_its_deadline_and_not_before() {
    let leased = |deadline_ns, mut call: Searched| {
        call.step.deadline_ns = Some(deadline_ns);
        call
    };
    let first = leased(20, call(1, Acquire, 0, 1));
    let second = |returned_ns| leased(90, call(2, Acquire, 5, returned_ns));
    assert!(matches!(
        search(&LEASE, &[first, second(19)], BUDGET),
        Found::None(_)
    ));
    assert_eq!(search(&LEASE, &[first, second(20)], BUDGET), Found::Order);
    // An extension that returned while the second one waited moves the deadline.
    let extended = leased(40, call(1, Extend, 10, 12));
    assert!(matches!(
        search(&LEASE, &[first, second(39), extended], BUDGET),
        Found::None(_)
    ));
    assert_eq!(
        search(&LEASE, &[first, second(40), extended], BUDGET),
        Found::Order
    );
    // A holder that comes late and finds its lock still there.
    let late = call(1, Release, 30, 31);
    assert_eq!(search(&LEASE, &[first, late], BUDGET), Found::Order);
    assert!(matches!(
        search(&LEASE, &[first, second(25), late], BUDGET),
        Found::None(_)
    ));
}

/// Ten calls of acquire and ten of release that nobody knows of, in any order, before twenty grants of which eleven
/// need a release: one too many.
#[test]
fn calls_of_unknown_outcome_that_are_alike_are_one_choice() {
    let pairs = (0..10).map(|n| (100 + n, u64::from(n)));
    let mut calls: Vec<Searched> = pairs
        .flat_map(|(process, at_ns)| {
            let release = call(process + 100, Release, at_ns, NEVER);
            [call(process, Acquire, at_ns, NEVER), release]
        })
        .collect();
    for grant in 0..12 {
        let at_ns = 100 + 2 * u64::from(grant);
        calls.push(call(grant, Acquire, at_ns, at_ns + 1));
    }
    let found = search(&Mutex, &calls, 10_000);
    assert!(matches!(found, Found::None(_)), "{found:?}");
    calls.pop();
    assert_eq!(search(&Mutex, &calls, 10_000), Found::Order);
}

/// Fourteen readers come in any order, and a writer comes while they read: without memory the search
/// would try all orders.
#[test]
fn states_that_were_left_are_not_entered_again() {
    let reader = |process| {
        let mut reader = call(process, Acquire, 0, 100);
        reader.step.shared = true;
        reader
    };
    let mut calls: Vec<Searched> = (0..14).map(reader).collect();
    calls.push(call(20, Acquire, 101, 102));
    let found = search(&ReadWrite, &calls, 400_000);
    assert!(matches!(found, Found::None(_)), "{found:?}");
}

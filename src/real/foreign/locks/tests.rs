//! Programs with several locks, tasks and permits, and what is judged of each.

use locklab_check::history_builder::{HistoryBuilder, MS};
use locklab_check::{Bounds, Verdict, judge};
use locklab_history::timeline::Grant;
use locklab_history::{Access, ClockKind, Deadline};
use proptest::prelude::*;

use super::*;

fn bounds() -> Bounds {
    let text = "title = \"a program\"\nlock = { name = \"set-nx-px\", ttl_ms = 1000 }\n";
    let scenario = locklab_model::scenario::parse("t.toml", text, &[]).expect("a sound scenario");
    locklab_runner::judged::bounds(&scenario)
}

/// A lock with these permits, and who has it from when to when, in milliseconds; with a deadline, if there is one.
fn lock(permits: u32, held: &[(&str, u64, u64, Option<u64>)]) -> OfLock {
    let mut lock = OfLock {
        permits,
        ..OfLock::default()
    };
    for (grant, (host, from_ms, to_ms, deadline_ms)) in (1..).zip(held) {
        let record = |ms: u64, event| record(ms, host, event);
        let deadline = deadline_ms.map(|ms| Deadline {
            clock: ClockKind::Monotonic,
            at_ns: ms * MS,
        });
        lock.records.extend([
            record(
                *from_ms,
                Event::BeliefBegins {
                    grant,
                    deadline,
                    token: None,
                    shared: false,
                },
            ),
            record(*to_ms, Event::BeliefEnds { grant }),
        ]);
    }
    lock.records.sort_by_key(|record| record.at_ns);
    lock
}

fn record(ms: u64, host: &str, event: Event) -> Record {
    Record {
        at_ns: ms * MS,
        host: host.into(),
        wall_ns: ms * MS,
        mono_ns: ms * MS,
        event,
    }
}

fn of_locks(locks: Vec<(&str, OfLock)>) -> Converted {
    let mut converted = Converted::default();
    let locks = locks.into_iter().map(|(name, lock)| (name.into(), lock));
    converted.locks.extend(locks);
    converted
}

/// Whether a property is violated in one of the parts.
fn violates(property: Property, locks: Vec<(&str, OfLock)>) -> bool {
    let parts = parts(&[], vec![], &mut of_locks(locks));
    parts.into_iter().any(|part| {
        let history = History {
            records: part.records,
            ..History::default()
        };
        matches!(judge(&history, &bounds())[&property], Verdict::Violated(_))
    })
}

#[test]
fn who_has_different_locks_does_not_have_one_together() {
    let held = |host| [(host, 10, 90, None)];
    let of = |locks: &[&'static str]| {
        let hosts = ["c1", "c2"].into_iter();
        let mut all: VecMap<&str, OfLock> = VecMap::new();
        for (name, host) in locks.iter().zip(hosts) {
            all.entry(name)
                .or_default()
                .records
                .extend(lock(1, &held(host)).records);
        }
        violates(Property::Belief, all.into_iter().collect())
    };
    assert!(of(&["a", "a"]));
    assert!(!of(&["a", "b"]));
    assert!(!of(&["", "b"]));
}

#[test]
fn a_semaphore_is_violated_if_more_have_it_than_it_has_permits() {
    let held = [
        ("c1", 10, 50, None),
        ("c2", 20, 60, None),
        ("c3", 30, 70, None),
        ("c1", 55, 90, None),
    ];
    let with = |permits| violates(Property::Belief, vec![("s", lock(permits, &held))]);
    assert!(with(1) && with(2));
    assert!(!with(3));
    // The lease of c1 is over before c3 has its own; its belief is not.
    let held = [
        ("c1", 10, 50, Some(25)),
        ("c2", 20, 60, None),
        ("c3", 30, 70, None),
    ];
    assert!(violates(Property::Belief, vec![("s", lock(2, &held))]));
    assert!(!violates(Property::Lease, vec![("s", lock(2, &held))]));
}

#[test]
fn a_permit_shows_nothing_but_who_has_it() {
    let held = [("c1", 10, 50, None), ("c2", 20, 60, None)];
    let parts = parts(&[], vec![], &mut of_locks(vec![("s", lock(2, &held))]));
    let names: Vec<&str> = parts.iter().map(|part| &*part.lock).collect();
    assert_eq!(names, ["permit 1 of 2", "permit 2 of 2"]);
    let unshown = &parts[0].unshown;
    assert!(unshown.contains_key(&Property::Resource) && !unshown.contains_key(&Property::Lease));
}

/// c2 is refused while both permits are taken, and does not count as waiting when one is free.
#[test]
fn a_client_that_was_refused_has_asked_for_each_permit() {
    let mut of_lock = lock(2, &[("c1", 10, 50, None), ("c3", 20, 60, None)]);
    let call = 1;
    let op = Op::Acquire;
    let outcome = Outcome::Failed;
    let detail = String::new();
    of_lock
        .records
        .push(record(30, "c2", Event::Invoke { call, op }));
    of_lock.records.push(record(
        31,
        "c2",
        Event::Complete {
            call,
            op,
            outcome,
            detail,
        },
    ));
    of_lock.records.sort_by_key(|record| record.at_ns);
    let parts = parts(&[], vec![], &mut of_locks(vec![("s", of_lock)]));
    for part in parts {
        let asked = part
            .records
            .iter()
            .filter(|it| it.event.is_reached(Failpoint::GivingUp));
        assert_eq!(asked.count(), 1);
        let end_ns = 9000 * MS;
        let history = History {
            records: part.records,
            end_ns,
            ..History::default()
        };
        let verdicts = judge(&history, &bounds());
        assert_eq!(
            verdicts[&Property::Lease],
            Verdict::Holds,
            "{:?}",
            verdicts[&Property::Lease]
        );
        assert!(!matches!(
            verdicts[&Property::Deadlock],
            Verdict::Violated(_)
        ));
    }
}

#[test]
fn what_strikes_a_program_strikes_its_tasks() {
    let shared = HistoryBuilder::default()
        .fault_begins(30, "c1", "kill")
        .history();
    let held = [("c1/1", 10, 90, None), ("c2/1", 40, 80, None)];
    let of = |shared: &[Record]| {
        let parts = parts(shared, vec![], &mut of_locks(vec![("", lock(1, &held))]));
        let history = History {
            records: parts[0].records.clone(),
            ..History::default()
        };
        matches!(
            judge(&history, &bounds())[&Property::Belief],
            Verdict::Violated(_)
        )
    };
    assert!(of(&[]));
    assert!(!of(&shared.records));
}

#[test]
fn a_key_of_the_resource_belongs_to_the_lock_of_its_name() {
    let access = |key: &str| Accessed {
        key: key.into(),
        record: record(
            20,
            "resource",
            Event::Access {
                client: "c1".into(),
                grant: 0,
                access: Access::Read { version: 0 },
                token: None,
                accepted: true,
            },
        ),
    };
    let accesses = |locks: &[&str], keys: &[&str]| {
        let locks = locks
            .iter()
            .map(|name| (*name, lock(1, &[("c1", 10, 90, None)])));
        let mut converted = of_locks(locks.collect());
        let keys = keys.iter().map(|key| access(key)).collect();
        let parts = parts(&[], keys, &mut converted);
        let is_access = |record: &&Record| matches!(record.event, Event::Access { .. });
        let counts = parts
            .iter()
            .map(|part| part.records.iter().filter(is_access).count());
        (counts.collect::<Vec<_>>(), converted.notes.len())
    };
    assert_eq!(accesses(&["a", "b"], &["b", "a", "b"]), (vec![1, 2], 0));
    assert_eq!(accesses(&["a", "b"], &["b", "c"]), (vec![0, 1], 1));
    // The only lock protects the first key, whatever its name.
    assert_eq!(accesses(&["a"], &["x", "x"]), (vec![2], 0));
    assert_eq!(accesses(&[""], &["x", "y"]), (vec![1], 1));
}

/// A client's use of the semaphore: for how long it waits before, holds it, has a lease, and, from when on, another one.
#[derive(Debug, Clone)]
struct Use {
    gap_ms: u64,
    held_ms: u64,
    lease_ms: Option<u64>,
    extension: Option<(u64, u64)>,
}

fn uses() -> impl Strategy<Value = Vec<Vec<Use>>> {
    let lease = prop::option::of(1..30u64);
    let extension = prop::option::of((1..30u64, 1..30u64));
    let one = (1..30u64, 1..40u64, lease, extension);
    let one = one.prop_map(|(gap_ms, held_ms, lease_ms, extension)| Use {
        gap_ms,
        held_ms,
        lease_ms,
        extension: extension.filter(|(at_ms, _)| lease_ms.is_some() && *at_ms < held_ms),
    });
    prop::collection::vec(prop::collection::vec(one, 1..5), 2..6)
}

fn told(uses: &[Vec<Use>], permits: u32) -> OfLock {
    let mut records = Vec::new();
    for (client, uses) in (1..).zip(uses) {
        let host = format!("c{client}");
        let mut now_ms = 0;
        for (grant, it) in (1..).zip(uses) {
            now_ms += it.gap_ms;
            let begins = |from_ms: u64, lease_ms: Option<u64>| {
                let deadline = lease_ms.map(|ms| Deadline {
                    clock: ClockKind::Monotonic,
                    at_ns: (from_ms + ms) * MS,
                });
                let (token, shared) = (None, false);
                record(
                    from_ms,
                    &host,
                    Event::BeliefBegins {
                        grant,
                        deadline,
                        token,
                        shared,
                    },
                )
            };
            records.push(begins(now_ms, it.lease_ms));
            let extension = it
                .extension
                .map(|(at_ms, lease_ms)| begins(now_ms + at_ms, Some(lease_ms)));
            records.extend(extension);
            now_ms += it.held_ms;
            records.push(record(now_ms, &host, Event::BeliefEnds { grant }));
        }
    }
    OfLock {
        records,
        permits,
        ..OfLock::default()
    }
}

/// The lease of c1 ends, c3 takes its permit, c2 gives its own back, and c1 extends its lease: two have two permits.
#[test]
fn a_lease_that_is_extended_after_its_end_takes_a_permit_that_is_free() {
    let held_ms = |gap_ms, held_ms, lease_ms, extension| Use {
        gap_ms,
        held_ms,
        lease_ms,
        extension,
    };
    let uses = [
        vec![held_ms(10, 90, Some(10), Some((50, 20)))],
        vec![held_ms(15, 30, None, None)],
        vec![held_ms(30, 60, None, None)],
    ];
    let is_violated = |permits| violates(Property::Lease, vec![("s", told(&uses, permits))]);
    assert!(!is_violated(2));
    assert!(is_violated(1));
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    /// More clients than permits have a semaphore together if, and only if, two have one permit together.
    #[test]
    fn a_permit_is_shared_if_and_only_if_there_are_too_few(uses in uses(), permits in 2..5u32) {
        let mut records = told(&uses, permits).records;
        records.sort_by_key(|record| record.at_ns);
        let history = History { records, ..History::default() };
        let timeline = Timeline::of(&history);
        let are_too_many = |until_ns: fn(&Grant<'_>) -> u64| {
            let lasts = timeline.grants.iter().filter(|grant| until_ns(grant) > grant.begins_ns);
            let is_one = |now: &Grant<'_>| {
                let at_ns = now.begins_ns;
                let at_once = lasts.clone().filter(|it| (it.begins_ns..until_ns(it)).contains(&at_ns));
                let clients: VecSet<&Name> = at_once.map(|it| it.client).collect();
                clients.len() > permits as usize
            };
            lasts.clone().any(is_one)
        };
        let is_shared = |property| violates(property, vec![("s", told(&uses, permits))]);
        prop_assert_eq!(is_shared(Property::Lease), are_too_many(|it| it.lapses_ns));
        prop_assert_eq!(is_shared(Property::Belief), are_too_many(|it| it.ends_ns));
    }
}

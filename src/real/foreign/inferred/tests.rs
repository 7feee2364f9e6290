//! Programs that say nothing: which key is their lock, by which clocks they count, and what stays open.

use locklab_history::wire::Executed;
use locklab_history::{Access, ClockKind, Deadline, KeyChange, KeyState};
use locklab_values::units::NS_PER_MS;

use super::*;

/// A host of which both clocks are right, or one of them is fast by a half.
enum Clocks {
    Right,
    FastMono,
    FastWall,
    SlowMono,
}

impl HostReadings for Clocks {
    fn at(&self, _: &Name, mono_ns: u64) -> Readings {
        let right = Readings {
            wall_ns: mono_ns,
            mono_ns,
        };
        match self {
            Clocks::Right => right,
            Clocks::FastMono => Readings {
                mono_ns: mono_ns + mono_ns / 2,
                ..right
            },
            Clocks::FastWall => Readings {
                wall_ns: mono_ns + mono_ns / 2,
                ..right
            },
            Clocks::SlowMono => Readings {
                mono_ns: mono_ns / 2,
                ..right
            },
        }
    }

    fn may_be_wrong(&self, _: &Name) -> bool {
        !matches!(self, Clocks::Right)
    }
}

/// A client takes a key for 300 ms; its request leaves at this time, and is answered 2 ms later.
fn takes(client: &str, at_ms: u64, key: &str) -> Exchange {
    let words = ["SET", key, client, "NX", "PX", "300"];
    let executed_ns = (at_ms + 1) * NS_PER_MS;
    let state = KeyState {
        has_several: false,
        value: client.into(),
        expires: Some(Deadline {
            clock: ClockKind::Wall,
            at_ns: executed_ns + 301 * NS_PER_MS,
        }),
    };
    Exchange {
        client: client.into(),
        node: "n1".into(),
        sent_ns: at_ms * NS_PER_MS,
        commands: vec![words.map(|word| word.as_bytes().to_vec()).to_vec()],
        executed: Some(Executed {
            at_ns: executed_ns,
            wall_ns: executed_ns,
            mono_ns: executed_ns,
            process: 1,
            changed: vec![KeyChange {
                key: key.into(),
                now: Some(state),
            }],
            answered_ns: Some((at_ms + 2) * NS_PER_MS),
        }),
    }
}

fn infer_from(
    exchanges: &[Exchange],
    key: Option<&str>,
    clocks: &Clocks,
) -> Result<Inferred, Blind> {
    let history = History {
        end_ns: 10_000 * NS_PER_MS,
        ..History::default()
    };
    infer(&Seen {
        history: &history,
        exchanges,
        ended: &[],
        nodes: 1,
        silent: &["c1".into(), "c2".into()].into(),
        key,
        clocks,
        origin_ns: 1000 * NS_PER_MS,
    })
}

#[test]
fn the_lock_is_the_named_key_or_the_only_one() {
    let check = |keys: &[&str], named: Option<&str>, expected: Result<&str, Blind>| {
        let exchanges: Vec<Exchange> = { keys.iter().enumerate() }
            .map(|(place, key)| takes("c1", 1000 * place as u64, key))
            .collect();
        let found = infer_from(&exchanges, named, &Clocks::Right);
        match (found, expected) {
            (Ok(found), Ok(key)) => {
                assert!(found.note.contains(&format!("`{key}`")), "{}", found.note)
            }
            (found, expected) => assert_eq!(found.map(drop), expected.map(drop), "{keys:?}"),
        }
    };
    check(&["a", "a"], None, Ok("a"));
    check(&["a", "a", "b"], None, Ok("a"));
    check(&["a"], None, Ok("a"));
    let both = Blind::SeveralKeys(vec!["a".into(), "b".into()]);
    check(&["a", "b", "a", "b"], None, Err(both));
    check(&["a", "b", "a", "b"], Some("b"), Ok("b"));
    check(&["a", "a", "b"], Some("b"), Ok("b"));
    check(&["a"], Some("b"), Err(Blind::NotGranted("b".into())));
    check(&[], None, Err(Blind::NoKey));
}

#[test]
fn a_key_of_several_fields_is_no_exclusive_lock() {
    let mut exchanges = [takes("c1", 10, "a"), takes("c2", 600, "a")];
    let states = exchanges.iter_mut().filter_map(|it| it.executed.as_mut());
    for state in states
        .flat_map(|it| &mut it.changed)
        .filter_map(|it| it.now.as_mut())
    {
        state.has_several = true;
    }
    let found = infer_from(&exchanges, None, &Clocks::Right);
    assert_eq!(found.err(), Some(Blind::Shared("a".into())));
}

#[test]
fn a_lease_ends_by_the_clock_that_comes_first() {
    for (clocks, expected_ms) in [
        (Clocks::Right, 310),
        (Clocks::FastMono, 209),
        (Clocks::FastWall, 209),
        (Clocks::SlowMono, 310),
    ] {
        let found = infer_from(&[takes("c1", 10, "lock")], None, &clocks).expect("it is one key");
        let ends = found.records.iter().find_map(|record| match record.event {
            Event::BeliefEnds { .. } => Some(record.at_ns / NS_PER_MS),
            _ => None,
        });
        assert_eq!(ends, Some(expected_ms));
    }
}

#[test]
fn a_lease_may_have_no_end_or_one_long_after_the_run() {
    let with_end = |end_ns: Option<u64>| {
        let mut takes = takes("c1", 10, "lock");
        let executed = takes.executed.as_mut().expect("it was");
        let state = executed.changed[0].now.as_mut().expect("it is set");
        let clock = ClockKind::Wall;
        state.expires = end_ns.map(|at_ns| Deadline { clock, at_ns });
        takes
    };
    for (end_ns, has_deadline) in [(None, false), (Some(u64::MAX), true)] {
        let found =
            infer_from(&[with_end(end_ns)], None, &Clocks::FastWall).expect("it is one key");
        let deadlines = found
            .records
            .iter()
            .filter_map(|record| match record.event {
                Event::BeliefBegins { deadline, .. } => Some(deadline.is_some()),
                _ => None,
            });
        assert_eq!(deadlines.collect::<Vec<_>>(), [has_deadline]);
        let ends = |record: &Record| matches!(record.event, Event::BeliefEnds { .. });
        assert!(!found.records.iter().any(ends));
    }
}

#[test]
fn what_the_wire_does_not_show_is_said_with_who_and_when() {
    let apart = [takes("c1", 10, "lock"), takes("c2", 400, "lock")];
    let found = infer_from(&apart, None, &Clocks::Right).expect("it is one key");
    let expected = "c2 was granted the lock at 402.0 ms, and c1, granted it at 12.0 ms, had not given it up; its lease \
                    was over at 310.0 ms, and the wire does not show whether the program relied on it then";
    assert_eq!(found.unshown[&Property::Belief], expected);
    assert_eq!(found.unshown.get(&Property::Lease), None);
    assert_eq!(found.unshown[&Property::Deadlock], NO_CALLS);
    let alone = infer_from(&apart[..1], None, &Clocks::Right).expect("it is one key");
    assert_eq!(alone.unshown.get(&Property::Belief), None);
}

/// Of a program that uses no resource nothing is known of it; if another client uses it, something is.
#[test]
fn the_resource_is_unshown_where_nobody_uses_it() {
    let access = Record {
        at_ns: 20 * NS_PER_MS,
        host: "resource".into(),
        wall_ns: 0,
        mono_ns: 0,
        event: Event::Access {
            client: "c3".into(),
            grant: 0,
            access: Access::Read { version: 0 },
            token: None,
            accepted: true,
        },
    };
    for (records, is_unshown) in [(vec![], true), (vec![access], false)] {
        let history = History {
            records,
            end_ns: 10_000 * NS_PER_MS,
            ..History::default()
        };
        let unshown = without_resource([&history]);
        for property in [Property::Resource, Property::LostUpdate] {
            assert_eq!(unshown.contains_key(&property), is_unshown, "{property}");
        }
    }
}

//! Which release deleted what, and of which the program has told it already.

use locklab_history::wire::Grant;
use locklab_history::{Outcome, Record};
use locklab_values::units::NS_PER_MS;

use super::*;

/// A grant of c1, whose release leaves at 450 ms and deletes the key of another client.
fn granted() -> Answer {
    Answer::Granted(Grant {
        client: "c1".into(),
        asked_ns: 10 * NS_PER_MS,
        from_ns: 12 * NS_PER_MS,
        until_ns: 310 * NS_PER_MS,
        lapse_ns: 310 * NS_PER_MS,
        gives_up_ns: 450 * NS_PER_MS,
        asks_again: false,
        doubt: None,
        release: Some(Release {
            sent_ns: 450 * NS_PER_MS,
            answered_ns: Some(452 * NS_PER_MS),
            removed: Some(1),
        }),
    })
}

/// c1 tells that it releases its first grant from 440 ms to this time, and how many keys that deleted.
fn told(to_ms: u64, removed: Option<u32>) -> History {
    let at = |ms: u64, event| Record {
        at_ns: ms * NS_PER_MS,
        host: "c1".into(),
        wall_ns: 0,
        mono_ns: 0,
        event,
    };
    let (op, call, grant) = (Op::Release, 2, 1);
    let complete = Event::Complete {
        call,
        op,
        outcome: Outcome::Ok,
        detail: String::new(),
    };
    let mut records = vec![
        at(440, Event::BeliefEnds { grant }),
        at(440, Event::Invoke { call, op }),
        at(to_ms, complete),
    ];
    let released = removed.map(|removed| Event::Released { grant, removed });
    records.extend(released.map(|event| at(to_ms, event)));
    History {
        records,
        end_ns: 10_000 * NS_PER_MS,
        ..History::default()
    }
}

#[test]
fn what_a_told_release_deleted_is_taken_from_the_wire() {
    let check = |to_ms, removed, expected: &[(u64, Event)]| {
        let found = removals(&told(to_ms, removed), &[granted()]);
        let found: Vec<(u64, Event)> = { found.into_iter() }
            .map(|(at_ns, client, event)| {
                assert_eq!(client, "c1".into());
                (at_ns / NS_PER_MS, event)
            })
            .collect();
        assert_eq!(found, expected);
    };
    let released = Event::Released {
        grant: 1,
        removed: 1,
    };
    let deleting = Event::reached(Failpoint::Deleting);
    check(460, None, &[(450, deleting), (460, released)]);
    // The program has told it, or released before the request left.
    check(460, Some(1), &[]);
    check(445, None, &[]);
}

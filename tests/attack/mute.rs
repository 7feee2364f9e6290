//! A fault that waits until a client has acquired its lock strikes programs that tell so, that only show, and that do
//! neither.

use locklab_history::{Event, Phase, Record};
use locklab_runner::run::Run;

use crate::bench::{Bench, LOCK};

/// Runs clients that take the lock again and again, and do this under it. c1 is paused at this point, as in
/// attack/pause. It begins first: of two requests at once the wire does not show which one the server grants.
fn paused(after: &str, under_lock: &str) -> Option<Run> {
    let scenario = format!(
        "horizon_ms = 8000
         workload = {{ rounds = 1000 }}
         [fault.pause]
         kind = 'pause'
         on = 'c1'
         after = '{after}'
         duration_ms = 2500"
    );
    let script = format!(
        "{LOCK} [ $LOCKLAB_HOST = c1 ] || sleep 0.5
         while :; do take lock 1000; {under_lock} give lock; sleep 0.1; done"
    );
    let run = Bench::of(2).try_run(&scenario, &script)?;
    Some(run.expect("the run ends"))
}

/// The phases of the pause, with what came before each.
fn phases(run: &Run) -> Vec<(Phase, &[Record])> {
    let records = run.history.records.iter().enumerate();
    let phases = records.filter_map(|(place, record)| match &record.event {
        Event::Fault { phase, .. } => Some((*phase, &run.history.records[..place])),
        _ => None,
    });
    phases.collect()
}

fn grants(records: &[Record], client: &str) -> usize {
    let begins =
        |it: &&Record| *it.host == *client && matches!(it.event, Event::BeliefBegins { .. });
    records.iter().filter(begins).count()
}

/// c1 works under its second grant when it is stopped, and c2 is granted the lock meanwhile.
#[test]
fn a_silent_program_is_struck_under_its_second_grant() {
    let Some(run) = paused("c1 acquired", "sleep 0.3;") else {
        return;
    };
    let phases = phases(&run);
    let [(Phase::Begins, before), (Phase::Ends, until)] = &phases[..] else {
        panic!("the pause does not begin and end: {:#?}", run.notes);
    };
    assert_eq!(grants(before, "c1"), 2, "{before:#?}");
    let last = { before.iter().rev() }.find(|it| *it.host == *"c1");
    let last = last.map(|record| &record.event);
    assert!(matches!(last, Some(Event::BeliefBegins { .. })), "{last:?}");
    assert!(grants(until, "c2") > grants(before, "c2"), "{until:#?}");
}

/// c1 keeps its lock to the end, so its second grant never comes.
#[test]
fn a_silent_program_that_takes_its_lock_once_is_not_struck_and_it_is_said_what_to_write() {
    let once = r#"[ "$LOCKLAB_HOST" = c1 ] && sleep 100;"#;
    // On a busy machine c2 may be faster for the whole run, or c1 may miss a reply and ask again.
    for _ in 0..5 {
        let Some(run) = paused("c1 acquired", once) else {
            return;
        };
        if grants(&run.history.records, "c1") != 1 {
            continue;
        }
        let phases: Vec<Phase> = phases(&run).iter().map(|(phase, _)| *phase).collect();
        assert_eq!(phases, [Phase::Missed], "{:#?}", run.history.records);
        let expected = "write --set fault.pause.after='c1 holds' --set fault.pause.delay_ms=20";
        let mut told = run.notes.iter();
        assert!(told.any(|it| it.ends_with(expected)), "{:#?}", run.notes);
        return;
    }
    panic!("c1 takes its lock once in none of five runs");
}

#[test]
fn a_program_that_tells_is_struck_under_its_first_grant() {
    let Some(run) = paused("c1 acquired", "tell acquired; sleep 0.3; tell releasing;") else {
        return;
    };
    let (_, before) = phases(&run)[0];
    assert_eq!(grants(before, "c1"), 1, "{before:#?}");
}

/// Also if it works for some time before it uses the resource.
#[test]
fn a_program_that_shows_is_struck_by_its_accesses() {
    let Some(run) = paused(
        "c1 acquired #2",
        "sleep 0.3; redis \"$LOCKLAB_RESOURCE\" GET key;",
    ) else {
        return;
    };
    let (_, before) = phases(&run)[0];
    let of_c1 =
        |it: &&Record| matches!(&it.event, Event::Access { client, .. } if **client == *"c1");
    assert_eq!(before.iter().filter(of_c1).count(), 2, "{before:#?}");
}

//! Faults that strike at what passes the proxy, whatever the program tells.

use locklab_history::{Access, Event, Phase};
use locklab_runner::run::Run;

use crate::bench::run;

/// Takes a lock of 300 ms with a value of its own, and reads and writes under it. The second client comes later.
const WORKER: &str = r#"
    [ "$LOCKLAB_HOST" = c2 ] && sleep 0.5
    for ((i = 0; i < 100; i++)); do
        redis "$REDIS_URL" SET lock "$LOCKLAB_HOST" NX PX 300
        [ "$reply" = +OK ] && break
        sleep 0.02
    done
    redis "$LOCKLAB_RESOURCE" GET key
    redis "$LOCKLAB_RESOURCE" SET key "$reply+1"
    redis "$REDIS_URL" DEL lock
"#;

/// Who wrote, in order, and the phases of the fault.
fn writers_and_phases(run: &Run) -> (Vec<&str>, Vec<Phase>) {
    let (mut writers, mut phases) = (Vec::new(), Vec::new());
    for record in &run.history.records {
        match &record.event {
            Event::Access {
                client,
                access: Access::Write { .. },
                ..
            } => writers.push(&**client),
            Event::Fault { phase, .. } => phases.push(*phase),
            _ => {}
        }
    }
    (writers, phases)
}

/// c1 is granted the lock first, and stops before it reads so. When it goes on, its lease is over and c2 has
/// written, also on a busy machine.
#[test]
fn a_pause_strikes_when_the_reply_that_grants_arrives() {
    for trigger in [
        "after = 'c1 holds'",
        "after = 'c1 SET'",
        "at_step = 'c1 SET #1 reply arrives from n1'",
    ] {
        let scenario = format!(
            "horizon_ms = 6000
             [fault.pause]
             kind = 'pause'
             on = 'c1'
             {trigger}
             duration_ms = 2500"
        );
        let Some(run) = run(2, &scenario, WORKER) else {
            return;
        };
        let expected = (vec!["c2", "c1"], vec![Phase::Begins, Phase::Ends]);
        assert_eq!(writers_and_phases(&run), expected, "{trigger}");
    }
}

/// The reply that comes back to the dead program is lost with it, and its lock stays until its lease is over.
#[test]
fn a_kill_strikes_before_the_program_reads_the_reply() {
    const SCENARIO: &str = r#"
        horizon_ms = 3000
        [fault.oom]
        kind = "kill"
        on = "c1"
        after = "c1 holds"
    "#;
    let Some(run) = run(2, SCENARIO, WORKER) else {
        return;
    };
    assert_eq!(writers_and_phases(&run), (vec!["c2"], vec![Phase::Begins]));
}

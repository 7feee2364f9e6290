//! A fault that changes nothing shows nothing.
//!
//! The run without the fault is the oracle: if it has the same history, record for record, nothing was touched, and
//! no property may be called *holds* on the strength of the fault.
//!
//! One sort of fault is exempt: a wrong clock of a client that uses the lock, or of the node, whose monotonic clock
//! a suspension stops. Another lock would have read that clock; that this one reads the other clock, or none, is
//! what is to be shown. A pause that begins less than a millisecond after its client did something counts as one that
//! stopped it in the middle of that, since on a real machine the two are not told apart: of 4,000 of these cases, in
//! 2,012 of which the histories are the same, that claims too much in one (case 1842). And a loss of some packets is not drawn: that it spared all of a run's is chance.

use locklab_check::Verdict;
use locklab_history::{Event, History, Record, Schedule};
use locklab_runner::judged::{self, JudgedRun};
use locklab_runner::simulate::Keep;
use locklab_values::random::Stream;

use crate::scenario;

/// What happened in a run, without its faults and without what the clocks showed.
fn outline(history: &History) -> Vec<(u64, &str, &Event)> {
    let is_fault = |record: &&Record| matches!(record.event, Event::Fault { .. });
    let records = history.records.iter().filter(|record| !is_fault(record));
    let outline = records.map(|record| (record.at_ns, &*record.host, &record.event));
    // The run may end later, with the fault.
    outline
        .filter(|(.., event)| **event != Event::RunEnds)
        .collect()
}

/// A small scenario with one fault, and whether it makes a clock wrong that a lock could read.
fn draw(random: &mut Stream) -> (String, bool) {
    let mut pick = |options: &[&str]| -> String {
        let place = random.below(options.len() as u64) as usize;
        options[place].to_owned()
    };
    let host = pick(&["c1", "c1", "c2", "n1", "resource"]);
    let (kind, on) = match &*pick(&["host", "host", "link", "link", "clock"]) {
        "host" => {
            let kind = pick(&["pause", "pause", "suspend", "kill", "crash", "reset"]);
            (format!("kind = '{kind}'"), format!("on = '{host}'"))
        }
        "link" => {
            let kind = pick(&[
                "kind = 'partition'",
                "kind = 'slow-link', extra_ms = 5",
                "kind = 'slow-link', extra_ms = 0",
                "kind = 'loss', probability = 0",
                "kind = 'loss', probability = 1",
            ]);
            let from = pick(&["c1", "c2", "n1"]);
            let to = pick(&["c3", "resource", "n1"]);
            let to = if from == to {
                "resource".to_owned()
            } else {
                to
            };
            (kind, format!("from = '{from}', to = '{to}'"))
        }
        _ => {
            let kind = pick(&[
                "kind = 'clock-step', step_ms = 3000",
                "kind = 'clock-step', step_ms = 0",
                "kind = 'clock-rate', drift_ppm = 1000",
            ]);
            (kind, format!("on = '{host}'"))
        }
    };
    let is_clock = kind.contains("clock");
    let lasts = !kind.contains("reset") && !kind.contains("clock-step");
    let duration = match lasts {
        true => format!(
            ", duration_ms = {}",
            pick(&["10", "25", "70", "300", "2000"])
        ),
        false => String::new(),
    };
    let start = match &*pick(&["at", "at", "at", "after"]) {
        "at" => {
            let ms = pick(&[
                "0", "20", "45", "75", "120", "190", "260", "340", "700", "1500",
            ]);
            format!("at_ms = {ms}")
        }
        _ => format!(
            "after = '{}'",
            pick(&[
                "c1 acquired",
                "c1 read",
                "c2 released",
                "c2 acquiring",
                "c1 deleting"
            ])
        ),
    };
    let hold = pick(&["10", "60", "200"]);
    let think = pick(&["0", "50", "400"]);
    let start_c2 = pick(&["5", "30", "250"]);
    let text = format!(
        "title = 'a random fault'
         horizon_ms = 8000
         topology = {{ nodes = 1, clients = 3 }}
         network = {{ latency_ms = 1 }}
         lock = {{ name = 'set-nx-px', ttl_ms = 500, retry_delay_ms = 20, retry_jitter_ms = 10 }}
         workload = {{ rounds = 3, hold_ms = {hold}, think_ms = {think}, client.c1.start_ms = 1, \
             client.c2.start_ms = {start_c2}, client.c3.start_ms = {start_c2} }}
         fault.it = {{ {kind}, {on}, {start}{duration} }}
         expect.lease = 'holds'"
    );
    let is_of_lock = host != "resource" && !kind.contains("step_ms = 0");
    let stops_clock = kind.contains("suspend") && host == "n1";
    (text, is_clock && is_of_lock || stops_clock)
}

fn claims(run: &JudgedRun) -> Vec<&'static str> {
    let held = run
        .verdicts
        .iter()
        .filter(|(_, verdict)| **verdict == Verdict::Holds);
    held.map(|(property, _)| property.name()).collect()
}

#[test]
fn a_run_that_is_the_same_without_its_fault_shows_nothing() {
    let mut random = Stream::new(1, "untouched");
    let (mut untouched, mut shown) = (0, 0);
    let mut wrong = Vec::new();
    for case in 0..1_000 {
        let (text, is_exempt) = draw(&mut random);
        let scenario = scenario(&text);
        let with = judged::run(&scenario, case, Keep::default()).expect("it ends");
        let without = judged::run_schedule(&scenario, case, Schedule::default(), Keep::default());
        let without = without.expect("it ends");
        let claims = claims(&with);
        let is_same = outline(&with.history) == outline(&without.history);
        shown += usize::from(!is_same && !claims.is_empty());
        if is_same && !is_exempt {
            untouched += 1;
            if !claims.is_empty() {
                wrong.push(format!("case {case}: {claims:?} hold\n{text}"));
            }
        }
    }
    assert!(
        wrong.is_empty(),
        "{} of {untouched}\n{}",
        wrong.len(),
        wrong.join("\n")
    );
    // The oracle speaks of many of them, and many others are conclusive.
    assert!(
        untouched > 200 && shown > 200,
        "{untouched} untouched, {shown} shown"
    );
}

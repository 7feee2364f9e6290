//! The trace that Go writes on standard error with `GODEBUG=gctrace=1` (package `runtime`).
//!
//! Of `0.011+1.8+0.030 ms clock` the first and the last are the times for which the world is stopped:
//! to end the sweep, and to end the mark. Between them the program runs.

use super::{Covered, Said, Unread};

/// What the lines so far said.
#[derive(Debug, Default)]
pub(super) struct Log {
    covered: Covered,
    pauses_ms: Vec<f64>,
    unread: Unread,
}

/// One collection.
#[derive(Debug, PartialEq)]
struct Collection {
    number: u64,
    /// Since the process began.
    at_s: f64,
    stopped_ms: [f64; 2],
}

impl Log {
    pub(super) fn add(&mut self, number: u64, line: &str) {
        if let Some(collection) = collection(line) {
            if collection.number == 1 {
                // The trace begins with the process.
                self.covered.add(0.0);
            }
            self.covered.add(collection.at_s);
            self.pauses_ms.extend(collection.stopped_ms);
        } else if begin(line).is_some() {
            self.unread.add(number, line);
        }
    }

    pub(super) fn said(self) -> Said {
        Said {
            pauses_ms: self.pauses_ms,
            stalls_ms: Vec::new(),
            covered: self.covered,
            unread: self.unread,
        }
    }
}

/// `gc 1 @`, wherever in the line: a service manager may have written something before it. Its number, and what follows.
fn begin(line: &str) -> Option<(u64, &str)> {
    let (before, after) = line.split_once(" @")?;
    let mut words = before.rsplit(' ');
    let number = words.next()?.parse().ok()?;
    (words.next() == Some("gc")).then_some((number, after))
}

/// `gc 1 @0.041s 0%: 0.011+1.8+0.030 ms clock, …`. Go 1.5 has five phases, of which it stops for the same two.
fn collection(line: &str) -> Option<Collection> {
    let (number, after) = begin(line)?;
    let (at, after) = after.split_once("s ")?;
    let (_, after) = after.split_once("%: ")?;
    let (clock, _) = after.split_once(" ms clock")?;
    let phases: Option<Vec<f64>> = clock.split('+').map(|it| it.parse().ok()).collect();
    let [sweep, _, .., mark] = phases?[..] else {
        return None;
    };
    Some(Collection {
        number,
        at_s: at.parse().ok()?,
        stopped_ms: [sweep, mark],
    })
}

#[cfg(test)]
mod tests {
    use super::super::{Runtime, pauses};
    use super::*;

    #[test]
    fn the_world_is_stopped_in_the_first_and_the_last_phase() {
        let line =
            "gc 2 @0.064s 0%: 0.052+1.3+0.005 ms clock, 0.10+0.51/0.074/0+0.011 ms cpu, 3->4->0 MB";
        let expected = Collection {
            number: 2,
            at_s: 0.064,
            stopped_ms: [0.052, 0.005],
        };
        assert_eq!(collection(line), Some(expected));
        let prefixed = format!("Nov 25 15:00:00 host app[7]: {line}");
        assert_eq!(collection(&prefixed), collection(line));
        let of_1_5 = "gc 2 @0.064s 0%: 0.052+0.15+0.026+0.51+0.005 ms clock, 0.1 ms cpu";
        assert_eq!(collection(of_1_5), collection(line));
        for other in [
            "",
            "gc 2 @",
            "scvg 2 @0.1s 0%: 1+1+1 ms clock",
            "gc 2 @0.1s 0%: 1+1 ms clock",
        ] {
            assert_eq!(collection(other), None, "{other}");
        }
    }

    // A program that allocates for a second: Go 1.26.8, GODEBUG=gctrace=1, on two processors.
    const TRACE: &[u8] = include_bytes!("../fixtures/go1.26-gctrace.log");

    #[test]
    fn a_real_trace_has_two_pauses_a_collection() {
        let events = pauses(Runtime::Go, TRACE).expect("it has pauses").pauses;
        let lines = TRACE.iter().filter(|byte| **byte == b'\n').count();
        assert_eq!(events.count(), 2 * lines);
        assert!(events.durations_ms.max_ms().is_some_and(|max| max < 50.0));
    }
}

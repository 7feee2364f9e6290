//! How clients reacted, over many runs: what the users of a lock notice first.

use locklab_check::{Ms, Reactions};
use locklab_evidence::median;
use locklab_history::Outcome;
use locklab_values::count::times;
use locklab_values::units::fractional_ms_from_ns;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

/// The reactions in several runs.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ReactionCounts {
    /// How long holders did not know that another client had been granted their lock.
    pub notices: Durations,
    /// How long it took from a release to the next grant, where another client waited.
    pub wakes: Durations,
    /// How the calls returned that were under way when a fault struck the servers or the network.
    pub calls: Calls,
}

/// Durations of something that may never have happened.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Durations {
    /// In nanoseconds, the shortest first.
    pub ns: Vec<u64>,
    /// How often it had not happened by the end of the run.
    pub never: u64,
}

/// How calls returned.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Calls {
    /// They took effect.
    pub succeeded: u64,
    /// They did not, or nothing is known of their effect.
    pub failed: u64,
    /// They had not returned by the end of the run.
    pub open: u64,
}

impl ReactionCounts {
    /// Counts one run.
    pub fn add(&mut self, run: &Reactions) {
        let calls = |wanted: fn(&Option<Outcome>) -> bool| {
            run.calls.iter().filter(|outcome| wanted(outcome)).count() as u64
        };
        let succeeded = calls(|outcome| *outcome == Some(Outcome::Ok));
        let open = calls(Option::is_none);
        self.merge(ReactionCounts {
            notices: Durations::of(&run.notices_ns),
            wakes: Durations::of(&run.wakes_ns),
            calls: Calls {
                succeeded,
                failed: run.calls.len() as u64 - succeeded - open,
                open,
            },
        });
    }

    /// Adds the reactions in other runs.
    pub fn merge(&mut self, other: ReactionCounts) {
        self.notices.merge(other.notices);
        self.wakes.merge(other.wakes);
        self.calls.succeeded += other.calls.succeeded;
        self.calls.failed += other.calls.failed;
        self.calls.open += other.calls.open;
    }

    /// A line for each kind of reaction that there was.
    pub fn describe(&self) -> Vec<String> {
        let notices = self
            .notices
            .describe("a holder lost its lock to another", "noticed it");
        let wakes = self.wakes.describe(
            "a lock was released while another waited",
            "granted to another",
        );
        let calls = self.calls.describe();
        [notices, wakes, calls].into_iter().flatten().collect()
    }

    /// The same as JSON, with durations in milliseconds.
    pub fn json(&self) -> Value {
        let Calls {
            succeeded,
            failed,
            open,
        } = self.calls;
        json!({
            "notices": self.notices.json(),
            "wakes": self.wakes.json(),
            "calls_met_by_a_fault": { "succeeded": succeeded, "failed": failed, "open": open },
        })
    }
}

impl Durations {
    fn of(durations_ns: &[Option<u64>]) -> Durations {
        let mut ns: Vec<u64> = durations_ns.iter().flatten().copied().collect();
        ns.sort_unstable();
        let never = (durations_ns.len() - ns.len()) as u64;
        Durations { ns, never }
    }

    fn merge(&mut self, other: Durations) {
        self.ns.extend(other.ns);
        self.ns.sort_unstable();
        self.never += other.never;
    }

    /// The shortest, the median and the longest.
    fn range(&self) -> Option<[u64; 3]> {
        Some([*self.ns.first()?, median(&self.ns)?, *self.ns.last()?])
    }

    /// `a lock was released while another waited: 4 times; granted to another: 3 times, after …`.
    fn describe(&self, what: &str, happened: &str) -> Option<String> {
        let met = self.ns.len() as u64;
        let all = met + self.never;
        let after = match self.range() {
            None if all == 0 => return None,
            None => String::new(),
            Some([first, median, last]) => {
                let (first, median, last) = (Ms(first), Ms(median), Ms(last));
                format!(", after {median} (median; {first} to {last})")
            }
        };
        let (all, met) = (times(all), times(met));
        Some(format!("{what}: {all}; {happened}: {met}{after}"))
    }

    fn json(&self) -> Value {
        let [shortest, median, longest] = match self.range() {
            None => [None; 3],
            Some(range) => range.map(|ns| Some(fractional_ms_from_ns(ns))),
        };
        json!({
            "times": self.ns.len(), "never": self.never,
            "shortest_ms": shortest, "median_ms": median, "longest_ms": longest,
        })
    }
}

impl Calls {
    fn describe(self) -> Option<String> {
        let Calls {
            succeeded,
            failed,
            open,
        } = self;
        let all = succeeded + failed + open;
        (all > 0).then(|| {
            format!(
                "calls under way when a fault struck the servers or the network: {all}; {succeeded} \
                 succeeded, {failed} failed, {open} had not returned at the end of the run"
            )
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use locklab_values::units::NS_PER_MS as MS;

    fn run(notices_ms: &[Option<u64>], calls: &[Option<Outcome>]) -> Reactions {
        let ns = notices_ms.iter().map(|ms| ms.map(|ms| ms * MS));
        Reactions {
            notices_ns: ns.collect(),
            wakes_ns: vec![None],
            calls: calls.to_vec(),
        }
    }

    #[test]
    fn reactions_are_told_in_a_line_each() {
        let mut counts = ReactionCounts::default();
        assert_eq!(counts.describe(), [""; 0]);
        counts.add(&run(&[Some(40), None], &[Some(Outcome::Ok), None]));
        counts.add(&run(&[Some(10), Some(30)], &[Some(Outcome::Unknown)]));
        assert_eq!(
            counts.describe(),
            [
                "a holder lost its lock to another: 4 times; noticed it: 3 times, after 30.0 ms \
                 (median; 10.0 ms to 40.0 ms)",
                "a lock was released while another waited: 2 times; granted to another: never",
                "calls under way when a fault struck the servers or the network: 3; 1 succeeded, \
                 1 failed, 1 had not returned at the end of the run",
            ]
        );
        assert_eq!(counts.json()["notices"]["median_ms"], 30.0);
    }

    #[test]
    fn the_order_of_runs_does_not_matter() {
        let of = |runs: [&Reactions; 2]| {
            let mut counts = ReactionCounts::default();
            runs.iter().for_each(|run| counts.add(run));
            counts
        };
        let (one, other) = (run(&[Some(5)], &[None]), run(&[None, Some(3)], &[]));
        assert_eq!(of([&one, &other]), of([&other, &one]));
    }
}

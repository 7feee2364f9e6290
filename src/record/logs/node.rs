//! What Node writes on standard output with `--trace-gc`: V8's collections.
//!
//! `[12345:0x5] 34 ms: Scavenge 2.5 (3.9) -> 2.1 (4.9) MB, 0.9 / 0.0 ms …`: the first of the two times is the pause.
//! Marking in steps stops the program in each: `(+ 3.0 ms in 10 steps since start of marking, biggest step 0.5 ms, …)`.
//! With `--trace-gc-nvp` it has the same by name: `pause=0.9 … incremental=3.0 … incremental_longest_step=0.5
//! incremental_steps_count=10`.

use std::collections::BTreeMap;

use super::{Covered, Said, Unread};

/// What the lines so far said.
#[derive(Debug, Default)]
pub(super) struct Log {
    /// By process and isolate, each of which counts from its own start.
    covered: BTreeMap<String, Covered>,
    pauses_ms: Vec<f64>,
    unread: Unread,
}

/// How collections begin; other lines tell of their parts, or of none.
const COLLECTIONS: [&str; 4] = ["Scavenge", "Mark-", "Minor M", "pause="];

impl Log {
    pub(super) fn add(&mut self, number: u64, line: &str) {
        let Some((isolate, at_ms, what)) = head(line) else {
            return;
        };
        let Some(pauses_ms) = pauses_ms(what) else {
            if COLLECTIONS.iter().any(|it| what.starts_with(it)) {
                self.unread.add(number, line);
            }
            return;
        };
        let covered = { self.covered.entry(isolate.to_owned()) }.or_insert_with(|| {
            let mut covered = Covered::default();
            covered.add(0.0);
            covered
        });
        covered.add(at_ms / 1e3);
        self.pauses_ms.extend(pauses_ms);
    }

    pub(super) fn said(self) -> Said {
        let mut covered = Covered::default();
        for of_isolate in self.covered.into_values() {
            covered.seconds += of_isolate.seconds();
        }
        Said {
            pauses_ms: self.pauses_ms,
            stalls_ms: Vec::new(),
            covered,
            unread: self.unread,
        }
    }
}

/// The isolate, the milliseconds since its start, and what it says.
fn head(line: &str) -> Option<(&str, f64, &str)> {
    let (_, after) = line.split_once('[')?;
    let (isolate, after) = after.split_once(']')?;
    let (at, what) = after.split_once(" ms: ")?;
    Some((isolate, at.trim().parse().ok()?, what))
}

/// The pauses of a collection.
fn pauses_ms(what: &str) -> Option<Vec<f64>> {
    if what.starts_with("pause=") {
        let named = |name: &str| {
            let mut words = what.split_whitespace();
            words.find_map(|word| word.strip_prefix(name)?.strip_prefix('='))
        };
        // Something follows what is not cut off.
        named("mutator")?;
        let steps = || {
            let longest = named("incremental_longest_step")?;
            steps_ms(
                named("incremental")?,
                named("incremental_steps_count")?,
                longest,
            )
        };
        let mut pauses_ms = vec![named("pause")?.parse().ok()?];
        pauses_ms.extend(steps().unwrap_or_default());
        return Some(pauses_ms);
    }
    let (before, after) = what.split_once(" / ")?;
    // The second time is not cut off.
    after.split_once(" ms")?;
    let (_, pause) = before.rsplit_once(", ")?;
    let mut pauses_ms = vec![pause.parse().ok()?];
    pauses_ms.extend(told_steps_ms(after).unwrap_or_default());
    Some(pauses_ms)
}

/// The steps of marking, in words.
fn told_steps_ms(text: &str) -> Option<Vec<f64>> {
    let (_, after) = text.split_once("(+ ")?;
    let (total, after) = after.split_once(" ms in ")?;
    let (count, after) = after.split_once(" steps")?;
    let (_, after) = after.split_once("biggest step ")?;
    let (longest, _) = after.split_once(" ms")?;
    steps_ms(total, count, longest)
}

/// The longest step, and the others alike.
fn steps_ms(total: &str, count: &str, longest: &str) -> Option<Vec<f64>> {
    let [total, longest]: [f64; 2] = [total.parse().ok()?, longest.parse().ok()?];
    let others = count.parse::<usize>().ok()?.checked_sub(1)?;
    let mut all_ms = vec![(total - longest).max(0.0) / others.max(1) as f64; others.min(10_000)];
    all_ms.push(longest);
    Some(all_ms)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_pause_and_the_steps_of_marking_are_read() {
        for (line, expected) in [
            (
                "[12345:0x5] 34 ms: Scavenge 2.5 (3.9) -> 2.1 (4.9) MB, 0.9 / 0.0 ms  (average mu = 1.000, current mu = 1.000) allocation failure;",
                Some(("12345:0x5", 34.0, vec![0.9])),
            ),
            (
                "[7:0x5]     1200 ms: Mark-Compact 12.3 (18.0) -> 9.1 (18.5) MB, pooled: 0 MB, 5.10 / 0.00 ms  (+ 3.0 ms in 3 steps since start of marking, biggest step 2.0 ms, walltime since start of marking 20 ms) finalize",
                Some(("7:0x5", 1200.0, vec![5.1, 0.5, 0.5, 2.0])),
            ),
            (
                "[7:0x5]     1200 ms: pause=5.1 mutator=11.7 gc=mc incremental=3.0 incremental_longest_step=2.0 incremental_steps_count=3",
                Some(("7:0x5", 1200.0, vec![5.1, 0.5, 0.5, 2.0])),
            ),
            (
                "[7:0x5] 15 ms: pause=0.8 mutator=11.7 gc=s incremental.steps_took=0.00",
                Some(("7:0x5", 15.0, vec![0.8])),
            ),
            ("[7:0x5] listening on 80 / 443", None),
            ("", None),
        ] {
            let read =
                head(line).and_then(|(isolate, at, what)| Some((isolate, at, pauses_ms(what)?)));
            assert_eq!(read, expected, "{line}");
        }
    }
}

//! What Node writes on standard output with `--trace-gc`: V8's collections.
//!
//! `[12345:0x5] 34 ms: Scavenge 2.5 (3.9) -> 2.1 (4.9) MB, 0.9 / 0.0 ms …`: the first of the two times is the pause.
//! Marking in steps stops the program in each: `(+ 3.0 ms in 10 steps since start of marking, biggest step 0.5 ms, …)`.

use std::collections::BTreeMap;

use super::Covered;

/// What the lines so far said.
#[derive(Debug, Default)]
pub(super) struct Log {
    /// By process and isolate, each of which counts from its own start.
    covered: BTreeMap<String, Covered>,
    pauses_ms: Vec<f64>,
}

impl Log {
    pub(super) fn add(&mut self, line: &str) {
        let Some((isolate, at_ms, pauses_ms)) = collection(line) else {
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

    pub(super) fn pauses(self) -> (Vec<f64>, Covered) {
        let mut all = Covered::default();
        for covered in self.covered.into_values() {
            all.seconds += covered.seconds;
        }
        (self.pauses_ms, all)
    }
}

/// The isolate, the time since its start, and the pauses.
fn collection(line: &str) -> Option<(&str, f64, Vec<f64>)> {
    let (_, after) = line.split_once('[')?;
    let (isolate, after) = after.split_once(']')?;
    let (at, what) = after.split_once(" ms: ")?;
    let (before, after) = what.split_once(" / ")?;
    let (_, pause) = before.rsplit_once(", ")?;
    let mut pauses_ms = vec![pause.parse().ok()?];
    pauses_ms.extend(steps_ms(after).unwrap_or_default());
    Some((isolate, at.trim().parse().ok()?, pauses_ms))
}

/// The steps of marking: the longest, and the others alike.
fn steps_ms(text: &str) -> Option<Vec<f64>> {
    let (_, after) = text.split_once("(+ ")?;
    let (total, after) = after.split_once(" ms in ")?;
    let (count, after) = after.split_once(" steps")?;
    let (_, after) = after.split_once("biggest step ")?;
    let (longest, _) = after.split_once(" ms")?;
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
            ("[7:0x5] listening on 80 / 443", None),
            ("", None),
        ] {
            assert_eq!(collection(line), expected, "{line}");
        }
    }
}

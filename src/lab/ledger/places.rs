//! Which parts of a stage a line of a ledger has.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

/// A set of parts, by their places. A file has it as arithmetic progressions, since a shard has every
/// n-th part: `[3, 5, 8]` are five places from 3 on, each eight after the one before.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(into = "Vec<[usize; 3]>", try_from = "Vec<[usize; 3]>")]
pub struct Places(BTreeSet<usize>);

/// No line has more parts than this, so that a forged one cannot exhaust the memory.
const MOST: usize = 1 << 24;

impl Places {
    /// A single place.
    pub fn one(place: usize) -> Self {
        Self(BTreeSet::from([place]))
    }

    /// The places, in their order.
    pub fn iter(&self) -> impl Iterator<Item = usize> {
        self.0.iter().copied()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Whether it has this place.
    pub fn has(&self, place: usize) -> bool {
        self.0.contains(&place)
    }

    /// Adds those of another set.
    pub fn join(&mut self, other: &Places) {
        self.0.extend(&other.0);
    }
}

impl From<Places> for Vec<[usize; 3]> {
    fn from(places: Places) -> Self {
        let mut runs: Vec<[usize; 3]> = Vec::new();
        for place in places.0 {
            match runs.last_mut() {
                Some([first, count @ 1, step]) => (*count, *step) = (2, place - *first),
                Some([first, count, step]) if *first + *count * *step == place => *count += 1,
                _ => runs.push([place, 1, 1]),
            }
        }
        runs
    }
}

impl TryFrom<Vec<[usize; 3]>> for Places {
    type Error = String;

    fn try_from(runs: Vec<[usize; 3]>) -> Result<Self, String> {
        let mut places = BTreeSet::new();
        for [first, count, step] in runs {
            let last = count.checked_sub(1).and_then(|n| n.checked_mul(step));
            let is_finite = last.is_some_and(|last| first.checked_add(last).is_some());
            if !is_finite || places.len().saturating_add(count) > MOST {
                return Err("invalid places of parts".into());
            }
            for number in 0..count {
                if !places.insert(first + number * step) {
                    return Err("a part is there twice".into());
                }
            }
        }
        Ok(Self(places))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn written(places: &[usize]) -> String {
        let places = Places(places.iter().copied().collect());
        let text = serde_json::to_string(&places).expect("numbers");
        let read: Places = serde_json::from_str(&text).expect("it was written");
        assert_eq!(read, places);
        text
    }

    #[test]
    fn every_eighth_part_is_three_numbers_and_a_gap_costs_three_more() {
        let eighths: Vec<usize> = (0..60_000).map(|n| 5 + 8 * n).collect();
        assert_eq!(written(&eighths), "[[5,60000,8]]");
        assert_eq!(written(&[7]), "[[7,1,1]]");
        assert_eq!(written(&[]), "[]");
        assert_eq!(written(&[1, 3, 5, 11, 13, 15]), "[[1,3,2],[11,3,2]]");
        assert_eq!(written(&[0, 100, 108, 116]), "[[0,2,100],[108,2,8]]");
    }

    #[test]
    fn what_no_ledger_has_is_refused() {
        for forged in [
            "[[0,0,1]]",
            "[[0,2,0]]",
            "[[0,3,1],[2,1,1]]",
            "[[0,999999999999,1]]",
            "[[5,18446744073709551615,2]]",
            "[[18446744073709551615,2,1]]",
        ] {
            assert!(serde_json::from_str::<Places>(forged).is_err(), "{forged}");
        }
    }
}

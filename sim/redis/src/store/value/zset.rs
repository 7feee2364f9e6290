//! Sorted sets.

use std::cmp::Ordering;
use std::collections::BTreeMap;
use std::ops::Range;

use bytes::Bytes;

use super::Listpack;

/// A sorted set: members ordered by score, and by their bytes within a score.
#[derive(Clone, Default, Debug)]
pub(crate) struct Zset {
    scores: BTreeMap<Bytes, f64>,
    ranked: Vec<(f64, Bytes)>,
    /// It outgrew the listpack once; Redis does not convert back.
    outgrown: bool,
}

impl Zset {
    pub(crate) fn score(&self, member: &[u8]) -> Option<f64> {
        self.scores.get(member).copied()
    }

    /// Sets the score of a member; the score is not NaN.
    pub(crate) fn set(&mut self, member: &[u8], score: f64, limits: Listpack) {
        let member = match self.scores.get_key_value(member) {
            Some((member, old)) => {
                let (member, old) = (member.clone(), *old);
                if let Ok(rank) = self.find(old, &member) {
                    self.ranked.remove(rank);
                }
                member
            }
            None => {
                self.outgrown |= member.len() > limits.bytes;
                self.outgrown |= self.ranked.len() >= limits.entries;
                Bytes::copy_from_slice(member)
            }
        };
        // A listpack stores whole numbers as integers, so it has no negative zero.
        let score = match score == 0.0 && !self.outgrown {
            true => 0.0,
            false => score,
        };
        let (Ok(rank) | Err(rank)) = self.find(score, &member);
        self.ranked.insert(rank, (score, member.clone()));
        self.scores.insert(member, score);
    }

    /// Removes a member; returns whether it was there.
    pub(crate) fn remove(&mut self, member: &[u8]) -> bool {
        let Some(score) = self.scores.remove(member) else {
            return false;
        };
        if let Ok(rank) = self.find(score, member) {
            self.ranked.remove(rank);
        }
        true
    }

    /// Removes the members of these ranks and returns them.
    pub(crate) fn remove_ranks(&mut self, ranks: Range<usize>) -> Vec<(f64, Bytes)> {
        let removed: Vec<_> = self.ranked.drain(ranks).collect();
        for (_, member) in &removed {
            self.scores.remove(member);
        }
        removed
    }

    /// The rank of a member, counted from the lowest score.
    pub(crate) fn rank(&self, member: &[u8]) -> Option<usize> {
        self.find(self.score(member)?, member).ok()
    }

    /// Every member with its score, from the lowest score.
    pub(crate) fn ranked(&self) -> &[(f64, Bytes)] {
        &self.ranked
    }

    pub(crate) fn len(&self) -> usize {
        self.ranked.len()
    }

    /// Whether it is small: then ZSCAN returns all of it.
    pub(crate) fn is_compact(&self) -> bool {
        !self.outgrown
    }

    pub(super) fn encoding(&self) -> &'static str {
        if self.outgrown {
            "skiplist"
        } else {
            "listpack"
        }
    }

    /// The rank of a score and member, or the rank at which to insert them.
    fn find(&self, score: f64, member: &[u8]) -> Result<usize, usize> {
        self.ranked.binary_search_by(|(other, name)| {
            other
                .partial_cmp(&score)
                .unwrap_or(Ordering::Equal)
                .then_with(|| name[..].cmp(member))
        })
    }
}

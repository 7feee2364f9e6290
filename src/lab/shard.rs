//! A share of a command's work, for several machines.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

/// The `number`-th of `of` shards, counted from 1: every `of`-th part of the work.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(into = "String", try_from = "String")]
pub struct Shard {
    /// Which one, from 1.
    pub number: usize,
    /// How many there are.
    pub of: usize,
}

impl Shard {
    /// Whether the part at this place of the whole work is in this shard.
    pub fn has(self, place: usize) -> bool {
        place % self.of == self.number - 1
    }
}

impl fmt::Display for Shard {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.number, self.of)
    }
}

impl From<Shard> for String {
    fn from(shard: Shard) -> String {
        shard.to_string()
    }
}

impl TryFrom<String> for Shard {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        text.parse()
    }
}

impl FromStr for Shard {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let usage = || format!("invalid shard `{text}`; write 1/3 for the first of three");
        let (number, of) = text.split_once('/').ok_or_else(usage)?;
        let number = number.parse().map_err(|_| usage())?;
        let of = of.parse().map_err(|_| usage())?;
        match of {
            0 => Err(usage()),
            _ if (1..=of).contains(&number) => Ok(Shard { number, of }),

            _ => Err(format!(
                "invalid shard `{text}`; the shards of {of} are 1/{of} to {of}/{of}"
            )),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_part_is_in_exactly_one_shard() {
        for of in 1..6 {
            let parts = (1..=of).map(|number| Shard { number, of });
            let parts: Vec<Shard> = parts.collect();
            for place in 0..20 {
                assert_eq!(parts.iter().filter(|part| part.has(place)).count(), 1);
            }
        }
    }

    #[test]
    fn a_shard_outside_the_range_is_refused() {
        assert_eq!("2/3".parse(), Ok(Shard { number: 2, of: 3 }));
        for wrong in ["0/3", "4/3", "1/0", "3", "a/b", "-1/2", ""] {
            assert!(wrong.parse::<Shard>().is_err(), "{wrong}");
        }
    }
}

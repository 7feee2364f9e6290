//! The points of a client's program, at which a scenario may place a fault.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use crate::Name;

/// The points that a client reaches in each of its rounds, in this order, and what
/// each means.
pub const POINTS: &[(&str, &str)] = &[
    (
        "acquiring",
        "is about to call acquire, for each attempt anew",
    ),
    (
        "waiting",
        "listens for its turn after an attempt that failed; only locks that are told of it",
    ),
    (
        "prolonging",
        "has been granted the lock by enough nodes and is about to set the lease on all; only \
         redisson-multi and redisson-redlock",
    ),
    (
        "expiring",
        "has set its lock, and is about to give it a lease in a second step; only locks that \
         take two",
    ),
    (
        "overwriting",
        "found the lock expired, and is about to overwrite it; only locks with the time of \
         expiry as their value",
    ),
    ("acquired", "acquire returned a grant"),
    (
        "giving-up",
        "its patience is over, and it is about to take back what waiting has left behind",
    ),
    ("read", "has read the resource"),
    (
        "checked",
        "has looked at its deadline just before the write; only with check = \"deadline\"",
    ),
    ("wrote", "its write was answered"),
    (
        "renewing",
        "its watchdog is about to renew the lease, whatever the client does meanwhile",
    ),
    ("releasing", "is about to call release"),
    (
        "deleting",
        "is about to send the command that deletes its lock",
    ),
    ("released", "release returned"),
];

/// A client reaches a point for the nth time: `c1 acquired`, or `c1 acquired #2`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Moment {
    /// The client.
    pub client: Name,
    /// One of [`POINTS`].
    pub point: Name,
    /// The first time is 1.
    pub nth: u32,
}

impl FromStr for Moment {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let words: Vec<&str> = text.split_whitespace().collect();
        let (client, point, nth) = match words[..] {
            [client, point] => (client, point, 1),
            [client, point, nth] => {
                let nth = nth.strip_prefix('#').and_then(|nth| nth.parse().ok());
                let nth = nth.filter(|nth| *nth > 0).ok_or_else(|| usage(text))?;
                (client, point, nth)
            }
            _ => return Err(usage(text)),
        };
        if !POINTS.iter().any(|(name, _)| *name == point) {
            let names: Vec<_> = POINTS.iter().map(|(name, _)| format!("`{name}`")).collect();
            let names = names.join(", ");
            return Err(format!("unknown point `{point}`, expected one of {names}"));
        }
        Ok(Moment {
            client: client.into(),
            point: point.into(),
            nth,
        })
    }
}

fn usage(text: &str) -> String {
    format!("`{text}` is no moment of a client; write \"c1 acquired\" or \"c1 acquired #2\"")
}

impl fmt::Display for Moment {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.client, self.point)?;
        match self.nth {
            1 => Ok(()),
            nth => write!(f, " #{nth}"),
        }
    }
}

impl TryFrom<String> for Moment {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        text.parse()
    }
}

impl From<Moment> for String {
    fn from(moment: Moment) -> String {
        moment.to_string()
    }
}

//! Failpoints: the named points in a client's program at which a scenario can place a fault.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use crate::Name;

/// Turns each entry into a variant of [`Failpoint`], with its name and meaning.
macro_rules! failpoints {
    ($($Point:ident = $name:literal => $meaning:literal,)*) => {
        /// A point that a client reaches in its rounds, in this order.
        #[derive(
            Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
        )]
        #[serde(rename_all = "kebab-case")]
        pub enum Failpoint {
            $(#[doc = concat!("The client ", $meaning, ".")] $Point,)*
        }

        impl Failpoint {
            /// Every failpoint, in the order of a round.
            pub const ALL: &'static [Failpoint] = &[$(Failpoint::$Point),*];

            /// The name that scenarios use.
            pub fn name(self) -> &'static str {
                match self {
                    $(Failpoint::$Point => $name,)*
                }
            }

            /// The client's position at this point, described in one line.
            pub fn meaning(self) -> &'static str {
                match self {
                    $(Failpoint::$Point => $meaning,)*
                }
            }
        }
    };
}

failpoints! {
    Acquiring = "acquiring" => "is about to call acquire, for each attempt anew",
    Waiting = "waiting" =>
        "listens for its turn after a failed attempt; only locks that notify waiters",
    Prolonging = "prolonging" =>
        "has been granted the lock by enough nodes and is about to set the lease on all; only \
         redisson-multi and redisson-redlock",
    Expiring = "expiring" =>
        "has set its lock, and is about to give it a lease in a second step; only locks with two \
         steps",
    Overwriting = "overwriting" =>
        "has found the lock expired, and is about to overwrite it; only locks with the time of \
         expiry as their value",
    Acquired = "acquired" => "acquire returned a grant",
    GivingUp = "giving-up" =>
        "its patience is over, and it is about to remove what waiting has left behind",
    Read = "read" => "has read the resource",
    Checked = "checked" =>
        "has checked its deadline just before the write; only with check = \"deadline\"",
    Stopped = "stopped" =>
        "has found its lease over or its lock lost, and does not write; only with check = \
         \"deadline\" or with extend_every_ms",
    Wrote = "wrote" => "its write was answered",
    Renewing = "renewing" =>
        "its watchdog is about to renew the lease, whatever the client does meanwhile",
    Releasing = "releasing" => "is about to call release",
    Deleting = "deleting" => "is about to send the command that deletes its lock",
    Released = "released" => "release returned",
}

impl Failpoint {
    /// Whether a client can reach it several times in one round: attempts, waits and renewals
    /// repeat.
    pub fn repeats(self) -> bool {
        matches!(
            self,
            Failpoint::Acquiring | Failpoint::Waiting | Failpoint::Renewing
        )
    }
}

impl FromStr for Failpoint {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let known = Failpoint::ALL.iter().find(|point| point.name() == text);
        known.copied().ok_or_else(|| {
            let names = Failpoint::ALL.iter().map(|point| format!("`{point}`"));
            let names = names.collect::<Vec<_>>().join(", ");
            format!("unknown failpoint `{text}`, expected one of {names}")
        })
    }
}

impl fmt::Display for Failpoint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// The point that a host is recorded to have reached.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Point {
    /// A failpoint of a client.
    Failpoint(Failpoint),
    /// An event, named as in a sentinel's log: `+sdown`.
    Notice(Name),
}

impl fmt::Display for Point {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Point::Failpoint(point) => point.fmt(f),
            Point::Notice(notice) => f.pad(notice),
        }
    }
}

/// A client's nth arrival at a failpoint: `c1 acquired`, or `c1 acquired #2`.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Moment {
    /// The client.
    pub client: Name,
    /// The failpoint.
    pub point: Failpoint,
    /// Counted from 1.
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
        Ok(Moment {
            client: client.into(),
            point: point.parse()?,
            nth,
        })
    }
}

fn usage(text: &str) -> String {
    format!("`{text}` is not a moment of a client; write \"c1 acquired\" or \"c1 acquired #2\"")
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn failpoint_name_round_trips_and_matches_the_file_format() {
        for &point in Failpoint::ALL {
            assert_eq!(point.name().parse(), Ok(point));
            assert_eq!(point.to_string(), point.name());
            assert_eq!(serde_json::to_value(point).unwrap(), point.name());
        }
    }

    #[test]
    fn unknown_failpoint_lists_the_known_ones() {
        assert_eq!(
            "sleeping".parse::<Failpoint>(),
            Err(
                "unknown failpoint `sleeping`, expected one of `acquiring`, `waiting`, \
                 `prolonging`, `expiring`, `overwriting`, `acquired`, `giving-up`, `read`, \
                 `checked`, `stopped`, `wrote`, `renewing`, `releasing`, `deleting`, `released`"
                    .into()
            )
        );
    }

    #[test]
    fn attempts_waits_and_renewals_repeat() {
        let all = Failpoint::ALL.iter().copied();
        let repeat: Vec<Failpoint> = all.filter(|point| point.repeats()).collect();
        assert_eq!(
            repeat,
            [
                Failpoint::Acquiring,
                Failpoint::Waiting,
                Failpoint::Renewing
            ]
        );
    }

    #[test]
    fn points_fill_the_columns_of_tables() {
        let read = Point::Failpoint(Failpoint::Read);
        assert_eq!(format!("{read:>7}"), "   read");
        let down = Point::Notice("+sdown".into());
        assert_eq!(format!("{down:>7}"), " +sdown");
    }

    #[test]
    fn a_moment_is_a_clients_first_arrival_or_a_later_one() {
        let moment = |nth| Moment {
            client: "c1".into(),
            point: Failpoint::Acquired,
            nth,
        };
        for (text, nth) in [("c1 acquired", 1), ("c1 acquired #2", 2)] {
            assert_eq!(text.parse(), Ok(moment(nth)));
            assert_eq!(moment(nth).to_string(), text);
            assert_eq!(serde_json::to_value(moment(nth)).unwrap(), text);
            assert_eq!(
                serde_json::from_value::<Moment>(text.into()).unwrap(),
                moment(nth)
            );
        }
        assert_eq!("c1 acquired #1".parse(), Ok(moment(1)));
    }

    #[test]
    fn invalid_moment_is_rejected_with_the_syntax() {
        for text in [
            "",
            "c1",
            "c1 acquired 2",
            "c1 acquired #0",
            "c1 acquired #-1",
            "c1 acquired # 2",
        ] {
            let expected = format!(
                "`{text}` is not a moment of a client; write \"c1 acquired\" or \"c1 acquired #2\""
            );
            assert_eq!(text.parse::<Moment>(), Err(expected));
        }
    }
}

//! The properties as data: the criteria for a history, in words.

use std::{fmt, str::FromStr};

use serde::{Deserialize, Serialize};

use crate::situation::Situation::{self, *};

/// Turns each entry into a variant of [`Property`] with its name, its promise, its source, what its
/// violation is called in charts, whether a violation is a surprise where none was predicted, and the situations that put it
/// to the test. Reports list them in this order.
macro_rules! properties {
    ($($Property:ident = $name:literal {
        promises: $promises:literal,
        source: $source:literal,
        violated: $violated:literal,
        surprises: $surprises:literal,
        needs: $needs:expr,
    })*) => {
        /// A criterion for a history.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
        #[serde(rename_all = "kebab-case")]
        pub enum Property {
            $(#[doc = $promises] $Property,)*
        }

        impl Property {
            /// Every property, in the order in which reports list them.
            pub const ALL: [Property; [$($name),*].len()] = [$(Property::$Property),*];

            /// The name in scenarios, options and files.
            pub fn name(self) -> &'static str {
                match self {
                    $(Property::$Property => $name,)*
                }
            }

            /// The promise, in one sentence.
            pub fn describes(self) -> &'static str {
                match self {
                    $(Property::$Property => $promises,)*
                }
            }

            /// The source of the requirement.
            pub fn source(self) -> &'static str {
                match self {
                    $(Property::$Property => $source,)*
                }
            }

            /// What happened where it is violated, in a few words: what a curve of violations shows.
            pub fn violated(self) -> &'static str {
                match self {
                    $(Property::$Property => $violated,)*
                }
            }

            /// Whether a violation is a surprise in a scenario that does not predict any.
            pub fn surprises(self) -> bool {
                match self {
                    $(Property::$Property => $surprises,)*
                }
            }

            /// The situations that put it to the test. Many runs without a violation show that it holds only
            /// if they met each of these that the lock can meet.
            ///
            /// They are beside what every single run must contain, without which its verdict is inconclusive
            /// ([`judge`](crate::judge)).
            pub fn needs(self) -> &'static [Situation] {
                match self {
                    $(Property::$Property => $needs,)*
                }
            }
        }
    };
}

properties! {
    Belief = "belief" {
        promises: "No two clients believe at once that they hold the lock, each from the \
                   return of acquire to its call of release.",
        source: "antirez, \"Is Redlock safe?\" (2016): once the TTL is over, exclusion is gone \
                 for every lock that releases itself",
        violated: "two believers (belief)",
        // Every lock with a lease violates it as soon as a holder outlives the lease.
        surprises: false,
        // Whoever outlives its lease goes on believing.
        needs: &[LapsedWhileStopped, LapsedWhileCutOff],
    }
    Lease = "lease" {
        promises: "The same, but a client stops believing at the deadline that its own \
                   clock and the algorithm's validity rule give it.",
        source: "redis.io, \"Distributed locks with Redis\": mutual exclusion within the \
                 validity time",
        violated: "two holders within their leases (lease)",
        surprises: true,
        // The promise rests on clocks, on what servers remember, and on a majority.
        needs: &[ClockStepped, ForgottenGrant, FailedOver, SplitNodes],
    }
    Resource = "resource" {
        promises: "The resource accepted nothing it should not have: stale-write, \
                   lost-update and token-regression together.",
        source: "Kleppmann, \"How to do distributed locking\" (2016): the paused client that \
                 wakes and writes",
        violated: "resource corrupted",
        surprises: true,
        // A late writer, and tokens whose counter may have been set back.
        needs: &[LapsedWhileStopped, TokenAfterRestart],
    }
    StaleWrite = "stale-write" {
        promises: "The resource accepted no write of an older holder after a newer holder's.",
        source: "Kleppmann, \"How to do distributed locking\" (2016): the paused client that \
                 wakes and writes",
        violated: "stale write accepted",
        surprises: true,
        needs: &[LapsedWhileStopped],
    }
    LostUpdate = "lost-update" {
        promises: "The resource accepted no write over a version that its writer had not seen.",
        source: "Kleppmann, \"How to do distributed locking\" (2016): the read-modify-write \
                 that the lock is for; Jepsen, etcd 3.4.3 (2020)",
        violated: "update lost",
        surprises: true,
        needs: &[LapsedWhileStopped],
    }
    TokenRegression = "token-regression" {
        promises: "The resource accepted no fencing token lower than one it had accepted \
                   before.",
        source: "Kleppmann, \"How to do distributed locking\" (2016): the storage server \
                 remembers the highest token and rejects a lower one",
        violated: "token regression accepted",
        surprises: true,
        needs: &[TokenAfterRestart],
    }
    Progress = "progress" {
        promises: "The resource refused no rightful holder, and accepted at least one access.",
        source: "antirez, \"Is Redlock safe?\" (2016): the order of tokens need not be the \
                 order in which the clients work",
        violated: "no progress",
        surprises: true,
        needs: &[TokenAfterRestart],
    }
    ForeignRelease = "foreign-release" {
        promises: "No release deleted another client's lock.",
        source: "redis.io, \"Distributed locks with Redis\": a client must not remove a lock \
                 that another client created",
        violated: "another client's lock released",
        surprises: true,
        needs: &[ForeignKeyMet],
    }
    Deadlock = "deadlock" {
        promises: "A free lock is acquired again within its bound while a client wants it and \
                   only other clients stand in the way.",
        source: "redis.io, \"Distributed locks with Redis\": liveness property A, \
                 deadlock-free",
        violated: "deadlock",
        surprises: true,
        // Nobody releases the lock, or those who wait are not woken.
        needs: &[HolderDied, UntoldGrant, WaiterWoke],
    }
    Availability = "availability" {
        promises: "As deadlock, but a fault of nodes or of the network between them is no \
                   excuse.",
        source: "redis.io, \"Distributed locks with Redis\": liveness property B, fault \
                 tolerance",
        violated: "unavailable",
        // Every lock violates it if all its nodes are unreachable.
        surprises: false,
        needs: &[HolderDied, UntoldGrant, WaiterWoke],
    }
    Recovery = "recovery" {
        promises: "Once every fault is over and the lock has settled, a free lock is acquired \
                   within its bound, without any excuse; for a campaign.",
        source: "Kingsbury, Jepsen: faults are healed before a test's last phase, in which the \
                 system has to work again",
        violated: "no recovery after faults",
        surprises: true,
        needs: &[HolderDied, UntoldGrant, WaiterWoke],
    }
    AcknowledgedLost = "acknowledged-lost" {
        promises: "No acknowledged add is missing from the set at the end; for the workload \
                   `adds`.",
        source: "Kingsbury, \"Jepsen: Redis\" (2013): the set test",
        violated: "acknowledged add lost",
        surprises: true,
        // Clients add without a lock.
        needs: &[],
    }
    Fifo = "fifo" {
        promises: "No client is granted the lock ahead of one that asked earlier and still \
                   waits.",
        source: "Redisson, RFairLock: threads get the lock in the order in which they asked \
                 for it",
        violated: "overtaken (fifo)",
        // Few locks guarantee an order.
        surprises: false,
        needs: &[WaiterWoke],
    }
}

impl Property {
    /// The parts of [`Property::Resource`]: it holds exactly if all of these do.
    pub const PARTS_OF_RESOURCE: [Property; 3] = [
        Property::StaleWrite,
        Property::LostUpdate,
        Property::TokenRegression,
    ];
}

impl fmt::Display for Property {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// A name that no property has.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("no property is called \"{name}\"; there are {}", Property::ALL.map(Property::name).join(", "))]
pub struct UnknownProperty {
    /// The requested name.
    pub name: String,
}

impl FromStr for Property {
    type Err = UnknownProperty;

    fn from_str(name: &str) -> Result<Property, UnknownProperty> {
        Property::ALL
            .into_iter()
            .find(|property| property.name() == name)
            .ok_or_else(|| UnknownProperty { name: name.into() })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn property_name_round_trips_and_matches_the_file_format() {
        for property in Property::ALL {
            assert_eq!(property.name().parse(), Ok(property));
            assert_eq!(
                serde_json::to_value(property).unwrap(),
                serde_json::Value::from(property.name())
            );
        }
    }

    #[test]
    fn names_fill_the_columns_of_tables() {
        assert_eq!(format!("{:<8}|", Property::Lease), "lease   |");
    }

    #[test]
    fn unknown_property_lists_the_known_ones() {
        let error = "stale_write".parse::<Property>().unwrap_err().to_string();
        assert_eq!(
            error,
            "no property is called \"stale_write\"; there are belief, lease, resource, \
             stale-write, lost-update, token-regression, progress, foreign-release, \
             deadlock, availability, recovery, acknowledged-lost, fifo"
        );
    }
}

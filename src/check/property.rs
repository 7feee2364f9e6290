//! The properties as data: what a history is judged by, in words.

use std::{fmt, str::FromStr};

use serde::{Deserialize, Serialize};

/// What a history is judged by.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Property {
    /// B∞: no two clients believe at once that they hold the lock, each from the
    /// return of `acquire` to its call of `release`.
    Belief,
    /// Bd: the same, but a client stops believing at the deadline that its own
    /// clock and the algorithm's validity rule give it.
    Lease,
    /// R: the resource accepted nothing it should not have; the next three together.
    Resource,
    /// The resource accepted no write of an older holder after a newer holder's.
    StaleWrite,
    /// The resource accepted no write over a version that its writer had not seen.
    LostUpdate,
    /// The resource accepted no fencing token lower than one it had accepted before.
    TokenRegression,
    /// The resource refused nobody who held the lock rightly, and accepted something.
    Progress,
    /// No release deleted another client's lock.
    ForeignRelease,
    /// A free lock is taken again within its bound while somebody wants it and nothing
    /// but other clients stands in the way.
    Deadlock,
    /// The same, but a fault of nodes or of the network between them is no excuse.
    Availability,
    /// Whatever was added to a set and acknowledged is in it at the end.
    AcknowledgedLost,
    /// Nobody is granted the lock past a client that asked earlier and still waits.
    Fifo,
}

impl Property {
    /// Every property, in the order in which reports list them.
    pub const ALL: [Property; 12] = [
        Property::Belief,
        Property::Lease,
        Property::Resource,
        Property::StaleWrite,
        Property::LostUpdate,
        Property::TokenRegression,
        Property::Progress,
        Property::ForeignRelease,
        Property::Deadlock,
        Property::Availability,
        Property::AcknowledgedLost,
        Property::Fifo,
    ];

    /// What [`Property::Resource`] is made of: it holds exactly if all of these do.
    pub const PARTS_OF_RESOURCE: [Property; 3] = [
        Property::StaleWrite,
        Property::LostUpdate,
        Property::TokenRegression,
    ];

    /// Its name as scenarios, options and files spell it.
    pub fn name(self) -> &'static str {
        match self {
            Property::Belief => "belief",
            Property::Lease => "lease",
            Property::Resource => "resource",
            Property::StaleWrite => "stale-write",
            Property::LostUpdate => "lost-update",
            Property::TokenRegression => "token-regression",
            Property::Progress => "progress",
            Property::ForeignRelease => "foreign-release",
            Property::Deadlock => "deadlock",
            Property::Availability => "availability",
            Property::AcknowledgedLost => "acknowledged-lost",
            Property::Fifo => "fifo",
        }
    }

    /// What it promises, in a sentence.
    pub fn describes(self) -> &'static str {
        match self {
            Property::Belief => {
                "B∞: no two clients believe at once that they hold the lock, each from the \
                 return of acquire to its call of release."
            }
            Property::Lease => {
                "Bd: the same, but a client stops believing at the deadline that its own clock \
                 and the algorithm's validity rule give it."
            }
            Property::Resource => {
                "R: the resource accepted nothing it should not have: stale-write, lost-update \
                 and token-regression together."
            }
            Property::StaleWrite => {
                "The resource accepted no write of an older holder after a newer holder's."
            }
            Property::LostUpdate => {
                "The resource accepted no write over a version that its writer had not seen."
            }
            Property::TokenRegression => {
                "The resource accepted no fencing token lower than one it had accepted before."
            }
            Property::Progress => {
                "The resource refused nobody who held the lock rightly, and accepted something."
            }
            Property::ForeignRelease => "No release deleted another client's lock.",
            Property::Deadlock => {
                "A free lock is taken again within its bound while somebody wants it and nothing \
                 but other clients stands in the way."
            }
            Property::Availability => {
                "As deadlock, but a fault of nodes or of the network between them is no excuse."
            }
            Property::AcknowledgedLost => {
                "No acknowledged add is missing from the set at the end; for the workload `adds`."
            }
            Property::Fifo => {
                "Nobody is granted the lock past a client that asked earlier and still waits."
            }
        }
    }

    /// Who asks for it.
    pub fn source(self) -> &'static str {
        match self {
            Property::Belief => {
                "antirez, \"Is Redlock safe?\" (2016): once the TTL is over, exclusion is gone \
                 for every lock that releases itself"
            }
            Property::Lease => {
                "redis.io, \"Distributed locks with Redis\": mutual exclusion within the \
                 validity time"
            }
            Property::Resource | Property::StaleWrite => {
                "Kleppmann, \"How to do distributed locking\" (2016): the paused client that \
                 wakes and writes"
            }
            Property::LostUpdate => {
                "Kleppmann, \"How to do distributed locking\" (2016): the read-modify-write that \
                 the lock is for; Jepsen, etcd 3.4.3 (2020)"
            }
            Property::TokenRegression => {
                "Kleppmann, \"How to do distributed locking\" (2016): the storage server \
                 remembers the highest token and rejects a lower one"
            }
            Property::Progress => {
                "antirez, \"Is Redlock safe?\" (2016): the order of tokens need not be the order \
                 in which the clients work"
            }
            Property::ForeignRelease => {
                "redis.io, \"Distributed locks with Redis\": a client must not remove a lock \
                 that another client created"
            }
            Property::Deadlock => {
                "redis.io, \"Distributed locks with Redis\": liveness property A, \
                 deadlock-free"
            }
            Property::Availability => {
                "redis.io, \"Distributed locks with Redis\": liveness property B, fault \
                 tolerance"
            }
            Property::AcknowledgedLost => "Kingsbury, \"Jepsen: Redis\" (2013): the set test",
            Property::Fifo => {
                "Redisson, RFairLock: threads get the lock in the order in which they asked for it"
            }
        }
    }
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
    /// The name that was asked for.
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
    fn a_name_leads_back_to_its_property_and_is_the_one_in_files() {
        for property in Property::ALL {
            assert_eq!(property.name().parse(), Ok(property));
            assert_eq!(
                serde_json::to_value(property).unwrap(),
                serde_json::Value::from(property.name())
            );
        }
    }

    #[test]
    fn an_unknown_name_is_answered_with_the_known_ones() {
        let error = "stale_write".parse::<Property>().unwrap_err().to_string();
        assert_eq!(
            error,
            "no property is called \"stale_write\"; there are belief, lease, resource, \
             stale-write, lost-update, token-regression, progress, foreign-release, \
             deadlock, availability, acknowledged-lost, fifo"
        );
    }

    #[test]
    fn all_lists_each_property_once_in_order() {
        assert!(Property::ALL.is_sorted());
        assert!(Property::ALL.windows(2).all(|pair| pair[0] != pair[1]));
    }
}

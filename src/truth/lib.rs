//! Three properties judged a second time, from what the nodes held for whom, and compared with the
//! verdicts on the history.
//!
//! A check reads a history: what clients called, were told and believed. In the simulator the
//! contents of the nodes are known too ([`Contents`]): every change of the lock's key, with the host
//! whose request made it. From these, [`compare`] derives the *holdings*, each a period in which one
//! node held the lock for one client, and judges `foreign-release`, `lease` and `deadlock` by them.
//! The file of each property defines it on holdings, and says what a difference means.
//!
//! A client *holds the lock by the nodes* at a time if as many of them hold it for this client as
//! the lock needs ([`Rule::need`]). [`rule`] knows that for each lock, and the form of its key.
//!
//! Nothing here runs anything, and no verdict of a run depends on it.
//!
//! - `foreign-release` can be violated although its verdict is inconclusive, or even *holds* because of
//!   other releases in the run, where no reply tells whose key was deleted: on several servers, and
//!   where the victim's reply was under way when the release was sent. A verdict *violated* always names
//!   a client that deleted another's lock.
//! - `lease` is about what clients rely on, which is not on the nodes. Every grant stood on them; two
//!   never stand on them at once, so one of the two clients of a violation relies on a lock that the
//!   nodes no longer hold for it.
//! - `deadlock`: while the history counts the lock as free, the nodes hold it for nobody who relies on
//!   it.
//!
//! On real servers `src/real/replay.rs` finds out what they held: the requests of all clients, as they
//! passed the proxy, are executed again on a node of the simulator, in the order and at the times that
//! each server reports to `MONITOR`. If every reply is the same, the keys of this node are those of the
//! server, and `tests/ground_truth_real.rs` compares as in the simulator; if one differs, the run says
//! nothing. Not covered are servers that replicate, that read files after a restart, or that evict keys.
//!
//! Each lock says how the nodes identify its holder (`Facts::held`). Not covered are `getset` and
//! `getset-as-listed`, whose key a client overwrites even if it fails to get the lock, and the locks
//! that are not on Redis.

mod coverage;
mod deadlock;
mod foreign_release;
mod holdings;
mod lease;

#[cfg(test)]
mod tests;

use std::fmt;

use locklab_check::{Bounds, Property, Verdict};
use locklab_history::timeline::Timeline;
use locklab_history::{Contents, History, Topology};
use locklab_vecmap::VecMap;

pub use coverage::{Rule, rule};
pub use foreign_release::Removal;
pub use holdings::{Holding, Holdings};

/// A run, with all that is compared.
#[derive(Debug, Clone, Copy)]
pub struct Subject<'a> {
    /// Its history.
    pub history: &'a History,
    /// What its nodes held.
    pub contents: &'a Contents,
    /// Its hosts.
    pub topology: &'a Topology,
    /// What the verdicts were judged with.
    pub bounds: &'a Bounds,
    /// The verdicts on the history.
    pub verdicts: &'a VecMap<Property, Verdict>,
}

/// What the nodes say about a run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Comparison {
    /// The first release that took the lock from another client, by the nodes.
    pub foreign_release: Option<Removal>,
    /// Where history and nodes contradict each other.
    pub differences: Vec<Difference>,
}

/// A property about which history and nodes contradict each other.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Difference {
    /// The property.
    pub property: Property,
    /// The verdict on the history, in a sentence.
    pub by_history: String,
    /// What the nodes show, in a sentence.
    pub by_nodes: String,
}

impl fmt::Display for Difference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Difference {
            property,
            by_history,
            by_nodes,
        } = self;
        let property = property.name();
        write!(
            f,
            "{property}\n  history: {by_history}\n  nodes: {by_nodes}"
        )
    }
}

/// Judges a run by its nodes, and compares that with the verdicts on its history.
pub fn compare(subject: &Subject, rule: Rule) -> Comparison {
    let timeline = Timeline::of(subject.history);
    let holdings = Holdings::of(subject.history, subject.contents, subject.topology, rule);
    let foreign_release = foreign_release::first(&holdings);
    let verdict = |property| subject.verdicts.get(&property).unwrap_or(&Verdict::Holds);
    let contradictions = [
        (
            Property::ForeignRelease,
            foreign_release::contradiction(
                &timeline,
                &holdings,
                verdict(Property::ForeignRelease),
                subject.bounds,
            ),
        ),
        (
            Property::Lease,
            lease::contradiction(&timeline, &holdings, verdict(Property::Lease)),
        ),
        (
            Property::Deadlock,
            deadlock::contradiction(
                &timeline,
                &holdings,
                verdict(Property::Deadlock),
                subject.bounds,
            ),
        ),
    ];
    let differences = contradictions.into_iter().filter_map(|(property, found)| {
        Some(Difference {
            property,
            by_history: sentence(verdict(property)),
            by_nodes: found?,
        })
    });
    Comparison {
        foreign_release,
        differences: differences.collect(),
    }
}

fn sentence(verdict: &Verdict) -> String {
    match verdict {
        Verdict::Holds => "holds".to_owned(),
        Verdict::Violated(violation) => format!("violated: {}", violation.what),
        Verdict::Inconclusive { why } => format!("inconclusive: {why}"),
    }
}

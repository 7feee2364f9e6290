//! What would change the answer most: another lease, another use of the lock, another guess.

use std::collections::BTreeMap;

use crate::environment::{Cause, Guess};
use crate::estimate::Number;
use crate::question::{ByCause, Effort, RiskError, Share, by_cause, grants, rate, runs};
use crate::setup::{Setup, SetupError};
use crate::time::Time;

/// A quarter of the runs is enough to say by how much something changes.
const SHARE_OF_RUNS: u64 = 4;

/// One change, and what comes of it.
#[derive(Debug, Clone, PartialEq)]
pub struct Variant {
    /// What is changed.
    pub change: Change,
    /// Violations per grant, by the properties of [`PROPERTIES`](crate::PROPERTIES).
    pub per_grant: [Number; 2],
    /// The same without the change, from runs of the same seeds.
    pub before: [Number; 2],
}

impl Variant {
    /// How many times as many violations of a property there are; `None` if the difference is within the
    /// error. The frequency of a cause only scales what was found, so it has none. Nor has the absence of
    /// any violation, where the runs of the same seeds had ten.
    pub fn effect(&self, property: usize) -> Option<f64> {
        let (before, after) = (self.before[property], self.per_grant[property]);
        let is_exact = matches!(self.change, Change::Often(..));
        let vanish = after.violated == 0 && before.violated >= 10;
        let differs = before.mean > 0.0 && (is_exact || vanish || !after.agrees(&before));
        differs.then(|| after.mean / before.mean)
    }
}

/// A change of the setup.
#[derive(Debug, Clone, PartialEq)]
pub enum Change {
    /// So many times the lease.
    Lease(f64),
    /// The resource compares fencing tokens.
    Fencing,
    /// A client looks at its clock before it writes.
    Deadline,
    /// A holder extends its lease while it works.
    Renewal,
    /// A cause whose frequency was guessed strikes so many times as often.
    Often(String, f64),
    /// A cause whose length was guessed lasts, or goes, so many times as long.
    Long(String, f64),
}

/// Makes the same estimate with each change that makes sense, except for those of frequencies, which follow
/// from the answer by cause.
///
/// # Errors
///
/// If the lock cannot be set up, or a run fails.
pub fn variants(
    setup: &Setup,
    answer: &ByCause,
    effort: Effort<'_>,
) -> Result<Vec<Variant>, RiskError> {
    let effort = Effort {
        runs: (effort.runs / SHARE_OF_RUNS).max(1),
        ..effort
    };
    // The same seeds with and without a change, so that less of a difference is chance.
    let same_seeds = by_cause(setup, effort)?;
    let before = sums(&same_seeds, Share::clone);
    let mut variants = Vec::new();
    for (change, setup) in of_lock(setup)? {
        let changed = by_cause(&setup, effort)?;
        variants.push(Variant {
            change,
            per_grant: sums(&changed, Share::clone),
            before,
        });
    }
    for (name, _) in guessed(setup, answer, Guess::HowOften) {
        for factor in [10.0, 0.1] {
            let often = |share: &Share| Share {
                rate: share.rate * if share.cause == *name { factor } else { 1.0 },
                ..share.clone()
            };
            variants.push(Variant {
                change: Change::Often(name.to_owned(), factor),
                per_grant: sums(answer, often),
                before: sums(answer, Share::clone),
            });
        }
    }
    let scenario = setup.scenario()?;
    let grants = grants(setup, &scenario, effort);
    for (name, cause) in guessed(setup, answer, Guess::HowLong) {
        for factor in [10.0, 0.1] {
            let cause = lasting(cause, factor);
            let made = Share {
                cause: name.to_owned(),
                rate: rate(&grants, &cause).unwrap_or(0.0),
                runs: runs(effort, name, |seed| grants.struck(&[&cause], seed))?,
            };
            let other = |share: &Share| match share.cause == *name {
                true => made.clone(),
                false => share.clone(),
            };
            variants.push(Variant {
                change: Change::Long(name.to_owned(), factor),
                per_grant: sums(&same_seeds, other),
                before,
            });
        }
    }
    Ok(variants)
}

/// The sums with changed shares.
fn sums(answer: &ByCause, change: impl Fn(&Share) -> Share) -> [Number; 2] {
    let changed = ByCause {
        shares: answer.shares.iter().map(change).collect(),
        left_out: Vec::new(),
    };
    [0, 1].map(|property| changed.sum(property))
}

/// The causes that can strike and of which this was guessed.
fn guessed<'s>(
    setup: &'s Setup,
    answer: &'s ByCause,
    what: Guess,
) -> impl Iterator<Item = (&'s str, &'s Cause)> {
    let causes: &BTreeMap<String, Cause> = &setup.environment.cause;
    let strikes = |name: &str| answer.shares.iter().any(|share| share.cause == name);
    let causes = causes.iter().map(|(name, cause)| (&**name, cause));
    causes.filter(move |(name, cause)| cause.guess.contains(&what) && strikes(name))
}

/// The same cause, so many times as long or as far.
fn lasting(cause: &Cause, factor: f64) -> Cause {
    let mut longer = cause.clone();
    for dist in [
        &mut longer.duration_ms,
        &mut longer.extra_ms,
        &mut longer.step_ms,
    ] {
        *dist = dist.as_ref().map(|dist| dist.times(factor));
    }
    longer
}

/// The changes of the lock and its use that are possible, each with its setup.
fn of_lock(setup: &Setup) -> Result<Vec<(Change, Setup)>, SetupError> {
    let entry = setup.entry()?;
    let with = |sets: &[&str]| {
        let mut changed = setup.clone();
        changed
            .sets
            .extend(sets.iter().map(|set| (*set).to_owned()));
        changed
    };
    let mut found = Vec::new();
    for factor in [2.0, 0.5] {
        let mut changed = setup.clone();
        changed.lease = Time(setup.lease.0 * factor);
        found.push((Change::Lease(factor), changed));
    }
    let is_off =
        |(name, default, _): &(&str, &str, &str)| *name == "fencing_token" && *default == "false";
    if entry.parameters.iter().any(is_off) {
        let fenced = with(&[
            "lock.fencing_token=true",
            "resource.fencing=reads-and-writes",
        ]);
        found.push((Change::Fencing, fenced));
    }
    found.push((Change::Deadline, with(&["workload.check=deadline"])));
    let every_ms = (setup.lease.0 / 3.0).max(1.0);
    let renewed = with(&[&format!("workload.extend_every_ms={every_ms:.0}")]);
    found.push((Change::Renewal, renewed));
    // One that the lock or the user's own overrides do not admit is left out.
    found.retain(|(_, changed)| changed.scenario().is_ok());
    Ok(found)
}

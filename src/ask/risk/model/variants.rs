//! What would change the answer most: another lease, another use of the lock, another guess.

use serde::Serialize;

use crate::risk::model::environment::{Cause, Guess};
use crate::risk::model::estimate::{Number, Runs};
use crate::risk::model::question::{ByCause, Causes, Share};
use crate::risk::model::row::Term;
use crate::risk::model::series::{Of, Sampling, Series, grants};
use crate::risk::model::setup::Setup;
use crate::risk::model::setup_error::SetupError;
use crate::risk::model::time::Time;

/// A quarter of the runs is enough to say by how much something changes.
const SHARE_OF_RUNS: u64 = 4;

/// What was guessed may be so many times as much.
const FACTORS: [f64; 2] = [10.0, 0.1];

/// One change, and what comes of it.
#[derive(Debug, Clone, PartialEq)]
pub struct Variant {
    /// What is changed.
    pub change: Change,
    /// Violations per grant, by the properties of [`PROPERTIES`](crate::risk::model::PROPERTIES).
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
#[derive(Debug, Clone, PartialEq, Serialize)]
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

/// The series of each change that makes sense, except for those of frequencies, which follow from the answer
/// by cause.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Variants {
    /// Without a change.
    before: Causes,
    lock: Vec<(Change, Causes)>,
    /// The causes whose frequencies were guessed.
    often: Vec<String>,
    long: Vec<(Change, Longer)>,
}

/// A cause that lasts, or goes, further.
#[derive(Debug, Clone, PartialEq, Serialize)]
struct Longer {
    cause: String,
    rate: f64,
    series: Series,
}

impl Variants {
    /// Plans the runs.
    ///
    /// # Errors
    ///
    /// If the lock cannot be set up.
    pub fn plan(setup: &Setup, sampling: Sampling) -> Result<Variants, SetupError> {
        let sampling = Sampling {
            runs: (sampling.runs / SHARE_OF_RUNS).max(1),
            ..sampling
        };
        let before = Causes::plan(setup, sampling)?;
        let mut lock = Vec::new();
        for (change, setup) in of_lock(setup)? {
            lock.push((change, Causes::plan(&setup, sampling)?));
        }
        let often = guessed(setup, &before, Guess::HowOften);
        let often = often.map(|(name, ..)| name.clone()).collect();
        let grants = grants(setup, sampling)?;
        let mut long = Vec::new();
        for (name, rate, cause) in guessed(setup, &before, Guess::HowLong) {
            for factor in FACTORS {
                let of = Of::Cause(name.clone(), Box::new(lasting(cause, factor)));
                let longer = Longer {
                    cause: name.clone(),
                    rate,
                    series: Series::new(&grants, of, sampling),
                };
                long.push((Change::Long(name.clone(), factor), longer));
            }
        }
        Ok(Variants {
            before,
            lock,
            often,
            long,
        })
    }

    /// The series, in the order in which [`Variants::answer`] wants their runs.
    pub fn series(&self) -> Vec<&Series> {
        let of_lock = self.lock.iter().flat_map(|(_, causes)| causes.series());
        let long = self.long.iter().map(|(_, longer)| &longer.series);
        let all = self.before.series().iter().chain(of_lock).chain(long);
        all.collect()
    }

    /// What comes of each change, from the runs of each series and the answer without a change.
    pub fn answer(&self, answer: &ByCause, made: &[Runs]) -> Vec<Variant> {
        let (of_before, mut made) = made.split_at(self.before.series().len());
        let before_by_cause = self.before.answer(of_before);
        let before = sums(&before_by_cause, Share::clone);
        let mut variants = Vec::new();
        for (change, causes) in &self.lock {
            let (of_change, others) = made.split_at(causes.series().len());
            made = others;
            variants.push(Variant {
                change: change.clone(),
                per_grant: sums(&causes.answer(of_change), Share::clone),
                before,
            });
        }
        for name in &self.often {
            for factor in FACTORS {
                let often = |share: &Share| Share {
                    rate: share.rate * if share.cause == *name { factor } else { 1.0 },
                    ..share.clone()
                };
                variants.push(Variant {
                    change: Change::Often(name.clone(), factor),
                    per_grant: sums(answer, often),
                    before: sums(answer, Share::clone),
                });
            }
        }
        for ((change, longer), runs) in self.long.iter().zip(made) {
            let other = |share: &Share| match share.cause == longer.cause {
                true => Share {
                    cause: longer.cause.clone(),
                    rate: longer.rate,
                    runs: runs.clone(),
                    excluded: None,
                },
                false => share.clone(),
            };
            variants.push(Variant {
                change: change.clone(),
                per_grant: sums(&before_by_cause, other),
                before,
            });
        }
        variants
    }
}

/// The sums with changed shares.
fn sums(answer: &ByCause, change: impl Fn(&Share) -> Share) -> [Number; 2] {
    let changed = ByCause {
        shares: answer.shares.iter().map(change).collect(),
        left_out: Vec::new(),
    };
    [0, 1].map(|property| changed.sum(property))
}

/// The causes that can strike and of which this was guessed, each with its strikes per millisecond.
fn guessed<'s>(
    setup: &'s Setup,
    causes: &'s Causes,
    what: Guess,
) -> impl Iterator<Item = (&'s String, f64, &'s Cause)> {
    let strikes = causes.strikes().iter();
    let with_cause = strikes.filter_map(|(name, rate)| {
        let cause = setup.environment.cause.get(name)?;
        Some((name, *rate, cause))
    });
    with_cause.filter(move |(.., cause)| cause.guess.contains(&what))
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
    let row = setup.row()?;
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
    if row.parameters().iter().any(is_off) && !setup.scenario()?.lock.gives_tokens() {
        let fenced = with(&[
            "lock.fencing_token=true",
            "resource.fencing=reads-and-writes",
        ]);
        found.push((Change::Fencing, fenced));
    }
    found.push((Change::Deadline, with(&["workload.check=deadline"])));
    // A watchdog and the pings of a session renew it already.
    if row.term() == Term::Lease {
        let every_ms = (setup.lease.0 / 3.0).max(1.0);
        let renewed = with(&[&format!("workload.extend_every_ms={every_ms:.0}")]);
        found.push((Change::Renewal, renewed));
    }
    // One that the lock or the user's own overrides do not admit is left out.
    found.retain(|(_, changed)| changed.scenario().is_ok());
    Ok(found)
}

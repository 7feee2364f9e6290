//! The numbers of all locks and leases.

use crate::risk::model::{Bound, Costs, Environment, Number, Setup, Time};
use locklab_evidence::thousands;

use super::super::sources;
use super::super::words::{overrides, work};

/// What is estimated, as a column and as an axis.
pub(super) const WHAT: [&str; 2] = ["both hold it, a year", "corrupted, a year"];

/// The cost of a lease, as an axis.
pub(super) const WAIT: &str = "wait after a holder died, s";

/// The messages for a grant, as an axis.
pub(super) const MESSAGES: &str = "messages for a grant";

/// What all runs come to.
pub(super) struct Answer<'s> {
    pub curves: Vec<Curve<'s>>,
    pub every: Time,
    /// The runs for each cause that were asked for.
    pub asked: u64,
}

/// One lock.
pub(super) struct Curve<'s> {
    pub lock: &'s str,
    /// By their leases, ascending.
    pub points: Vec<Point<'s>>,
}

/// One lock with one lease.
pub(super) struct Point<'s> {
    pub setup: &'s Setup,
    /// Runs for each cause.
    pub runs: u64,
    /// Violations a year, by the properties of [`PROPERTIES`](crate::risk::model::PROPERTIES).
    pub years: [Number; 2],
    /// What is left open of each by causes without a violation.
    pub bounds: [Option<Bound>; 2],
    /// Whether arithmetic excludes a cause.
    pub has_excluded: bool,
    /// What its lease costs.
    pub costs: &'s Costs,
}

impl Answer<'_> {
    /// Every lock with every lease.
    pub(super) fn all(&self) -> impl Iterator<Item = (&str, &Point<'_>)> {
        let curves = self.curves.iter();
        curves.flat_map(|curve| curve.points.iter().map(|point| (curve.lock, point)))
    }

    /// What the numbers are of. Nothing is printed without it.
    pub(super) fn about(&self) -> String {
        let Some((_, Point { setup, .. })) = self.all().next() else {
            return String::new();
        };
        format!(
            "In {} ({}){}: work of {}, asked for once in {}",
            setup.environment.name,
            setup.environment.title,
            overrides(setup),
            work(setup),
            self.every,
        )
    }

    /// How many runs each cause has.
    pub(super) fn runs(&self) -> String {
        let runs = || self.all().map(|(_, point)| point.runs);
        let (most, least) = (runs().max().unwrap_or(0), runs().min().unwrap_or(0));
        match most == least {
            true => format!("{} runs for each cause", thousands(most)),
            false => format!(
                "{} runs for each cause, {} where runs take long",
                thousands(most),
                thousands(least)
            ),
        }
    }

    /// How many numbers of the environment were published.
    pub(super) fn sources(&self) -> String {
        let told = |environment: &Environment| {
            let (name, summary) = (&environment.name, sources::summary(environment));
            format!("simulated; environment {name}: {summary}; see sources.md")
        };
        self.environment().map(told).unwrap_or_default()
    }

    /// The environment of all of them.
    pub(super) fn environment(&self) -> Option<&Environment> {
        let (_, point) = self.all().next()?;
        Some(&point.setup.environment)
    }
}

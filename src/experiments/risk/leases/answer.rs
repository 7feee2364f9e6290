//! The numbers of all locks and leases.

use locklab_risk::{Number, Setup, Time};

use super::super::words::{overrides, work};

/// What is estimated, as a column and as an axis.
pub(super) const WHAT: [&str; 2] = ["both hold it, a year", "corrupted, a year"];

/// What all runs come to.
pub(super) struct Answer<'s> {
    pub curves: Vec<Curve<'s>>,
    pub every: Time,
    /// Runs for each cause.
    pub runs: u64,
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
    /// Violations a year, by the properties of [`PROPERTIES`](locklab_risk::PROPERTIES).
    pub years: [Number; 2],
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
}

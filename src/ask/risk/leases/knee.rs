//! The knee of a lock's curve: the smallest of its leases from which on no doubling makes violations half as many.

use super::super::words::{figures, term};
use super::answer::{Curve, Point};

/// Where the knee of a curve is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Knee {
    /// At the point of this place.
    At(usize),
    /// At the shortest lease, or below it.
    AtOrBelowTheFirst,
    /// Nowhere: up to the longest lease each doubling is worth it.
    Beyond,
    /// Nowhere, as nothing is violated with the leases from the one of this place on.
    NothingFrom(usize),
}

impl Knee {
    /// The knee of points by lease in milliseconds, ascending, and violations a year.
    pub(super) fn of(points: &[(f64, f64)]) -> Knee {
        let violated = points.iter().rposition(|(_, year)| *year > 0.0);
        let after = violated.map_or(0, |last| last + 1);
        if after < points.len() || points.len() < 2 {
            return Knee::NothingFrom(after);
        }
        let steps = points.windows(2).map(|pair| is_worth_it(pair[0], pair[1]));
        let steps: Vec<bool> = steps.collect();
        match steps.iter().rposition(|worth| *worth) {
            None => Knee::AtOrBelowTheFirst,
            Some(last) if last + 1 == steps.len() => Knee::Beyond,
            Some(last) => Knee::At(last + 1),
        }
    }
}

/// Whether each doubling of the lease between two points makes violations half as many. Between them the curve is
/// taken to be straight, on logarithmic axes; so it does if they fall by as much as the lease grows.
fn is_worth_it((lease, year): (f64, f64), (longer, fewer): (f64, f64)) -> bool {
    year * lease >= fewer * longer
}

/// The lease at the knee, in milliseconds, if it is one of the curve's.
pub(super) fn lease_ms(curve: &Curve<'_>) -> Option<f64> {
    match Knee::of(&corrupted(curve)) {
        Knee::At(place) => curve.points.get(place).map(|point| point.setup.lease.0),
        _ => None,
    }
}

/// The corruptions of a lock by its leases.
pub(super) fn corrupted(curve: &Curve<'_>) -> Vec<(f64, f64)> {
    let point = |point: &Point<'_>| (point.setup.lease.0, point.years[1].mean);
    curve.points.iter().map(point).collect()
}

/// The knee of a lock in a sentence.
pub(super) fn sentence(curve: &Curve<'_>) -> String {
    let Curve { lock, points } = curve;
    let Some(first) = points.first() else {
        return String::new();
    };
    let term = term(first.setup);
    let corruptions = |point: &Point<'_>| {
        let year = point.years[1].mean;
        format!("{} corruptions a year", figures(year))
    };
    match Knee::of(&corrupted(curve)) {
        Knee::NothingFrom(0) => format!("{lock}: no run is corrupted, with any {term}."),
        Knee::NothingFrom(place) => match points.get(place) {
            Some(point) => format!(
                "{lock}: no run is corrupted with a {term} of {} or more.",
                point.setup.lease
            ),
            None => format!(
                "{lock}: {} with this {term}; more of them show a knee.",
                corruptions(first)
            ),
        },
        Knee::At(place) => format!(
            "{lock}: the knee is at a {term} of {}, with {}. From there on no doubling makes them half as many.",
            points[place].setup.lease,
            corruptions(&points[place])
        ),
        Knee::AtOrBelowTheFirst => format!(
            "{lock}: no doubling makes corruptions half as many, so the knee is at a {term} of {} or below, with {}.",
            first.setup.lease,
            corruptions(first)
        ),
        Knee::Beyond => format!(
            "{lock}: none of these is a knee. Up to the longest {term}, doubling makes corruptions half as many or \
             fewer."
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(points: &[(f64, f64)], expected: Knee) {
        assert_eq!(Knee::of(points), expected, "{points:?}");
    }

    #[test]
    fn knee_is_the_first_lease_after_the_last_that_is_worth_doubling() {
        // From 1 to 2 s a quarter, then two thirds for each doubling.
        let bent = [
            (1000.0, 80.0),
            (2000.0, 20.0),
            (4000.0, 14.0),
            (8000.0, 9.0),
        ];
        check(&bent, Knee::At(1));
        // From 1 to 10 s a tenth is just what 3.3 doublings are worth.
        check(&[(1.0, 10.0), (10.0, 1.0), (30.0, 0.9)], Knee::At(1));
        check(
            &[(1.0, 10.0), (10.0, 1.1), (30.0, 0.9)],
            Knee::AtOrBelowTheFirst,
        );
        // What falls again later has its knee there.
        check(
            &[(1.0, 9.0), (2.0, 8.0), (4.0, 1.0), (8.0, 1.0)],
            Knee::At(2),
        );
    }

    #[test]
    fn curve_without_a_knee_says_why() {
        check(&[(1.0, 8.0), (2.0, 3.0), (4.0, 1.0)], Knee::Beyond);
        check(&[(1.0, 8.0), (2.0, 7.0)], Knee::AtOrBelowTheFirst);
        check(&[(1.0, 8.0), (2.0, 0.0), (4.0, 0.0)], Knee::NothingFrom(1));
        check(&[(1.0, 0.0), (2.0, 0.0)], Knee::NothingFrom(0));
        check(&[(1.0, 5.0)], Knee::NothingFrom(1));
    }
}

//! The chart: violations a year against the lease, a curve for each lock.

use locklab_report::chart::{self, Curves, Estimate};

use super::super::words::lock_and_term;
use super::answer::{Answer, Curve, Point, WHAT};

/// The chart of the resource, or of the lease if the resource is never corrupted.
pub(super) fn chart(answer: &Answer<'_>) -> Curves {
    let property = usize::from(answer.all().any(|(_, point)| point.years[1].mean > 0.0));
    let curve = |Curve { lock, points }: &Curve<'_>| {
        let point = |Point { setup, years }: &Point<'_>| {
            let number = years[property];
            let interval = number.interval()?;
            let estimate = Estimate {
                value: number.mean,
                low: interval.low,
                high: interval.high,
            };
            Some((setup.lease.0 / 1000.0, estimate))
        };
        chart::Curve {
            name: points
                .first()
                .map_or_else(String::new, |point| lock_and_term(lock, point.setup)),
            points: points.iter().filter_map(point).collect(),
        }
    };
    Curves {
        title: "Violations a year against the lease".into(),
        subtitle: format!(
            "{}. 95 % intervals. No point where no run is violated",
            answer.about()
        ),
        x: "lease (s)".into(),
        y: WHAT[property].into(),
        curves: answer.curves.iter().map(curve).collect(),
    }
}

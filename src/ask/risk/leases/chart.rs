//! The chart: violations a year against the lease, beside what a longer one costs. A curve for each lock.

use locklab_evidence::{Interval, Mean};
use locklab_report::chart::{self, Curves, Estimate, Quantity};

use super::super::words::lock_and_term;
use super::answer::{Answer, Curve, MESSAGES, Point, WAIT, WHAT};
use super::knee::{Knee, corrupted};

/// The chart of the resource, or of the lease if the resource is never corrupted.
pub(super) fn chart(answer: &Answer<'_>) -> Curves {
    let property = usize::from(answer.all().any(|(_, point)| point.years[1].mean > 0.0));
    let violations = |point: &Point<'_>| {
        let year = point.years[property];
        estimate(Some(year.mean), year.seen())
    };
    let of_mean = |mean: &Mean, per: f64| {
        let interval = mean.interval();
        let scaled = interval.map(|Interval { low, high }| Interval {
            low: low / per,
            high: high / per,
        });
        estimate(mean.value().map(|value| value / per), scaled)
    };
    let wait = |point: &Point<'_>| of_mean(&point.costs.wait_ms, 1000.0);
    let messages = |point: &Point<'_>| of_mean(&point.costs.messages, 1.0);
    let mut panels = vec![
        quantity(answer, WHAT[property], &violations),
        quantity(answer, WAIT, &wait),
        quantity(answer, MESSAGES, &messages),
    ];
    if property == 1 {
        for (of_panel, curve) in panels[0].curves.iter_mut().zip(&answer.curves) {
            if let Knee::At(place) = Knee::of(&corrupted(curve)) {
                of_panel.ring = Some(seconds(&curve.points[place]));
            }
        }
    }
    let name = |curve: &Curve<'_>| {
        let point = curve.points.first();
        point.map_or_else(String::new, |point| lock_and_term(curve.lock, point.setup))
    };
    let names: Vec<String> = answer.curves.iter().map(name).collect();
    Curves {
        title: "Violations a year against the lease, and its cost".into(),
        subtitle: format!(
            "{}. 95 % intervals of the causes that violate it. No point where no run is violated{}. A ring marks the \
             knee: from there on no doubling makes violations half as many",
            answer.about(),
            never(&panels[0], &names)
        ),
        x: "lease (s)".into(),
        names,
        panels,
    }
}

/// The locks that have no point at all: `, so none of redlock`.
fn never(panel: &Quantity, names: &[String]) -> String {
    let without = { panel.curves.iter().zip(names) }.filter(|(curve, _)| curve.points.is_empty());
    let names: Vec<&str> = without.map(|(_, name)| &**name).collect();
    match names.is_empty() {
        true => String::new(),
        false => format!(", so none of {}", names.join(" and ")),
    }
}

/// A panel with a curve for each lock.
fn quantity(answer: &Answer<'_>, y: &str, of: &dyn Fn(&Point<'_>) -> Option<Estimate>) -> Quantity {
    let curve = |curve: &Curve<'_>| {
        let points = curve.points.iter();
        chart::Curve {
            points: points
                .filter_map(|point| Some((seconds(point), of(point)?)))
                .collect(),
            ring: None,
        }
    };
    Quantity {
        y: y.into(),
        curves: answer.curves.iter().map(curve).collect(),
    }
}

fn seconds(point: &Point<'_>) -> f64 {
    point.setup.lease.0 / 1000.0
}

/// An estimate that has a place on a logarithmic axis.
fn estimate(value: Option<f64>, interval: Option<Interval>) -> Option<Estimate> {
    let value = value.filter(|value| *value > 0.0)?;
    let Interval { low, high } = interval?;
    Some(Estimate { value, low, high })
}

//! From which lease on a longer one changes little.

use super::super::words::cell;
use super::answer::Curve;

/// A longer lease is worth little once it makes violations at most this many times fewer.
const KNEE: f64 = 2.0;

/// The knee of a lock, in a sentence.
pub(super) fn sentence(curve: &Curve<'_>) -> String {
    let Curve { lock, points } = curve;
    let corrupted = points.iter().map(|point| point.years[1].mean);
    let least = corrupted.clone().fold(f64::INFINITY, f64::min);
    let mut places = { corrupted }.enumerate();
    let found = places.find(|(_, mean)| *mean <= KNEE * least);
    let Some((place, point)) = found.map(|(place, _)| (place, &points[place])) else {
        return String::new();
    };
    let (lease, year) = (point.setup.lease, &point.years[1]);
    match place + 1 == points.len() {
        _ if least == 0.0 => format!("{lock}: with a lease of {lease} no run is corrupted."),
        true => format!(
            "{lock}: with a lease of {lease} there are {} corruptions a year, and more than {KNEE} times as \
             many with any shorter one.",
            cell(year)
        ),
        false => format!(
            "{lock}: with a lease of {lease} there are {} corruptions a year, and at least half as many with \
             any longer one.",
            cell(year)
        ),
    }
}

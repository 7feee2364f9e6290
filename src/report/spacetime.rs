//! The space-time diagram of one run: which client believed what, when, and why.
//!
//! Each host has a horizontal life line, with the clients at the top, then the nodes, then the
//! resource; time runs to the right. It is the figure of Kleppmann's *How to do distributed
//! locking* (2016), drawn from a recorded history. Idle time is visibly compressed; repeated
//! refused attempts of a client count as idle.

mod arrows;
mod bars;
pub mod chatter;
mod crop;
mod draw;
pub mod faults;
pub mod holds;
mod hosts;
mod keys;
mod labels;
mod lanes;
mod legend;
pub mod map;
mod marks;
mod page;
mod retries;
mod scene;
mod shades;
mod time_axis;
mod time_scale;
pub mod window;

use locklab_values::units::{NS_PER_MS, NS_PER_S, NS_PER_US, fractional_ms_from_ns};

use super::{Drawing, Error, Sheet};
use locklab_check::Violation;
use locklab_history::History;
use locklab_history::leases::Lease;

/// Draws the run, or the part of it that led to the violation.
///
/// With a violation, the picture begins when the clients involved requested their locks, and
/// ends when they were done with them. `leases` is what the nodes held, if it is known.
///
/// # Errors
///
/// [`Error::EmptyHistory`] if there is nothing to draw.
pub fn draw(
    history: &History,
    title: &str,
    violation: Option<&Violation>,
    leases: &[Lease],
    sheet: &Sheet,
) -> Result<Drawing, Error> {
    let scene = scene::Scene::of(history, violation, leases).ok_or(Error::EmptyHistory)?;
    Ok(draw::drawing(&scene, title, sheet))
}

/// A duration as readable text, with at most three digits if that is precise enough.
pub fn duration(ns: u64) -> String {
    let (value, unit) = match ns {
        0..NS_PER_MS => (ns as f64 / NS_PER_US as f64, "µs"),
        NS_PER_MS..NS_PER_S => (fractional_ms_from_ns(ns), "ms"),
        _ => (ns as f64 / NS_PER_S as f64, "s"),
    };
    let text = match value {
        value if value >= 99.95 => format!("{value:.0}"),
        value if value >= 9.995 => format!("{value:.1}"),
        value => format!("{value:.2}"),
    };
    format!("{text} {unit}")
}

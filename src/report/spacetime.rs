//! The space-time diagram of one run: who believed what, when, and why.
//!
//! Each host has a horizontal line of life, clients on top, then the nodes, then the
//! resource; time runs to the right. It is the figure of Kleppmann's *How to do
//! distributed locking* (2016), drawn from a recorded history. Where nothing happens,
//! time is shortened, visibly; a client that asks again and again and is told no
//! counts as nothing happening.

mod arrows;
mod axis;
mod bars;
mod chatter;
mod draw;
mod faults;
mod holds;
mod hosts;
mod labels;
mod lanes;
mod legend;
mod marks;
mod retries;
mod scale;
mod scene;
mod shades;
mod window;

use super::Error;
use crate::{check::Violation, history::History};

/// Draws the run, or the part of it that led to the violation, as SVG.
///
/// With a violation the picture begins where the clients concerned asked for their
/// locks, and ends when they were done with them.
///
/// # Errors
///
/// [`Error::EmptyHistory`] if there is nothing to draw.
pub fn draw(
    history: &History,
    title: &str,
    violation: Option<&Violation>,
) -> Result<String, Error> {
    let scene = scene::Scene::of(history, violation).ok_or(Error::EmptyHistory)?;
    Ok(draw::svg(&scene, title))
}

/// A duration for a person to read, three digits at most where that is exact enough.
fn duration(ns: u64) -> String {
    let (value, unit) = match ns {
        0..1_000_000 => (ns as f64 / 1e3, "µs"),
        1_000_000..1_000_000_000 => (ns as f64 / 1e6, "ms"),
        _ => (ns as f64 / 1e9, "s"),
    };
    let text = match value {
        value if value >= 99.95 => format!("{value:.0}"),
        value if value >= 9.995 => format!("{value:.1}"),
        value => format!("{value:.2}"),
    };
    format!("{text} {unit}")
}

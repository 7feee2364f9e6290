//! The colours of all pictures.
//!
//! Series and clients use the palette of Okabe and Ito, which colour-blind readers can
//! distinguish; red is reserved for violations.

/// Text and axes.
pub(super) const INK: &str = "#222222";
/// Secondary text.
pub(super) const MUTED: &str = "#666666";
/// Grids and life lines.
pub(super) const FAINT: &str = "#c8c8c8";
/// The background of columns in which time is compressed.
pub(super) const IDLE: &str = "#f4f4f4";
/// A violation, and nothing else.
pub(super) const VIOLATION: &str = "#cc1f1a";

/// The number of colours of series.
pub(super) const COLOURS: usize = 7;

/// One colour per series or client; they repeat after the last one.
const SERIES: [&str; COLOURS] = [
    "#0072b2", // blue
    "#009e73", // bluish green
    "#e69f00", // orange
    "#aa4499", // purple
    "#56b4e9", // sky blue
    "#6b5b2e", // brown
    "#444444", // charcoal
];

/// The colour of the series or client with this number.
pub(super) fn series(number: usize) -> &'static str {
    SERIES[number % SERIES.len()]
}

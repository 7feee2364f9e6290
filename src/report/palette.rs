//! The colours of all pictures.
//!
//! Series and clients have the colours that Okabe and Ito chose so that colour-blind
//! readers tell them apart; red is kept for violations alone.

/// Text and axes.
pub(super) const INK: &str = "#222222";
/// Text of second rank.
pub(super) const MUTED: &str = "#666666";
/// Grids and life lines.
pub(super) const FAINT: &str = "#c8c8c8";
/// The ground of columns in which time is shortened.
pub(super) const IDLE: &str = "#f4f4f4";
/// A violation, and nothing else.
pub(super) const VIOLATION: &str = "#cc1f1a";

/// One colour per series or client; they repeat after the last.
const SERIES: [&str; 7] = [
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

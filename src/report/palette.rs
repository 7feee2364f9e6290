//! The colours of all pictures.
//!
//! Series and clients use the palette of Okabe and Ito, which colour-blind readers can
//! distinguish; red is reserved for violations.

use super::drawing::Colour;

/// Text and axes.
pub(super) const INK: Colour = Colour::hex(0x222222);
/// Secondary text.
pub(super) const MUTED: Colour = Colour::hex(0x666666);
/// Grids and life lines.
pub(super) const FAINT: Colour = Colour::hex(0xc8c8c8);
/// The background of columns with compressed time.
pub(super) const IDLE: Colour = Colour::hex(0xf4f4f4);
/// A violation, and nothing else.
pub(super) const VIOLATION: Colour = Colour::hex(0xcc1f1a);

/// The number of colours of series.
pub(super) const COLOURS: usize = 7;

/// One colour per series or client; they repeat after the last one.
const SERIES: [Colour; COLOURS] = [
    Colour::hex(0x0072b2), // blue
    Colour::hex(0x009e73), // bluish green
    Colour::hex(0xe69f00), // orange
    Colour::hex(0xaa4499), // purple
    Colour::hex(0x56b4e9), // sky blue
    Colour::hex(0x6b5b2e), // brown
    Colour::hex(0x444444), // charcoal
];

/// The colour of the series or client with this number.
pub(super) fn series(number: usize) -> Colour {
    SERIES[number % SERIES.len()]
}

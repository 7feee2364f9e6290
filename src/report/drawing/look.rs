//! The looks of shapes.

use std::fmt;

use super::Percent;

/// Red, green and blue.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in super::super) struct Colour(pub(in super::super) [u8; 3]);

/// A colour, and how much of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in super::super) struct Ink {
    pub(in super::super) colour: Colour,
    pub(in super::super) opacity: Percent,
}

/// How a shape is painted.
#[derive(Debug, Clone, PartialEq)]
pub(in super::super) struct Look {
    pub(in super::super) fill: Fill,
    pub(in super::super) stroke: Option<Stroke>,
}

/// The fill of a shape.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in super::super) enum Fill {
    /// Not said: SVG's default, which is black.
    Unsaid,
    Nothing,
    Ink(Ink),
    /// The [`Hatch`](super::Hatch) with this id.
    Hatch(String),
}

/// How an edge is painted.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(in super::super) struct Stroke {
    pub(in super::super) ink: Ink,
    /// Not said: 1.
    pub(in super::super) width: Option<f64>,
    /// The lengths of dashes and gaps; empty if it is solid.
    pub(in super::super) dashes: &'static [f64],
}

impl Colour {
    pub(in super::super) const BLACK: Colour = Colour::hex(0x000000);
    pub(in super::super) const WHITE: Colour = Colour::hex(0xffffff);

    /// The colour that is written `#rrggbb`.
    pub(in super::super) const fn hex(rgb: u32) -> Self {
        let [_, r, g, b] = rgb.to_be_bytes();
        Colour([r, g, b])
    }
}

impl From<Colour> for Ink {
    fn from(colour: Colour) -> Self {
        Ink {
            colour,
            opacity: Percent::ALL,
        }
    }
}

impl Look {
    /// Filled, without an edge.
    pub(in super::super) fn filled(ink: impl Into<Ink>) -> Self {
        Look {
            fill: Fill::Ink(ink.into()),
            stroke: None,
        }
    }

    /// Filled in a colour that what is below shines through.
    pub(in super::super) fn pale(colour: Colour, opacity: Percent) -> Self {
        Look::filled(Ink { colour, opacity })
    }

    /// Filled with the [`Hatch`](super::Hatch) with this id.
    pub(in super::super) fn hatched(id: impl Into<String>) -> Self {
        Look {
            fill: Fill::Hatch(id.into()),
            stroke: None,
        }
    }

    /// Invisible.
    pub(in super::super) fn nothing() -> Self {
        Look {
            fill: Fill::Nothing,
            stroke: None,
        }
    }

    /// With an edge, and not filled.
    pub(in super::super) fn hollow(edge: Stroke) -> Self {
        Look {
            fill: Fill::Nothing,
            stroke: Some(edge),
        }
    }

    /// The same with an edge.
    pub(in super::super) fn edged(self, edge: Stroke) -> Self {
        Look {
            stroke: Some(edge),
            ..self
        }
    }
}

impl From<Stroke> for Look {
    fn from(stroke: Stroke) -> Self {
        Look {
            fill: Fill::Unsaid,
            stroke: Some(stroke),
        }
    }
}

impl Stroke {
    /// A solid line.
    pub(in super::super) fn new(colour: Colour, width: f64) -> Self {
        Stroke {
            width: Some(width),
            ..Stroke::unit(colour)
        }
    }

    /// A solid line, one unit wide.
    pub(in super::super) fn unit(colour: Colour) -> Self {
        Stroke {
            ink: colour.into(),
            width: None,
            dashes: &[],
        }
    }

    /// The same with dashes.
    pub(in super::super) fn dashed(self, dashes: &'static [f64]) -> Self {
        Stroke { dashes, ..self }
    }

    /// The same, but what is below shines through.
    pub(in super::super) fn pale(mut self, opacity: Percent) -> Self {
        self.ink.opacity = opacity;
        self
    }
}

/// `#rrggbb`; with capitals in the alternate form.
impl fmt::Display for Colour {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [r, g, b] = self.0;
        match f.alternate() {
            false => write!(f, "#{r:02x}{g:02x}{b:02x}"),
            true => write!(f, "#{r:02X}{g:02X}{b:02X}"),
        }
    }
}

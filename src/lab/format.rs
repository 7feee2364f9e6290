//! The formats of pictures.

use locklab_report::{Drawing, Error, pdf, png, svg};

/// A format of pictures.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Format {
    /// For the web
    Svg,
    /// For everything else
    Png,
    /// For papers
    Pdf,
}

impl Format {
    /// All of them.
    pub const ALL: [Format; 3] = [Format::Svg, Format::Png, Format::Pdf];

    /// Those that are written unless the user asks for others.
    pub const DEFAULT: [Format; 1] = [Format::Svg];

    /// The ending of a file's name.
    pub fn ending(self) -> &'static str {
        match self {
            Format::Svg => "svg",
            Format::Png => "png",
            Format::Pdf => "pdf",
        }
    }

    /// The picture in this format.
    pub fn of(self, drawing: &Drawing) -> Result<Vec<u8>, Error> {
        match self {
            Format::Svg => Ok(svg(drawing).into_bytes()),
            Format::Png => png(drawing),
            Format::Pdf => pdf(drawing),
        }
    }
}

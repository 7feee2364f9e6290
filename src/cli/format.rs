//! The formats of pictures.

use clap::ValueEnum;
use locklab_report::{Drawing, Error, pdf, png, svg};

/// A format of pictures.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(super) enum Format {
    /// For the web
    Svg,
    /// For everything else
    Png,
    /// For papers
    Pdf,
}

impl Format {
    /// The ending of a file's name.
    pub(super) fn ending(self) -> &'static str {
        match self {
            Format::Svg => "svg",
            Format::Png => "png",
            Format::Pdf => "pdf",
        }
    }

    /// The picture in this format.
    pub(super) fn of(self, drawing: &Drawing) -> Result<Vec<u8>, Error> {
        match self {
            Format::Svg => Ok(svg(drawing).into_bytes()),
            Format::Png => png(drawing),
            Format::Pdf => pdf(drawing),
        }
    }
}

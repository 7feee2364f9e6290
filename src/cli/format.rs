//! The formats of pictures.

use clap::ValueEnum;

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
    pub(super) fn of(self, svg: &str) -> Result<Vec<u8>, locklab_report::Error> {
        match self {
            Format::Svg => Ok(svg.as_bytes().to_vec()),
            Format::Png => locklab_report::png(svg),
            Format::Pdf => locklab_report::pdf(svg),
        }
    }
}

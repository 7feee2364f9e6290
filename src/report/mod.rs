//! Charts and diagrams. Reads results and histories only.
//!
//! Every picture is drawn once, as SVG; a PNG is that SVG rasterised. The font is
//! built in, numbers are written with a fixed precision, and nothing is asked of the
//! machine, so that a picture's bytes depend on its data alone.

pub mod chart;
mod font;
mod palette;
mod raster;
pub mod spacetime;
mod svg;
pub mod table;

/// The form of a picture.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Format {
    /// Scalable, as UTF-8 text.
    Svg,
    /// Pixels, two for each unit of the SVG.
    Png,
}

/// Why a picture could not be drawn.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A sweep in which no run of the properties asked for was judged.
    #[error("nothing to draw: the sweep of {scenario} has no judged run of {asked}")]
    NothingJudged {
        /// The scenario's name.
        scenario: String,
        /// The properties asked for, in words.
        asked: String,
    },
    /// A history without any event or message.
    #[error("nothing to draw: the history is empty")]
    EmptyHistory,
    /// The chart library refused.
    #[error("while drawing the chart: {0}")]
    Chart(String),
    /// The rasteriser refused.
    #[error("while turning the drawing into PNG: {0}")]
    Raster(String),
}

/// The finished drawing in the form asked for.
fn finish(svg: String, format: Format) -> Result<Vec<u8>, Error> {
    match format {
        Format::Svg => Ok(svg.into_bytes()),
        Format::Png => raster::png(&svg),
    }
}

//! Charts and diagrams. They use results and histories only.
//!
//! Every picture is drawn once, as a [`Drawing`]: a list of shapes. SVG, PNG and PDF are written from
//! it. The font is built in, coordinates have a fixed precision, and nothing depends on the machine,
//! so the bytes of a picture depend on its data alone.

pub mod chart;
#[cfg(test)]
mod collisions;
mod drawing;
mod font;
mod outline;
mod palette;
mod pdf;
mod provenance;
mod raster;
mod sheet;
pub mod spacetime;
pub mod story;
mod svg;
pub mod table;
#[cfg(test)]
mod tests;

pub use drawing::Drawing;
pub use pdf::pdf;
pub use provenance::{PRODUCER, Provenance};
pub use raster::png;
pub use sheet::{Heading, Sheet};
pub use svg::svg;

/// Why a picture could not be drawn.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A sweep without runs judged by the requested properties.
    #[error("nothing to draw: the sweep of {scenario} has no judged run of {asked}")]
    NothingJudged {
        /// The name of the scenario.
        scenario: String,
        /// The requested properties, in words.
        asked: String,
    },
    /// A history without any event or message.
    #[error("nothing to draw: the history is empty")]
    EmptyHistory,
    /// The chart library failed.
    #[error("while drawing the chart: {0}")]
    Chart(String),
    /// A drawing that refers to a pattern it does not contain.
    #[error("while painting the drawing: there is no pattern {0}")]
    Pattern(String),
    /// A page that PDF cannot have.
    #[error("while turning the drawing into PDF: {0}")]
    Pdf(String),
    /// The rasteriser failed.
    #[error("while turning the drawing into PNG: {0}")]
    Raster(String),
}

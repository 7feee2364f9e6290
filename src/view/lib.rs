//! One run to explore: as a page for a browser, or in the formats of other viewers.
//!
//! Everything here is a function of a recording and, if the run was repeated, of its
//! [`Contents`]; nothing is run or judged. The browser gets the [data] of the page as JSON
//! and draws it itself (`assets/`), without any other file.

pub mod data;
mod leases;
mod page;
mod perfetto;
mod resp;
mod sentences;
mod shiviz;

use locklab_check::Property;
use locklab_history::{Contents, Topology};
use locklab_results::recording::Recording;

/// A run to show.
#[derive(Debug, Clone, Copy)]
pub struct Subject<'a> {
    /// The name of its scenario.
    pub scenario: &'a str,
    /// What it shows, in a line.
    pub title: &'a str,
    /// The claim that the scenario tests.
    pub claim: Option<&'a str>,
    /// What the scenario says of itself, in paragraphs.
    pub about: &'a str,
    /// The property that it is about.
    pub headline: Property,
    /// The hosts.
    pub topology: &'a Topology,
    /// What happened.
    pub recording: &'a Recording,
    /// What it was made of, if it was repeated.
    pub contents: Option<&'a Contents>,
    /// What the reader has to know about what is missing.
    pub remark: &'a str,
}

pub use page::html;
pub use perfetto::trace;
pub use shiviz::log;

//! One run to explore: as a page for a browser, or in the formats of other viewers.
//!
//! Everything here is a function of a recording and, if the run was repeated, of its
//! [`Contents`]; nothing is run or judged.
//!
//! A recording has neither the bytes of messages nor the keys of nodes. `locklab view` repeats the run
//! with `Keep::CONTENTS`: the world keeps the payloads, and a watch on each node
//! (`runner/key_watcher.rs`) takes down what has changed under the lock's keys after each thing that the
//! node does, and whose request it was. Neither changes the run: a test compares the traces. When a
//! lease is over by the node's clock follows from the readings of that clock (`history/leases.rs`),
//! since a node deletes an expired key only when somebody asks for it.
//!
//! The browser draws the page itself, without any other file. The page has the [data] as JSON, in which no
//! `<` occurs, and plain scripts, each a file of `assets/`, in the order of `page.rs`; a script uses the
//! names that earlier ones define.
//! Every text becomes a text node. A policy in the page forbids it to load anything. Drawing costs what
//! is in view: spans and messages are sorted columns, in which a binary search finds what the view
//! meets; what is narrower than a pixel is drawn once a pixel; above 2,500 messages their density is
//! drawn. `tests/page/browser.rs` opens the page in a headless Chromium, if there is one, with
//! a script appended that clicks and reads; `LOCKLAB_LONG=1` measures a hundred thousand messages.

pub mod data;
mod page;
mod perfetto;
mod resp;
mod role;
mod sentences;
mod shiviz;

use serde::Serialize;

use locklab_check::Property;
use locklab_history::{Contents, Topology};
use locklab_results::recording::Recording;

/// A run to show.
#[derive(Debug, Clone, Copy)]
pub struct Subject<'a> {
    /// The name of its scenario.
    pub scenario: &'a str,
    /// The title, in one line.
    pub title: &'a str,
    /// The claim that the scenario tests.
    pub claim: Option<&'a str>,
    /// The description of the scenario, in paragraphs.
    pub about: &'a str,
    /// The property that it is about.
    pub headline: Property,
    /// The hosts.
    pub topology: &'a Topology,
    /// The recording.
    pub recording: &'a Recording,
    /// The contents of the run, if it was repeated.
    pub contents: Option<&'a Contents>,
    /// A notice for the reader about missing parts.
    pub remark: &'a str,
    /// What became of a violated property in the same run without each fault; `None` if it is not
    /// known.
    pub without: Option<&'a Without>,
    /// How likely the run was to violate a property, along its time; `None` if it is not known.
    pub lost: Option<&'a Lost>,
}

/// How likely a run was to violate a property, along its time.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Lost {
    /// The property.
    pub property: &'static str,
    /// When it was lost, in a sentence.
    pub sentence: String,
    /// Times in nanoseconds since the run began, with the share of runs that violate the property if
    /// everything from then on is drawn anew.
    pub points: Vec<(u64, f64)>,
}

/// A property that a run violates, in the same run without each of its faults.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Without {
    /// The property.
    pub property: &'static str,
    /// The faults, in the order of the schedule.
    pub faults: Vec<WithoutFault>,
}

/// The same run without one fault.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct WithoutFault {
    /// The name of the fault that was left out.
    pub fault: String,
    /// Its kind.
    pub kind: &'static str,
    /// What the run says of the property, in words.
    pub verdict: String,
    /// Whether the run does not violate the property any more.
    pub needed: bool,
}

pub use page::html;
pub use perfetto::trace;
pub use shiviz::log;

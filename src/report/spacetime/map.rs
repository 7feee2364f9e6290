//! A run without faults, and below it lanes that show what a fault does that begins there.
//!
//! Each kind of fault is a lane, with a thin row for each host that it can strike; the rows have the time
//! axis of the diagram above. The marks differ in form and lightness, not only in colour.

use locklab_history::History;

use super::super::drawing::{Anchor, Colour, Hatch, Length, Look, Stroke, TextStyle};
use super::super::{Drawing, Error, Sheet, font, palette};
use super::page::Page;
use super::{draw as page_drawing, scene};

/// A kind of fault.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Lane {
    /// Its name.
    pub title: String,
    /// The hosts that it strikes.
    pub rows: Vec<Row>,
}

/// The faults of one kind on one host.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Row {
    /// The host.
    pub host: String,
    /// What they do.
    pub spans: Vec<Span>,
}

/// What a fault does that begins at one of some steps.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Span {
    /// True time of the first of these steps, in nanoseconds.
    pub from_ns: u64,
    /// True time of the last.
    pub to_ns: u64,
    /// What it does.
    pub mark: Mark,
}

/// What a fault does, the worst last, which is drawn on top.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Mark {
    /// Nothing is violated.
    Nothing,
    /// The run shows nothing.
    Inconclusive,
    /// Only belief is violated.
    Belief,
    /// Another property is violated.
    Other,
    /// Nobody gets the lock while nodes or the network are at fault.
    Availability,
    /// The lock is free, and a client waits in vain.
    Deadlock,
    /// The resource is violated.
    Resource,
    /// The lease is violated.
    Lease,
}

const MARKS: [(Mark, &str); 8] = [
    (Mark::Lease, "violates the lease"),
    (Mark::Resource, "violates the resource"),
    (Mark::Deadlock, "deadlock"),
    (Mark::Availability, "unavailable"),
    (Mark::Other, "violates another property"),
    (Mark::Belief, "belief only"),
    (Mark::Inconclusive, "inconclusive"),
    (Mark::Nothing, "no violation"),
];

/// The height of a row, of the space below a lane, and the least width of a mark.
const ROW: f64 = 8.0;
const GAP: f64 = 7.0;
const LEAST: f64 = 3.0;

/// The ids of the fills that are hatched.
const RESOURCE: &str = "violates-resource";
const DEADLOCK: &str = "deadlock";

/// Draws the run with these lanes.
///
/// # Errors
///
/// [`Error::EmptyHistory`] if there is nothing to draw.
pub fn draw(
    history: &History,
    title: &str,
    lanes: &[Lane],
    sheet: &Sheet,
) -> Result<Drawing, Error> {
    let scene = scene::Scene::of(history, None, &[]).ok_or(Error::EmptyHistory)?;
    Ok(page_drawing::with_lanes(&scene, title, lanes, sheet))
}

/// Draws the lanes below `top`; returns their lower end.
pub(super) fn lanes(page: &mut Page, scene: &scene::Scene, lanes: &[Lane], top: f64) -> f64 {
    if lanes.is_empty() {
        return top;
    }
    let side = Length::of(4.0);
    page.drawing.hatch(Hatch {
        side,
        ..Hatch::slanted_right(RESOURCE.into(), Colour::hex(0xe69f00), 2.2)
    });
    page.drawing.hatch(Hatch {
        side,
        turn: 0,
        ..Hatch::slanted(DEADLOCK.into(), palette::INK)
    });
    let mut y = legend(page, top + 14.0);
    for lane in lanes {
        page.drawing
            .text((24.0, y + 10.0), &lane.title, text(11.5, palette::INK));
        y += 15.0;
        for row in &lane.rows {
            let name = TextStyle {
                anchor: Anchor::End,
                ..text(8.5, palette::MUTED)
            };
            let before = (page.left - 6.0, y + ROW - 1.5);
            page.drawing.text(before, &row.host, name);
            let line = Stroke::new(palette::FAINT, 0.5);
            let (left, right) = (page.left, page.right);
            page.drawing.line((left, y + ROW), (right, y + ROW), line);
            let mut spans: Vec<&Span> = row.spans.iter().collect();
            spans.sort_by_key(|span| span.mark);
            for span in spans {
                let (from, to) = page.span(scene, span.from_ns, span.to_ns);
                let from = from.clamp(left, right - LEAST);
                let width = (to.min(right) - from).max(LEAST);
                mark(page, span.mark, (from, y), width);
            }
            y += ROW + 1.5;
        }
        y += GAP;
    }
    y
}

fn mark(page: &mut Page, mark: Mark, (x, y): (f64, f64), width: f64) {
    let edge = Stroke::new(palette::MUTED, 0.6);
    let (look, height) = match mark {
        Mark::Lease => (Look::filled(palette::VIOLATION), ROW),
        Mark::Resource => (
            Look::hatched(RESOURCE).edged(Stroke::new(Colour::hex(0xe69f00), 0.6)),
            ROW,
        ),
        Mark::Deadlock => (Look::hatched(DEADLOCK).edged(edge), ROW),
        Mark::Availability => (Look::filled(Colour::hex(0xb9b9c4)), ROW),
        Mark::Belief => (
            Look::hollow(Stroke::new(palette::VIOLATION, 0.6)),
            ROW / 2.0,
        ),
        Mark::Other => (Look::hollow(Stroke::new(palette::INK, 0.9)), ROW),
        Mark::Inconclusive => (Look::hollow(edge), ROW / 2.0),
        Mark::Nothing => (Look::filled(Colour::hex(0xcfe3d9)), ROW),
    };
    page.drawing
        .rect((x, y + (ROW - height) / 2.0), (width, height - 0.5), look);
}

/// What the marks mean; returns the lower end.
fn legend(page: &mut Page, mut y: f64) -> f64 {
    let mut x = 24.0;
    let lead = "A fault that begins there:";
    page.drawing
        .text((x, y + 8.0), lead, text(11.0, palette::MUTED));
    x += font::width(lead, 11.0) + 14.0;
    for (kind, meaning) in MARKS {
        let width = 21.0 + font::width(meaning, 11.0);
        if x + width > page.right {
            (x, y) = (24.0, y + 16.0);
        }
        mark(page, kind, (x, y), 16.0);
        page.drawing
            .text((x + 21.0, y + 8.0), meaning, text(11.0, palette::INK));
        x += width + 18.0;
    }
    y + 24.0
}

fn text(size: f64, colour: Colour) -> TextStyle {
    TextStyle {
        size,
        colour,
        anchor: Anchor::Start,
    }
}

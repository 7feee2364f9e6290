//! The legend, with only the symbols that this picture uses.

use super::{
    super::{
        drawing::{Anchor, Look, Percent, Stroke, TextStyle},
        font, palette,
    },
    keys,
    marks::{Mark, access_mark},
    page::Page,
    scene::Scene,
    shades,
};
use locklab_history::{Event, Family, Message};

/// A symbol with its meaning.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum LegendEntry {
    Hold,
    PastDeadline,
    Overlap,
    OverlapPastDeadline,
    Fault(Family),
    Access(Mark),
    Key,
    Lost,
    Retry,
    Idle,
}

/// What the labels of messages to the resource say.
const REQUESTS: &str = "READ and WRITE name the client, its grant and its fencing token (- is none); \
     WRITE also the version from which it was computed";

const SIZE: f64 = 11.0;
/// The width of a symbol, and the distance from one entry to the next.
const SIGN: f64 = 26.0;
const APART: f64 = 22.0;

/// Draws the legend below `y` and returns the lower end of the page.
pub(super) fn draw(page: &mut Page, scene: &Scene, mut y: f64) -> f64 {
    let mut x = page.left;
    for sign in signs(page, scene) {
        let text = sign.meaning();
        let width = SIGN + 6.0 + font::width(text, SIZE);
        if x > page.left && x + width > page.right {
            x = page.left;
            y += 20.0;
        }
        sign.draw(page, (x, y - 4.0));
        let style = TextStyle {
            size: SIZE,
            colour: palette::INK,
            anchor: Anchor::Start,
        };
        page.drawing.text((x + SIGN + 6.0, y), text, style);
        x += width + APART;
    }
    let asks = |message: &&Message| message.label.starts_with("READ ");
    if scene.messages.iter().any(asks) {
        y += 20.0;
        let style = TextStyle {
            size: SIZE,
            colour: palette::MUTED,
            anchor: Anchor::Start,
        };
        page.drawing.text((page.left, y), REQUESTS, style);
    }
    y + 18.0
}

fn signs(page: &Page, scene: &Scene) -> Vec<LegendEntry> {
    let mut signs = Vec::new();
    let mut add = |used: bool, sign: LegendEntry| {
        if used && !signs.contains(&sign) {
            signs.push(sign);
        }
    };
    let past = scene
        .holds
        .iter()
        .any(|hold| hold.deadline_ns.is_some_and(|at| at < scene.window.to_ns));
    add(!scene.holds.is_empty(), LegendEntry::Hold);
    add(past, LegendEntry::PastDeadline);
    for overlap in &scene.overlaps {
        match overlap.past_deadline {
            false => add(true, LegendEntry::Overlap),
            true => add(true, LegendEntry::OverlapPastDeadline),
        }
    }
    for family in [Family::Process, Family::Network, Family::Clock] {
        let used = scene.faults.iter().any(|fault| fault.family == family);
        add(used, LegendEntry::Fault(family));
    }
    let marks = scene
        .accesses
        .iter()
        .filter_map(|record| match record.event {
            Event::Access {
                access, accepted, ..
            } => Some(Mark::of(access, accepted)),
            _ => None,
        });
    let marks: Vec<Mark> = marks.collect();
    for mark in [Mark::Read, Mark::Write, Mark::Refused] {
        add(marks.contains(&mark), LegendEntry::Access(mark));
    }
    add(!scene.leases.is_empty(), LegendEntry::Key);
    let lost = scene.messages.iter().any(|m| m.arrived_ns.is_none());
    add(lost, LegendEntry::Lost);
    add(!scene.retry_messages.is_empty(), LegendEntry::Retry);
    add(page.scale.idle().next().is_some(), LegendEntry::Idle);
    signs
}

impl LegendEntry {
    fn meaning(self) -> &'static str {
        match self {
            LegendEntry::Hold => "believes that it holds the lock",
            LegendEntry::PastDeadline => "the same, past its own deadline",
            LegendEntry::Overlap => "two at once",
            LegendEntry::OverlapPastDeadline => "two at once, one past its deadline",
            LegendEntry::Fault(family) => match family {
                Family::Process => "process fault",
                Family::Network => "network fault",
                Family::Clock => "clock fault",
            },
            LegendEntry::Access(Mark::Read) => "read",
            LegendEntry::Access(Mark::Write) => "write accepted",
            LegendEntry::Access(Mark::Refused) => "access refused",
            LegendEntry::Key => "a node holds the key for the client",
            LegendEntry::Lost => "message lost",
            LegendEntry::Retry => "attempt refused",
            LegendEntry::Idle => "time shortened",
        }
    }

    /// Draws the symbol, centred on the line at `y`.
    fn draw(self, page: &mut Page, (x, y): (f64, f64)) {
        let colour = palette::series(0);
        let centre = (x + SIGN / 2.0, y);
        let boxed = |page: &mut Page, look: Look| {
            page.drawing.rect((x, y - 6.0), (SIGN, 12.0), look);
        };
        match self {
            LegendEntry::Hold => boxed(page, Look::filled(colour)),
            LegendEntry::PastDeadline => {
                boxed(page, Look::hatched("past0").edged(Stroke::new(colour, 1.4)))
            }
            LegendEntry::Overlap => boxed(
                page,
                Look::hatched("both").edged(Stroke::new(palette::VIOLATION, 1.4)),
            ),
            LegendEntry::OverlapPastDeadline => boxed(
                page,
                Look::hatched("both-past").edged(Stroke::new(palette::VIOLATION, 1.4)),
            ),
            LegendEntry::Fault(family) => {
                let (fill, edge) = shades::colours(family);
                boxed(page, Look::filled(fill).edged(Stroke::new(edge, 0.8)));
            }
            LegendEntry::Access(mark) => access_mark(page, centre, mark, palette::INK),
            LegendEntry::Key => keys::bar(page, (x, x + SIGN), y, colour),
            LegendEntry::Lost => {
                let look = Stroke::new(palette::INK, 1.3);
                page.drawing.line((x, y - 4.0), centre, look);
                access_mark(page, centre, Mark::Refused, palette::INK);
            }
            LegendEntry::Retry => {
                let look = Stroke::new(palette::INK, 1.0).pale(Percent(50));
                page.drawing
                    .line((x + 6.0, y - 6.0), (x + SIGN - 6.0, y + 6.0), look);
            }
            LegendEntry::Idle => boxed(
                page,
                Look::filled(palette::IDLE).edged(Stroke::unit(palette::FAINT)),
            ),
        }
    }
}

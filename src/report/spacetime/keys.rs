//! The bars on the nodes' lines: what a node holds of the lock, and for whom.
//!
//! A bar has the colour of the client that it is held for. It ends when the key expires by the node's
//! own clock, is deleted or replaced, or is lost with the node's process.

use super::{
    super::{
        drawing::{Anchor, Colour, Look, Percent, Stroke},
        palette,
    },
    labels::Area,
    marks::{Mark, access_mark},
    page::Page,
    scene::Scene,
};
use locklab_history::leases::{End, Lease};

/// Half the height of a bar.
const HALF: f64 = 4.0;
/// A narrower bar has no label.
const LEAST: f64 = 24.0;

/// The bars.
pub(super) fn draw(page: &mut Page, scene: &Scene) {
    for lease in &scene.leases {
        let Some((y, ends, colour)) = place(page, scene, lease) else {
            continue;
        };
        bar(page, ends, y, colour);
        if !scene.window.contains(lease.until_ns) {
            continue;
        }
        match lease.end {
            End::Expired => {
                let ends = ((ends.1, y - 8.0), (ends.1, y + 8.0));
                page.drawing.line(ends.0, ends.1, Stroke::new(colour, 2.5));
            }
            End::Lost => access_mark(page, (ends.1, y), Mark::Refused, colour),
            End::Deleted | End::Replaced | End::Run => {}
        }
    }
}

/// The labels of the bars, where there is space.
pub(super) fn labels(page: &mut Page, scene: &Scene) {
    // How a bar ends is the story; for whom it is held its colour says too.
    for lease in &scene.leases {
        let Some((y, (_, right), colour)) = place(page, scene, lease) else {
            continue;
        };
        let text = match lease.end {
            _ if !scene.window.contains(lease.until_ns) => continue,
            End::Expired => "expired",
            End::Lost => "lost",
            End::Deleted | End::Replaced | End::Run => continue,
        };
        let places = [
            (right + 5.0, y + 15.0, Anchor::Start),
            (right - 5.0, y + 15.0, Anchor::End),
            (right + 5.0, y - 8.0, Anchor::Start),
            (right - 5.0, y - 8.0, Anchor::End),
        ];
        page.labels
            .put(&mut page.drawing, text, (11.0, colour), &places);
    }
    for lease in &scene.leases {
        let Some((y, (left, right), colour)) = place(page, scene, lease) else {
            continue;
        };
        if right - left < LEAST {
            continue;
        }
        let text = match lease.owner {
            Some(owner) => format!("{} → {owner}", lease.key),
            None => lease.key.to_owned(),
        };
        let middle = (left + right) / 2.0;
        let places = [
            (left + 3.0, y + 15.0, Anchor::Start),
            (middle, y + 15.0, Anchor::Middle),
            (left + 3.0, y - 8.0, Anchor::Start),
            (middle, y - 8.0, Anchor::Middle),
        ];
        page.labels
            .put(&mut page.drawing, &text, (11.0, colour), &places);
    }
}

/// A bar between two places on a line.
pub(super) fn bar(page: &mut Page, (left, right): (f64, f64), y: f64, colour: Colour) {
    let size = ((right - left).max(1.5), 2.0 * HALF);
    let look = Look::pale(colour, Percent(45));
    page.drawing.rect((left, y - HALF), size, look);
    page.labels.reserve(Area {
        left,
        top: y - HALF,
        right,
        bottom: y + HALF,
    });
}

/// Where a lease is on the page, and its colour: that of its client.
fn place(page: &Page, scene: &Scene, lease: &Lease) -> Option<(f64, (f64, f64), Colour)> {
    let lane = page.lanes.of(lease.node)?;
    let owner = lease.owner.and_then(|owner| page.lanes.of(owner));
    let colour = owner.map_or(palette::MUTED, |owner| palette::series(owner.client));
    Some((
        lane.y,
        page.span(scene, lease.from_ns, lease.until_ns),
        colour,
    ))
}

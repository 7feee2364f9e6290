//! Shaded areas: faults on their hosts, and two holders at the same time.

use super::{
    super::{
        drawing::{Anchor, Colour, Look, Percent, Stroke},
        palette,
    },
    faults::FaultSpan,
    hosts::Role,
    lanes::Lane,
    page::Page,
    scene::Scene,
};
use locklab_history::Family;

/// Shades the area between the lanes of two clients that believe at the same time.
pub(super) fn overlaps(page: &mut Page, scene: &Scene) {
    for overlap in &scene.overlaps {
        let lanes = overlap.clients.map(|client| page.lanes.of(client));
        let [Some(one), Some(other)] = lanes else {
            continue;
        };
        let (top, bottom) = (one.y.min(other.y), one.y.max(other.y));
        let (left, right) = page.span(scene, overlap.from_ns, overlap.until_ns);
        let opacity = Percent(if overlap.past_deadline { 7 } else { 16 });
        let look = Look::pale(palette::VIOLATION, opacity);
        page.drawing
            .rect((left, top), (right - left, bottom - top), look);
    }
}

/// Each fault as a box around its host's line, or as a mark if it was instantaneous.
pub(super) fn faults(page: &mut Page, scene: &Scene) {
    for fault in &scene.faults {
        let Some(&lane) = page.lanes.of(fault.host) else {
            continue;
        };
        let (fill, edge) = colours(fault.family);
        let (left, right) = page.span(scene, fault.from_ns, fault.until_ns);
        if fault.until_ns == fault.from_ns {
            let tip = (left, lane.y - 3.0);
            let mark = [
                tip,
                (left - 6.0, lane.y - 14.0),
                (left + 6.0, lane.y - 14.0),
                tip,
            ];
            page.drawing.polyline(&mark, Look::filled(edge));
            page.drawing.line(
                (left, lane.y - 12.0),
                (left, lane.y + 12.0),
                Stroke::new(edge, 1.5),
            );
            continue;
        }
        let (above, below) = extent(lane.host.role);
        page.drawing.rect(
            (left, lane.y - above),
            (right - left, above + below),
            Look::filled(fill).edged(Stroke::new(edge, 0.8)),
        );
    }
}

/// The labels of the faults, in the corners of their boxes.
pub(super) fn labels(page: &mut Page, scene: &Scene) {
    for fault in &scene.faults {
        let Some(&lane) = page.lanes.of(fault.host) else {
            continue;
        };
        let places = places(page, scene, fault, &lane);
        let look = (11.0, colours(fault.family).1);
        page.labels
            .put(&mut page.drawing, &fault.label, look, &places);
    }
}

fn places(page: &Page, scene: &Scene, fault: &FaultSpan, lane: &Lane) -> Vec<(f64, f64, Anchor)> {
    let (left, right) = page.span(scene, fault.from_ns, fault.until_ns);
    let (above, below) = extent(lane.host.role);
    if fault.until_ns == fault.from_ns {
        return vec![
            (left + 9.0, lane.y - 8.0, Anchor::Start),
            (left - 9.0, lane.y - 8.0, Anchor::End),
            (left + 9.0, lane.y + 15.0, Anchor::Start),
            (left - 9.0, lane.y + 15.0, Anchor::End),
        ];
    }
    vec![
        (left + 5.0, lane.y - above + 12.0, Anchor::Start),
        (left + 5.0, lane.y + below - 5.0, Anchor::Start),
        ((left + right) / 2.0, lane.y - above + 12.0, Anchor::Middle),
        (right - 5.0, lane.y - above + 12.0, Anchor::End),
        (right - 5.0, lane.y + below - 5.0, Anchor::End),
        (left + 5.0, lane.y - above - 3.0, Anchor::Start),
    ]
}

/// How far a box extends above and below the life line.
fn extent(role: Role) -> (f64, f64) {
    match role {
        Role::Client => (38.0, 30.0),
        Role::Node => (20.0, 16.0),
        Role::Resource => (22.0, 22.0),
    }
}

/// The fill of a family's boxes, and the colour of border and text.
pub(super) fn colours(family: Family) -> (Colour, Colour) {
    match family {
        Family::Process => (Colour::hex(0xe9e9ee), Colour::hex(0x55556a)),
        Family::Network => (Colour::hex(0xfbf0d5), Colour::hex(0x8a5a00)),
        Family::Clock => (Colour::hex(0xf3e3f3), Colour::hex(0x7a2f7a)),
    }
}

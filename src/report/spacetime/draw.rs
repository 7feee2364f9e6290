//! Drawing a scene: the page, and the order of its layers.

use super::{
    super::{
        Heading, Sheet,
        drawing::{Anchor, Colour, Drawing, Stroke, TextStyle},
        font, palette,
    },
    arrows, bars, duration, keys,
    labels::{Area, Labels},
    lanes::Lanes,
    legend, map, marks,
    page::Page,
    scene::Scene,
    shades, time_axis,
    time_scale::Scale,
};
use locklab_evidence::thousands;

/// From the left edge to the life lines, and from their end to the right edge.
const LEFT: f64 = 100.0;
const RIGHT: f64 = 24.0;

/// The picture.
pub(super) fn drawing(scene: &Scene, title: &str, sheet: &Sheet) -> Drawing {
    with_lanes(scene, title, &[], sheet)
}

/// The picture, with these lanes below it.
pub(super) fn with_lanes(
    scene: &Scene,
    title: &str,
    below: &[map::Lane],
    sheet: &Sheet,
) -> Drawing {
    let width = f64::from(sheet.width);
    let mut drawing = Drawing::new(width).on(sheet);
    let below_header = match sheet.heading {
        Heading::Drawn => header(&mut drawing, scene, title),
        Heading::Omitted => 0.0,
    };
    let lanes = Lanes::new(&scene.hosts, below_header + 22.0);
    let (left, right) = (LEFT, width - RIGHT);
    let scale = Scale::new(
        &scene.instants(),
        scene.idle_ns(),
        (left, right),
        |from_ns, to_ns| time_axis::room(scene, from_ns, to_ns),
    );
    let paper = Area {
        left: left + 2.0,
        top: below_header + 4.0,
        right: width - 4.0,
        bottom: lanes.bottom + 30.0,
    };
    let mut page = Page {
        drawing,
        labels: Labels::new(paper),
        scale,
        lanes,
        left,
        right,
    };

    time_axis::idle_columns(&mut page);
    shades::overlaps(&mut page, scene);
    shades::faults(&mut page, scene);
    life_lines(&mut page);
    keys::draw(&mut page, scene);
    arrows::draw(&mut page, scene);
    bars::draw(&mut page, scene);
    marks::accesses(&mut page, scene);
    marks::violation(&mut page, scene);

    // Labels by priority: the first label that requests a position gets it.
    time_axis::draw(&mut page, scene);
    bars::labels(&mut page, scene);
    shades::labels(&mut page, scene);
    keys::labels(&mut page, scene);
    marks::access_labels(&mut page, scene);
    arrows::labels(&mut page, scene);
    marks::points(&mut page, scene);

    let bottom = page.lanes.bottom + 52.0;
    let height = legend::draw(&mut page, scene, bottom);
    let height = map::lanes(&mut page, scene, below, height);
    page.drawing.finish(height)
}

/// Title, violation and the part of the run that is shown; returns its lower end.
fn header(drawing: &mut Drawing, scene: &Scene, title: &str) -> f64 {
    let room = drawing.width.units() - 24.0 - RIGHT;
    let mut y = 12.0;
    let mut write = |text: &str, size: f64, colour: Colour| {
        for line in font::wrap(text, size, room) {
            y += size * 1.35;
            let style = TextStyle {
                size,
                colour,
                anchor: Anchor::Start,
            };
            drawing.text((24.0, y), &line, style);
        }
        y += size * 0.2;
    };
    write(title, 20.0, palette::INK);
    if let Some(violation) = scene.violation {
        write(&violation.what, 14.0, palette::VIOLATION);
    }
    let window = scene.window;
    let mut notes = Vec::new();
    if window.from_ns > 0 || window.to_ns < scene.end_ns {
        notes.push(format!(
            "From {} to {} of a run of {}",
            duration(window.from_ns),
            duration(window.to_ns),
            duration(scene.end_ns)
        ));
    }
    if scene.left_out > 0 {
        notes.push(format!(
            "Not drawn: {} heartbeats and similar messages among servers",
            thousands(scene.left_out as u64)
        ));
    }
    if scene.handshakes > 0 {
        let handshakes = thousands(scene.handshakes as u64);
        notes.push(format!("Not drawn: {handshakes} messages of handshakes"));
    }
    if !notes.is_empty() {
        write(&notes.join(". "), 12.0, palette::MUTED);
    }
    y
}

/// Each host's name and life line, dotted where time is compressed.
fn life_lines(page: &mut Page) {
    for lane in &page.lanes.lanes {
        let name = TextStyle {
            size: 14.0,
            colour: palette::INK,
            anchor: Anchor::End,
        };
        let caption = lane.host.caption();
        let lift = if caption.is_empty() { 5.0 } else { 1.0 };
        page.drawing
            .text((LEFT - 14.0, lane.y + lift), lane.host.name, name);
        let small = TextStyle {
            size: 10.0,
            colour: palette::MUTED,
            ..name
        };
        if !caption.is_empty() {
            page.drawing
                .text((LEFT - 14.0, lane.y + 14.0), caption, small);
        }
        let look = Stroke::new(palette::MUTED, 1.2);
        let ends = ((page.left, lane.y), (page.right, lane.y));
        page.drawing.line(ends.0, ends.1, look);
        page.labels.avoid(ends.0, ends.1);
        for gap in page.scale.idle() {
            let ends = ((gap.left, lane.y), (gap.right, lane.y));
            let erase = Stroke::new(palette::IDLE, 2.0);
            page.drawing.line(ends.0, ends.1, erase);
            let dotted = Stroke::new(palette::MUTED, 1.2).dashed(&[1.5, 3.0]);
            page.drawing.line(ends.0, ends.1, dotted);
        }
    }
}

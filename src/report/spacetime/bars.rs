//! The bars on the clients' lines: when a client believes that it holds the lock.
//!
//! A bar has full colour while the client's lease lasts by its own clock, and is hatched after
//! that; it is red, with stripes to the other side, while another client also believes that it
//! holds the lock.

use super::{
    super::{
        drawing::{Anchor, Hatch, Look, Stroke},
        palette,
    },
    labels::Area,
    page::Page,
    scene::Scene,
};

/// Half the height of a bar.
pub(super) const HALF: f64 = 7.0;

/// The bars.
pub(super) fn draw(page: &mut Page, scene: &Scene) {
    for number in 0..page.lanes.lanes.len() {
        let hatch = Hatch::slanted(format!("past{number}"), palette::series(number));
        page.drawing.hatch(hatch);
    }
    // In grey, red looks like the colour of a client.
    for (id, stripe) in [("both", 4.5), ("both-past", 2.5)] {
        let both = Hatch::slanted_right(id.to_owned(), palette::VIOLATION, stripe);
        page.drawing.hatch(both);
    }

    for hold in &scene.holds {
        let Some(&lane) = page.lanes.of(hold.client) else {
            continue;
        };
        let colour = palette::series(lane.client);
        let covered = hold.covered_until_ns();
        bar(
            page,
            scene,
            lane.y,
            (hold.from_ns, covered),
            Look::filled(colour),
        );
        let past = Look::hatched(format!("past{}", lane.client));
        bar(page, scene, lane.y, (covered, hold.until_ns), past);
        for overlap in &scene.overlaps {
            if overlap.clients.contains(&hold.client) {
                let from_ns = overlap.from_ns.max(hold.from_ns);
                let until_ns = overlap.until_ns.min(hold.until_ns);
                let fill = match overlap.past_deadline {
                    true => Look::hatched("both-past"),
                    false => Look::hatched("both"),
                };
                bar(page, scene, lane.y, (from_ns, until_ns), fill);
            }
        }
        let (left, right) = page.span(scene, hold.from_ns, hold.until_ns);
        let outline = Look::hollow(Stroke::new(colour, 1.4));
        page.drawing
            .rect((left, lane.y - HALF), (right - left, 2.0 * HALF), outline);
        if hold.deadline_ns.is_some() && scene.window.contains(covered) {
            let x = page.scale.x(covered);
            let look = Stroke::new(colour, 2.5);
            page.drawing
                .line((x, lane.y - HALF - 5.0), (x, lane.y + HALF + 5.0), look);
        }
        page.labels.reserve(Area {
            left,
            top: lane.y - HALF,
            right,
            bottom: lane.y + HALF,
        });
    }
}

/// The labels of the bars, where there is space.
pub(super) fn labels(page: &mut Page, scene: &Scene) {
    for hold in &scene.holds {
        let Some(&lane) = page.lanes.of(hold.client) else {
            continue;
        };
        let colour = palette::series(lane.client);
        let text = match hold.token {
            Some(token) => format!("holds the lock, token {token}"),
            None => "holds the lock".to_owned(),
        };
        let (above, below) = (lane.y - HALF - 5.0, lane.y + HALF + 14.0);
        let (left, _) = page.span(scene, hold.from_ns, hold.until_ns);
        let places = [
            (left + 3.0, above, Anchor::Start),
            (left + 3.0, below, Anchor::Start),
            (left - 4.0, above, Anchor::End),
            (left, above - 12.0, Anchor::Start),
        ];
        page.labels
            .put(&mut page.drawing, &text, (11.0, colour), &places);
        if hold.deadline_ns.is_some() && scene.window.contains(hold.covered_until_ns()) {
            let x = page.scale.x(hold.covered_until_ns());
            let places = [
                (x + 5.0, above, Anchor::Start),
                (x - 5.0, above, Anchor::End),
                (x + 5.0, below, Anchor::Start),
                (x - 5.0, below, Anchor::End),
            ];
            page.labels
                .put(&mut page.drawing, "deadline", (11.0, colour), &places);
        }
    }
}

fn bar(page: &mut Page, scene: &Scene, y: f64, (from_ns, until_ns): (u64, u64), fill: Look) {
    let (left, right) = page.span(scene, from_ns, until_ns);
    if until_ns > from_ns && right > left {
        page.drawing
            .rect((left, y - HALF), (right - left, 2.0 * HALF), fill);
    }
}

//! Marks at instants: accesses to the resource, failpoints reached by the clients, and the
//! violation.

use super::{
    super::{
        drawing::{Anchor, Colour, Look, Stroke},
        palette,
    },
    labels::Area,
    page::Page,
    scene::Scene,
    time_axis::milliseconds,
};
use locklab_history::{Access, Event};

/// The symbol of an access.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Mark {
    /// A read: ○.
    Read,
    /// An accepted write: ●.
    Write,
    /// A refused access: ✗.
    Refused,
}

/// The accesses on the resource's line; if there are no messages to it, a dotted line leads
/// from the client.
pub(super) fn accesses(page: &mut Page, scene: &Scene) {
    for record in &scene.accesses {
        let Event::Access {
            client,
            access,
            accepted,
            ..
        } = &record.event
        else {
            continue;
        };
        let (Some(lane), Some(asker)) = (page.lanes.of(&record.host), page.lanes.of(client)) else {
            continue;
        };
        let at = (page.scale.x(record.at_ns), lane.y);
        let colour = palette::series(asker.client);
        if !scene.messages.iter().any(|m| m.to == record.host) {
            let look = Stroke::new(colour, 1.0).dashed(&[2.0, 2.0]);
            let start = asker.y + asker.host.role.reach();
            page.drawing.line((at.0, start), at, look);
        }
        access_mark(page, at, Mark::of(*access, *accepted), colour);
        page.labels.reserve(around(at, 7.0));
    }
}

/// One mark in the colour of the client.
pub(super) fn access_mark(page: &mut Page, (x, y): (f64, f64), mark: Mark, colour: Colour) {
    let stroke = Look::filled(Colour::WHITE).edged(Stroke::new(colour, 2.0));
    match mark {
        Mark::Read => page.drawing.circle((x, y), 4.5, stroke),
        Mark::Write => page.drawing.circle((x, y), 5.5, Look::filled(colour)),
        Mark::Refused => {
            let thick = Stroke::new(colour, 2.6);
            page.drawing
                .line((x - 5.0, y - 5.0), (x + 5.0, y + 5.0), thick);
            page.drawing
                .line((x - 5.0, y + 5.0), (x + 5.0, y - 5.0), thick);
        }
    }
}

/// The client and kind of each access, in up to three rows below the resource's line.
pub(super) fn access_labels(page: &mut Page, scene: &Scene) {
    for record in &scene.accesses {
        let Event::Access {
            client,
            access,
            token,
            accepted,
            ..
        } = &record.event
        else {
            continue;
        };
        let (Some(lane), Some(asker)) = (page.lanes.of(&record.host), page.lanes.of(client)) else {
            continue;
        };
        let did = match (access, accepted) {
            (Access::Read { version }, true) => format!("{client} reads v{version}"),
            (Access::Read { .. }, false) => format!("{client}: read refused"),
            (Access::Write { version, .. }, true) => format!("{client} writes v{version}"),
            (Access::Write { .. }, false) => format!("{client}: write refused"),
        };
        let text = match token {
            Some(token) => format!("{did}, token {token}"),
            None => did,
        };
        let (x, y) = (page.scale.x(record.at_ns), lane.y);
        let places: Vec<(f64, f64, Anchor)> = [20.0, 33.0, 46.0]
            .into_iter()
            .flat_map(|drop| {
                [
                    (x, y + drop, Anchor::Middle),
                    (x - 7.0, y + drop, Anchor::Start),
                    (x + 7.0, y + drop, Anchor::End),
                ]
            })
            .collect();
        let look = (11.0, palette::series(asker.client));
        page.labels.put(&mut page.drawing, &text, look, &places);
    }
}

/// The points that the clients reached, where there is space left.
pub(super) fn points(page: &mut Page, scene: &Scene) {
    for record in &scene.points {
        let (Event::Reached { point }, Some(lane)) = (&record.event, page.lanes.of(&record.host))
        else {
            continue;
        };
        let (x, y) = (page.scale.x(record.at_ns), lane.y);
        let look = Stroke::new(palette::INK, 1.0);
        page.drawing.line((x, y - 4.0), (x, y + 4.0), look);
        let places = [
            (x, y + 19.0, Anchor::Middle),
            (x - 3.0, y + 19.0, Anchor::Start),
            (x + 3.0, y + 19.0, Anchor::End),
            (x, y + 29.0, Anchor::Middle),
        ];
        let look = (9.0, palette::MUTED);
        page.labels
            .put(&mut page.drawing, &point.to_string(), look, &places);
    }
}

/// A line through all lanes at the violation, and a ring around the access that caused it.
pub(super) fn violation(page: &mut Page, scene: &Scene) {
    let Some(violation) = scene.violation else {
        return;
    };
    let x = page.scale.x(violation.at_ns);
    let (top, bottom) = (page.lanes.top, page.lanes.bottom);
    let red = palette::VIOLATION;
    let look = Stroke::new(red, 1.6).dashed(&[5.0, 3.0]);
    page.drawing.line((x, top), (x, bottom), look);
    page.labels.avoid((x, top), (x, bottom));
    let flag = [(x, top + 2.0), (x - 8.0, top - 12.0), (x + 8.0, top - 12.0)];
    page.drawing.polyline(&flag, Look::filled(red));
    let flagged = around((x, top - 6.0), 9.0);
    page.labels.reserve(flagged);
    let places = [
        (x + 12.0, top - 2.0, Anchor::Start),
        (x - 12.0, top - 2.0, Anchor::End),
    ];
    let text = format!("violation at {} ms", milliseconds(violation.at_ns, 1));
    page.labels
        .put(&mut page.drawing, &text, (12.0, red), &places);

    let fatal = scene.accesses.iter().filter(|r| r.at_ns == violation.at_ns);
    for record in fatal {
        if let Some(lane) = page.lanes.of(&record.host) {
            let ring = Look::hollow(Stroke::new(red, 2.0));
            page.drawing.circle((x, lane.y), 10.0, ring);
            page.labels.reserve(around((x, lane.y), 11.0));
        }
    }
}

fn around((x, y): (f64, f64), reach: f64) -> Area {
    Area {
        left: x - reach,
        top: y - reach,
        right: x + reach,
        bottom: y + reach,
    }
}

impl Mark {
    /// The mark of an access.
    pub(super) fn of(access: Access, accepted: bool) -> Self {
        match (access, accepted) {
            (_, false) => Mark::Refused,
            (Access::Read { .. }, true) => Mark::Read,
            (Access::Write { .. }, true) => Mark::Write,
        }
    }
}

//! Messages as arrows from sender to receiver, in the colour of their client.

use super::{
    super::{
        drawing::{Anchor, Colour, Look, Percent, Stroke},
        palette,
    },
    hosts::Role,
    page::Page,
    scene::Scene,
};
use locklab_history::Message;

/// The maximum number of messages that are labelled in a picture.
const MAX_LABELS: usize = 300;

/// The longest label of a message, in characters.
const LONGEST: usize = 30;

/// Of more retries than this only some are drawn.
const MANY_RETRIES: usize = 500;

/// An arrow on the page.
#[derive(Clone, Copy)]
struct Arrow {
    from: (f64, f64),
    to: (f64, f64),
    colour: Colour,
    end: End,
}

/// The symbol at the end of an arrow.
#[derive(Clone, Copy, PartialEq, Eq)]
enum End {
    Head,
    Cross,
    /// The arrow continues beyond the picture.
    Nothing,
}

/// All messages; those of retries are thin.
pub(super) fn draw(page: &mut Page, scene: &Scene) {
    retries(page, scene);
    for message in &scene.messages {
        let Some(arrow) = arrow(page, scene, message) else {
            continue;
        };
        let look = Stroke::new(arrow.colour, 1.3);
        page.drawing.line(arrow.from, arrow.to, look);
        page.labels.avoid(arrow.from, arrow.to);
        match arrow.end {
            End::Head => head(page, arrow),
            End::Cross => cross(page, arrow),
            End::Nothing => {}
        }
    }
}

/// In columns with compressed time, hundreds of retries would form a solid block, so only some are
/// drawn; elsewhere too if there are very many.
fn retries(page: &mut Page, scene: &Scene) {
    let mut drawn: Vec<(&str, f64)> = Vec::new();
    let are_many = scene.retries.len() > MANY_RETRIES;
    for retry in &scene.retries {
        let x = page.scale.x(retry.from_ns);
        let crowded = |&(client, near): &(&str, f64)| client == retry.client && x - near < 12.0;
        let shortened = page.scale.idle().any(|gap| gap.left < x && x < gap.right);
        if (shortened || are_many) && drawn.iter().rev().any(crowded) {
            continue;
        }
        drawn.push((retry.client, x));
        let messages = &scene.retry_messages;
        let first = messages.partition_point(|message| message.sent_ns < retry.from_ns);
        let during = messages[first..].iter();
        let during = during.take_while(|message| message.sent_ns <= retry.until_ns);
        for message in during.filter(|message| retry.owns(message)) {
            if let Some(arrow) = arrow(page, scene, message) {
                let colour = arrow.colour;
                let look = Stroke::new(colour, 0.8).pale(Percent(30));
                page.drawing.line(arrow.from, arrow.to, look);
            }
        }
    }
}

/// The contents of the messages, as far as there is space; a request sent to several nodes at
/// the same time is labelled once.
pub(super) fn labels(page: &mut Page, scene: &Scene) {
    let mut said: Vec<(&str, u64, &str)> = Vec::new();
    for message in scene.messages.iter().take(MAX_LABELS) {
        let key = (&*message.from, message.sent_ns, &*message.label);
        if message.label.is_empty() || said.contains(&key) {
            continue;
        }
        let Some(arrow) = arrow(page, scene, message) else {
            continue;
        };
        said.push(key);
        let places = places(arrow);
        let text = shortened(&message.label);
        let texts = [text.as_str(), brief(&text), command(&text)];
        page.labels
            .put_one(&mut page.drawing, &texts, (10.0, arrow.colour), &places);
    }
}

/// Above the line where the arrow begins, if it goes down; otherwise beside it.
fn places(arrow: Arrow) -> Vec<(f64, f64, Anchor)> {
    let ((x, y), (dx, dy)) = (
        arrow.from,
        (arrow.to.0 - arrow.from.0, arrow.to.1 - arrow.from.1),
    );
    // Beside a slanted line there is more space above it on one side, and below it on the
    // other.
    let (above, right, left): (&[f64], f64, f64) = match dy > 0.0 {
        true => (&[12.0, 25.0, 38.0], 0.0, 8.0),
        false => (&[], 8.0, 0.0),
    };
    let above = above.iter().flat_map(|lift| {
        [
            (x - 8.0, y - lift, Anchor::Start),
            (x + 4.0, y - lift, Anchor::End),
            (x, y - lift, Anchor::Middle),
        ]
    });
    let shares = [0.5, 0.35, 0.65, 0.22, 0.78, 0.12, 0.88];
    let beside = shares.into_iter().flat_map(|share| {
        let (x, y) = (x + share * dx, y + share * dy);
        [
            (x + 5.0, y + right, Anchor::Start),
            (x - 5.0, y + left, Anchor::End),
        ]
    });
    above.chain(beside).collect()
}

fn arrow(page: &Page, scene: &Scene, message: &Message) -> Option<Arrow> {
    let (from, to) = (page.lanes.of(&message.from)?, page.lanes.of(&message.to)?);
    let down = if to.y > from.y { 1.0 } else { -1.0 };
    let start = from.y + down * from.host.role.reach();
    let end = to.y - down * to.host.role.reach();
    let client = [from, to]
        .into_iter()
        .find(|lane| lane.host.role == Role::Client);
    let colour = client.map_or(palette::MUTED, |lane| palette::series(lane.client));

    let (arrives_ns, share, mark) = match message.arrived_ns {
        Some(arrived_ns) if arrived_ns <= scene.window.to_ns => (arrived_ns, 1.0, End::Head),
        Some(arrived_ns) => {
            let shown = scene.window.to_ns.saturating_sub(message.sent_ns) as f64;
            let flight = arrived_ns.saturating_sub(message.sent_ns).max(1) as f64;
            (scene.window.to_ns, shown / flight, End::Nothing)
        }
        // It is unknown where the message was lost; the cross is half way.
        None => (
            message.sent_ns.saturating_add(scene.flight_ns() / 2),
            0.5,
            End::Cross,
        ),
    };
    Some(Arrow {
        from: (page.scale.x(message.sent_ns), start),
        to: (page.scale.x(arrives_ns), start + share * (end - start)),
        colour,
        end: mark,
    })
}

fn head(page: &mut Page, arrow: Arrow) {
    let (dx, dy) = (arrow.to.0 - arrow.from.0, arrow.to.1 - arrow.from.1);
    let length = dx.hypot(dy).max(1.0);
    let (dx, dy) = (dx / length, dy / length);
    let (x, y) = arrow.to;
    let side = |turn: f64| {
        (
            x - 7.0 * dx - turn * 3.0 * dy,
            y - 7.0 * dy + turn * 3.0 * dx,
        )
    };
    let look = Look::filled(arrow.colour);
    page.drawing
        .polyline(&[arrow.to, side(1.0), side(-1.0)], look);
}

fn cross(page: &mut Page, arrow: Arrow) {
    let (x, y) = arrow.to;
    let look = Stroke::new(arrow.colour, 2.0);
    page.drawing
        .line((x - 5.0, y - 5.0), (x + 5.0, y + 5.0), look);
    page.drawing
        .line((x - 5.0, y + 5.0), (x + 5.0, y - 5.0), look);
}

/// Shortens a request to its command and key, and an answer to its first word.
fn brief(text: &str) -> &str {
    let words = match text {
        text if text.starts_with('(') => return text,
        text if text.starts_with('-') => 1,
        text if text.contains("(a script)") => 3,
        _ => 2,
    };
    let mut spaces = text.match_indices(' ').map(|(at, _)| at);
    &text[..spaces.nth(words - 1).unwrap_or(text.len())]
}

/// Its first word, unless it is a remark in brackets.
fn command(text: &str) -> &str {
    if text.starts_with('(') {
        return text;
    }
    text.split(' ').next().unwrap_or(text)
}

fn shortened(label: &str) -> String {
    let label = label.split_whitespace().collect::<Vec<_>>().join(" ");
    match label.char_indices().nth(LONGEST) {
        Some((cut, _)) => format!("{}…", label[..cut].trim_end()),
        None => label,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn labels_have_shorter_forms() {
        for (text, short, shortest) in [
            ("SET lock 5312… NX PX 1000", "SET lock", "SET"),
            ("EVAL (a script) 1 lock", "EVAL (a script)", "EVAL"),
            ("-NOSCRIPT No matching script.", "-NOSCRIPT", "-NOSCRIPT"),
            ("OK", "OK", "OK"),
            (
                "(more of a script)",
                "(more of a script)",
                "(more of a script)",
            ),
        ] {
            assert_eq!((brief(text), command(text)), (short, shortest));
        }
    }
}

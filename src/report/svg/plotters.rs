//! The SVG of charts: every attribute, in the order and the spelling of the SVG backend of
//! `plotters`, which drew the first of them.

use super::super::drawing::{Anchor, Fill, Form, Level, Look, Percent, Point, Shape, Stroke, Text};
use super::super::font;
use super::escape;

pub(super) fn shape(shape: &Shape) -> String {
    let look = &shape.look;
    let (opacity, filled, line) = (opacity(look), fill(&look.fill), stroke(look));
    let width = width(look.stroke.as_ref());
    match &shape.form {
        Form::Ground { .. } | Form::Rectangle { .. } => {
            let (at, wide, high) = match &shape.form {
                Form::Rectangle { at, width, height } => (*at, width, height),
                Form::Ground { width, height } => (Point::whole((0, 0)), width, height),
                _ => unreachable!("the arm is that of rectangles"),
            };
            format!(
                r#"<rect x="{}" y="{}" width="{wide}" height="{high}" opacity="{opacity}" fill="{filled}" stroke="{line}"/>"#,
                at.x, at.y
            )
        }
        Form::Line { from, to } => format!(
            r#"<line opacity="{opacity}" stroke="{line}" stroke-width="{width}" x1="{}" y1="{}" x2="{}" y2="{}"/>"#,
            from.x, from.y, to.x, to.y
        ),
        Form::Polyline(points) => format!(
            r#"<polyline fill="{filled}" opacity="{opacity}" stroke="{line}" stroke-width="{width}" points="{}"/>"#,
            places(points)
        ),
        Form::Polygon(points) => format!(
            r#"<polygon opacity="{opacity}" fill="{filled}" points="{}"/>"#,
            places(points)
        ),
        Form::Circle { centre, radius } => format!(
            r#"<circle cx="{}" cy="{}" r="{radius}" opacity="{opacity}" fill="{filled}" stroke="{line}" stroke-width="{width}"/>"#,
            centre.x, centre.y
        ),
        Form::Text(text) => words(text, &opacity, &filled),
    }
}

fn words(text: &Text, opacity: &str, fill: &str) -> String {
    let (x, y, size) = (text.at.x, text.at.y, text.size);
    let level = match text.level {
        Level::Baseline => "0",
        Level::Below => "0.76em",
        Level::Centred => "0.5ex",
        Level::Above => "-0.5ex",
    };
    let anchor = match text.anchor {
        Anchor::Start => "start",
        Anchor::Middle => "middle",
        Anchor::End => "end",
    };
    let family = text.family.as_deref().unwrap_or(font::FAMILY);
    let turn = match text.turn {
        0 => String::new(),
        degrees => format!(r#" transform="rotate({degrees}, {x}, {y})""#),
    };
    format!(
        "<text x=\"{x}\" y=\"{y}\" dy=\"{level}\" text-anchor=\"{anchor}\" font-family=\"{}\" font-size=\"{size}\" opacity=\"{opacity}\" fill=\"{fill}\"{turn}>\n{}\n</text>",
        apostrophes(family),
        apostrophes(&text.text)
    )
}

/// The opacity of fill and stroke, which are equally opaque.
fn opacity(look: &Look) -> String {
    let of_fill = match &look.fill {
        Fill::Ink(ink) => Some(ink.opacity),
        _ => None,
    };
    let of_stroke = look.stroke.map(|stroke| stroke.ink.opacity);
    let opacity = of_fill.or(of_stroke).unwrap_or(Percent::ALL);
    opacity.share().to_string()
}

fn fill(fill: &Fill) -> String {
    match fill {
        Fill::Unsaid | Fill::Nothing => "none".to_owned(),
        Fill::Ink(ink) => format!("{:#}", ink.colour),
        Fill::Hatch(id) => format!("url(#{})", escape(id)),
    }
}

fn stroke(look: &Look) -> String {
    match &look.stroke {
        None => "none".to_owned(),
        Some(stroke) => format!("{:#}", stroke.ink.colour),
    }
}

fn width(stroke: Option<&Stroke>) -> f64 {
    stroke.and_then(|stroke| stroke.width).unwrap_or(1.0)
}

fn places(points: &[Point]) -> String {
    points.iter().map(|p| format!("{},{} ", p.x, p.y)).collect()
}

fn apostrophes(text: &str) -> String {
    escape(text).replace('\'', "&apos;")
}

//! The SVG of diagrams and tables: attributes only where they differ from SVG's defaults.

use super::super::drawing::{Anchor, Fill, Form, Hatch, Level, Look, Percent, Shape, Stroke, Text};
use super::escape;

pub(super) fn shape(shape: &Shape) -> String {
    let look = || look(&shape.look);
    match &shape.form {
        Form::Ground { width, height } => {
            format!(r#"<rect width="{width}" height="{height}"{}/>"#, look())
        }
        Form::Rectangle { at, width, height } => format!(
            r#"<rect x="{}" y="{}" width="{width}" height="{height}"{}/>"#,
            at.x,
            at.y,
            look()
        ),
        // A line says first what it is drawn with.
        Form::Line { from, to } => format!(
            r#"<line x1="{}" y1="{}" x2="{}" y2="{}"{}{}/>"#,
            from.x,
            from.y,
            to.x,
            to.y,
            stroke(shape.look.stroke.as_ref()),
            fill(&shape.look.fill)
        ),
        Form::Polyline(points) | Form::Polygon(points) => {
            let name = match shape.form {
                Form::Polygon(_) => "polygon",
                _ => "polyline",
            };
            let points: Vec<String> = points.iter().map(|p| format!("{},{}", p.x, p.y)).collect();
            format!(r#"<{name} points="{}"{}/>"#, points.join(" "), look())
        }
        Form::Circle { centre, radius } => format!(
            r#"<circle cx="{}" cy="{}" r="{radius}"{}/>"#,
            centre.x,
            centre.y,
            look()
        ),
        Form::Text(text) => words(text, &shape.look, shape.rim()),
    }
}

/// The definition of a fill.
pub(super) fn hatch(hatch: &Hatch) -> String {
    let tile: Vec<String> = hatch.tile().iter().map(shape).collect();
    let (id, side, turn) = (escape(&hatch.id), hatch.side, hatch.turn);
    format!(
        r#"<defs><pattern id="{id}" width="{side}" height="{side}" patternUnits="userSpaceOnUse" patternTransform="rotate({turn})">{}</pattern></defs>"#,
        tile.concat()
    )
}

fn words(text: &Text, look: &Look, edge: Option<Stroke>) -> String {
    let family = match &text.family {
        None => String::new(),
        Some(family) => format!(r#" font-family="{}""#, escape(family)),
    };
    let (x, y, size) = (text.at.x, text.at.y, text.size);
    let level = match text.level {
        Level::Baseline => "",
        Level::Below => r#" dy="0.76em""#,
        Level::Centred => r#" dy="0.5ex""#,
        Level::Above => r#" dy="-0.5ex""#,
    };
    let anchor = match text.anchor {
        Anchor::Start => "",
        Anchor::Middle => r#" text-anchor="middle""#,
        Anchor::End => r#" text-anchor="end""#,
    };
    let turn = match text.turn {
        0 => String::new(),
        degrees => format!(r#" transform="rotate({degrees}, {x}, {y})""#),
    };
    let rim = match text.rim {
        false => "",
        true => r#" stroke-linejoin="round" paint-order="stroke""#,
    };
    format!(
        r#"<text{family} x="{x}" y="{y}"{level} font-size="{size}"{anchor}{}{turn}{}{rim}>{}</text>"#,
        fill(&look.fill),
        stroke(edge.as_ref()),
        escape(&text.text)
    )
}

fn look(look: &Look) -> String {
    fill(&look.fill) + &stroke(look.stroke.as_ref())
}

fn fill(fill: &Fill) -> String {
    match fill {
        Fill::Unsaid => String::new(),
        Fill::Nothing => r#" fill="none""#.to_owned(),
        Fill::Hatch(id) => format!(r#" fill="url(#{})""#, escape(id)),
        Fill::Ink(ink) => {
            let colour = format!(r#" fill="{}""#, ink.colour);
            match ink.opacity {
                Percent::ALL => colour,
                some => format!(r#"{colour} fill-opacity="{:.2}""#, some.share()),
            }
        }
    }
}

fn stroke(stroke: Option<&Stroke>) -> String {
    let Some(stroke) = stroke else {
        return String::new();
    };
    let mut text = format!(r#" stroke="{}""#, stroke.ink.colour);
    if let Some(width) = stroke.width {
        text += &format!(r#" stroke-width="{width}""#);
    }
    if !stroke.dashes.is_empty() {
        let dashes: Vec<String> = stroke.dashes.iter().map(f64::to_string).collect();
        text += &format!(r#" stroke-dasharray="{}""#, dashes.join(" "));
    }
    if stroke.ink.opacity != Percent::ALL {
        text += &format!(r#" stroke-opacity="{}""#, stroke.ink.opacity.share());
    }
    text
}

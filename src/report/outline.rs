//! The outlines of shapes, for the painters: PNG and PDF.

use tiny_skia::{Path, PathBuilder, Rect, Transform};

use super::drawing::{Anchor, Form, Length, Level, Point, Shape, Text};
use super::font;

/// The outline of a shape and its place; `None` if it has no extent.
pub(super) fn of(shape: &Shape) -> Option<(Path, Transform)> {
    let path = match &shape.form {
        Form::Ground { width, height } => rectangle(Point::whole((0, 0)), *width, *height),
        Form::Rectangle { at, width, height } => rectangle(*at, *width, *height),
        Form::Line { from, to } => lines(&[*from, *to]).finish(),
        Form::Polyline(points) => lines(points).finish(),
        Form::Polygon(points) => {
            let mut path = lines(points);
            path.close();
            path.finish()
        }
        Form::Circle { centre, radius } => {
            PathBuilder::from_circle(centre.x.f32(), centre.y.f32(), radius.f32())
        }
        Form::Text(text) => return letters(text),
    };
    Some((path?, Transform::identity()))
}

/// Whether a path has an inside that can be filled: an upright or a level line has none.
pub(super) fn has_inside(path: &Path) -> bool {
    let bounds = path.bounds();
    bounds.width() > 0.0 && bounds.height() > 0.0
}

fn rectangle(at: Point, width: Length, height: Length) -> Option<Path> {
    let rect = Rect::from_xywh(at.x.f32(), at.y.f32(), width.f32(), height.f32());
    rect.map(PathBuilder::from_rect)
}

fn lines(points: &[Point]) -> PathBuilder {
    let mut path = PathBuilder::new();
    for (number, point) in points.iter().enumerate() {
        match number {
            0 => path.move_to(point.x.f32(), point.y.f32()),
            _ => path.line_to(point.x.f32(), point.y.f32()),
        }
    }
    path
}

fn letters(text: &Text) -> Option<(Path, Transform)> {
    let placed = placed(text);
    let path = font::outline(&placed.words, text.size as f32, placed.start)?;
    Some((path, placed.turned))
}

/// Where the letters of a text are.
pub(super) struct Placed {
    /// The text, as viewers of SVG show it.
    pub(super) words: String,
    /// Where it starts, on the baseline.
    pub(super) start: (f32, f32),
    /// How all of it is turned.
    pub(super) turned: Transform,
}

/// Finds the place of a text.
pub(super) fn placed(text: &Text) -> Placed {
    let (x, y, size) = (text.at.x.f32(), text.at.y.f32(), text.size as f32);
    // As viewers of SVG do, and without the blanks around it.
    let words: Vec<&str> = text.text.split_ascii_whitespace().collect();
    let words = words.join(" ");
    let before = match text.anchor {
        Anchor::Start => 0.0,
        Anchor::Middle => 0.5,
        Anchor::End => 1.0,
    };
    let left = x - before * font::width(&words, f64::from(size)) as f32;
    // Without a measurement of the font, an `ex` is half an `em`.
    let down = match text.level {
        Level::Baseline => 0.0,
        Level::Below => 0.76 * size,
        Level::Centred => 0.5 * 0.5 * size,
        Level::Above => -0.5 * 0.5 * size,
    };
    let turned = match text.turn {
        0 => Transform::identity(),
        degrees => Transform::from_rotate_at(f32::from(degrees), x, y),
    };
    Placed {
        words,
        start: (left, y + down),
        turned,
    }
}

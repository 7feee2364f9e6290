//! What panels are drawn with: lines, markers and text on an area of `plotters`.

use plotters::coord::Shift;
use plotters::element::DashedPathElement;
use plotters::prelude::*;
use plotters::style::text_anchor::{HPos, Pos, VPos};

use super::super::{Error, font, palette, svg::printable};

/// A drawing area, in pixels.
pub(super) type Area<'a> = DrawingArea<SVGBackend<'a>, Shift>;
pub(super) type Pixel = (i32, i32);

/// `plotters` takes sizes as line heights: a size of 1.24 gives letters of size 1.
const LINE_HEIGHT: f64 = 1.24;

/// The dashes of the line with this number and the gaps between them; `None`: solid. A dashed
/// line lets a solid one below it shine through.
fn dashes(number: usize) -> Option<(i32, i32)> {
    [None, Some((9, 7)), Some((3, 5)), Some((16, 5))][number % 4]
}

/// The line of a series.
pub(super) fn series(root: &Area, points: Vec<Pixel>, number: usize) -> Result<(), Error> {
    let look = ink(palette::series(number)).stroke_width(2);
    match dashes(number) {
        None => root.draw(&PathElement::new(points, look)),
        Some((dash, gap)) => root.draw(&DashedPathElement::new(points, dash, gap, look)),
    }
    .map_err(failed)
}

/// A thin line.
pub(super) fn thin(root: &Area, points: Vec<Pixel>, hex: &str) -> Result<(), Error> {
    root.draw(&PathElement::new(points, ink(hex).stroke_width(1)))
        .map_err(failed)
}

/// A symbol at a measured point; its shape distinguishes series without colour.
pub(super) fn marker(root: &Area, (x, y): Pixel, number: usize) -> Result<(), Error> {
    let look = ink(palette::series(number)).filled();
    let polygon = |corners: &[Pixel]| {
        let corners: Vec<Pixel> = corners.iter().map(|(dx, dy)| (x + dx, y + dy)).collect();
        root.draw(&Polygon::new(corners, look))
    };
    match number % 4 {
        0 => root.draw(&Circle::new((x, y), 4, look)),
        1 => polygon(&[(-4, -4), (4, -4), (4, 4), (-4, 4)]),
        2 => polygon(&[(0, -5), (5, 4), (-5, 4)]),
        _ => polygon(&[(0, -6), (5, 0), (0, 6), (-5, 0)]),
    }
    .map_err(failed)
}

/// A rectangle without an outline.
pub(super) fn fill(root: &Area, from: Pixel, to: Pixel, colour: RGBAColor) -> Result<(), Error> {
    root.draw(&Rectangle::new([from, to], colour.filled()))
        .map_err(failed)
}

pub(super) fn text(
    root: &Area,
    at: Pixel,
    text: &str,
    look: TextStyle<'static>,
) -> Result<(), Error> {
    root.draw(&Text::new(printable(text), at, look))
        .map_err(failed)
}

/// Text that begins below and to the right of its point.
pub(super) fn style(size: f64, hex: &str) -> TextStyle<'static> {
    (font::FAMILY, size * LINE_HEIGHT)
        .into_font()
        .color(&ink(hex))
}

/// Text with its point at this place of it.
pub(super) fn placed(size: f64, hex: &str, h: HPos, v: VPos) -> TextStyle<'static> {
    style(size, hex).pos(Pos::new(h, v))
}

/// Converts `#rrggbb` for `plotters`.
pub(super) fn ink(hex: &str) -> RGBColor {
    let channel = |from: usize| {
        let digits = hex.get(from..from + 2).unwrap_or_default();
        u8::from_str_radix(digits, 16).unwrap_or_default()
    };
    RGBColor(channel(1), channel(3), channel(5))
}

pub(super) fn failed(error: impl std::fmt::Display) -> Error {
    Error::Chart(error.to_string())
}

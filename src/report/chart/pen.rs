//! Primitives for panels: lines, markers and text on an area of `plotters`.

use plotters::coord::Shift;
use plotters::element::DashedPathElement;
use plotters::prelude::*;
use plotters::style::text_anchor::{HPos, Pos, VPos};

use super::super::drawing::Colour;
use super::super::font::{self, FAMILY, LINE_HEIGHT};
use super::super::{Error, palette};
use super::backend::Backend;

/// A drawing area, in pixels.
pub(super) type Area<'a> = DrawingArea<Backend<'a>, Shift>;
pub(super) type Pixel = (i32, i32);

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
pub(super) fn thin(root: &Area, points: Vec<Pixel>, colour: Colour) -> Result<(), Error> {
    root.draw(&PathElement::new(points, ink(colour).stroke_width(1)))
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
    .map_err(failed)?;
    // Shapes repeat, with a hole.
    match number / 4 % 2 {
        0 => Ok(()),
        _ => { root.draw(&Circle::new((x, y), 2, WHITE.filled())) }.map_err(failed),
    }
}

/// A ring around a marker.
pub(super) fn ring(root: &Area, at: Pixel) -> Result<(), Error> {
    let look = ink(palette::INK).stroke_width(2);
    root.draw(&Circle::new(at, 11, look)).map_err(failed)
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
    root.draw(&Text::new(text, at, look)).map_err(failed)
}

/// The font size, at most `size`, at which a text fits.
pub(super) fn fitting(text: &str, size: f64, room: f64) -> f64 {
    size * (room / font::width(text, size).max(1.0)).min(1.0)
}

/// Text that begins below and to the right of its point.
pub(super) fn style(size: f64, colour: Colour) -> TextStyle<'static> {
    (FAMILY, size * LINE_HEIGHT).into_font().color(&ink(colour))
}

/// Text with its point at this place of it.
pub(super) fn placed(size: f64, colour: Colour, h: HPos, v: VPos) -> TextStyle<'static> {
    style(size, colour).pos(Pos::new(h, v))
}

/// Converts a colour for `plotters`.
pub(super) fn ink(Colour([r, g, b]): Colour) -> RGBColor {
    RGBColor(r, g, b)
}

pub(super) fn failed(error: impl std::fmt::Display) -> Error {
    Error::Chart(error.to_string())
}

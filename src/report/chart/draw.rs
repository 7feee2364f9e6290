//! Drawing a chart with `plotters`.

use plotters::coord::ranged1d::{KeyPointHint, NoDefaultFormatting, Ranged, ValueFormatter};
use plotters::coord::{Shift, types::RangedCoordf64};
use plotters::prelude::*;
use plotters::style::register_font;
use plotters::style::text_anchor::{HPos, Pos, VPos};

use super::super::{Error, font, palette, svg::printable};
use super::series::{Plot, Point, Series};
use super::x_axis::{Kind, XAxis};

const WIDTH: u32 = 1200;
/// The height of the part below title and legend.
const BODY: u32 = 560;
/// From the left edge to the y axis, and from the end of the x axis to the right edge.
const LEFT: i32 = 92;
const RIGHT: i32 = 36;
/// From the left edge to the y axis's description.
const MARGIN: i32 = 16;
/// `plotters` takes sizes as line heights: a size of 1.24 gives letters of size 1.
const LINE_HEIGHT: f64 = 1.24;

/// A drawing area, in pixels.
type Area<'a> = DrawingArea<SVGBackend<'a>, Shift>;
type Pixel = (i32, i32);

/// The chart as SVG.
pub(super) fn svg(plot: &Plot) -> Result<String, Error> {
    register_font(font::FAMILY, FontStyle::Normal, font::BYTES)
        .map_err(|_| Error::Chart("the built-in font was refused".to_owned()))?;
    let header = Header::new(plot);
    let size = (WIDTH, header.bottom as u32 + BODY);
    let mut svg = String::new();
    {
        let root = SVGBackend::with_string(&mut svg, size).into_drawing_area();
        root.fill(&WHITE).map_err(failed)?;
        header.draw(&root, plot)?;
        let (_, body) = root.split_vertically(header.bottom);
        let at = axes(&body, plot)?;
        x_labels(&root, &at, &plot.x)?;
        for series in &plot.series {
            doubts(&root, &at, series, plot.top)?;
        }
        for (number, series) in plot.series.iter().enumerate() {
            match plot.x.kind {
                Kind::Words => bars(&root, &at, series, number, plot.series.len())?,
                Kind::Proportional | Kind::Even => line(&root, &at, series, number)?,
            }
        }
        root.present().map_err(failed)?;
    }
    Ok(svg)
}

/// Title, subtitle and legend, each text with its position.
struct Header {
    title: Vec<(Pixel, String)>,
    subtitle: Pixel,
    legend: Vec<(Pixel, String)>,
    bottom: i32,
}

impl Header {
    fn new(plot: &Plot) -> Self {
        let right = WIDTH as i32 - RIGHT;
        let mut y = 22;
        let title = font::wrap(&plot.title, 22.0, f64::from(right - LEFT));
        let title = title.into_iter().map(|line| {
            y += 28;
            ((LEFT, y - 28), line)
        });
        let title = title.collect();
        let subtitle = (LEFT, y + 2);
        y += 36;

        let mut x = LEFT;
        let legend = plot.series.iter().map(|Series { label, .. }| {
            let width = 36 + font::width(label, 14.0).ceil() as i32;
            if x > LEFT && x + width > right {
                x = LEFT;
                y += 24;
            }
            x += width + 28;
            ((x - width - 28, y), label.clone())
        });
        Header {
            title,
            subtitle,
            legend: legend.collect(),
            bottom: y + 34,
        }
    }

    fn draw(&self, root: &Area, plot: &Plot) -> Result<(), Error> {
        for (at, line) in &self.title {
            text(root, *at, line, 22.0, palette::INK)?;
        }
        text(root, self.subtitle, &plot.subtitle, 14.0, palette::MUTED)?;
        for (number, &((x, y), ref label)) in self.legend.iter().enumerate() {
            key(root, (x, y + 8), number, plot.x.kind)?;
            text(root, (x + 36, y), label, 14.0, palette::INK)?;
        }
        Ok(())
    }
}

/// The symbol of a series in the legend.
fn key(root: &Area, (x, y): Pixel, number: usize, kind: Kind) -> Result<(), Error> {
    match kind {
        Kind::Words => bar(root, (x + 6, y - 7), (x + 26, y + 7), number),
        Kind::Proportional | Kind::Even => {
            path(root, vec![(x, y), (x + 28, y)], number, 2)?;
            marker(root, (x + 14, y), number)
        }
    }
}

/// Draws the axes and returns the conversion from their units to pixels.
fn axes<'a>(body: &Area<'a>, plot: &Plot) -> Result<impl Fn(f64, f64) -> Pixel + use<'a>, Error> {
    let mut chart = ChartBuilder::on(body)
        .margin_left(MARGIN)
        .margin_right(RIGHT)
        .margin_top(10)
        .margin_bottom(12)
        .x_label_area_size(64)
        .y_label_area_size(LEFT - MARGIN)
        .build_cartesian_2d(Ticked::new(&plot.x), 0.0..plot.top)
        .map_err(failed)?;
    let decimals = match plot.top {
        top if top < 1.0 => 2,
        top if top < 5.0 => 1,
        _ => 0,
    };
    chart
        .configure_mesh()
        .disable_x_mesh()
        .bold_line_style(colour("#e4e4e4"))
        .light_line_style(TRANSPARENT)
        .axis_style(colour(palette::MUTED))
        .set_all_tick_mark_size(5)
        .x_desc(printable(&plot.x.label))
        .y_desc(&plot.y_label)
        .axis_desc_style(style(16.0, palette::INK))
        .label_style(style(14.0, palette::INK))
        .x_labels(plot.x.ticks.len())
        .y_labels(6)
        .y_label_formatter(&|percent| format!("{percent:.decimals$}"))
        .draw()
        .map_err(failed)?;
    let area = chart.plotting_area().clone();
    Ok(move |x, y| area.map_coordinate(&(x, y)))
}

/// Draws the labels of the x axis. `plotters` would let them overlap: they are smaller if space
/// is short, and in two rows if that is not enough.
fn x_labels(root: &Area, at: &impl Fn(f64, f64) -> Pixel, axis: &XAxis) -> Result<(), Error> {
    let room = f64::from(WIDTH as i32 - LEFT - RIGHT) / axis.ticks.len().max(1) as f64;
    let widths = axis.ticks.iter().map(|(_, text)| font::width(text, 14.0));
    let widest = widths.fold(1.0, f64::max);
    let fitting = |room: f64| (14.0 * (room - 8.0) / widest).min(14.0);
    let (size, rows) = match fitting(room) {
        size if size >= 10.0 => (size, 1),
        _ => (fitting(2.0 * room).clamp(8.0, 11.0), 2),
    };
    let centred = style(size, palette::INK).pos(Pos::new(HPos::Center, VPos::Top));
    for (number, (tick, label)) in axis.ticks.iter().enumerate() {
        let (x, y) = at(*tick, 0.0);
        let place = (x, y + 10 + 16 * (number as i32 % rows));
        let text = Text::new(printable(label), place, centred.clone());
        root.draw(&text).map_err(failed)?;
    }
    Ok(())
}

/// A grey dash at each point's share of inconclusive runs, unless it is above the axis.
fn doubts(
    root: &Area,
    at: &impl Fn(f64, f64) -> Pixel,
    series: &Series,
    top: f64,
) -> Result<(), Error> {
    let doubtful = |point: &&Point| point.inconclusive > 0.0 && point.inconclusive <= top;
    for point in series.points.iter().filter(doubtful) {
        let (x, y) = at(point.x, point.inconclusive);
        let look = colour(palette::MUTED).stroke_width(2);
        let dash = PathElement::new(vec![(x - 7, y), (x + 8, y)], look);
        root.draw(&dash).map_err(failed)?;
    }
    Ok(())
}

/// The interval as a light band with whiskers at the measured points; then the line.
fn line(
    root: &Area,
    at: &impl Fn(f64, f64) -> Pixel,
    series: &Series,
    number: usize,
) -> Result<(), Error> {
    let points = &series.points;
    let lower = points.iter().map(|point| at(point.x, point.low));
    let upper = points.iter().rev().map(|point| at(point.x, point.high));
    let band: Vec<Pixel> = lower.chain(upper).collect();
    let shade = colour(palette::series(number)).mix(0.13).filled();
    root.draw(&Polygon::new(band, shade)).map_err(failed)?;
    for point in points {
        whisker(root, at, point.x, point, number)?;
    }
    let through: Vec<Pixel> = points.iter().map(|point| at(point.x, point.rate)).collect();
    path(root, through.clone(), number, 2)?;
    through
        .into_iter()
        .try_for_each(|pixel| marker(root, pixel, number))
}

fn bars(
    root: &Area,
    at: &impl Fn(f64, f64) -> Pixel,
    series: &Series,
    number: usize,
    of: usize,
) -> Result<(), Error> {
    /// The share of the space of one word that its bars fill together.
    const FILLED: f64 = 0.6;
    let width = FILLED / of as f64;
    for point in &series.points {
        let left = point.x - FILLED / 2.0 + width * number as f64;
        let (x, y) = at(left, point.rate);
        let (right, bottom) = at(left + width, 0.0);
        bar(root, (x + 2, y), (right - 2, bottom), number)?;
        whisker(root, at, left + width / 2.0, point, number)?;
    }
    Ok(())
}

fn bar(root: &Area, from: Pixel, to: Pixel, number: usize) -> Result<(), Error> {
    let shade = colour(palette::series(number)).mix(0.5).filled();
    root.draw(&Rectangle::new([from, to], shade))
        .map_err(failed)
}

fn whisker(
    root: &Area,
    at: &impl Fn(f64, f64) -> Pixel,
    x: f64,
    point: &Point,
    number: usize,
) -> Result<(), Error> {
    let ((x, low), (_, high)) = (at(x, point.low), at(x, point.high));
    path(root, vec![(x, low), (x, high)], number, 1)?;
    for end in [low, high] {
        path(root, vec![(x - 4, end), (x + 5, end)], number, 1)?;
    }
    Ok(())
}

fn path(root: &Area, points: Vec<Pixel>, number: usize, width: u32) -> Result<(), Error> {
    let look = colour(palette::series(number)).stroke_width(width);
    root.draw(&PathElement::new(points, look)).map_err(failed)
}

/// A symbol at a measured point; its shape distinguishes series without colour.
fn marker(root: &Area, (x, y): Pixel, number: usize) -> Result<(), Error> {
    let look = colour(palette::series(number)).filled();
    let polygon = |corners: &[Pixel]| {
        let corners: Vec<Pixel> = corners.iter().map(|(dx, dy)| (x + dx, y + dy)).collect();
        root.draw(&Polygon::new(corners, look))
    };
    match number % 4 {
        0 => root.draw(&Circle::new((x, y), 5, look)),
        1 => polygon(&[(-5, -5), (5, -5), (5, 5), (-5, 5)]),
        2 => polygon(&[(0, -6), (6, 5), (-6, 5)]),
        _ => polygon(&[(0, -7), (7, 0), (0, 7), (-7, 0)]),
    }
    .map_err(failed)
}

fn text(root: &Area, at: Pixel, text: &str, size: f64, ink: &str) -> Result<(), Error> {
    root.draw(&Text::new(printable(text), at, style(size, ink)))
        .map_err(failed)
}

fn style(size: f64, ink: &str) -> TextStyle<'static> {
    (font::FAMILY, size * LINE_HEIGHT)
        .into_font()
        .color(&colour(ink))
}

/// Converts `#rrggbb` for `plotters`.
fn colour(hex: &str) -> RGBColor {
    let channel = |from: usize| {
        let digits = hex.get(from..from + 2).unwrap_or_default();
        u8::from_str_radix(digits, 16).unwrap_or_default()
    };
    RGBColor(channel(1), channel(3), channel(5))
}

fn failed(error: impl std::fmt::Display) -> Error {
    Error::Chart(error.to_string())
}

/// The x axis with its own ticks instead of those of `plotters`.
#[derive(Clone)]
struct Ticked {
    ticks: Vec<f64>,
    scale: RangedCoordf64,
}

impl Ticked {
    fn new(axis: &XAxis) -> Self {
        Ticked {
            ticks: axis.ticks.iter().map(|&(at, _)| at).collect(),
            scale: (axis.range.0..axis.range.1).into(),
        }
    }
}

impl Ranged for Ticked {
    type FormatOption = NoDefaultFormatting;
    type ValueType = f64;

    fn map(&self, value: &f64, limit: (i32, i32)) -> i32 {
        self.scale.map(value, limit)
    }

    fn key_points<Hint: KeyPointHint>(&self, _: Hint) -> Vec<f64> {
        self.ticks.clone()
    }

    fn range(&self) -> std::ops::Range<f64> {
        self.scale.range()
    }
}

impl ValueFormatter<f64> for Ticked {
    /// Empty: [`x_labels`] draws the labels.
    fn format_ext(&self, _: &f64) -> String {
        String::new()
    }
}

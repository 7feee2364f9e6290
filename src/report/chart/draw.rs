//! The page of a chart: title, legend, and the panels with their axes.

use plotters::coord::ranged1d::{KeyPointHint, NoDefaultFormatting, Ranged, ValueFormatter};
use plotters::coord::types::RangedCoordf64;
use plotters::prelude::*;
use plotters::style::register_font;
use plotters::style::text_anchor::{HPos, VPos};

use super::super::drawing::{Colour, Drawing};
use super::super::{Error, font, palette};
use super::axis_scale::Scale;
use super::backend::Backend;
use super::pen::{Area, Pixel, failed, ink, placed, style, text};
use super::plot::{Body, Panel, Plot};
use super::{heat, lines};

const WIDTH: u32 = 1200;
/// The height of the only panel, and of one among several.
const BODY: u32 = 560;
const SMALL: u32 = 400;
/// From the left edge of a panel to its y axis, and from the end of the x axis to its right
/// edge.
pub(super) const LEFT: i32 = 92;
pub(super) const RIGHT: i32 = 36;
/// From the left edge to the y axis's description.
const MARGIN: i32 = 16;
/// From the upper edge of a panel to its axes, and from them to its lower edge.
const ABOVE_AND_BELOW: i32 = 86;
/// The height of a panel's heading.
const HEADING: u32 = 26;

/// The chart.
pub(super) fn drawing(plot: &Plot) -> Result<Drawing, Error> {
    register_font(font::FAMILY, FontStyle::Normal, font::BYTES)
        .map_err(|_| Error::Chart("the built-in font was refused".to_owned()))?;
    let header = Header::new(plot);
    let (columns, height) = match plot.panels.len() {
        1 => (1, BODY),
        2..=4 => (2, SMALL),
        _ => (3, SMALL),
    };
    let rows = plot.panels.len().div_ceil(columns);
    let scale = heat::Colours::new(plot);
    let below = scale.as_ref().map_or(0, |_| heat::LEGEND_HEIGHT);
    let bottom = header.bottom as u32 + rows as u32 * height;
    let size = (WIDTH, bottom + below);
    let mut drawing = Drawing::chart(size);
    {
        let root = Backend::new(&mut drawing, size).into_drawing_area();
        root.fill(&WHITE).map_err(failed)?;
        header.draw(&root, plot)?;
        let (_, page) = root.split_vertically(header.bottom);
        let (page, footer) = page.split_vertically(rows as u32 * height);
        for (area, panel) in page.split_evenly((rows, columns)).iter().zip(&plot.panels) {
            draw_panel(&root, area, plot, panel)?;
        }
        if let Some(scale) = scale {
            scale.legend(&footer, plot)?;
        }
        root.present().map_err(failed)?;
    }
    Ok(drawing)
}

/// Draws one panel on its area of the page.
fn draw_panel(root: &Area, area: &Area, plot: &Plot, panel: &Panel) -> Result<(), Error> {
    let area = match panel.heading.as_str() {
        "" => area.clone(),
        heading => {
            let room = f64::from(width(area) - LEFT - RIGHT);
            let size = fitting(heading, 14.0, room).max(9.0);
            text(area, (LEFT, 6), heading, style(size, palette::INK))?;
            area.split_vertically(HEADING).1
        }
    };
    match &panel.body {
        Body::Lines(lines) => {
            let frame = axes(root, &area, &plot.x, &rate_axis(plot.top), &plot.rates)?;
            lines::draw(root, &frame, plot, lines)
        }
        Body::Heat(heat) => {
            let frame = axes(root, &area, &plot.x, &heat.y, &heat.y.label)?;
            heat::draw(root, &frame, plot, heat)
        }
    }
}

/// The pixels between the axes of a panel, and the values at their ends.
pub(super) struct Frame {
    columns: std::ops::Range<i32>,
    rows: std::ops::Range<i32>,
    x: (f64, f64),
    y: (f64, f64),
}

impl Frame {
    /// The pixel of two positions on the axes.
    pub(super) fn at(&self, x: f64, y: f64) -> Pixel {
        let share = |value: f64, (first, last): (f64, f64)| (value - first) / (last - first);
        let (wide, high) = (self.columns.len() as f64, self.rows.len() as f64);
        (
            self.columns.start + (share(x, self.x) * wide).round() as i32,
            self.rows.end - (share(y, self.y) * high).round() as i32,
        )
    }
}

/// Title, overrides, subtitle and legend, each text with its position.
struct Header {
    texts: Vec<(Pixel, String, f64, Colour)>,
    legend: Vec<Pixel>,
    bottom: i32,
}

impl Header {
    fn new(plot: &Plot) -> Self {
        let right = WIDTH as i32 - RIGHT;
        let mut y = 22;
        let mut texts = Vec::new();
        let with = match plot.overrides.as_str() {
            "" => String::new(),
            overrides => format!("with {overrides}"),
        };
        for (words, size, ink, line_height) in [
            (&plot.title, 22.0, palette::INK, 28),
            (&with, 15.0, palette::INK, 22),
            (&plot.subtitle, 14.0, palette::MUTED, 20),
        ] {
            for line in font::wrap(words, size, f64::from(right - LEFT)) {
                texts.push(((LEFT, y), line, size, ink));
                y += line_height;
            }
        }
        y += 14;
        let mut x = LEFT;
        let place = |label: &String| {
            let width = 36 + font::width(label, 14.0).ceil() as i32;
            if x > LEFT && x + width > right {
                x = LEFT;
                y += 24;
            }
            x += width + 28;
            (x - width - 28, y)
        };
        let legend: Vec<Pixel> = plot.legend.iter().map(place).collect();
        let bottom = match legend.is_empty() {
            true => y - 4,
            false => y + 34,
        };
        Header {
            texts,
            legend,
            bottom,
        }
    }

    fn draw(&self, root: &Area, plot: &Plot) -> Result<(), Error> {
        for (at, line, size, colour) in &self.texts {
            text(root, *at, line, style(*size, *colour))?;
        }
        for (number, (&(x, y), label)) in self.legend.iter().zip(&plot.legend).enumerate() {
            lines::key(root, (x, y + 8), number, plot.x.kind)?;
            text(root, (x + 36, y), label, style(14.0, palette::INK))?;
        }
        Ok(())
    }
}

/// The axis of rates up to `top`, in percent, with about five ticks.
fn rate_axis(top: f64) -> Scale {
    let decimals = match top {
        top if top < 1.0 => 2,
        top if top < 5.0 => 1,
        _ => 0,
    };
    let tick = |fifth: i32| {
        let at = top * f64::from(fifth) / 5.0;
        (at, format!("{at:.decimals$}"))
    };
    Scale {
        label: String::new(),
        ticks: (0..=5).map(tick).collect(),
        range: (0.0, top),
        kind: super::axis_scale::Kind::Proportional,
    }
}

/// Draws the axes.
fn axes(root: &Area, area: &Area, x: &Scale, y: &Scale, title: &str) -> Result<Frame, Error> {
    let room = f64::from(width(area) - LEFT - RIGHT);
    let size = fitting(&x.label, 16.0, room);
    let high = f64::from(area.dim_in_pixel().1 as i32 - ABOVE_AND_BELOW);
    let size = size.min(fitting(title, 16.0, high)).max(9.0);
    let mut chart = ChartBuilder::on(area)
        .margin_left(MARGIN)
        .margin_right(RIGHT)
        .margin_top(10)
        .margin_bottom(12)
        .x_label_area_size((ABOVE_AND_BELOW - 22) as u32)
        .y_label_area_size(LEFT - MARGIN)
        .build_cartesian_2d(Ticked::new(x), Ticked::new(y))
        .map_err(failed)?;
    chart
        .configure_mesh()
        .disable_x_mesh()
        .bold_line_style(ink(Colour::hex(0xe4e4e4)))
        .light_line_style(TRANSPARENT)
        .axis_style(ink(palette::MUTED))
        .set_all_tick_mark_size(5)
        .x_desc(&x.label)
        .y_desc(title)
        .axis_desc_style(style(size, palette::INK))
        .x_labels(x.ticks.len())
        .y_labels(y.ticks.len())
        .draw()
        .map_err(failed)?;
    let (columns, rows) = chart.plotting_area().get_pixel_range();
    let frame = Frame {
        columns,
        rows,
        x: x.range,
        y: y.range,
    };
    x_labels(root, &frame, x)?;
    y_labels(root, &frame, y)?;
    Ok(frame)
}

/// The font size, at most `size`, at which a text fits.
fn fitting(text: &str, size: f64, room: f64) -> f64 {
    size * (room / font::width(text, size).max(1.0)).min(1.0)
}

fn width(area: &Area) -> i32 {
    area.dim_in_pixel().0 as i32
}

/// Draws the labels of the x axis. `plotters` would let them overlap: they are smaller if space
/// is short, in two rows if that is not enough, and not all if there are too many.
fn x_labels(root: &Area, frame: &Frame, axis: &Scale) -> Result<(), Error> {
    let room = frame.columns.len() as f64 / axis.ticks.len().max(1) as f64;
    let widths = axis.ticks.iter().map(|(_, text)| font::width(text, 14.0));
    let widest = widths.fold(1.0, f64::max);
    let fitting = |room: f64| (14.0 * (room - 8.0) / widest).min(14.0);
    let (size, rows) = match fitting(room) {
        size if size >= 10.0 => (size, 1),
        _ => (fitting(2.0 * room).clamp(9.0, 11.0), 2),
    };
    let needed = (widest * size / 14.0 + 8.0) / (room * f64::from(rows));
    let every = needed.ceil().max(1.0) as usize;
    let look = placed(size, palette::INK, HPos::Center, VPos::Top);
    for (number, (tick, label)) in axis.ticks.iter().step_by(every).enumerate() {
        let (x, _) = frame.at(*tick, 0.0);
        let y = frame.rows.end + 10 + 16 * (number as i32 % rows);
        text(root, (x, y), label, look.clone())?;
    }
    Ok(())
}

/// Draws the labels of the y axis, and not all if there are too many.
fn y_labels(root: &Area, frame: &Frame, axis: &Scale) -> Result<(), Error> {
    let fitting = (frame.rows.len() / 17).max(1);
    let every = axis.ticks.len().div_ceil(fitting).max(1);
    let look = placed(14.0, palette::INK, HPos::Right, VPos::Center);
    for (tick, label) in axis.ticks.iter().step_by(every) {
        let (_, y) = frame.at(0.0, *tick);
        text(root, (frame.columns.start - 9, y), label, look.clone())?;
    }
    Ok(())
}

/// An axis with its own ticks instead of those of `plotters`.
#[derive(Clone)]
struct Ticked {
    ticks: Vec<f64>,
    scale: RangedCoordf64,
}

impl Ticked {
    fn new(axis: &Scale) -> Self {
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
    /// Empty: [`x_labels`] and [`y_labels`] draw the labels.
    fn format_ext(&self, _: &f64) -> String {
        String::new()
    }
}

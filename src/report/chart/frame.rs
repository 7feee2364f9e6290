//! The frame of a panel: its axes with their labels, and the pixels between them.

use plotters::coord::ranged1d::{KeyPointHint, NoDefaultFormatting, Ranged, ValueFormatter};
use plotters::coord::types::RangedCoordf64;
use plotters::prelude::*;
use plotters::style::text_anchor::{HPos, VPos};

use super::super::drawing::Colour;
use super::super::{Error, font, palette};
use super::axis_scale::Scale;
use super::pen::{Area, Pixel, failed, fitting, ink, placed, style, text};

/// From the left edge of a panel to its y axis, and from the end of the x axis to its right
/// edge.
pub(super) const LEFT: i32 = 92;
pub(super) const RIGHT: i32 = 36;
/// From the left edge to the y axis's description.
const MARGIN: i32 = 16;
/// From the upper edge of a panel to its axes, and from them to its lower edge.
const ABOVE_AND_BELOW: i32 = 86;

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

/// The length of a panel's x axis in pixels, within which its title and the heading have to fit.
pub(super) fn room(area: &Area) -> f64 {
    f64::from(area.dim_in_pixel().0 as i32 - LEFT - RIGHT)
}

/// Draws the axes of a panel with their labels.
pub(super) fn axes(
    root: &Area,
    area: &Area,
    x: &Scale,
    y: &Scale,
    title: &str,
) -> Result<Frame, Error> {
    let size = fitting(&x.label, 16.0, room(area));
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

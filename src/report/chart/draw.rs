//! The page of a chart: title, legend, and the panels.

use plotters::prelude::*;

use super::super::drawing::{Colour, Drawing};
use super::super::{Error, Heading, Sheet, font, palette};
use super::backend::Backend;
use super::frame::{LEFT, RIGHT, axes, room};
use super::pen::{Area, Pixel, failed, fitting, ring, style, text};
use super::plot::{Body, Panel, Plot};
use super::{heat, lines};

/// The height of the only panel, and of one among several, where the page is wide enough.
const BODY: u32 = 560;
const SMALL: u32 = 400;
/// The narrowest panel beside another one.
const NARROW: u32 = 400;
/// The height of a panel's heading.
const HEADING: u32 = 26;

/// The chart.
pub(super) fn drawing(plot: &Plot, sheet: &Sheet) -> Result<Drawing, Error> {
    font::register()?;
    let width = sheet.width;
    let header = Header::new(plot, sheet);
    let (columns, height) = match plot.panels.len() {
        1 => (1, BODY),
        2..=4 => (2, SMALL),
        _ => (3, SMALL),
    };
    let columns = columns.min((width / NARROW) as usize).max(1);
    // A narrow panel is no higher than wide.
    let height = height.min(width / columns as u32);
    let rows = plot.panels.len().div_ceil(columns);
    let scale = heat::Colours::new(plot);
    let below = scale.as_ref().map_or(0, |_| heat::LEGEND_HEIGHT);
    let bottom = header.bottom as u32 + rows as u32 * height;
    let size = (width, bottom + below);
    let mut drawing = Drawing::chart(size).on(sheet);
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
            let size = fitting(heading, 14.0, room(area)).max(9.0);
            text(area, (LEFT, 6), heading, style(size, palette::INK))?;
            area.split_vertically(HEADING).1
        }
    };
    match &panel.body {
        Body::Lines(lines) => {
            let of_plot = (&plot.y, &plot.rates);
            let upright = panel.upright.as_ref();
            let (y, title) = upright.map_or(of_plot, |(scale, title)| (scale, title));
            let frame = axes(root, &area, &plot.x, y, title)?;
            lines::draw(root, &frame, plot, lines)?;
            let mut rings = panel.rings.iter();
            rings.try_for_each(|(x, y)| ring(root, frame.at(*x, *y)))
        }
        Body::Heat(heat) => {
            let frame = axes(root, &area, &plot.x, &heat.y, &heat.y.label)?;
            heat::draw(root, &frame, plot, heat)
        }
    }
}

/// Title, overrides, subtitle and legend, each text with its position.
struct Header {
    texts: Vec<(Pixel, String, f64, Colour)>,
    legend: Vec<Pixel>,
    bottom: i32,
}

impl Header {
    fn new(plot: &Plot, sheet: &Sheet) -> Self {
        let right = sheet.width as i32 - RIGHT;
        let mut y = 22;
        let mut texts = Vec::new();
        let with = match plot.overrides.as_str() {
            "" => String::new(),
            overrides => format!("with {overrides}"),
        };
        let lines = [
            (&plot.title, 22.0, palette::INK, 28),
            (&with, 15.0, palette::INK, 22),
            (&plot.subtitle, 14.0, palette::MUTED, 20),
        ];
        let lines = match sheet.heading {
            Heading::Drawn => &lines[..],
            Heading::Omitted => &[],
        };
        for &(words, size, ink, line_height) in lines {
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

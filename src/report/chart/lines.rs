//! A panel of lines with their intervals, or of bars where the x axis has words.

use plotters::prelude::*;

use super::super::{Error, palette};
use super::axis_scale::Kind;
use super::frame::Frame;
use super::measure::Rate;
use super::pen::{Area, Pixel, failed, fill, ink, marker, series, thin};
use super::plot::{Line, Plot};

/// Markers that are closer to each other than this, in pixels, are moved apart by as much.
const APART: i32 = 9;

/// The lines or bars.
pub(super) fn draw(root: &Area, frame: &Frame, plot: &Plot, lines: &[Line]) -> Result<(), Error> {
    for line in lines {
        doubts(root, frame, line, plot.top)?;
    }
    if plot.x.kind == Kind::Words {
        let mut places = (0..).zip(lines);
        return places
            .try_for_each(|(place, line)| bars(root, frame, line, place, lines.len() as i32));
    }
    for line in lines {
        band(root, frame, line)?;
    }
    for line in lines {
        let through = line.points.iter().map(|(x, rate)| frame.at(*x, rate.rate));
        series(root, through.collect(), line.number)?;
    }
    for (place, line) in lines.iter().enumerate() {
        for (x, rate) in &line.points {
            let (left, y) = frame.at(*x, rate.rate);
            let left = left + dodge(frame, lines, place, *x, y);
            whisker(root, frame, left, rate, line.number)?;
            marker(root, (left, y), line.number)?;
        }
    }
    Ok(())
}

/// The symbol of a line in the legend.
pub(super) fn key(root: &Area, (x, y): Pixel, number: usize, kind: Kind) -> Result<(), Error> {
    match kind {
        Kind::Words => {
            fill(root, (x + 6, y - 7), (x + 26, y + 7), shade(number))?;
            marker(root, (x + 16, y), number)
        }
        Kind::Proportional | Kind::Even => {
            series(root, vec![(x, y), (x + 28, y)], number)?;
            marker(root, (x + 14, y), number)
        }
    }
}

/// How far a marker is moved to the side, because those of other lines are at the same place.
fn dodge(frame: &Frame, lines: &[Line], place: usize, x: f64, y: i32) -> i32 {
    let is_here = |line: &Line| {
        let mut points = line.points.iter().filter(|(at, _)| *at == x);
        points.any(|(_, rate)| (frame.at(x, rate.rate).1 - y).abs() < APART)
    };
    let here: Vec<usize> = (0..lines.len()).filter(|&n| is_here(&lines[n])).collect();
    let before = here.iter().filter(|&&other| other < place).count() as i32;
    APART * (2 * before - (here.len() as i32 - 1)) / 2
}

/// A grey dash at each point's share of inconclusive runs, unless it is above the axis.
fn doubts(root: &Area, frame: &Frame, line: &Line, top: f64) -> Result<(), Error> {
    for (x, rate) in &line.points {
        if rate.inconclusive > 0.0 && rate.inconclusive <= top {
            let (x, y) = frame.at(*x, rate.inconclusive);
            let look = ink(palette::MUTED).stroke_width(2);
            let dash = PathElement::new(vec![(x - 7, y), (x + 8, y)], look);
            root.draw(&dash).map_err(failed)?;
        }
    }
    Ok(())
}

/// The intervals as a light band.
fn band(root: &Area, frame: &Frame, line: &Line) -> Result<(), Error> {
    let lower = line.points.iter().map(|(x, rate)| frame.at(*x, rate.low));
    let upper = line.points.iter().rev();
    let upper = upper.map(|(x, rate)| frame.at(*x, rate.high));
    let band: Vec<Pixel> = lower.chain(upper).collect();
    let shade = ink(palette::series(line.number)).mix(0.13).filled();
    root.draw(&Polygon::new(band, shade)).map_err(failed)
}

fn bars(root: &Area, frame: &Frame, line: &Line, place: i32, of: i32) -> Result<(), Error> {
    /// The share of the space of one word that its bars fill together.
    const FILLED: f64 = 0.6;
    let width = FILLED / f64::from(of);
    for (x, rate) in &line.points {
        let left = x - FILLED / 2.0 + width * f64::from(place);
        let (from, top) = frame.at(left, rate.rate);
        let (to, bottom) = frame.at(left + width, 0.0);
        fill(root, (from + 2, top), (to - 2, bottom), shade(line.number))?;
        let middle = (from + to) / 2;
        whisker(root, frame, middle, rate, line.number)?;
        marker(root, (middle, top), line.number)?;
    }
    Ok(())
}

fn shade(number: usize) -> RGBAColor {
    ink(palette::series(number)).mix(0.5)
}

/// The interval of a rate, at this pixel column.
fn whisker(root: &Area, frame: &Frame, x: i32, rate: &Rate, number: usize) -> Result<(), Error> {
    let ((_, low), (_, high)) = (frame.at(0.0, rate.low), frame.at(0.0, rate.high));
    let colour = palette::series(number);
    thin(root, vec![(x, low), (x, high)], colour)?;
    for end in [low, high] {
        thin(root, vec![(x - 4, end), (x + 5, end)], colour)?;
    }
    Ok(())
}

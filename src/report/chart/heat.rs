//! A heat map: a field for each pair of values, its rate as a colour and as a number.
//!
//! The colours are viridis: perceptually uniform, and in greys from dark to light.

use plotters::prelude::*;
use plotters::style::colors::colormaps::{ColorMap, ViridisRGB};
use plotters::style::text_anchor::{HPos, VPos};

use super::super::drawing::Colour;
use super::super::{Error, font, palette};
use super::frame::{Frame, LEFT, RIGHT, room};
use super::pen::{Area, fill, fitting, ink, placed, style, text};
use super::plot::{Body, Heat, Plot};

/// The height of the scale of colours below the maps.
pub(super) const LEGEND_HEIGHT: u32 = 64;
/// The width of that scale, where there is so much room.
const LENGTH: i32 = 360;
/// A field without judged runs.
const UNKNOWN: Colour = Colour::hex(0xd9d9d9);

/// The fields with their numbers, where these fit.
pub(super) fn draw(root: &Area, frame: &Frame, plot: &Plot, heat: &Heat) -> Result<(), Error> {
    let colours = Colours { top: plot.top };
    for (x, y, rate) in &heat.fields {
        let (left, bottom) = frame.at(x - 0.5, y - 0.5);
        let (right, top) = frame.at(x + 0.5, y + 0.5);
        let unknown = rate.inconclusive >= 100.0;
        let (shade, ink, words) = match unknown {
            true => (ink(UNKNOWN), palette::INK, "?".to_owned()),
            false => (
                colours.of(rate.rate),
                colours.on(rate.rate),
                short(rate.rate),
            ),
        };
        fill(root, (left + 1, top), (right, bottom - 1), shade.mix(1.0))?;
        let (wide, high) = (f64::from(right - left), f64::from(bottom - top));
        let size = (12.0_f64)
            .min(high - 3.0)
            .min(12.0 * (wide - 4.0) / font::width("99.9", 12.0));
        if size >= 7.0 {
            let middle = ((left + right) / 2, (top + bottom) / 2);
            let look = placed(size, ink, HPos::Center, VPos::Center);
            text(root, middle, &words, look)?;
        }
    }
    Ok(())
}

/// The colours of rates up to `top` percent.
pub(super) struct Colours {
    top: f64,
}

impl Colours {
    /// The colours of a chart; `None` if it has no heat map.
    pub(super) fn new(plot: &Plot) -> Option<Self> {
        let is_heat = |panel: &super::plot::Panel| matches!(panel.body, Body::Heat(_));
        plot.panels
            .iter()
            .any(is_heat)
            .then_some(Colours { top: plot.top })
    }

    fn of(&self, rate: f64) -> RGBColor {
        ViridisRGB.get_color((rate / self.top).clamp(0.0, 1.0))
    }

    /// The ink that is legible on the colour of a rate: the lighter half of the scale is light.
    fn on(&self, rate: f64) -> Colour {
        match rate / self.top < 0.55 {
            true => Colour::WHITE,
            false => palette::INK,
        }
    }

    /// The scale of the colours, with its title.
    pub(super) fn legend(&self, footer: &Area, plot: &Plot) -> Result<(), Error> {
        let room = room(footer);
        let length = LENGTH.min(room as i32);
        // Each reaches to the end, where the next covers it, so that no seam shines through.
        for x in (0..length).step_by(3) {
            let shade = self.of(self.top * f64::from(x) / f64::from(length - 1));
            fill(footer, (LEFT + x, 6), (LEFT + length, 22), shade.mix(1.0))?;
        }
        for fifth in 0..=5 {
            let at = self.top * f64::from(fifth) / 5.0;
            let place = (LEFT + length * fifth / 5, 28);
            let look = placed(12.0, palette::INK, HPos::Center, VPos::Top);
            text(footer, place, &at.to_string(), look)?;
        }
        let title = match plot.is_unknown_somewhere() {
            true => format!("{}; ? where no run could be judged", plot.rates),
            false => plot.rates.clone(),
        };
        // Beside the scale, or below it.
        let (place, size) = match f64::from(length + 20 - RIGHT) + font::width(&title, 14.0) <= room
        {
            true => ((LEFT + length + 20, 6), 14.0),
            false => ((LEFT, 44), fitting(&title, 14.0, room).max(9.0)),
        };
        text(footer, place, &title, style(size, palette::INK))
    }
}

/// A rate in percent in at most four characters: zero and one hundred are exact.
fn short(rate: f64) -> String {
    match rate {
        0.0 => "0".into(),
        100.0 => "100".into(),
        rate if rate < 0.1 => "<0.1".into(),
        rate if rate > 99.9 => ">99".into(),
        rate => format!("{rate:.1}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_zero_is_printed_as_zero() {
        let written = [0.0, 0.05, 9.96, 12.34, 99.95, 100.0].map(short);
        assert_eq!(written, ["0", "<0.1", "10.0", "12.3", ">99", "100"]);
    }
}

//! The paper of pictures for print.

use clap::Args;
use locklab_report::{Heading, Sheet};

/// Points of 1/72 inch in a centimetre.
const PT_PER_CM: f64 = 72.0 / 2.54;

/// The heading of these options in help texts.
const PRINT: &str = "Pictures for print";

/// How pictures are printed.
#[derive(Args, Clone)]
pub(crate) struct Paper {
    /// Width of pictures on paper: 8.5cm, 85mm, 3.3in, 240pt
    #[arg(long, value_name = "LENGTH", value_parser = points, help_heading = PRINT)]
    width: Option<f64>,
    /// Size of their text in points, at that width
    #[arg(long, value_name = "PT", value_parser = size, default_value = "8", requires = "width",
          help_heading = PRINT)]
    font_size: f64,
    /// Leave out title and small print, for a figure with a caption
    #[arg(long, help_heading = PRINT)]
    no_title: bool,
}

impl Paper {
    /// The sheet of the pictures.
    pub(crate) fn sheet(&self) -> anyhow::Result<Sheet> {
        let heading = match self.no_title {
            true => Heading::Omitted,
            false => Heading::Drawn,
        };
        match self.width {
            None => {
                let mut sheet = Sheet::SCREEN;
                sheet.heading = heading;
                Ok(sheet)
            }
            Some(width_pt) => {
                let sheet = Sheet::print(width_pt, self.font_size, heading);
                sheet.map_err(|why| anyhow::anyhow!("--width and --font-size: {why}"))
            }
        }
    }
}

/// A length in points.
fn points(text: &str) -> Result<f64, String> {
    let usage = || format!("invalid length `{text}`; write 8.5cm, 85mm, 3.3in or 240pt");
    let (number, unit) = text
        .split_at_checked(text.len().wrapping_sub(2))
        .ok_or_else(usage)?;
    let per_unit = match unit {
        "cm" => PT_PER_CM,
        "mm" => PT_PER_CM / 10.0,
        "in" => 72.0,
        "pt" => 1.0,
        _ => return Err(usage()),
    };
    positive(number).map(|n| n * per_unit).ok_or_else(usage)
}

/// A size of text in points, with or without its unit.
fn size(text: &str) -> Result<f64, String> {
    let number = text.strip_suffix("pt").unwrap_or(text);
    positive(number).ok_or_else(|| format!("invalid size `{text}`; write 8 or 8pt"))
}

fn positive(text: &str) -> Option<f64> {
    let number = text.parse().ok();
    number.filter(|number: &f64| *number > 0.0 && number.is_finite())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lengths_have_units_of_paper() {
        let close = |text: &str, pt: f64| {
            let found = points(text).expect(text);
            assert!((found - pt).abs() < 1e-9, "{text}: {found}");
        };
        close("240pt", 240.0);
        close("3.5in", 252.0);
        close("2.54cm", 72.0);
        close("25.4mm", 72.0);
        assert_eq!(size("8pt"), size("8"));
        for wrong in ["", "8", "cm", "-3cm", "8px", "nancm", "infpt", "8é"] {
            assert!(points(wrong).is_err(), "{wrong}");
        }
    }
}

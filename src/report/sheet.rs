//! The paper of a picture: how wide it is laid out, how large a unit is, and whether it has a heading.

/// The size of most text in pictures, in units of the drawing.
const TEXT: f64 = 14.0;

/// The narrowest layout in which axes and labels have room, in units of the drawing.
const NARROWEST: f64 = 320.0;

/// The widest layout, in units of the drawing.
const WIDEST: f64 = 4000.0;

/// The paper of a picture.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Sheet {
    /// The width of the layout, in whole units of the drawing.
    pub(super) width: u32,
    /// The size of a unit.
    pub(super) unit: Unit,
    /// What is drawn around the picture itself.
    pub heading: Heading,
}

/// The size of a unit of the drawing.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Unit {
    /// A pixel of a page, of which a dense screen makes two; a point in PDF.
    Pixel,
    /// A length on paper, in points of 1/72 inch.
    Points(f64),
}

/// Whether title, subtitle and small print are drawn. The metadata has the provenance in any case.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Heading {
    /// They are drawn.
    Drawn,
    /// They are left out, for a figure whose caption says it.
    Omitted,
}

impl Sheet {
    /// For screens: 1200 pixels wide.
    pub const SCREEN: Sheet = Sheet {
        width: 1200,
        unit: Unit::Pixel,
        heading: Heading::Drawn,
    };

    /// For print: so wide, with text of this size, both in points of 1/72 inch. Tables are scaled to the
    /// width, whatever size their text then has.
    ///
    /// # Errors
    ///
    /// In words, if the text leaves no room for a picture, or the picture is too wide.
    pub fn print(width_pt: f64, text_pt: f64, heading: Heading) -> Result<Sheet, String> {
        let unit = text_pt / TEXT;
        let width = width_pt / unit;
        if width < NARROWEST {
            let largest = width_pt * TEXT / NARROWEST;
            return Err(format!(
                "a picture {width_pt:.0} pt wide has no room for text of {text_pt} pt; choose at most {largest:.1} pt"
            ));
        }
        if width > WIDEST {
            let smallest = width_pt * TEXT / WIDEST;
            return Err(format!(
                "text of {text_pt} pt is too small for a picture {width_pt:.0} pt wide; choose at least {smallest:.1} pt"
            ));
        }
        Ok(Sheet {
            width: width.round() as u32,
            unit: Unit::Points(width_pt / width.round()),
            heading,
        })
    }

    /// The same paper under a drawing of another width, which is scaled to fit.
    pub(super) fn fitted(self, units: f64) -> Sheet {
        let unit = match self.unit {
            Unit::Pixel => Unit::Pixel,
            Unit::Points(points) => Unit::Points(points * f64::from(self.width) / units),
        };
        Sheet { unit, ..self }
    }
}

impl Unit {
    /// In points of 1/72 inch.
    pub(super) fn points(self) -> f64 {
        match self {
            Unit::Pixel => 1.0,
            Unit::Points(points) => points,
        }
    }

    /// In pixels of a painted picture: two, or 300 dots an inch of paper.
    pub(super) fn pixels(self) -> f64 {
        match self {
            Unit::Pixel => 2.0,
            Unit::Points(points) => points * 300.0 / 72.0,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn printed_text_has_the_size_that_is_asked_for() {
        // A column of 8.5 cm.
        let sheet = Sheet::print(240.945, 8.0, Heading::Omitted).expect("it has room");
        assert_eq!(sheet.width, 422);
        assert!((TEXT * sheet.unit.points() - 8.0).abs() < 0.02);
        assert!((f64::from(sheet.width) * sheet.unit.points() - 240.945).abs() < 1e-9);
    }

    #[test]
    fn text_without_room_is_refused_with_the_largest_that_has() {
        let complaint = Sheet::print(240.0, 12.0, Heading::Drawn).expect_err("no room");
        assert!(complaint.ends_with("choose at most 10.5 pt"), "{complaint}");
        let complaint = Sheet::print(240.0, 0.1, Heading::Drawn).expect_err("too small");
        assert!(complaint.ends_with("choose at least 0.8 pt"), "{complaint}");
    }

    #[test]
    fn a_wide_table_is_scaled_to_the_paper() {
        let sheet = Sheet::print(240.0, 8.0, Heading::Drawn).expect("it has room");
        let fitted = sheet.fitted(1680.0);
        assert!((1680.0 * fitted.unit.points() - 240.0).abs() < 1e-9);
        assert_eq!(Sheet::SCREEN.fitted(99.0), Sheet::SCREEN);
    }
}

//! The one font of all pictures, built in: text widths and glyph outlines.

use std::sync::LazyLock;

use ab_glyph::{Font, FontRef, OutlineCurve, Point};
use tiny_skia::{Path, PathBuilder};

use super::Error;

/// DejaVu Sans, so that a picture has the same bytes on every machine.
pub(super) fn bytes() -> &'static [u8] {
    dejavu::sans::regular()
}

/// Makes the font known to the chart library.
#[cfg(not(target_family = "wasm"))]
pub(super) fn register() -> Result<(), Error> {
    plotters::style::register_font(FAMILY, plotters::style::FontStyle::Normal, bytes())
        .map_err(|_| Error::Chart("the built-in font was refused".to_owned()))
}

/// As WebAssembly the chart library has no fonts.
#[cfg(target_family = "wasm")]
pub(super) fn register() -> Result<(), Error> {
    Err(Error::Chart("this build draws no charts".to_owned()))
}

/// The font families that the pictures name; Verdana has the same widths if a viewer has no
/// DejaVu Sans.
pub(super) const FAMILY: &str = "DejaVu Sans, Verdana, sans-serif";

/// `plotters` takes sizes as line heights: a size of 1.24 gives letters of size 1.
pub(super) const LINE_HEIGHT: f64 = 1.24;

static FONT: LazyLock<FontRef<'static>> =
    LazyLock::new(|| FontRef::try_from_slice(bytes()).expect("the built-in font is a valid font"));

/// The width of `text` at `size`, in the unit of `size`.
pub(super) fn width(text: &str, size: f64) -> f64 {
    let advance = |c| f64::from(FONT.h_advance_unscaled(FONT.glyph_id(c)));
    let em = f64::from(FONT.units_per_em().unwrap_or(1.0));
    text.chars().map(advance).sum::<f64>() / em * size
}

/// The glyph of each character, with its width in thousandths of the size.
pub(super) fn glyphs(text: &str) -> impl Iterator<Item = (char, u16, f32)> {
    let em = FONT.units_per_em().unwrap_or(1.0);
    text.chars().map(move |c| {
        let glyph = FONT.glyph_id(c);
        (c, glyph.0, FONT.h_advance_unscaled(glyph) * 1000.0 / em)
    })
}

/// The extents of the letters above and below the baseline, in thousandths of the size.
pub(super) fn extents() -> (f32, f32) {
    let em = FONT.units_per_em().unwrap_or(1.0);
    let thousandths = |units: f32| units * 1000.0 / em;
    (
        thousandths(FONT.ascent_unscaled()),
        thousandths(FONT.descent_unscaled()),
    )
}

/// The outline of `text`, from `x` on and on the baseline `y`; `None` if it is blank. A
/// character without a glyph becomes an empty box.
pub(super) fn outline(text: &str, size: f32, (mut x, y): (f32, f32)) -> Option<Path> {
    let scale = size / FONT.units_per_em().unwrap_or(1.0);
    let mut path = PathBuilder::new();
    for letter in text.chars().map(|c| FONT.glyph_id(c)) {
        let at = |point: Point| (x + point.x * scale, y - point.y * scale);
        for curve in FONT
            .outline(letter)
            .into_iter()
            .flat_map(|drawn| drawn.curves)
        {
            let (OutlineCurve::Line(from, _)
            | OutlineCurve::Quad(from, ..)
            | OutlineCurve::Cubic(from, ..)) = curve;
            let from = at(from);
            // A contour is closed, so a curve that does not continue from the last point begins
            // a new one.
            if path.last_point() != Some(from.into()) {
                path.close();
                path.move_to(from.0, from.1);
            }
            match curve {
                OutlineCurve::Line(_, to) => path.line_to(at(to).0, at(to).1),
                OutlineCurve::Quad(_, control, to) => {
                    let ((x1, y1), (x, y)) = (at(control), at(to));
                    path.quad_to(x1, y1, x, y);
                }
                OutlineCurve::Cubic(_, first, second, to) => {
                    let ((x1, y1), (x2, y2), (x, y)) = (at(first), at(second), at(to));
                    path.cubic_to(x1, y1, x2, y2, x, y);
                }
            }
        }
        path.close();
        x += FONT.h_advance_unscaled(letter) * scale;
    }
    path.finish()
}

/// Wraps `text` between words into lines no wider than `room`; a wider word has a line of its
/// own.
pub(super) fn wrap(text: &str, size: f64, room: f64) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for word in text.split_whitespace() {
        match lines.last_mut() {
            Some(line) if width(&format!("{line} {word}"), size) <= room => {
                line.push(' ');
                line.push_str(word);
            }
            _ => lines.push(word.to_owned()),
        }
    }
    lines
}

/// The printable characters of `text` that the font lacks.
#[cfg(test)]
pub(super) fn missing(text: &str) -> Vec<char> {
    let printed = text.chars().filter(|c| !c.is_ascii_whitespace());
    printed.filter(|&c| FONT.glyph_id(c).0 == 0).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn font_has_every_glyph_that_pictures_use() {
        assert_eq!(missing("azAZ09äé∞≤≥±−–—×·→…µ%●○✗✓≈"), []);
        assert_eq!(missing("a 中"), ['中']);
    }

    #[test]
    fn width_grows_with_text_and_size() {
        assert!(width("iii", 10.0) < width("mmm", 10.0));
        assert_eq!(width("lease", 20.0), 2.0 * width("lease", 10.0));
    }

    #[test]
    fn wraps_between_words() {
        let room = width("two words", 12.0);
        assert_eq!(
            wrap("two words each line", 12.0, room),
            ["two words", "each line"]
        );
        assert_eq!(wrap("", 12.0, room), Vec::<String>::new());
    }
}

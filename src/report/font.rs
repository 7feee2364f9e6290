//! The one font of all pictures, built in, and the width of a text in it.

use std::sync::LazyLock;

use ab_glyph::{Font, FontRef};

/// A subset of DejaVu Sans; `assets/fonts/README.md` says which.
pub(super) const BYTES: &[u8] = include_bytes!("../../assets/fonts/DejaVuSans-subset.ttf");

/// The name that the pictures give; Verdana runs to the same widths where a viewer
/// has no DejaVu Sans.
pub(super) const FAMILY: &str = "DejaVu Sans, Verdana, sans-serif";

static FONT: LazyLock<FontRef<'static>> =
    LazyLock::new(|| FontRef::try_from_slice(BYTES).expect("the built-in font is a valid font"));

/// The width of `text` at `size`, in the unit of `size`.
pub(super) fn width(text: &str, size: f64) -> f64 {
    let advance = |c| f64::from(FONT.h_advance_unscaled(FONT.glyph_id(c)));
    let em = f64::from(FONT.units_per_em().unwrap_or(1.0));
    text.chars().map(advance).sum::<f64>() / em * size
}

/// `text` broken between words into lines no wider than `room`; a word that is
/// wider than that has a line of its own.
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_subset_has_every_sign_that_pictures_use() {
        for sign in "azAZ09äé∞≤≥±−–—×·→…µ%●○✗✓≈".chars() {
            assert_ne!(FONT.glyph_id(sign).0, 0, "no glyph for {sign:?}");
        }
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

//! From SVG to PNG, with the built-in font and no other.

use resvg::tiny_skia::{Pixmap, Transform};
use resvg::usvg::{Options, Tree};

use super::{Error, font};

/// Pixels per unit of the SVG: sharp on a dense screen and in print.
const SCALE: f32 = 2.0;

/// The drawing as PNG, two pixels for each unit of the SVG.
///
/// # Errors
///
/// [`Error::Raster`] if that is no SVG, or has no size.
pub fn png(svg: &str) -> Result<Vec<u8>, Error> {
    let mut options = Options::default();
    options.fontdb_mut().load_font_data(font::BYTES.to_vec());
    let failed = |error: &dyn std::fmt::Display| Error::Raster(error.to_string());
    let tree = Tree::from_str(svg, &options).map_err(|error| failed(&error))?;
    let size = tree.size().to_int_size();
    let pixels = |units: u32| (units as f32 * SCALE) as u32;
    let mut pixmap = Pixmap::new(pixels(size.width()), pixels(size.height()))
        .ok_or_else(|| failed(&"the drawing has no size"))?;
    resvg::render(
        &tree,
        Transform::from_scale(SCALE, SCALE),
        &mut pixmap.as_mut(),
    );
    pixmap.encode_png().map_err(|error| failed(&error))
}

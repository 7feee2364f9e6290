//! Converts SVG to PNG.

use std::collections::BTreeMap;

use tiny_skia::{
    Color, FillRule, FilterQuality, Paint, Pattern, Pixmap, Shader, SpreadMode, Stroke, StrokeDash,
    Transform,
};

use super::Error;
use super::drawing::{Drawing, Ink, Shade, Shape, Tile};

/// Pixels per unit of the SVG: sharp on a dense screen and in print.
const SCALE: f32 = 2.0;

/// The drawing as PNG, two pixels for each unit of the SVG; its description becomes a text chunk.
///
/// # Errors
///
/// [`Error::Drawing`] if the input is not SVG, or uses a feature that no picture of
/// [this module](super) uses; [`Error::Raster`] if it has no size.
pub fn png(svg: &str) -> Result<Vec<u8>, Error> {
    let drawing = Drawing::read(svg)?;
    let drawn = draw(&drawing).map_err(Error::Raster)?;
    encode(&drawn, drawing.description).map_err(|error| Error::Raster(error.to_string()))
}

fn encode(drawn: &Pixmap, description: Option<String>) -> Result<Vec<u8>, png::EncodingError> {
    let pixels = drawn.pixels().iter().map(|pixel| pixel.demultiply());
    let bytes = pixels.flat_map(|p| [p.red(), p.green(), p.blue(), p.alpha()]);
    let bytes: Vec<u8> = bytes.collect();
    let mut file = Vec::new();
    let mut encoder = png::Encoder::new(&mut file, drawn.width(), drawn.height());
    encoder.set_color(png::ColorType::Rgba);
    encoder.set_depth(png::BitDepth::Eight);
    if let Some(text) = description {
        // A keyword that PNG defines.
        encoder.add_itxt_chunk("Description".into(), text)?;
    }
    let mut writer = encoder.write_header()?;
    writer.write_image_data(&bytes)?;
    writer.finish()?;
    Ok(file)
}

/// The patterns as pixels with their places, by id.
type Tiles = BTreeMap<String, (Pixmap, Transform)>;

fn draw(drawing: &Drawing) -> Result<Pixmap, String> {
    let pixels = |length: f32| (length * SCALE) as u32;
    let mut pixmap = Pixmap::new(pixels(drawing.width), pixels(drawing.height))
        .ok_or("the drawing has no size, or is too large")?;
    let tile = |(id, tile): (&String, &Tile)| {
        let transform = tile.transform.pre_scale(1.0 / SCALE, 1.0 / SCALE);
        Ok((id.clone(), (draw(&tile.content)?, transform)))
    };
    let tiles: Tiles = drawing
        .tiles
        .iter()
        .map(tile)
        .collect::<Result<_, String>>()?;
    for shape in &drawing.shapes {
        paint(shape, &tiles, &mut pixmap);
    }
    Ok(pixmap)
}

fn paint(shape: &Shape, tiles: &Tiles, pixmap: &mut Pixmap) {
    let place = shape.transform.post_scale(SCALE, SCALE);
    let stroke = Stroke {
        width: shape.line_width,
        line_join: shape.line_join,
        dash: StrokeDash::new(shape.dashes.clone(), 0.0),
        ..Stroke::default()
    };
    let draw_line = |pixmap: &mut Pixmap| {
        if let Some(line) = &shape.line {
            pixmap.stroke_path(&shape.path, &paint_of(line, tiles), &stroke, place, None);
        }
    };
    if shape.line_first {
        draw_line(pixmap);
    }
    if let Some(fill) = shape.fill.as_ref().filter(|_| shape.has_inside()) {
        pixmap.fill_path(
            &shape.path,
            &paint_of(fill, tiles),
            FillRule::Winding,
            place,
            None,
        );
    }
    if !shape.line_first {
        draw_line(pixmap);
    }
}

fn paint_of<'t>(ink: &Ink, tiles: &'t Tiles) -> Paint<'t> {
    let shader = match &ink.shade {
        Shade::Colour([r, g, b]) => {
            let mut colour = Color::from_rgba8(*r, *g, *b, 255);
            colour.apply_opacity(ink.opacity);
            Shader::SolidColor(colour)
        }
        Shade::Pattern(id) => {
            let (tile, place) = &tiles[id];
            let quality = FilterQuality::Bicubic;
            Pattern::new(
                tile.as_ref(),
                SpreadMode::Repeat,
                quality,
                ink.opacity,
                *place,
            )
        }
    };
    Paint {
        shader,
        ..Paint::default()
    }
}

#[cfg(test)]
mod tests {
    use super::super::font;
    use super::*;

    use std::path::Path;

    use roxmltree::Document;

    /// The colours of the drawing's pixels, as `rrggbbaa`.
    fn pixels(body: &str) -> impl Fn(u32, u32) -> String {
        let svg = format!(r#"<svg width="20" height="20">{body}</svg>"#);
        let drawing = Drawing::read(&svg).expect("it is understood");
        let drawn = draw(&drawing).expect("it has a size");
        move |x, y| {
            let pixel = drawn.pixel(x, y).expect("it lies within").demultiply();
            let channels = [pixel.red(), pixel.green(), pixel.blue(), pixel.alpha()];
            channels.map(|channel| format!("{channel:02x}")).concat()
        }
    }

    #[track_caller]
    fn check(body: &str, expected: &[(u32, u32, &str)]) {
        let colour = pixels(body);
        for &(x, y, expected) in expected {
            assert_eq!(colour(x, y), expected, "at {x}, {y} of {body}");
        }
    }

    #[test]
    fn shapes_have_their_place_and_colour() {
        check(
            r##"<rect x="1" y="2" width="3" height="4" fill="#aa4499"/>"##,
            &[(2, 4, "aa4499ff"), (7, 11, "aa4499ff"), (8, 11, "00000000")],
        );
        check(
            r##"<circle cx="10" cy="10" r="5" fill="none" stroke="#009e73" stroke-width="2"/>"##,
            &[(10, 20, "009e73ff"), (20, 20, "00000000")],
        );
        check(
            r##"<polygon points="0,0 20,0 20,20" fill="#e69f00" fill-opacity="0.2"/>"##,
            &[(30, 10, "e6a00033"), (10, 30, "00000000")],
        );
        check(
            r##"<polyline points="2,2 2,18 18,18" fill="none" stroke="#0072b2" stroke-width="2"/>"##,
            &[
                (4, 20, "0072b2ff"),
                (20, 36, "0072b2ff"),
                (20, 20, "00000000"),
            ],
        );
    }

    #[test]
    fn lines_are_dashed() {
        check(
            r##"<line x1="0" y1="5" x2="20" y2="5" stroke="#222222" stroke-width="2" stroke-dasharray="4,4"/>"##,
            &[
                (4, 10, "222222ff"),
                (12, 10, "00000000"),
                (20, 10, "222222ff"),
            ],
        );
    }

    #[test]
    fn a_pattern_is_repeated() {
        let tile = r##"<rect width="4" height="4" fill="#ffffff"/><rect width="2" height="4" fill="#aa4499"/>"##;
        let pattern = |turn| {
            format!(
                r##"<defs><pattern id="p" width="4" height="4" patternTransform="rotate({turn})">{tile}</pattern></defs><rect width="20" height="20" fill="url(#p)"/>"##
            )
        };
        let (purple, white) = ("aa4499ff", "ffffffff");
        check(
            &pattern(0),
            &[
                (1, 0, purple),
                (5, 0, white),
                (17, 30, purple),
                (21, 30, white),
            ],
        );
        check(
            &pattern(90),
            &[
                (0, 1, purple),
                (0, 5, white),
                (30, 17, purple),
                (30, 21, white),
            ],
        );
    }

    /// The minus sign is a bar across the middle of its width.
    #[test]
    fn text_is_anchored_turned_and_rimmed() {
        let minus = |x: u32, more: &str| {
            format!(r##"<text x="{x}" y="10" font-size="10" fill="#cc1f1a" {more}>−</text>"##)
        };
        let (red, white, empty) = ("cc1f1aff", "ffffffff", "00000000");
        // 8.4 units wide, its bar from 2.7 to 3.5 above the baseline.
        check(&minus(2, ""), &[(12, 13, red), (30, 13, empty)]);
        check(
            &minus(18, r#"text-anchor="end""#),
            &[(12, 13, empty), (28, 13, red)],
        );
        check(
            &minus(10, r#"text-anchor="middle""#),
            &[(20, 13, red), (8, 13, empty)],
        );
        check(
            &minus(2, r#"dy="0.5em""#),
            &[(12, 23, red), (12, 13, empty)],
        );
        check(
            &minus(10, r#"transform="rotate(90, 10, 10)""#),
            &[(26, 28, red), (28, 13, empty)],
        );
        let rim =
            r##"stroke="#ffffff" stroke-width="4" stroke-linejoin="round" paint-order="stroke""##;
        check(
            &minus(2, rim),
            &[(12, 13, red), (12, 16, white), (12, 22, empty)],
        );
    }

    #[test]
    fn every_published_picture_is_drawn_with_all_its_letters() {
        let reports = Path::new(env!("CARGO_MANIFEST_DIR")).join("reports");
        let mut pictures = 0;
        for folder in reports.read_dir().expect("the reports are there") {
            let folder = folder.expect("it can be listed").path();
            let files = folder.read_dir().into_iter().flatten().flatten();
            let files = files.map(|file| file.path());
            for file in files.filter(|file| file.extension().is_some_and(|end| end == "svg")) {
                let svg = std::fs::read_to_string(&file).expect("it can be read");
                for drawn in [png(&svg), crate::pdf(&svg)] {
                    drawn.unwrap_or_else(|error| panic!("{}: {error}", file.display()));
                }
                let document = Document::parse(&svg).expect("it has been read before");
                for text in document.descendants().filter_map(|node| node.text()) {
                    let missing = font::missing(text);
                    assert!(
                        missing.is_empty(),
                        "{}: no glyph for {missing:?}",
                        file.display()
                    );
                }
                pictures += 1;
            }
        }
        assert!(
            pictures > 10,
            "{pictures} pictures under {}",
            reports.display()
        );
    }
}

//! Paints drawings as PNG.

use std::collections::BTreeMap;

use tiny_skia::{
    Color, FillRule, FilterQuality, LineJoin, Paint, Pattern, Pixmap, Shader, SpreadMode, Stroke,
    StrokeDash, Transform,
};

use super::Error;
use super::drawing::{Colour, Drawing, Fill, Hatch, Ink, Length, Shape, Stroke as Edge};
use super::outline;

/// The drawing as PNG, two pixels for each unit of it, or 300 dots an inch of paper; its description
/// becomes a text chunk.
///
/// # Errors
///
/// [`Error::Raster`] if it has no size, or is too large; [`Error::Pattern`] if a shape is filled
/// with a pattern that it does not have.
pub fn png(drawing: &Drawing) -> Result<Vec<u8>, Error> {
    let drawn = draw(drawing)?;
    let description = drawing
        .footer
        .as_ref()
        .map(|footer| footer.description.clone());
    encode(drawn, description).map_err(|error| Error::Raster(error.to_string()))
}

fn encode(drawn: Pixmap, description: Option<String>) -> Result<Vec<u8>, png::EncodingError> {
    let mut file = Vec::new();
    let mut encoder = png::Encoder::new(&mut file, drawn.width(), drawn.height());
    encoder.set_color(png::ColorType::Rgba);
    encoder.set_depth(png::BitDepth::Eight);
    encoder.set_compression(png::Compression::Fast);
    if let Some(text) = description {
        // A keyword that PNG defines.
        encoder.add_itxt_chunk("Description".into(), text)?;
    }
    let mut writer = encoder.write_header()?;
    writer.write_image_data(&drawn.take_demultiplied())?;
    writer.finish()?;
    Ok(file)
}

/// The patterns as pixels with their places, by id.
type Tiles = BTreeMap<String, (Pixmap, Transform)>;

fn draw(drawing: &Drawing) -> Result<Pixmap, Error> {
    let scale = drawing.sheet.unit.pixels() as f32;
    let tile = |hatch: &Hatch| {
        let turned = Transform::from_rotate(f32::from(hatch.turn));
        let place = turned.pre_scale(1.0 / scale, 1.0 / scale);
        let size = (hatch.side, hatch.side);
        let tile = painted(size, scale, hatch.tile().iter(), &Tiles::default())?;
        Ok((hatch.id.clone(), (tile, place)))
    };
    let tiles: Tiles = (drawing.hatches().map(tile)).collect::<Result<_, Error>>()?;
    let size = (drawing.width, drawing.whole_height());
    painted(size, scale, drawing.shapes(), &tiles)
}

fn painted<'s>(
    (width, height): (Length, Length),
    scale: f32,
    shapes: impl Iterator<Item = &'s Shape>,
    tiles: &Tiles,
) -> Result<Pixmap, Error> {
    let pixels = |length: Length| (length.f32() * scale) as u32;
    let mut pixmap = Pixmap::new(pixels(width), pixels(height))
        .ok_or_else(|| Error::Raster("the drawing has no size, or is too large".to_owned()))?;
    for shape in shapes {
        paint(shape, scale, tiles, &mut pixmap)?;
    }
    Ok(pixmap)
}

fn paint(shape: &Shape, scale: f32, tiles: &Tiles, pixmap: &mut Pixmap) -> Result<(), Error> {
    let Some((path, place)) = outline::of(shape) else {
        return Ok(());
    };
    let place = place.post_scale(scale, scale);
    let stroke = |pixmap: &mut Pixmap, edge: &Edge, line_join: LineJoin| {
        let stroke = Stroke {
            width: edge.width.unwrap_or(1.0) as f32,
            line_join,
            dash: StrokeDash::new(edge.dashes.iter().map(|&dash| dash as f32).collect(), 0.0),
            ..Stroke::default()
        };
        pixmap.stroke_path(&path, &paint_of(solid(edge.ink)), &stroke, place, None);
    };
    if let Some(rim) = shape.rim() {
        stroke(pixmap, &rim, LineJoin::Round);
    }
    let shader = match &shape.look.fill {
        Fill::Nothing => None,
        _ if !outline::has_inside(&path) => None,
        Fill::Unsaid => Some(solid(Colour::BLACK.into())),
        Fill::Ink(ink) => Some(solid(*ink)),
        Fill::Hatch(id) => {
            let (tile, place) = tiles.get(id).ok_or_else(|| Error::Pattern(id.clone()))?;
            let (repeat, quality) = (SpreadMode::Repeat, FilterQuality::Bicubic);
            Some(Pattern::new(tile.as_ref(), repeat, quality, 1.0, *place))
        }
    };
    if let Some(shader) = shader {
        pixmap.fill_path(&path, &paint_of(shader), FillRule::Winding, place, None);
    }
    if let Some(edge) = &shape.look.stroke {
        stroke(pixmap, edge, LineJoin::Miter);
    }
    Ok(())
}

fn solid(ink: Ink) -> Shader<'static> {
    let Colour([r, g, b]) = ink.colour;
    let mut colour = Color::from_rgba8(r, g, b, 255);
    colour.apply_opacity(ink.opacity.share() as f32);
    Shader::SolidColor(colour)
}

fn paint_of(shader: Shader) -> Paint {
    Paint {
        shader,
        ..Paint::default()
    }
}

#[cfg(test)]
mod tests {
    use super::super::drawing::{Anchor, Form, Level, Look, Percent, Point, Text, TextStyle};
    use super::super::font;
    use super::*;

    use std::path::Path;

    use roxmltree::Document;

    const PURPLE: Colour = Colour::hex(0xaa4499);
    const RED: Colour = Colour::hex(0xcc1f1a);

    /// Checks colours of pixels, as `rrggbbaa`, of a drawing of 20 × 20 units.
    #[track_caller]
    fn check(draw_on: impl FnOnce(&mut Drawing), expected: &[(u32, u32, &str)]) {
        let mut drawing = Drawing::chart((20, 20));
        draw_on(&mut drawing);
        let drawn = draw(&drawing).expect("it has a size");
        for &(x, y, expected) in expected {
            let pixel = drawn.pixel(x, y).expect("it lies within").demultiply();
            let channels = [pixel.red(), pixel.green(), pixel.blue(), pixel.alpha()];
            let colour = channels.map(|channel| format!("{channel:02x}")).concat();
            assert_eq!(colour, expected, "at {x}, {y} of {drawing:?}");
        }
    }

    #[test]
    fn shapes_have_their_place_and_colour() {
        check(
            |on| on.rect((1.0, 2.0), (3.0, 4.0), Look::filled(PURPLE)),
            &[(2, 4, "aa4499ff"), (7, 11, "aa4499ff"), (8, 11, "00000000")],
        );
        let edge = |rgb| Look::hollow(Edge::new(Colour::hex(rgb), 2.0));
        check(
            |on| on.circle((10.0, 10.0), 5.0, edge(0x009e73)),
            &[(10, 20, "009e73ff"), (20, 20, "00000000")],
        );
        let corners = [(0.0, 0.0), (20.0, 0.0), (20.0, 20.0)];
        let triangle = Form::Polygon(corners.map(Point::of).to_vec());
        check(
            |on| on.add(triangle, Look::pale(Colour::hex(0xe69f00), Percent(20))),
            &[(30, 10, "e6a00033"), (10, 30, "00000000")],
        );
        check(
            |on| on.polyline(&[(2.0, 2.0), (2.0, 18.0), (18.0, 18.0)], edge(0x0072b2)),
            &[
                (4, 20, "0072b2ff"),
                (20, 36, "0072b2ff"),
                (20, 20, "00000000"),
            ],
        );
    }

    #[test]
    fn lines_are_dashed() {
        let look = Edge::new(Colour::hex(0x222222), 2.0).dashed(&[4.0, 4.0]);
        check(
            |on| on.line((0.0, 5.0), (20.0, 5.0), look),
            &[
                (4, 10, "222222ff"),
                (12, 10, "00000000"),
                (20, 10, "222222ff"),
            ],
        );
    }

    #[test]
    fn a_pattern_is_repeated() {
        let hatched = |turn| {
            move |on: &mut Drawing| {
                on.hatch(Hatch {
                    id: "p".into(),
                    colour: PURPLE,
                    side: Length::of(4.0),
                    stripe: Length::of(2.0),
                    turn,
                });
                on.rect((0.0, 0.0), (20.0, 20.0), Look::hatched("p"));
            }
        };
        let (purple, white) = ("aa4499ff", "ffffffff");
        check(
            hatched(0),
            &[
                (1, 0, purple),
                (5, 0, white),
                (17, 30, purple),
                (21, 30, white),
            ],
        );
        check(
            hatched(90),
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
        let minus = |x: f64, anchor: Anchor, change: fn(&mut Text)| {
            move |on: &mut Drawing| {
                let style = TextStyle {
                    size: 10.0,
                    colour: RED,
                    anchor,
                };
                let Shape { mut form, look } = Shape::text(Point::of((x, 10.0)), "−", style);
                if let Form::Text(text) = &mut form {
                    change(text);
                }
                on.add(form, look);
            }
        };
        let (red, white, empty) = ("cc1f1aff", "ffffffff", "00000000");
        // 8.4 units wide, its bar from 2.7 to 3.5 above the baseline.
        check(
            minus(2.0, Anchor::Start, |_| {}),
            &[(12, 13, red), (30, 13, empty)],
        );
        check(
            minus(18.0, Anchor::End, |_| {}),
            &[(12, 13, empty), (28, 13, red)],
        );
        check(
            minus(10.0, Anchor::Middle, |_| {}),
            &[(20, 13, red), (8, 13, empty)],
        );
        // 7.6 below the point; 2.5 below; 2.5 above.
        check(
            minus(2.0, Anchor::Start, |text| text.level = Level::Below),
            &[(12, 28, red), (12, 13, empty)],
        );
        check(
            minus(2.0, Anchor::Start, |text| text.level = Level::Centred),
            &[(12, 18, red), (12, 13, empty)],
        );
        check(
            minus(2.0, Anchor::Start, |text| text.level = Level::Above),
            &[(12, 8, red), (12, 13, empty)],
        );
        check(
            minus(10.0, Anchor::Start, |text| text.turn = 90),
            &[(26, 28, red), (28, 13, empty)],
        );
        check(
            minus(2.0, Anchor::Start, |text| text.rim = true),
            &[(12, 13, red), (12, 16, white), (12, 22, empty)],
        );
    }

    #[test]
    fn the_font_has_every_letter_of_the_published_pictures() {
        let reports = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../reports");
        let mut pictures = 0;
        for folder in reports.read_dir().expect("the reports are there") {
            let folder = folder.expect("it can be listed").path();
            let files = folder.read_dir().into_iter().flatten().flatten();
            let files = files.map(|file| file.path());
            for file in files.filter(|file| file.extension().is_some_and(|end| end == "svg")) {
                let svg = std::fs::read_to_string(&file).expect("it can be read");
                let document = Document::parse(&svg).expect("well-formed");
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

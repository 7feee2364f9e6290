//! Converts SVG to PNG. Supports only the parts of SVG that the pictures here use, and rejects
//! everything else: nothing is silently left out of a PNG.

use std::collections::BTreeMap;

use roxmltree::{Document, Node};
use tiny_skia::{
    Color, FillRule, FilterQuality, LineJoin, Paint, Path, PathBuilder, Pattern, Pixmap, Rect,
    Shader, SpreadMode, Stroke, StrokeDash, Transform,
};

use super::{Error, font};

/// Pixels per unit of the SVG: sharp on a dense screen and in print.
const SCALE: f32 = 2.0;

/// The drawing as PNG, two pixels for each unit of the SVG.
///
/// # Errors
///
/// [`Error::Raster`] if the input is not SVG, has no size, or uses a feature that no picture of
/// [this module](super) uses.
pub fn png(svg: &str) -> Result<Vec<u8>, Error> {
    let document = Document::parse(svg).map_err(|error| Error::Raster(error.to_string()))?;
    let drawn = draw(document.root_element(), &mut Tiles::new()).map_err(Error::Raster)?;
    let encoded = drawn.encode_png();
    encoded.map_err(|error| Error::Raster(error.to_string()))
}

/// The patterns read so far, by id.
type Tiles = BTreeMap<String, Tile>;

/// The content that a pattern repeats, and its position in the drawing.
struct Tile {
    pixmap: Pixmap,
    transform: Transform,
}

/// The elements within `frame`, which has a width and a height.
fn draw(frame: Node, tiles: &mut Tiles) -> Result<Pixmap, String> {
    let pixels = |name| Ok::<_, String>((length(frame, name)? * SCALE) as u32);
    let mut pixmap = Pixmap::new(pixels("width")?, pixels("height")?)
        .ok_or("the drawing has no size, or is too large")?;
    for element in frame.children().filter(Node::is_element) {
        if element.has_tag_name("defs") {
            for pattern in element.children().filter(Node::is_element) {
                let (id, tile) = tile(pattern)?;
                tiles.insert(id, tile);
            }
        } else if let Some(path) = outline(element)? {
            let place = transform(element, "transform")?.post_scale(SCALE, SCALE);
            Look::read(element)?.paint(&path, place, tiles, &mut pixmap)?;
        }
    }
    Ok(pixmap)
}

/// A pattern, and the id by which fills refer to it.
fn tile(pattern: Node) -> Result<(String, Tile), String> {
    let id = pattern.attribute("id").ok_or("a pattern without an id")?;
    let pixmap = draw(pattern, &mut Tiles::new())?;
    let transform = transform(pattern, "patternTransform")?;
    let transform = transform.pre_scale(1.0 / SCALE, 1.0 / SCALE);
    Ok((id.to_owned(), Tile { pixmap, transform }))
}

/// The shape of an element; `None` if it has no extent.
fn outline(element: Node) -> Result<Option<Path>, String> {
    let at = |name| length(element, name);
    Ok(match element.tag_name().name() {
        "rect" => Rect::from_xywh(at("x")?, at("y")?, at("width")?, at("height")?)
            .map(PathBuilder::from_rect),
        "circle" => PathBuilder::from_circle(at("cx")?, at("cy")?, at("r")?),
        "line" => lines(&[at("x1")?, at("y1")?, at("x2")?, at("y2")?]).finish(),
        "polyline" => lines(&points(element)?).finish(),
        "polygon" => {
            let mut path = lines(&points(element)?);
            path.close();
            path.finish()
        }
        "text" => {
            let words: Vec<&str> = element
                .text()
                .unwrap_or_default()
                .split_ascii_whitespace()
                .collect();
            let (text, size) = (words.join(" "), at("font-size")?);
            let before = match element.attribute("text-anchor") {
                None | Some("start") => 0.0,
                Some("middle") => 0.5,
                Some("end") => 1.0,
                Some(other) => return Err(format!("an unknown text-anchor: {other}")),
            };
            let x = at("x")? - before * font::width(&text, f64::from(size)) as f32;
            font::outline(&text, size, (x, at("y")? + at("dy")?))
        }
        other => return Err(format!("an unknown element: {other}")),
    })
}

/// Lines from point to point; the coordinates alternate between x and y.
fn lines(coordinates: &[f32]) -> PathBuilder {
    let mut path = PathBuilder::new();
    for (number, point) in coordinates.chunks_exact(2).enumerate() {
        match number {
            0 => path.move_to(point[0], point[1]),
            _ => path.line_to(point[0], point[1]),
        }
    }
    path
}

/// The paint of a shape.
struct Look<'a> {
    fill: Option<&'a str>,
    fill_opacity: f32,
    line: Option<&'a str>,
    line_opacity: f32,
    stroke: Stroke,
    line_first: bool,
}

impl<'a> Look<'a> {
    /// Reads the attributes. `opacity` is applied to fill and line separately, which is
    /// equivalent in SVG if they do not overlap.
    fn read(element: Node<'a, '_>) -> Result<Self, String> {
        let mut look = Look {
            fill: Some("#000000"),
            fill_opacity: 1.0,
            line: None,
            line_opacity: 1.0,
            stroke: Stroke::default(),
            line_first: false,
        };
        for attribute in element.attributes() {
            let value = attribute.value();
            match (attribute.name(), value) {
                ("fill", _) => look.fill = Some(value).filter(|&fill| fill != "none"),
                ("fill-opacity", _) => look.fill_opacity *= number(value)?,
                ("stroke", _) => look.line = Some(value).filter(|&stroke| stroke != "none"),
                ("stroke-opacity", _) => look.line_opacity *= number(value)?,
                ("opacity", _) => {
                    look.fill_opacity *= number(value)?;
                    look.line_opacity *= number(value)?;
                }
                ("stroke-width", _) => look.stroke.width = number(value)?,
                ("stroke-dasharray", _) => look.stroke.dash = StrokeDash::new(numbers(value)?, 0.0),
                ("stroke-linejoin", "round") => look.stroke.line_join = LineJoin::Round,
                ("paint-order", "stroke") => look.line_first = true,
                // The shape, which is read elsewhere, and the font family, of which there is
                // only one.
                ("x" | "y" | "width" | "height" | "cx" | "cy" | "r" | "points", _)
                | ("x1" | "y1" | "x2" | "y2" | "dy" | "transform", _)
                | ("font-size" | "font-family" | "text-anchor", _) => {}
                (name, _) => return Err(format!("an unknown attribute: {name}=\"{value}\"")),
            }
        }
        Ok(look)
    }

    fn paint(
        &self,
        path: &Path,
        place: Transform,
        tiles: &Tiles,
        pixmap: &mut Pixmap,
    ) -> Result<(), String> {
        let line = ink(self.line, self.line_opacity, tiles)?;
        let fill = ink(self.fill, self.fill_opacity, tiles)?;
        // A line has no inside.
        let inside = path.bounds().width() > 0.0 && path.bounds().height() > 0.0;
        let draw_line = |pixmap: &mut Pixmap| {
            if let Some(paint) = &line {
                pixmap.stroke_path(path, paint, &self.stroke, place, None);
            }
        };
        if self.line_first {
            draw_line(pixmap);
        }
        if let Some(paint) = fill.filter(|_| inside) {
            pixmap.fill_path(path, &paint, FillRule::Winding, place, None);
        }
        if !self.line_first {
            draw_line(pixmap);
        }
        Ok(())
    }
}

/// A colour or a pattern, as referred to by a fill or a stroke.
fn ink<'a>(
    name: Option<&str>,
    opacity: f32,
    tiles: &'a Tiles,
) -> Result<Option<Paint<'a>>, String> {
    let Some(name) = name else { return Ok(None) };
    let shader = if let Some(id) = name
        .strip_prefix("url(#")
        .and_then(|id| id.strip_suffix(')'))
    {
        let tile = tiles.get(id).ok_or(format!("an unknown pattern: {id}"))?;
        let (tile, place) = (tile.pixmap.as_ref(), tile.transform);
        Pattern::new(
            tile,
            SpreadMode::Repeat,
            FilterQuality::Bicubic,
            opacity,
            place,
        )
    } else {
        let digits = name.strip_prefix('#').filter(|digits| digits.len() == 6);
        let rgb = digits.and_then(|digits| u32::from_str_radix(digits, 16).ok());
        let [_, r, g, b] = rgb
            .ok_or(format!("an unknown colour: {name}"))?
            .to_be_bytes();
        let mut colour = Color::from_rgba8(r, g, b, 255);
        colour.apply_opacity(opacity);
        Shader::SolidColor(colour)
    };
    Ok(Some(Paint {
        shader,
        ..Paint::default()
    }))
}

/// `rotate(DEGREES)`, or `rotate(DEGREES, X, Y)` about a point; the identity if absent.
fn transform(element: Node, name: &str) -> Result<Transform, String> {
    let Some(text) = element.attribute(name) else {
        return Ok(Transform::identity());
    };
    let degrees = text
        .strip_prefix("rotate(")
        .and_then(|rest| rest.strip_suffix(')'));
    match numbers(degrees.unwrap_or_default())?[..] {
        [degrees] => Ok(Transform::from_rotate(degrees)),
        [degrees, x, y] => Ok(Transform::from_rotate_at(degrees, x, y)),
        _ => Err(format!("an unknown {name}: {text}")),
    }
}

/// A length: in units of the drawing, or a multiple of the font size. As in SVG, an absent
/// length is zero.
fn length(element: Node, name: &str) -> Result<f32, String> {
    let text = element.attribute(name).unwrap_or("0");
    // Without a measurement of the font, an `ex` is half an `em`.
    let ems = [("em", 1.0), ("ex", 0.5)];
    for (unit, em) in ems {
        if let Some(factor) = text.strip_suffix(unit) {
            return Ok(number(factor)? * em * length(element, "font-size")?);
        }
    }
    number(text)
}

fn points(element: Node) -> Result<Vec<f32>, String> {
    numbers(element.attribute("points").unwrap_or_default())
}

/// Numbers separated by spaces and commas.
fn numbers(text: &str) -> Result<Vec<f32>, String> {
    let texts = text.split([' ', ',']).filter(|text| !text.is_empty());
    texts.map(number).collect()
}

fn number(text: &str) -> Result<f32, String> {
    let number = text.parse().ok().filter(|number: &f32| number.is_finite());
    number.ok_or(format!("not a number: {text:?}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    use std::path::Path;

    /// The colours of the drawing's pixels, as `rrggbbaa`.
    fn pixels(body: &str) -> impl Fn(u32, u32) -> String {
        let svg = format!(r#"<svg width="20" height="20">{body}</svg>"#);
        let document = Document::parse(&svg).expect("it is well-formed");
        let drawn = draw(document.root_element(), &mut Tiles::new()).expect("it is drawn");
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
    fn what_is_not_understood_is_refused() {
        for (svg, expected) in [
            ("<svg", "root node"),
            ("<svg/>", "no size"),
            (
                r#"<svg width="9" height="9"><ellipse/></svg>"#,
                "element: ellipse",
            ),
            (
                r#"<svg width="9" height="9"><rect width="9" height="9" rx="1"/></svg>"#,
                "rx",
            ),
            (
                r#"<svg width="9" height="9"><circle r="9" fill="red"/></svg>"#,
                "colour: red",
            ),
            (
                r#"<svg width="9" height="9"><circle r="9" fill="url(#p)"/></svg>"#,
                "pattern: p",
            ),
            (
                r#"<svg width="9" height="9"><circle r="NaN"/></svg>"#,
                "NaN",
            ),
            (
                r#"<svg width="9" height="9"><text text-anchor="top">a</text></svg>"#,
                "anchor: top",
            ),
            (
                r#"<svg width="9" height="9"><circle r="9" transform="skewX(3)"/></svg>"#,
                "skewX",
            ),
        ] {
            let error = png(svg).expect_err(svg).to_string();
            assert!(error.contains(expected), "{svg}: {error}");
        }
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
                png(&svg).unwrap_or_else(|error| panic!("{}: {error}", file.display()));
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

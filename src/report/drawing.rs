//! Reads the SVG in which pictures here are written, for PNG and PDF. Supports only the parts of
//! SVG that these pictures use, and rejects everything else: nothing is silently left out.

use std::collections::BTreeMap;

use roxmltree::{Document, Node};
use tiny_skia::{LineJoin, Path, PathBuilder, Rect, Transform};

use super::{Error, font};

/// What an SVG contains, in its units.
#[derive(Default)]
pub(super) struct Drawing {
    pub(super) width: f32,
    pub(super) height: f32,
    /// The text of its `<desc>`, if it has one.
    pub(super) description: Option<String>,
    pub(super) shapes: Vec<Shape>,
    /// The patterns, by id.
    pub(super) tiles: BTreeMap<String, Tile>,
}

/// The content that a pattern repeats, and its position in the drawing.
pub(super) struct Tile {
    pub(super) content: Drawing,
    pub(super) transform: Transform,
}

/// A shape with its place and its paint.
pub(super) struct Shape {
    pub(super) path: Path,
    pub(super) transform: Transform,
    pub(super) fill: Option<Ink>,
    pub(super) line: Option<Ink>,
    pub(super) line_width: f32,
    pub(super) line_join: LineJoin,
    /// The lengths of the line's dashes and gaps; empty if it is solid.
    pub(super) dashes: Vec<f32>,
    pub(super) line_first: bool,
}

/// What an area or a line is painted with.
pub(super) struct Ink {
    pub(super) shade: Shade,
    /// 0 to 1.
    pub(super) opacity: f32,
}

pub(super) enum Shade {
    Colour([u8; 3]),
    /// The pattern with this id, which is one of the drawing's.
    Pattern(String),
}

impl Drawing {
    /// Reads an SVG.
    ///
    /// # Errors
    ///
    /// [`Error::Drawing`] if it is not SVG, or uses a feature that no picture of
    /// [this module](super) uses.
    pub(super) fn read(svg: &str) -> Result<Drawing, Error> {
        let document = Document::parse(svg).map_err(|error| Error::Drawing(error.to_string()))?;
        frame(document.root_element()).map_err(Error::Drawing)
    }
}

impl Shape {
    /// Whether it has an inside that can be filled: a line has none.
    pub(super) fn has_inside(&self) -> bool {
        let bounds = self.path.bounds();
        bounds.width() > 0.0 && bounds.height() > 0.0
    }
}

/// The elements within an element that has a width and a height.
fn frame(frame: Node) -> Result<Drawing, String> {
    let mut drawing = Drawing {
        width: length(frame, "width")?,
        height: length(frame, "height")?,
        ..Drawing::default()
    };
    for element in frame.children().filter(Node::is_element) {
        match element.tag_name().name() {
            "metadata" => {}
            "desc" => drawing.description = element.text().map(str::to_owned),
            "defs" => {
                for pattern in element.children().filter(Node::is_element) {
                    let (id, tile) = tile(pattern)?;
                    drawing.tiles.insert(id, tile);
                }
            }
            _ => {
                if let Some(path) = outline(element)? {
                    drawing.shapes.push(shape(element, path, &drawing.tiles)?);
                }
            }
        }
    }
    Ok(drawing)
}

/// A pattern, and the id by which fills refer to it.
fn tile(pattern: Node) -> Result<(String, Tile), String> {
    let id = pattern.attribute("id").ok_or("a pattern without an id")?;
    let tile = Tile {
        content: frame(pattern)?,
        transform: transform(pattern, "patternTransform")?,
    };
    Ok((id.to_owned(), tile))
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

/// Reads the attributes. `opacity` is applied to fill and line separately, which is equivalent
/// in SVG if they do not overlap.
fn shape(element: Node, path: Path, tiles: &BTreeMap<String, Tile>) -> Result<Shape, String> {
    let (mut fill, mut fill_opacity) = ("#000000", 1.0);
    let (mut line, mut line_opacity) = ("none", 1.0);
    let (mut line_width, mut line_join) = (1.0, LineJoin::Miter);
    let mut dashes = Vec::new();
    let mut line_first = false;
    for attribute in element.attributes() {
        let value = attribute.value();
        match (attribute.name(), value) {
            ("fill", _) => fill = value,
            ("fill-opacity", _) => fill_opacity *= number(value)?,
            ("stroke", _) => line = value,
            ("stroke-opacity", _) => line_opacity *= number(value)?,
            ("opacity", _) => {
                fill_opacity *= number(value)?;
                line_opacity *= number(value)?;
            }
            ("stroke-width", _) => line_width = number(value)?,
            ("stroke-dasharray", _) => dashes = numbers(value)?,
            ("stroke-linejoin", "round") => line_join = LineJoin::Round,
            ("paint-order", "stroke") => line_first = true,
            // The shape, which is read elsewhere, and the font family, of which there is
            // only one.
            ("x" | "y" | "width" | "height" | "cx" | "cy" | "r" | "points", _)
            | ("x1" | "y1" | "x2" | "y2" | "dy" | "transform", _)
            | ("font-size" | "font-family" | "text-anchor", _) => {}
            (name, _) => return Err(format!("an unknown attribute: {name}=\"{value}\"")),
        }
    }
    Ok(Shape {
        path,
        transform: transform(element, "transform")?,
        fill: ink(fill, fill_opacity, tiles)?,
        line: ink(line, line_opacity, tiles)?,
        line_width,
        line_join,
        dashes,
        line_first,
    })
}

/// A colour or a pattern, as referred to by a fill or a stroke.
fn ink(name: &str, opacity: f32, tiles: &BTreeMap<String, Tile>) -> Result<Option<Ink>, String> {
    let id = (name.strip_prefix("url(#")).and_then(|id| id.strip_suffix(')'));
    let shade = match (name, id) {
        ("none", _) => return Ok(None),
        (_, Some(id)) if tiles.contains_key(id) => Shade::Pattern(id.to_owned()),
        (_, Some(id)) => return Err(format!("an unknown pattern: {id}")),
        (_, None) => {
            let digits = name.strip_prefix('#').filter(|digits| digits.len() == 6);
            let rgb = digits.and_then(|digits| u32::from_str_radix(digits, 16).ok());
            let [_, r, g, b] = rgb
                .ok_or(format!("an unknown colour: {name}"))?
                .to_be_bytes();
            Shade::Colour([r, g, b])
        }
    };
    Ok(Some(Ink { shade, opacity }))
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
    use super::super::png;

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
}

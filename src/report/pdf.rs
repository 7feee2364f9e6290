//! Converts SVG to PDF, for papers: vectors, at the size of the drawing in points.
//!
//! Letters are outlines, as in the PNG, so that no viewer needs the font.

use std::collections::BTreeMap;

use miniz_oxide::deflate::compress_to_vec_zlib;
use pdf_writer::types::{LineJoinStyle, PaintType, TilingType};
use pdf_writer::{Content, Filter, Finish, Name, Pdf, Rect, Ref, TextStr};
use tiny_skia::{LineJoin, Path, PathSegment, Point, Transform};

use super::Error;
use super::drawing::{Drawing, Ink, Shade, Shape};
use super::provenance::PRODUCER;

/// A page is at most this long, in points (PDF 1.7, annex C).
const LONGEST: f32 = 14_400.0;

/// zlib's default.
const COMPRESSION: u8 = 6;

/// The drawing as a PDF of one page; its description becomes the document's subject.
///
/// # Errors
///
/// As [`png`](super::png()).
pub fn pdf(svg: &str) -> Result<Vec<u8>, Error> {
    let drawing = Drawing::read(svg)?;
    let (width, height) = (drawing.width, drawing.height);
    if !(0.0 < width && width <= LONGEST && 0.0 < height && height <= LONGEST) {
        return Err(Error::Pdf(format!("a page of {width} × {height} points")));
    }
    let mut refs = (1..).map(Ref::new);
    let mut next = || refs.next().unwrap_or(Ref::new(i32::MAX));
    let (catalog, pages, page, contents, info) = (next(), next(), next(), next(), next());
    // PDF counts upwards from the lower edge.
    let upright = Transform::from_row(1.0, 0.0, 0.0, -1.0, 0.0, height);
    let mut used = Used::default();
    let mut content = Content::new();
    content.transform(matrix(upright));
    for shape in &drawing.shapes {
        paint(shape, &mut content, &mut used);
    }

    let mut pdf = Pdf::new();
    pdf.catalog(catalog).pages(pages);
    pdf.pages(pages).kids([page]).count(1);
    let patterns: BTreeMap<&String, Ref> = used.patterns.iter().map(|id| (id, next())).collect();
    {
        let mut page = pdf.page(page);
        page.media_box(Rect::new(0.0, 0.0, width, height));
        page.parent(pages);
        page.contents(contents);
        let mut resources = page.resources();
        let mut states = resources.ext_g_states();
        for (name, opacity) in used.opacities.values() {
            states
                .insert(Name(name.as_bytes()))
                .start::<pdf_writer::writers::ExtGraphicsState>()
                .non_stroking_alpha(*opacity)
                .stroking_alpha(*opacity);
        }
        states.finish();
        let mut named = resources.patterns();
        for (id, reference) in &patterns {
            named.pair(Name(id.as_bytes()), reference);
        }
    }
    for (id, reference) in &patterns {
        let tile = &drawing.tiles[*id];
        let (mut content, mut within) = (Content::new(), Used::default());
        for shape in &tile.content.shapes {
            paint(shape, &mut content, &mut within);
        }
        if !(within.opacities.is_empty() && within.patterns.is_empty()) {
            return Err(Error::Pdf(format!("pattern {id} is not opaque")));
        }
        let content = content.finish();
        let (width, height) = (tile.content.width, tile.content.height);
        let mut pattern = pdf.tiling_pattern(*reference, &content);
        pattern
            .paint_type(PaintType::Colored)
            .tiling_type(TilingType::ConstantSpacing)
            .bbox(Rect::new(0.0, 0.0, width, height))
            .x_step(width)
            .y_step(height)
            .matrix(matrix(tile.transform.post_concat(upright)));
        pattern.resources();
    }
    let packed = compress_to_vec_zlib(&content.finish(), COMPRESSION);
    pdf.stream(contents, &packed).filter(Filter::FlateDecode);
    let mut about = pdf.document_info(info);
    about.producer(TextStr(PRODUCER));
    if let Some(text) = &drawing.description {
        about.subject(TextStr(text));
    }
    about.finish();
    Ok(pdf.finish())
}

/// What a page refers to by name.
#[derive(Default)]
struct Used {
    /// Opacities by their bits, with the name of each.
    opacities: BTreeMap<u32, (String, f32)>,
    patterns: Vec<String>,
}

fn paint(shape: &Shape, content: &mut Content, used: &mut Used) {
    if shape.line_first {
        line(shape, content, used);
    }
    if let Some(ink) = shape.fill.as_ref().filter(|_| shape.has_inside()) {
        content.save_state();
        content.transform(matrix(shape.transform));
        apply(ink, Use::Fill, content, used);
        outline(&shape.path, content);
        content.fill_nonzero();
        content.restore_state();
    }
    if !shape.line_first {
        line(shape, content, used);
    }
}

fn line(shape: &Shape, content: &mut Content, used: &mut Used) {
    let Some(ink) = &shape.line else { return };
    content.save_state();
    content.transform(matrix(shape.transform));
    apply(ink, Use::Line, content, used);
    content.set_line_width(shape.line_width);
    if shape.line_join == LineJoin::Round {
        content.set_line_join(LineJoinStyle::RoundJoin);
    }
    if !shape.dashes.is_empty() {
        content.set_dash_pattern(shape.dashes.iter().copied(), 0.0);
    }
    outline(&shape.path, content);
    content.stroke();
    content.restore_state();
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Use {
    Fill,
    Line,
}

/// Selects the colour or pattern, and its opacity.
fn apply(ink: &Ink, to: Use, content: &mut Content, used: &mut Used) {
    if ink.opacity != 1.0 {
        let bits = ink.opacity.to_bits();
        let entry = used.opacities.entry(bits);
        let (name, _) = entry.or_insert_with(|| (format!("o{bits:08x}"), ink.opacity));
        content.set_parameters(Name(name.as_bytes()));
    }
    match (&ink.shade, to) {
        (Shade::Colour(rgb), _) => {
            let [r, g, b] = rgb.map(|channel| f32::from(channel) / 255.0);
            match to {
                Use::Fill => content.set_fill_rgb(r, g, b),
                Use::Line => content.set_stroke_rgb(r, g, b),
            };
        }
        (Shade::Pattern(id), _) => {
            if !used.patterns.contains(id) {
                used.patterns.push(id.clone());
            }
            let space = pdf_writer::types::ColorSpaceOperand::Pattern;
            match to {
                Use::Fill => {
                    content.set_fill_color_space(space);
                    content.set_fill_pattern(None, Name(id.as_bytes()));
                }
                Use::Line => {
                    content.set_stroke_color_space(space);
                    content.set_stroke_pattern(None, Name(id.as_bytes()));
                }
            }
        }
    }
}

/// The path; PDF has no quadratic curves, so they become cubic ones.
fn outline(path: &Path, content: &mut Content) {
    let mut last = Point::zero();
    for segment in path.segments() {
        match segment {
            PathSegment::MoveTo(to) => {
                content.move_to(short(to.x), short(to.y));
                last = to;
            }
            PathSegment::LineTo(to) => {
                content.line_to(short(to.x), short(to.y));
                last = to;
            }
            PathSegment::QuadTo(control, to) => {
                let third = |end: Point| {
                    let mix = |a: f32, b: f32| short(a + 2.0 / 3.0 * (b - a));
                    (mix(end.x, control.x), mix(end.y, control.y))
                };
                let ((x1, y1), (x2, y2)) = (third(last), third(to));
                content.cubic_to(x1, y1, x2, y2, short(to.x), short(to.y));
                last = to;
            }
            PathSegment::CubicTo(a, b, to) => {
                let [x1, y1, x2, y2] = [a.x, a.y, b.x, b.y].map(short);
                content.cubic_to(x1, y1, x2, y2, short(to.x), short(to.y));
                last = to;
            }
            PathSegment::Close => {
                content.close_path();
            }
        }
    }
}

/// A coordinate to a hundredth of a point, finer than any printer.
fn short(coordinate: f32) -> f32 {
    (coordinate * 100.0).round() / 100.0
}

fn matrix(t: Transform) -> [f32; 6] {
    [t.sx, t.ky, t.kx, t.sy, t.tx, t.ty]
}

#[cfg(test)]
mod tests {
    use super::*;

    const HATCHED: &str = r##"<svg width="20" height="10"><defs><pattern id="p" width="4" height="4" patternTransform="rotate(45)"><rect width="2" height="4" fill="#aa4499"/></pattern></defs><rect width="20" height="10" fill="url(#p)"/><line x1="0" y1="5" x2="20" y2="5" stroke="#222222" stroke-width="2" stroke-dasharray="4,4" opacity="0.5"/><text x="1" y="9" font-size="8" fill="#cc1f1a" stroke="#ffffff" stroke-width="3" paint-order="stroke">−</text></svg>"##;

    /// The operators on the page, unpacked.
    fn operators(svg: &str) -> String {
        let file = pdf(svg).expect("it is drawn");
        let from = find_in(&file, b"/FlateDecode");
        let from = from + find_in(&file[from..], b"stream\n") + b"stream\n".len();
        let to = from + find_in(&file[from..], b"\nendstream");
        let unpacked = miniz_oxide::inflate::decompress_to_vec_zlib(&file[from..to]);
        String::from_utf8(unpacked.expect("zlib")).expect("text")
    }

    fn find_in(file: &[u8], what: &[u8]) -> usize {
        let found = file.windows(what.len()).position(|window| window == what);
        found.expect("it is there")
    }

    #[test]
    fn areas_lines_and_letters_are_painted_in_order() {
        let page = operators(HATCHED);
        let lines = page.lines();
        let painted: Vec<&str> = lines.filter(|op| ["f", "S"].contains(op)).collect();
        // The hatched area; the line; the letter's rim, and the letter.
        assert_eq!(painted, ["f", "S", "S", "f"], "{page}");
        let line = page.find("[4 4] 0 d").expect("it is dashed");
        assert!(
            page.find("/p scn").is_some_and(|pattern| pattern < line),
            "{page}"
        );
        // The colour of violations, and a lighter line.
        assert!(page.contains("0.8 0.12156863 0.101960786 rg"), "{page}");
        assert!(page.contains(" gs\n"), "{page}");
    }

    #[test]
    fn what_pdf_cannot_have_is_refused() {
        let huge = pdf(r#"<svg width="20000" height="9"></svg>"#);
        assert!(
            huge.expect_err("too wide")
                .to_string()
                .contains("20000 × 9")
        );
        let fill = r##"fill="#aa4499""##;
        let pale = HATCHED.replacen(fill, &format!(r#"{fill} opacity="0.5""#), 1);
        let told = pdf(&pale).expect_err("a pale pattern").to_string();
        assert!(told.contains("pattern p is not opaque"), "{told}");
    }
}

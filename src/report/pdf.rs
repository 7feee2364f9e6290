//! Writes drawings as PDF, for papers: vectors, at the size of the drawing's sheet.
//!
//! Text is text, which can be selected and found; the font is in the file (`pdf/letters.rs`).

mod letters;

use std::collections::BTreeMap;

use miniz_oxide::deflate::compress_to_vec_zlib;
use pdf_writer::types::{ColorSpaceOperand, LineJoinStyle, PaintType, TilingType};
use pdf_writer::{Content, Filter, Finish, Name, Pdf, Rect, Ref, Str, TextStr};
use tiny_skia::{Path, PathSegment, Point, Transform};

use self::letters::Letters;
use super::Error;
use super::drawing::{Colour, Drawing, Fill, Form, Hatch, Ink, Percent, Shape, Stroke, Text};
use super::outline;
use super::provenance::PRODUCER;

/// A page is at most this long, in points (PDF 1.7, annex C).
const LONGEST: f32 = 14_400.0;

/// zlib's default.
const COMPRESSION: u8 = 6;

/// The drawing as a PDF of one page; its description becomes the document's subject.
///
/// # Errors
///
/// [`Error::Pdf`] if it has no size, or is longer than a page can be; [`Error::Pattern`] if a shape
/// is filled with a pattern that it does not have.
pub fn pdf(drawing: &Drawing) -> Result<Vec<u8>, Error> {
    let unit = drawing.sheet.unit.points() as f32;
    let (width, height) = (
        drawing.width.f32() * unit,
        drawing.whole_height().f32() * unit,
    );
    if !(0.0 < width && width <= LONGEST && 0.0 < height && height <= LONGEST) {
        return Err(Error::Pdf(format!("a page of {width} × {height} points")));
    }
    let mut refs = (1..).map(Ref::new);
    let mut next = || refs.next().unwrap_or(Ref::new(i32::MAX));
    let (catalog, pages, page, contents, info) = (next(), next(), next(), next(), next());
    let font = [next(), next(), next(), next(), next()];
    // PDF counts upwards from the lower edge.
    let upright = Transform::from_row(unit, 0.0, 0.0, -unit, 0.0, height);
    let mut used = Used::default();
    let mut content = Content::new();
    content.transform(matrix(upright));
    for shape in drawing.shapes() {
        paint(shape, &mut content, &mut used);
    }

    let mut pdf = Pdf::new();
    pdf.catalog(catalog).pages(pages);
    pdf.pages(pages).kids([page]).count(1);
    let hatch = |id: &String| drawing.hatches().find(|hatch| hatch.id == *id);
    let mut patterns: BTreeMap<&str, (&Hatch, Ref)> = BTreeMap::new();
    for id in &used.patterns {
        let hatch = hatch(id).ok_or_else(|| Error::Pattern(id.clone()))?;
        patterns.insert(id, (hatch, next()));
    }
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
        for (id, (_, reference)) in &patterns {
            named.pair(Name(id.as_bytes()), reference);
        }
        named.finish();
        if !used.letters.is_empty() {
            resources.fonts().pair(letters::NAME, font[0]);
        }
    }
    for (hatch, reference) in patterns.values() {
        let mut content = Content::new();
        for shape in &hatch.tile() {
            // Stripes are opaque, and refer to nothing.
            paint(shape, &mut content, &mut Used::default());
        }
        let content = content.finish();
        let side = hatch.side.f32();
        let turned = Transform::from_rotate(f32::from(hatch.turn));
        let mut pattern = pdf.tiling_pattern(*reference, &content);
        pattern
            .paint_type(PaintType::Colored)
            .tiling_type(TilingType::ConstantSpacing)
            .bbox(Rect::new(0.0, 0.0, side, side))
            .x_step(side)
            .y_step(side)
            .matrix(matrix(turned.post_concat(upright)));
        pattern.resources();
    }
    let packed = compress_to_vec_zlib(&content.finish(), COMPRESSION);
    pdf.stream(contents, &packed).filter(Filter::FlateDecode);
    used.letters.embed(&mut pdf, font);
    let mut about = pdf.document_info(info);
    about.producer(TextStr(PRODUCER));
    if let Some(footer) = &drawing.footer {
        about.subject(TextStr(&footer.description));
    }
    about.finish();
    Ok(pdf.finish())
}

/// The named resources of a page.
#[derive(Default)]
struct Used {
    /// Opacities, with the name of each.
    opacities: BTreeMap<Percent, (String, f32)>,
    patterns: Vec<String>,
    letters: Letters,
}

fn paint(shape: &Shape, content: &mut Content, used: &mut Used) {
    if let Form::Text(text) = &shape.form {
        write(shape, text, content, used);
        return;
    }
    let Some((path, place)) = outline::of(shape) else {
        return;
    };
    if shape.look.fill != Fill::Nothing && outline::has_inside(&path) {
        content.save_state();
        content.transform(matrix(place));
        match &shape.look.fill {
            Fill::Nothing => {}
            Fill::Unsaid => _ = content.set_fill_rgb(0.0, 0.0, 0.0),
            Fill::Ink(ink) => {
                let [r, g, b] = select(*ink, content, used);
                content.set_fill_rgb(r, g, b);
            }
            Fill::Hatch(id) => {
                if !used.patterns.contains(id) {
                    used.patterns.push(id.clone());
                }
                content.set_fill_color_space(ColorSpaceOperand::Pattern);
                content.set_fill_pattern(None, Name(id.as_bytes()));
            }
        }
        draw(&path, content);
        content.fill_nonzero();
        content.restore_state();
    }
    if let Some(edge) = &shape.look.stroke {
        let join = LineJoinStyle::MiterJoin;
        stroke(&path, place, edge, join, (content, used));
    }
}

/// Writes a text; first its rim, if it has one. The rim is an outline, since text that is there twice
/// would be found twice.
fn write(shape: &Shape, text: &Text, content: &mut Content, used: &mut Used) {
    let placed = outline::placed(text);
    if placed.words.is_empty() {
        return;
    }
    if let (Some(rim), Some((path, place))) = (shape.rim(), outline::of(shape)) {
        let join = LineJoinStyle::RoundJoin;
        stroke(&path, place, &rim, join, (content, used));
    }
    let (x, y) = placed.start;
    content.save_state();
    content.transform(matrix(placed.turned));
    let [r, g, b] = match shape.look.fill {
        Fill::Ink(ink) => select(ink, content, used),
        _ => [0.0; 3],
    };
    content.set_fill_rgb(r, g, b);
    content.begin_text();
    content.set_font(letters::NAME, text.size as f32);
    // The page is upside down, and letters are not.
    content.set_text_matrix([1.0, 0.0, 0.0, -1.0, short(x), short(y)]);
    content.show(Str(&used.letters.encode(&placed.words)));
    content.end_text();
    content.restore_state();
}

fn stroke(
    path: &Path,
    place: Transform,
    stroke: &Stroke,
    join: LineJoinStyle,
    (content, used): (&mut Content, &mut Used),
) {
    content.save_state();
    content.transform(matrix(place));
    let [r, g, b] = select(stroke.ink, content, used);
    content.set_stroke_rgb(r, g, b);
    content.set_line_width(stroke.width.unwrap_or(1.0) as f32);
    if join != LineJoinStyle::MiterJoin {
        content.set_line_join(join);
    }
    if !stroke.dashes.is_empty() {
        content.set_dash_pattern(stroke.dashes.iter().map(|&dash| dash as f32), 0.0);
    }
    draw(path, content);
    content.stroke();
    content.restore_state();
}

/// Selects the opacity of an ink, and returns its colour.
fn select(ink: Ink, content: &mut Content, used: &mut Used) -> [f32; 3] {
    if ink.opacity != Percent::ALL {
        let opacity = ink.opacity.share() as f32;
        let entry = used.opacities.entry(ink.opacity);
        let (name, _) = entry.or_insert_with(|| (format!("o{:08x}", opacity.to_bits()), opacity));
        content.set_parameters(Name(name.as_bytes()));
    }
    let Colour(rgb) = ink.colour;
    rgb.map(|channel| f32::from(channel) / 255.0)
}

/// The path; PDF has no quadratic curves, so they become cubic ones.
fn draw(path: &Path, content: &mut Content) {
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
pub(super) mod tests {
    use super::super::drawing::{Anchor, Look, TextStyle};
    use super::*;

    fn hatched() -> Drawing {
        let mut drawing = Drawing::chart((20, 10));
        drawing.hatch(Hatch::slanted("p".into(), Colour::hex(0xaa4499)));
        drawing.rect((0.0, 0.0), (20.0, 10.0), Look::hatched("p"));
        let line = Stroke::new(Colour::hex(0x222222), 2.0).dashed(&[4.0, 4.0]);
        drawing.line((0.0, 5.0), (20.0, 5.0), line.pale(Percent(50)));
        let style = TextStyle {
            size: 8.0,
            colour: Colour::hex(0xcc1f1a),
            anchor: Anchor::Start,
        };
        drawing.text_over((1.0, 9.0), "−", style);
        drawing
    }

    /// The operators on the page, unpacked.
    pub(in super::super) fn operators(drawing: &Drawing) -> String {
        let file = pdf(drawing).expect("it is drawn");
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
        let page = operators(&hatched());
        let lines = page.lines();
        let operators = lines.filter_map(|line| line.rsplit(' ').next());
        let painted: Vec<&str> = operators
            .filter(|op| ["f", "S", "Tj"].contains(op))
            .collect();
        // The hatched area; the line; the letter's rim, and the letter.
        assert_eq!(painted, ["f", "S", "S", "Tj"], "{page}");
        let line = page.find("[4 4] 0 d").expect("it is dashed");
        assert!(
            page.find("/p scn").is_some_and(|pattern| pattern < line),
            "{page}"
        );
        // The colour of violations, and a lighter line.
        assert!(page.contains("0.8 0.12156863 0.101960786 rg"), "{page}");
        assert!(page.contains(" gs\n"), "{page}");
    }

    /// A reader finds the text by the map from its glyphs to characters.
    #[test]
    fn text_can_be_selected() {
        let file = pdf(&hatched()).expect("it is drawn");
        let has = |what: &str| {
            file.windows(what.len())
                .any(|window| window == what.as_bytes())
        };
        assert!(has("/FontFile2") && has("/Identity-H") && has("/ToUnicode"));
        // The minus sign, of which the drawing has no other letter.
        assert!(has("<0001> <2212>"), "the first glyph of the file");
        // What has no text has no font.
        let bare = pdf(&Drawing::chart((20, 10))).expect("it is drawn");
        assert!(bare.len() < 2_000, "{}", bare.len());
    }

    #[test]
    fn unsupported_pdf_content_is_rejected() {
        let huge = pdf(&Drawing::chart((20_000, 9)));
        assert!(
            huge.expect_err("too wide")
                .to_string()
                .contains("20000 × 9")
        );
        let empty = pdf(&Drawing::chart((20, 0)));
        assert!(empty.expect_err("no size").to_string().contains("20 × 0"));
    }
}

//! Writes drawings as SVG.

mod compact;
mod plotters;

use super::drawing::{Dialect, Drawing, Item};
use super::font;
use super::sheet::Unit;

/// The drawing as SVG.
pub fn svg(drawing: &Drawing) -> String {
    let (width, height) = (drawing.width, drawing.whole_height());
    let size = match drawing.sheet.unit {
        Unit::Pixel => format!(r#"width="{width}" height="{height}""#),
        Unit::Points(points) => {
            let [wide, high] = [width, height].map(|length| length.units() * points);
            format!(r#"width="{wide:.2}pt" height="{high:.2}pt""#)
        }
    };
    let size = format!(r#"{size} viewBox="0 0 {width} {height}""#);
    const XML: &str = r#"xmlns="http://www.w3.org/2000/svg""#;
    let mut text = match drawing.dialect {
        Dialect::Compact => format!("<svg {XML} {size} font-family=\"{}\">\n", font::FAMILY),
        Dialect::Plotters => format!("<svg {size} {XML}>\n"),
    };
    if let Some(footer) = &drawing.footer {
        let (description, data) = (escape(&footer.description), escape(&footer.data));
        text += &format!("<desc>{description}</desc>\n<metadata>{data}</metadata>\n");
    }
    for item in &drawing.items {
        text += &match (item, drawing.dialect) {
            (Item::Hatch(hatch), _) => compact::hatch(hatch),
            (Item::Shape(shape), Dialect::Compact) => compact::shape(shape),
            (Item::Shape(shape), Dialect::Plotters) => plotters::shape(shape),
        };
        text.push('\n');
    }
    for shape in drawing.footer.iter().flat_map(|footer| &footer.shapes) {
        text += &compact::shape(shape);
        text.push('\n');
    }
    text + "</svg>\n"
}

/// Escapes text for XML.
fn escape(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => escaped.push_str("&amp;"),
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '"' => escaped.push_str("&quot;"),
            // XML does not allow it.
            c if c.is_control() && !matches!(c, '\t' | '\n') => escaped.push('\u{fffd}'),
            c => escaped.push(c),
        }
    }
    escaped
}

#[cfg(test)]
mod tests {
    use roxmltree::Document;

    use super::super::drawing::{Anchor, Colour, Look, TextStyle};
    use super::*;

    const HOSTILE: &str = "a<b & \"c\" 'd' ]]> <script>\u{1}";

    /// A drawing of one text in a dialect.
    fn of_text(text: &str, dialect: Dialect) -> Drawing {
        let mut drawing = Drawing::new(40.0);
        let style = TextStyle {
            size: 10.5,
            colour: Colour::BLACK,
            anchor: Anchor::End,
        };
        drawing.text((1.0, 2.0), text, style);
        drawing.dialect = dialect;
        drawing
    }

    #[test]
    fn text_cannot_leave_its_element() {
        for dialect in [Dialect::Compact, Dialect::Plotters] {
            let svg = svg(&of_text(HOSTILE, dialect));
            let document = Document::parse(&svg).expect("well-formed");
            let read = document.root_element().descendants();
            let read = read.filter_map(|node| node.text()).map(str::trim);
            let read: Vec<&str> = read.filter(|text| !text.is_empty()).collect();
            assert_eq!(read[0], HOSTILE.replace('\u{1}', "?"), "{svg}");
        }
    }

    #[test]
    fn svg_dialects_draw_the_same_shapes() {
        let brief = svg(&of_text("'", Dialect::Compact));
        assert!(
            brief.ends_with(
                "<text x=\"1\" y=\"2\" font-size=\"10.5\" text-anchor=\"end\" fill=\"#000000\">'</text>\n</svg>\n"
            ),
            "{brief}"
        );
        let full = svg(&of_text("'", Dialect::Plotters));
        let family = font::FAMILY;
        let expected = format!(
            "<text x=\"1\" y=\"2\" dy=\"0\" text-anchor=\"end\" font-family=\"{family}\" font-size=\"10.5\" opacity=\"1\" fill=\"#000000\">\n&apos;\n</text>\n</svg>\n"
        );
        assert!(full.ends_with(&expected), "{full}");
    }

    #[test]
    fn paper_lies_below_everything() {
        let mut drawing = Drawing::new(40.0);
        drawing.circle((1.0, 2.0), 3.0, Look::filled(Colour::hex(0x0072b2)));
        let svg = svg(&drawing.finish(50.25));
        let body = "<rect width=\"40\" height=\"50.2\" fill=\"#ffffff\"/>\n<circle cx=\"1\" cy=\"2\" r=\"3\" fill=\"#0072b2\"/>\n</svg>\n";
        assert!(svg.ends_with(body), "{svg}");
    }
}

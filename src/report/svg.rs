//! A small writer of SVG: shapes go in by coordinates, text comes out.
//!
//! Coordinates are written with one decimal, so that the bytes do not depend on the
//! last bits of a float.

use std::fmt::Write;

use super::font;

/// A drawing in progress.
pub(super) struct Svg {
    width: f64,
    body: String,
}

/// The position of a text relative to its point.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Anchor {
    /// The text begins at the point.
    Start,
    /// The text is centred at the point.
    Middle,
    /// The text ends at the point.
    End,
}

/// The style of a text.
#[derive(Debug, Clone, Copy)]
pub(super) struct TextStyle {
    pub size: f64,
    pub colour: &'static str,
    pub anchor: Anchor,
}

impl Svg {
    /// An empty drawing, `width` units wide; its height is set at the end.
    pub(super) fn new(width: f64) -> Self {
        Svg {
            width,
            body: String::new(),
        }
    }

    /// Definitions or groups that the other calls do not cover, verbatim.
    pub(super) fn raw(&mut self, markup: &str) {
        self.body.push_str(markup);
        self.body.push('\n');
    }

    /// A straight line; `look` holds further attributes such as the stroke.
    pub(super) fn line(&mut self, (x1, y1): (f64, f64), (x2, y2): (f64, f64), look: &str) {
        let (x1, y1, x2, y2) = (number(x1), number(y1), number(x2), number(y2));
        self.element(format_args!(
            r#"<line x1="{x1}" y1="{y1}" x2="{x2}" y2="{y2}" {look}/>"#
        ));
    }

    /// A rectangle by its upper left corner, width and height.
    pub(super) fn rect(&mut self, (x, y): (f64, f64), (width, height): (f64, f64), look: &str) {
        let (x, y) = (number(x), number(y));
        let (width, height) = (number(width), number(height));
        self.element(format_args!(
            r#"<rect x="{x}" y="{y}" width="{width}" height="{height}" {look}/>"#
        ));
    }

    /// A circle.
    pub(super) fn circle(&mut self, (x, y): (f64, f64), radius: f64, look: &str) {
        let (x, y, radius) = (number(x), number(y), number(radius));
        self.element(format_args!(
            r#"<circle cx="{x}" cy="{y}" r="{radius}" {look}/>"#
        ));
    }

    /// A line through the points.
    pub(super) fn polyline(&mut self, points: &[(f64, f64)], look: &str) {
        let points: Vec<String> = points
            .iter()
            .map(|&(x, y)| format!("{},{}", number(x), number(y)))
            .collect();
        self.element(format_args!(
            r#"<polyline points="{}" {look}/>"#,
            points.join(" ")
        ));
    }

    /// A text with its baseline at `y`.
    pub(super) fn text(&mut self, (x, y): (f64, f64), text: &str, style: TextStyle) {
        self.write_text((x, y), text, style, "");
    }

    /// A text with a white outline, legible over lines.
    pub(super) fn text_over(&mut self, (x, y): (f64, f64), text: &str, style: TextStyle) {
        const RIM: &str =
            r##" stroke="#ffffff" stroke-width="3" stroke-linejoin="round" paint-order="stroke""##;
        self.write_text((x, y), text, style, RIM);
    }

    /// What was drawn, without a document around it.
    pub(super) fn content(self) -> String {
        self.body
    }

    /// The whole document, `height` units high.
    pub(super) fn document(self, height: f64) -> String {
        let (width, height, body) = (number(self.width), number(height), self.body);
        format!(
            r##"<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" viewBox="0 0 {width} {height}" font-family="{family}">
<rect width="{width}" height="{height}" fill="#ffffff"/>
{body}</svg>
"##,
            family = font::FAMILY,
        )
    }

    fn write_text(&mut self, (x, y): (f64, f64), text: &str, style: TextStyle, rim: &str) {
        let (x, y, size) = (number(x), number(y), number(style.size));
        let anchor = match style.anchor {
            Anchor::Start => "",
            Anchor::Middle => r#" text-anchor="middle""#,
            Anchor::End => r#" text-anchor="end""#,
        };
        let (colour, text) = (style.colour, escape(text));
        self.element(format_args!(
            r#"<text x="{x}" y="{y}" font-size="{size}"{anchor} fill="{colour}"{rim}>{text}</text>"#
        ));
    }

    fn element(&mut self, markup: std::fmt::Arguments) {
        writeln!(self.body, "{markup}").expect("a String takes all that is written to it");
    }
}

/// At most one decimal, never `-0`.
fn number(value: f64) -> String {
    let text = format!("{value:.1}");
    let text = text.strip_suffix(".0").unwrap_or(&text);
    if text == "-0" { "0" } else { text }.to_owned()
}

/// Escapes text for XML.
pub(super) fn escape(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for c in printable(text).chars() {
        match c {
            '&' => escaped.push_str("&amp;"),
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '"' => escaped.push_str("&quot;"),
            c => escaped.push(c),
        }
    }
    escaped
}

/// The text on one line; characters that are invalid in XML 1.0 become `?`.
pub(super) fn printable(text: &str) -> String {
    let printable = text.chars().map(|c| match c {
        '\t' | '\n' | '\r' => ' ',
        '\u{0}'..'\u{20}' | '\u{fffe}' | '\u{ffff}' => '?',
        c => c,
    });
    printable.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_have_at_most_one_decimal() {
        assert_eq!(number(1.0), "1");
        assert_eq!(number(1.26), "1.3");
        assert_eq!(number(-0.04), "0");
    }

    #[test]
    fn text_cannot_leave_its_element() {
        assert_eq!(escape("a<b & \"c\"\u{1}"), "a&lt;b &amp; &quot;c&quot;?");
    }
}

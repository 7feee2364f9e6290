//! The provenance of a picture: in the footer, and as metadata.

use serde::Serialize;

use super::drawing::{
    Anchor, Colour, Drawing, Footer, Form, Length, Look, Point, Shape, TextStyle, printable,
};
use super::{Heading, font, palette};

/// The program, and its version.
pub const PRODUCER: &str = concat!("Locklab ", env!("CARGO_PKG_VERSION"));

/// The runs behind a picture, and their environment.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Provenance {
    /// The scenario, or what a table is about.
    pub subject: String,
    /// The overrides of the scenario, each `path=value`.
    pub overrides: Vec<String>,
    /// The seeds in words: `seed 5`, or `seeds 0..1000 in each cell`.
    pub seeds: String,
    /// `simulated world`, or `Redis 7.0.15`.
    pub environment: String,
}

/// The size of the small print, and the distance of its lines.
const SIZE: f64 = 10.0;
const LINE_HEIGHT: f64 = 13.0;
/// The margin of the page.
const MARGIN: f64 = 16.0;

impl Provenance {
    /// Everything in one line.
    pub fn line(&self) -> String {
        let mut parts = vec![PRODUCER.to_owned(), self.subject.clone()];
        if !self.overrides.is_empty() {
            parts.push(format!("with {}", self.overrides.join(", ")));
        }
        parts.extend([self.seeds.clone(), self.environment.clone()]);
        parts.join(" · ")
    }

    /// Adds a footer with the provenance to a picture, and the same as metadata; only the metadata where
    /// the sheet has no heading.
    pub fn stamp(&self, mut drawing: Drawing) -> Drawing {
        let (width, top) = (drawing.width.units(), drawing.height.units());
        let lines = font::wrap(&self.line(), SIZE, width - 2.0 * MARGIN);
        let height = Length::of(lines.len() as f64 * LINE_HEIGHT + 8.0);
        let paper = Form::Rectangle {
            at: Point::of((0.0, top)),
            width: drawing.width,
            height,
        };
        let mut shapes = vec![Shape {
            form: paper,
            look: Look::filled(Colour::WHITE),
        }];
        for (number, line) in lines.iter().enumerate() {
            let style = TextStyle {
                size: SIZE,
                colour: palette::MUTED,
                anchor: Anchor::Start,
            };
            let y = top + (number + 1) as f64 * LINE_HEIGHT - 4.0;
            let mut shape = Shape::text(Point::of((MARGIN, y)), line, style);
            if let Form::Text(text) = &mut shape.form {
                text.family = Some(font::FAMILY.to_owned());
            }
            shapes.push(shape);
        }
        let height = match drawing.sheet.heading {
            Heading::Drawn => height,
            Heading::Omitted => {
                shapes.clear();
                Length::default()
            }
        };
        let data = serde_json::json!({ "producer": PRODUCER, "provenance": self });
        drawing.footer = Some(Footer {
            description: printable(&self.line()),
            data: printable(&data.to_string()),
            height,
            shapes,
        });
        drawing
    }
}

#[cfg(test)]
mod tests {
    use roxmltree::Document;

    use super::*;
    use crate::{pdf, png, svg};

    fn of_k1() -> Provenance {
        Provenance {
            subject: "kleppmann/k1".into(),
            overrides: vec!["lock.ttl_ms=500".into(), "lock.name=\"a<b\"".into()],
            seeds: "seeds 0..1000 in each cell".into(),
            environment: "simulated world".into(),
        }
    }

    fn stamped() -> Drawing {
        let mut drawing = Drawing::new(400.0);
        drawing.circle((200.0, 50.0), 20.0, Look::filled(Colour::hex(0x0072b2)));
        of_k1().stamp(drawing.finish(100.0))
    }

    #[test]
    fn every_format_carries_its_provenance() {
        let drawing = stamped();
        let svg = svg(&drawing);
        let document = Document::parse(&svg).expect("it is an SVG");
        let named = |name: &str| {
            let found = document
                .descendants()
                .find(|node| node.has_tag_name(("http://www.w3.org/2000/svg", name)));
            found
                .and_then(|node| node.text())
                .unwrap_or_default()
                .to_owned()
        };
        let line = of_k1().line();
        assert_eq!(named("desc"), line);
        let data: serde_json::Value = serde_json::from_str(&named("metadata")).expect("JSON");
        assert_eq!(data["provenance"]["overrides"][0], "lock.ttl_ms=500");
        let holds = |file: &[u8], text: &[u8]| file.windows(text.len()).any(|w| w == text);
        assert!(holds(&png(&drawing).expect("a PNG"), line.as_bytes()));
        // PDF has text beyond ASCII as UTF-16, here in hexadecimal digits.
        let wide: Vec<String> = line
            .encode_utf16()
            .map(|unit| format!("{unit:04X}"))
            .collect();
        let pdf = pdf(&drawing).expect("a PDF");
        assert!(holds(&pdf, wide.concat().as_bytes()));
    }

    #[test]
    fn the_foot_is_below_the_picture() {
        let svg = svg(&stamped());
        let document = Document::parse(&svg).expect("it is an SVG");
        let root = document.root_element();
        // Two lines of 13 units, and 8 more.
        assert_eq!(root.attribute("height"), Some("134"));
        assert_eq!(root.attribute("viewBox"), Some("0 0 400 134"));
        let texts = document
            .descendants()
            .filter(|node| node.tag_name().name() == "text");
        let lowest = texts.filter_map(|text| text.attribute("y")?.parse::<f64>().ok());
        assert_eq!(lowest.collect::<Vec<f64>>(), [109.0, 122.0]);
    }
}

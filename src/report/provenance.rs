//! Where a picture comes from: in small print at its foot, and as metadata.

use roxmltree::Document;
use serde::Serialize;

use super::svg::{Anchor, Svg, TextStyle, escape};
use super::{Error, font, palette};

/// The program, and its version.
pub const PRODUCER: &str = concat!("Locklab ", env!("CARGO_PKG_VERSION"));

/// What was run for a picture, and where.
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

    /// Adds a foot with the provenance to a picture, and the same as `<desc>` and `<metadata>`.
    ///
    /// # Errors
    ///
    /// [`Error::Drawing`] if the text is not an SVG with a size.
    pub fn stamp(&self, svg: &str) -> Result<String, Error> {
        let bad = |what: &str| Error::Drawing(what.to_owned());
        let document = Document::parse(svg).map_err(|error| Error::Drawing(error.to_string()))?;
        let length = |name| document.root_element().attribute(name)?.parse::<f64>().ok();
        let (Some(width), Some(height)) = (length("width"), length("height")) else {
            return Err(bad("the picture has no size"));
        };
        let lines = font::wrap(&self.line(), SIZE, width - 2.0 * MARGIN);
        let taller = height + lines.len() as f64 * LINE_HEIGHT + 8.0;
        let (opening, rest) = svg
            .split_once('>')
            .ok_or_else(|| bad("it has no element"))?;
        let content = rest
            .rsplit_once("</svg>")
            .ok_or_else(|| bad("it has no end"))?
            .0;
        let opening = opening
            .replace(
                &format!(r#" height="{height}""#),
                &format!(r#" height="{taller}""#),
            )
            .replace(&format!(" {height}\""), &format!(" {taller}\""));

        let mut foot = Svg::new(width);
        let white = r##"fill="#ffffff""##;
        foot.rect((0.0, height), (width, taller - height), white);
        for (number, line) in lines.iter().enumerate() {
            let style = TextStyle {
                size: SIZE,
                colour: palette::MUTED,
                anchor: Anchor::Start,
            };
            let y = height + (number + 1) as f64 * LINE_HEIGHT - 4.0;
            foot.text((MARGIN, y), line, style);
        }
        let family = format!(r#" font-family="{}""#, font::FAMILY);
        let foot = foot.content().replace("<text", &format!("<text{family}"));
        let data = serde_json::json!({ "producer": PRODUCER, "provenance": self });
        Ok(format!(
            "{opening}>\n<desc>{}</desc>\n<metadata>{}</metadata>{content}{foot}</svg>\n",
            escape(&self.line()),
            escape(&data.to_string()),
        ))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{pdf, png};

    fn of_k1() -> Provenance {
        Provenance {
            subject: "kleppmann/k1".into(),
            overrides: vec!["lock.ttl_ms=500".into(), "lock.name=\"a<b\"".into()],
            seeds: "seeds 0..1000 in each cell".into(),
            environment: "simulated world".into(),
        }
    }

    fn picture() -> String {
        let mut svg = Svg::new(400.0);
        svg.circle((200.0, 50.0), 20.0, r##"fill="#0072b2""##);
        svg.document(100.0)
    }

    #[test]
    fn every_format_says_where_it_comes_from() {
        let svg = of_k1().stamp(&picture()).expect("it is an SVG");
        let document = Document::parse(&svg).expect("it still is one");
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
        assert!(holds(&png(&svg).expect("a PNG"), line.as_bytes()));
        // PDF has text beyond ASCII as UTF-16, here in hexadecimal digits.
        let wide: Vec<String> = line
            .encode_utf16()
            .map(|unit| format!("{unit:04X}"))
            .collect();
        let pdf = pdf(&svg).expect("a PDF");
        assert!(holds(&pdf, wide.concat().as_bytes()));
    }

    #[test]
    fn the_foot_is_below_the_picture() {
        let svg = of_k1().stamp(&picture()).expect("it is an SVG");
        let document = Document::parse(&svg).expect("it still is one");
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

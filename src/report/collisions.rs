//! Whether texts of a picture lie on each other, or leave it, by the widths of the font's letters.

use std::fs;
use std::path::{Path, PathBuf};

use roxmltree::{Document, Node};

use super::font;

/// The height of a capital letter and of a small one, and how far two texts may touch, in parts of their size.
const CAPITAL: f64 = 0.73;
const SMALL: f64 = 0.55;
const TOUCHING: f64 = 0.08;

/// A text of a picture.
#[derive(Debug)]
struct Text {
    words: String,
    left: f64,
    right: f64,
    top: f64,
    bottom: f64,
    size: f64,
}

impl Text {
    /// A text that is not turned and not empty.
    fn of(node: Node<'_, '_>) -> Option<Text> {
        let words = node.text().unwrap_or_default().to_owned();
        let own = |name: &str| node.ancestors().find_map(|it| it.attribute(name));
        if words.trim().is_empty() || own("transform").is_some() {
            return None;
        }
        let number = |name: &str| own(name)?.parse::<f64>().ok();
        let size = number("font-size")?;
        let lower = match node.attribute("dy") {
            None => 0.0,
            Some(dy) => {
                let of = |unit: &str| dy.strip_suffix(unit)?.parse::<f64>().ok();
                of("em").or(of("ex").map(|ex| ex * SMALL))? * size
            }
        };
        let (x, y, width) = (
            number("x")?,
            number("y")? + lower,
            font::width(&words, size),
        );
        let left = match own("text-anchor") {
            Some("middle") => x - width / 2.0,
            Some("end") => x - width,
            _ => x,
        };
        let (right, top, bottom) = (left + width, y - CAPITAL * size, y);
        Some(Text {
            words,
            left,
            right,
            top,
            bottom,
            size,
        })
    }

    fn collides(&self, other: &Text) -> bool {
        let touching = TOUCHING * self.size.min(other.size);
        let beside = self.right.min(other.right) - self.left.max(other.left);
        let below = self.bottom.min(other.bottom) - self.top.max(other.top);
        beside > touching && below > touching
    }
}

/// The texts of this SVG that lie on another one, or beside the page, a line each.
pub(super) fn of(svg: &str) -> Vec<String> {
    let document = Document::parse(svg).expect("well-formed");
    let page = document.root_element();
    let side = |name| page.attribute(name).and_then(|it| it.parse::<f64>().ok());
    let (width, height) = (side("width"), side("height"));
    let texts: Vec<Text> = { document.descendants() }
        .filter(|node| node.has_tag_name("text"))
        .filter_map(Text::of)
        .collect();
    let mut found = Vec::new();
    for (place, text) in texts.iter().enumerate() {
        let touching = TOUCHING * text.size;
        let is_beside = text.left < -touching
            || text.top < -touching
            || width.is_some_and(|width| text.right > width + touching)
            || height.is_some_and(|height| text.bottom > height + touching);
        if is_beside {
            found.push(format!("{:?} is beside the page", text.words));
        }
        let others = texts[..place].iter().filter(|other| text.collides(other));
        found.extend(others.map(|other| format!("{:?} lies on {:?}", text.words, other.words)));
    }
    found
}

/// The pictures in this folder and those below it.
fn pictures(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).expect("it can be read").flatten();
    let paths = entries.map(|entry| entry.path());
    let found = paths.flat_map(|path| match path.is_dir() {
        true => pictures(&path),
        false => vec![path],
    });
    found
        .filter(|path| path.extension().is_some_and(|it| it == "svg"))
        .collect()
}

/// Tables of measurements on real servers that were drawn when columns had one width; they are drawn anew with the
/// next measurement.
const DRAWN_BEFORE: [&str; 3] = [
    "calibrate/calibrate.svg",
    "confirm/confirm.svg",
    "valkey/confirm.svg",
];

#[test]
fn no_text_of_a_published_picture_lies_on_another() {
    let folder = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../../reports"));
    let all = pictures(folder);
    assert!(all.len() > 50, "{all:?}");
    let found = { all.iter() }
        .filter(|path| !DRAWN_BEFORE.iter().any(|before| path.ends_with(before)))
        .flat_map(|path| {
            let svg = fs::read_to_string(path).expect("it can be read");
            of(&svg)
                .into_iter()
                .map(|line| format!("{}: {line}", path.display()))
        });
    let found: Vec<String> = found.collect();
    assert!(found.is_empty(), "{}", found.join("\n"));
}

#[test]
fn texts_on_each_other_and_beside_the_page_are_found() {
    let svg = |texts: &str| {
        format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"100\" height=\"40\">{texts}</svg>"
        )
    };
    let at = |x: u32, y: u32| format!("<text x=\"{x}\" y=\"{y}\" font-size=\"10\">lease</text>");
    assert_eq!(of(&svg(&(at(5, 20) + &at(60, 20) + &at(5, 32)))), [""; 0]);
    assert_eq!(
        of(&svg(&(at(5, 20) + &at(20, 20)))),
        ["\"lease\" lies on \"lease\""]
    );
    assert_eq!(of(&svg(&at(80, 20))), ["\"lease\" is beside the page"]);
}

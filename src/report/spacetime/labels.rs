//! Labels that do not overlap: each takes the first of its positions that is free, or is left
//! out.

use super::super::{
    drawing::{Anchor, Colour, Drawing, TextStyle},
    font,
};

/// An upright rectangle of the page.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Area {
    pub(super) left: f64,
    pub(super) top: f64,
    pub(super) right: f64,
    pub(super) bottom: f64,
}

/// The areas already occupied, and the page on which labels must stay.
pub(super) struct Labels {
    page: Area,
    taken: Vec<Area>,
    lines: Vec<[(f64, f64); 2]>,
}

/// The maximum number of lines that a label may cross; with more its owner is unclear.
const MAX_LINES_CROSSED: usize = 2;

/// The distance between two labels, which their outlines need.
const APART: f64 = 4.0;

impl Labels {
    /// Labels for an empty page.
    pub(super) fn new(page: Area) -> Self {
        Labels {
            page,
            taken: Vec::new(),
            lines: Vec::new(),
        }
    }

    /// Keeps an area free of labels.
    pub(super) fn reserve(&mut self, area: Area) {
        self.taken.push(area);
    }

    /// Notes a line that labels should avoid.
    pub(super) fn avoid(&mut self, from: (f64, f64), to: (f64, f64)) {
        self.lines.push([from, to]);
    }

    /// Writes the text at the best of the positions: one that is free and crosses the fewest
    /// lines. If none is free, writes nothing.
    pub(super) fn put(
        &mut self,
        drawing: &mut Drawing,
        text: &str,
        (size, colour): (f64, Colour),
        places: &[(f64, f64, Anchor)],
    ) {
        self.put_one(drawing, &[text], (size, colour), places);
    }

    /// The same, with the first of the texts that crosses no line; if each does, with the one
    /// that crosses the fewest.
    pub(super) fn put_one(
        &mut self,
        drawing: &mut Drawing,
        texts: &[&str],
        (size, colour): (f64, Colour),
        places: &[(f64, f64, Anchor)],
    ) {
        let pairs = texts
            .iter()
            .flat_map(|&text| places.iter().map(move |&place| (text, place)));
        let free = pairs.filter_map(|(text, (x, y, anchor))| {
            let area = extent((x, y), text, size, anchor);
            let free = area.within(&self.page) && !self.taken.iter().any(|t| t.overlaps(&area));
            free.then(|| (self.crossings(&area), text, (x, y), anchor, area))
        });
        let best = free.min_by_key(|&(crossings, ..)| crossings);
        if let Some((crossings, text, at, anchor, area)) = best
            && crossings <= MAX_LINES_CROSSED
        {
            self.taken.push(area);
            let style = TextStyle {
                size,
                colour,
                anchor,
            };
            drawing.text_over(at, text, style);
        }
    }

    fn crossings(&self, area: &Area) -> usize {
        self.lines.iter().filter(|line| area.crossed(line)).count()
    }
}

/// The area of a text with its baseline at `y`.
fn extent((x, y): (f64, f64), text: &str, size: f64, anchor: Anchor) -> Area {
    let width = font::width(text, size);
    let left = match anchor {
        Anchor::Start => x,
        Anchor::Middle => x - width / 2.0,
        Anchor::End => x - width,
    };
    Area {
        left: left - APART / 2.0,
        top: y - 0.85 * size,
        right: left + width + APART / 2.0,
        bottom: y + 0.25 * size,
    }
}

impl Area {
    fn overlaps(&self, other: &Area) -> bool {
        self.left < other.right
            && other.left < self.right
            && self.top < other.bottom
            && other.top < self.bottom
    }

    fn within(&self, page: &Area) -> bool {
        self.left >= page.left
            && self.right <= page.right
            && self.top >= page.top
            && self.bottom <= page.bottom
    }

    /// Whether the line runs through it (Liang and Barsky 1984).
    fn crossed(&self, &[(x1, y1), (x2, y2)]: &[(f64, f64); 2]) -> bool {
        let (dx, dy) = (x2 - x1, y2 - y1);
        let (mut enter, mut leave) = (0.0_f64, 1.0_f64);
        for (towards, room) in [
            (-dx, x1 - self.left),
            (dx, self.right - x1),
            (-dy, y1 - self.top),
            (dy, self.bottom - y1),
        ] {
            if towards == 0.0 {
                if room < 0.0 {
                    return false;
                }
            } else if towards < 0.0 {
                enter = enter.max(room / towards);
            } else {
                leave = leave.min(room / towards);
            }
        }
        enter <= leave
    }
}

#[cfg(test)]
mod tests {
    use super::super::super::svg;
    use super::*;

    const AREA: Area = Area {
        left: 10.0,
        top: 10.0,
        right: 20.0,
        bottom: 20.0,
    };

    #[test]
    fn lines_cross_an_area_or_do_not() {
        assert!(AREA.crossed(&[(0.0, 0.0), (30.0, 30.0)]));
        assert!(AREA.crossed(&[(15.0, 0.0), (15.0, 30.0)]));
        assert!(!AREA.crossed(&[(0.0, 15.0), (30.0, 60.0)]));
        assert!(!AREA.crossed(&[(0.0, 0.0), (9.0, 9.0)]));
    }

    #[test]
    fn a_shorter_text_is_better_than_a_crossed_line() {
        let page = Area {
            left: 0.0,
            top: 0.0,
            right: 200.0,
            bottom: 100.0,
        };
        let mut labels = Labels::new(page);
        let beyond = 20.0 + font::width("SET lock", 10.0);
        labels.avoid((beyond, 0.0), (beyond, 100.0));
        let mut drawing = Drawing::new(200.0);
        let places = [(10.0, 20.0, Anchor::Start)];
        let texts = ["SET lock 0011… NX PX 1000", "SET lock"];
        labels.put_one(&mut drawing, &texts, (10.0, Colour::BLACK), &places);
        labels.put_one(
            &mut drawing,
            &texts[..1],
            (10.0, Colour::BLACK),
            &[(10.0, 60.0, Anchor::Start)],
        );
        let drawn = svg(&drawing.finish(100.0));
        assert!(
            drawn.contains(">SET lock<") && drawn.contains(">SET lock 0011"),
            "{drawn}"
        );
    }

    #[test]
    fn label_takes_its_second_place_and_is_then_omitted() {
        let page = Area {
            left: 0.0,
            top: 0.0,
            right: 200.0,
            bottom: 100.0,
        };
        let mut labels = Labels::new(page);
        let mut drawing = Drawing::new(200.0);
        let places = [(20.0, 20.0, Anchor::Start), (20.0, 60.0, Anchor::Start)];
        for text in ["one", "two", "three"] {
            labels.put(&mut drawing, text, (10.0, Colour::BLACK), &places);
        }
        let drawn = svg(&drawing.finish(100.0));
        assert!(drawn.contains(r#"y="20""#) && drawn.contains(r#"y="60""#));
        assert!(drawn.contains("two") && !drawn.contains("three"));
    }
}

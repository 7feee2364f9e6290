//! A picture as plain data: shapes with their places and looks, in painting order.
//! [SVG](super::svg()), [PNG](super::png()) and [PDF](super::pdf()) are written from it.

mod length;
mod look;

pub(super) use length::{Length, Percent, Point};
pub(super) use look::{Colour, Fill, Ink, Look, Stroke};

use super::sheet::Sheet;

/// A picture.
#[derive(Debug, Clone, PartialEq)]
pub struct Drawing {
    pub(super) width: Length,
    /// The height without the footer.
    pub(super) height: Length,
    pub(super) sheet: Sheet,
    pub(super) dialect: Dialect,
    pub(super) items: Vec<Item>,
    pub(super) footer: Option<Footer>,
}

/// How a drawing is spelt in SVG: both mean the same, and published files keep their bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Dialect {
    /// Diagrams and tables: attributes only where they differ from SVG's defaults.
    Compact,
    /// Charts: every attribute, in the order of the SVG backend of `plotters`.
    Plotters,
}

/// A part of a drawing.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Item {
    Shape(Shape),
    /// A pattern that later shapes are filled with.
    Hatch(Hatch),
}

/// Small print below a picture, and the same as metadata.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Footer {
    pub(super) description: String,
    /// The description as JSON.
    pub(super) data: String,
    pub(super) height: Length,
    pub(super) shapes: Vec<Shape>,
}

/// Something to paint.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Shape {
    pub(super) form: Form,
    pub(super) look: Look,
}

#[derive(Debug, Clone, PartialEq)]
pub(super) enum Form {
    /// A rectangle whose upper left corner is the origin.
    Ground {
        width: Length,
        height: Length,
    },
    /// A rectangle by its upper left corner.
    Rectangle {
        at: Point,
        width: Length,
        height: Length,
    },
    Line {
        from: Point,
        to: Point,
    },
    /// Lines from point to point.
    Polyline(Vec<Point>),
    /// The same, closed.
    Polygon(Vec<Point>),
    Circle {
        centre: Point,
        radius: Length,
    },
    Text(Text),
}

/// A line of text.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Text {
    pub(super) at: Point,
    /// Without characters that XML 1.0 cannot have.
    pub(super) text: String,
    pub(super) size: f64,
    pub(super) anchor: Anchor,
    pub(super) level: Level,
    /// The name of the font, if it is not the drawing's.
    pub(super) family: Option<String>,
    /// The turn about `at`, clockwise in degrees.
    pub(super) turn: u16,
    /// Whether it has a white outline, legible over lines.
    pub(super) rim: bool,
}

/// The width of the outline of letters; half of it is visible.
pub(super) const RIM: f64 = 3.0;

/// The horizontal position of a text relative to its point.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Anchor {
    /// The text begins at the point.
    Start,
    /// The text is centred at the point.
    Middle,
    /// The text ends at the point.
    End,
}

/// The vertical position of a text relative to its point.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Level {
    /// The point is on the baseline.
    Baseline,
    /// The text is below the point.
    Below,
    /// The point is in the middle of its height.
    Centred,
    /// The text is above the point.
    Above,
}

/// The style of a text.
#[derive(Debug, Clone, Copy)]
pub(super) struct TextStyle {
    pub size: f64,
    pub colour: Colour,
    pub anchor: Anchor,
}

/// A fill of stripes on white.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Hatch {
    /// The id that fills refer to.
    pub(super) id: String,
    pub(super) colour: Colour,
    /// The distance from one stripe to the next.
    pub(super) side: Length,
    /// The width of a stripe.
    pub(super) stripe: Length,
    /// The slant of the stripes, clockwise in degrees; 0: upright.
    pub(super) turn: u16,
}

impl Drawing {
    /// An empty diagram, `width` units wide; its height is set by [`Drawing::finish`].
    pub(super) fn new(width: f64) -> Self {
        Drawing {
            width: Length::of(width),
            height: Length::default(),
            sheet: Sheet::SCREEN,
            dialect: Dialect::Compact,
            items: Vec::new(),
            footer: None,
        }
    }

    /// An empty chart of a size in whole units.
    pub(super) fn chart((width, height): (u32, u32)) -> Self {
        Drawing {
            height: Length::of(f64::from(height)),
            dialect: Dialect::Plotters,
            ..Drawing::new(f64::from(width))
        }
    }

    /// The drawing on this paper, to whose width it is scaled.
    pub(super) fn on(self, sheet: &Sheet) -> Self {
        let sheet = sheet.fitted(self.width.units());
        Drawing { sheet, ..self }
    }

    /// Sets the height, and puts white paper under everything.
    pub(super) fn finish(mut self, height: f64) -> Self {
        self.height = Length::of(height);
        let paper = Shape::ground(self.width, self.height, Colour::WHITE);
        self.items.insert(0, Item::Shape(paper));
        self
    }

    /// The height with the footer.
    pub(super) fn whole_height(&self) -> Length {
        match &self.footer {
            Some(footer) => self.height + footer.height,
            None => self.height,
        }
    }

    /// All shapes, in painting order.
    pub(super) fn shapes(&self) -> impl Iterator<Item = &Shape> {
        let body = self.items.iter().filter_map(|item| match item {
            Item::Shape(shape) => Some(shape),
            Item::Hatch(_) => None,
        });
        body.chain(self.footer.iter().flat_map(|footer| &footer.shapes))
    }

    pub(super) fn hatches(&self) -> impl Iterator<Item = &Hatch> {
        self.items.iter().filter_map(|item| match item {
            Item::Hatch(hatch) => Some(hatch),
            Item::Shape(_) => None,
        })
    }

    /// A fill for later shapes.
    pub(super) fn hatch(&mut self, hatch: Hatch) {
        self.items.push(Item::Hatch(hatch));
    }

    /// Any shape.
    pub(super) fn add(&mut self, form: Form, look: Look) {
        self.items.push(Item::Shape(Shape { form, look }));
    }

    /// A straight line.
    pub(super) fn line(&mut self, from: (f64, f64), to: (f64, f64), look: impl Into<Look>) {
        let (from, to) = (Point::of(from), Point::of(to));
        self.add(Form::Line { from, to }, look.into());
    }

    /// A rectangle by its upper left corner, width and height.
    pub(super) fn rect(&mut self, at: (f64, f64), (width, height): (f64, f64), look: Look) {
        let (width, height) = (Length::of(width), Length::of(height));
        let at = Point::of(at);
        self.add(Form::Rectangle { at, width, height }, look);
    }

    /// A circle.
    pub(super) fn circle(&mut self, centre: (f64, f64), radius: f64, look: Look) {
        let (centre, radius) = (Point::of(centre), Length::of(radius));
        self.add(Form::Circle { centre, radius }, look);
    }

    /// A line through the points.
    pub(super) fn polyline(&mut self, points: &[(f64, f64)], look: Look) {
        let points = points.iter().copied().map(Point::of).collect();
        self.add(Form::Polyline(points), look);
    }

    /// A text with its baseline at `at`.
    pub(super) fn text(&mut self, at: (f64, f64), text: &str, style: TextStyle) {
        self.items
            .push(Item::Shape(Shape::text(Point::of(at), text, style)));
    }

    /// A text with a white outline, legible over lines.
    pub(super) fn text_over(&mut self, at: (f64, f64), text: &str, style: TextStyle) {
        let mut shape = Shape::text(Point::of(at), text, style);
        if let Form::Text(text) = &mut shape.form {
            text.rim = true;
        }
        self.items.push(Item::Shape(shape));
    }
}

impl Shape {
    /// A rectangle from the origin.
    pub(super) fn ground(width: Length, height: Length, colour: Colour) -> Self {
        Shape {
            form: Form::Ground { width, height },
            look: Look::filled(colour),
        }
    }

    /// A text with its baseline at `at`.
    pub(super) fn text(at: Point, text: &str, style: TextStyle) -> Self {
        let text = Text {
            at,
            text: printable(text),
            size: style.size,
            anchor: style.anchor,
            level: Level::Baseline,
            family: None,
            turn: 0,
            rim: false,
        };
        Shape {
            form: Form::Text(text),
            look: Look::filled(style.colour),
        }
    }
}

impl Shape {
    /// The outline below the letters of a text that has one; its joins are round.
    pub(super) fn rim(&self) -> Option<Stroke> {
        match &self.form {
            Form::Text(Text { rim: true, .. }) => Some(Stroke::new(Colour::WHITE, RIM)),
            _ => None,
        }
    }
}

impl Hatch {
    /// Stripes that slant to the right, and can be told from the others without their colour.
    pub(super) fn slanted_right(id: String, colour: Colour, stripe: f64) -> Self {
        Hatch {
            stripe: Length::of(stripe),
            turn: 135,
            ..Hatch::slanted(id, colour)
        }
    }

    /// Stripes that slant to the left.
    pub(super) fn slanted(id: String, colour: Colour) -> Self {
        Hatch {
            id,
            colour,
            side: Length::of(6.0),
            stripe: Length::of(2.5),
            turn: 45,
        }
    }

    /// The square that is repeated.
    pub(super) fn tile(&self) -> [Shape; 2] {
        [
            Shape::ground(self.side, self.side, Colour::WHITE),
            Shape::ground(self.stripe, self.side, self.colour),
        ]
    }
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

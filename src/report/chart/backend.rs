//! The backend of `plotters`: each call adds a shape to a [`Drawing`].

use std::convert::Infallible;

use plotters_backend::text_anchor::{HPos, VPos};
use plotters_backend::{
    BackendColor, BackendCoord, BackendStyle, BackendTextStyle, DrawingBackend, DrawingErrorKind,
    FontTransform,
};

use super::super::drawing::{
    Anchor, Colour, Drawing, Form, Ink, Item, Length, Level, Look, Percent, Point, Shape, Stroke,
    TextStyle,
};
use super::super::font::LINE_HEIGHT;

/// Appends to a drawing. Invisible ink adds nothing.
pub(super) struct Backend<'d> {
    size: (u32, u32),
    drawing: &'d mut Drawing,
}

type Drawn = Result<(), DrawingErrorKind<Infallible>>;

impl<'d> Backend<'d> {
    /// For a [`Drawing::chart`] of that size.
    pub(super) fn new(drawing: &'d mut Drawing, size: (u32, u32)) -> Self {
        Backend { size, drawing }
    }

    fn add(&mut self, form: Form, color: BackendColor, look: impl FnOnce(Ink) -> Look) -> Drawn {
        if color.alpha != 0.0 {
            self.drawing.add(form, look(ink(color)));
        }
        Ok(())
    }
}

impl DrawingBackend for Backend<'_> {
    type ErrorType = Infallible;

    fn get_size(&self) -> (u32, u32) {
        self.size
    }

    fn ensure_prepared(&mut self) -> Drawn {
        Ok(())
    }

    fn present(&mut self) -> Drawn {
        Ok(())
    }

    fn draw_pixel(&mut self, at: BackendCoord, color: BackendColor) -> Drawn {
        self.draw_rect(at, (at.0 + 1, at.1 + 1), &color, true)
    }

    fn draw_line<S: BackendStyle>(
        &mut self,
        from: BackendCoord,
        to: BackendCoord,
        style: &S,
    ) -> Drawn {
        let (from, to) = (Point::whole(from), Point::whole(to));
        let form = Form::Line { from, to };
        self.add(form, style.color(), |ink| edge(ink, style).into())
    }

    fn draw_rect<S: BackendStyle>(
        &mut self,
        from: BackendCoord,
        to: BackendCoord,
        style: &S,
        fill: bool,
    ) -> Drawn {
        let form = Form::Rectangle {
            at: Point::whole(from),
            width: Length::whole(to.0 - from.0),
            height: Length::whole(to.1 - from.1),
        };
        self.add(form, style.color(), |ink| area(ink, style, fill))
    }

    fn draw_path<S: BackendStyle, I: IntoIterator<Item = BackendCoord>>(
        &mut self,
        path: I,
        style: &S,
    ) -> Drawn {
        let form = Form::Polyline(path.into_iter().map(Point::whole).collect());
        self.add(form, style.color(), |ink| Look::hollow(edge(ink, style)))
    }

    fn fill_polygon<S: BackendStyle, I: IntoIterator<Item = BackendCoord>>(
        &mut self,
        path: I,
        style: &S,
    ) -> Drawn {
        let form = Form::Polygon(path.into_iter().map(Point::whole).collect());
        self.add(form, style.color(), Look::filled)
    }

    fn draw_circle<S: BackendStyle>(
        &mut self,
        centre: BackendCoord,
        radius: u32,
        style: &S,
        fill: bool,
    ) -> Drawn {
        let form = Form::Circle {
            centre: Point::whole(centre),
            radius: Length::of(f64::from(radius)),
        };
        self.add(form, style.color(), |ink| area(ink, style, fill))
    }

    fn draw_text<S: BackendTextStyle>(&mut self, text: &str, style: &S, at: BackendCoord) -> Drawn {
        let color = style.color();
        if color.alpha == 0.0 {
            return Ok(());
        }
        let look = TextStyle {
            size: style.size() / LINE_HEIGHT,
            colour: ink(color).colour,
            anchor: match style.anchor().h_pos {
                HPos::Left => Anchor::Start,
                HPos::Center => Anchor::Middle,
                HPos::Right => Anchor::End,
            },
        };
        let mut shape = Shape::text(Point::whole(at), text, look);
        shape.look = Look::filled(ink(color));
        if let Form::Text(text) = &mut shape.form {
            text.level = match style.anchor().v_pos {
                VPos::Top => Level::Below,
                VPos::Center => Level::Centred,
                VPos::Bottom => Level::Above,
            };
            text.family = Some(style.family().as_str().to_owned());
            text.turn = match style.transform() {
                FontTransform::None => 0,
                FontTransform::Rotate90 => 90,
                FontTransform::Rotate180 => 180,
                FontTransform::Rotate270 => 270,
            };
        }
        self.drawing.items.push(Item::Shape(shape));
        Ok(())
    }
}

fn ink(color: BackendColor) -> Ink {
    let (r, g, b) = color.rgb;
    Ink {
        colour: Colour([r, g, b]),
        opacity: Percent::of(color.alpha),
    }
}

fn edge(ink: Ink, style: &impl BackendStyle) -> Stroke {
    Stroke {
        ink,
        ..Stroke::new(ink.colour, f64::from(style.stroke_width()))
    }
}

fn area(ink: Ink, style: &impl BackendStyle, fill: bool) -> Look {
    match fill {
        true => Look::filled(ink),
        false => Look::hollow(edge(ink, style)),
    }
}

//! A picture of a table of results: verdicts as coloured fields, numbers as bars.

use std::mem::discriminant;

use super::drawing::{Anchor, Colour, Drawing, Look as Paint, Percent, Stroke, TextStyle};
use super::palette::{FAINT, INK, MUTED, VIOLATION};
use super::{Heading, Sheet, font};
use locklab_results::table::{Field, Look, Table};

/// Dimensions in units of the drawing. A column is wider where a label, a field or a word of its heading is.
const LABEL_WIDTH: f64 = 230.0;
const LABEL_SIZE: f64 = 11.5;
const COLUMN_WIDTH: f64 = 108.0;
const FIELD_SIZE: f64 = 11.0;
const HEADING_SIZE: f64 = 10.5;
const ROW_HEIGHT: f64 = 22.0;
const LINE_HEIGHT: f64 = 13.0;
const MARGIN: f64 = 16.0;
const TITLE_HEIGHT: f64 = 34.0;
/// The width of a sample in the legend.
const SAMPLE: f64 = 28.0;
/// The number of characters of a heading that fit on one line of a column.
const HEADING_LETTERS: usize = 17;

/// Draws the table, scaled to the width of the sheet.
pub fn draw(table: &Table, sheet: &Sheet) -> Drawing {
    let headings: Vec<Vec<String>> = table.columns.iter().map(|text| wrap(text)).collect();
    let lines = headings.iter().map(Vec::len).max().unwrap_or(0);
    let title = match sheet.heading {
        Heading::Drawn => Some(&table.title),
        Heading::Omitted => None,
    };
    let above = title.map_or(0.0, |_| TITLE_HEIGHT);
    let top = MARGIN + above + lines as f64 * LINE_HEIGHT + 8.0;
    let widths: Vec<f64> = { headings.iter().enumerate() }
        .map(|(column, heading)| column_width(table, column, heading))
        .collect();
    let left = |column: usize| MARGIN + label_width(table) + widths[..column].iter().sum::<f64>();
    let width = left(widths.len()) + MARGIN;
    let mut drawing = Drawing::new(width);
    if let Some(title) = title {
        let style = text(15.0, INK, Anchor::Start);
        drawing.text((MARGIN, MARGIN + 14.0), title, style);
    }
    for (column, heading) in headings.iter().enumerate() {
        let first = top - 8.0 - heading.len() as f64 * LINE_HEIGHT;
        for (line, words) in heading.iter().enumerate() {
            let y = first + (line + 1) as f64 * LINE_HEIGHT;
            drawing.text(
                (left(column) + 4.0, y),
                words,
                text(HEADING_SIZE, MUTED, Anchor::Start),
            );
        }
    }
    for (place, row) in table.rows.iter().enumerate() {
        let y = top + place as f64 * ROW_HEIGHT;
        drawing.line((MARGIN, y), (width - MARGIN, y), Stroke::new(FAINT, 0.5));
        drawing.text(
            (MARGIN, y + 15.0),
            &row.label,
            text(LABEL_SIZE, INK, Anchor::Start),
        );
        for (column, field) in row.fields.iter().enumerate() {
            draw_field(&mut drawing, (left(column), y), widths[column], field);
        }
    }
    let mut y = top + table.rows.len() as f64 * ROW_HEIGHT + 8.0;
    y = draw_legend(&mut drawing, table, (width, y));
    for note in &table.notes {
        for line in font::wrap(note, 10.5, width - 2.0 * MARGIN) {
            y += LINE_HEIGHT;
            drawing.text((MARGIN, y), &line, text(10.5, MUTED, Anchor::Start));
        }
        y += 4.0;
    }
    drawing.on(sheet).finish(y + 4.0)
}

/// The meanings of the looks that occur, with a sample of each; returns the lower end.
fn draw_legend(drawing: &mut Drawing, table: &Table, (width, top): (f64, f64)) -> f64 {
    let fields = || table.rows.iter().flat_map(|row| &row.fields);
    let occurs =
        |look: Look| fields().any(|field| discriminant(&field.look) == discriminant(&look));
    let mut at = (MARGIN, top);
    let mut bottom = top;
    for (look, meaning) in table.legend.iter().filter(|(look, _)| occurs(*look)) {
        let needed = SAMPLE + 6.0 + font::width(meaning, 10.5);
        if at.0 > MARGIN && at.0 + needed > width - MARGIN {
            at = (MARGIN, at.1 + 20.0);
        }
        match look {
            Look::Violated(_) => {
                // Pale to strong, as the share grows.
                for step in 0..4 {
                    let part = SAMPLE / 4.0;
                    let look = paint(Look::Violated(f64::from(step) / 3.0));
                    let x = at.0 + f64::from(step) * part;
                    drawing.rect((x, at.1), (part, 13.0), look);
                }
            }
            Look::Silent => {
                let style = text(10.5, MUTED, Anchor::Middle);
                drawing.text((at.0 + SAMPLE / 2.0, at.1 + 10.0), "–", style);
            }
            look => drawing.rect(at, (SAMPLE, 13.0), paint(*look)),
        }
        let style = text(10.5, INK, Anchor::Start);
        drawing.text((at.0 + SAMPLE + 6.0, at.1 + 10.5), meaning, style);
        bottom = at.1 + 24.0;
        at.0 += needed + 18.0;
    }
    bottom
}

/// The look of a field's rectangle.
fn paint(look: Look) -> Paint {
    match look {
        Look::Holds => Paint::filled(Colour::hex(0xd9efe6)),
        Look::Violated(share) => {
            // A low share is pale, a high one is strong; a share of zero is not drawn this way.
            Paint::pale(VIOLATION, Percent::of(0.18 + 0.42 * share))
        }
        Look::Differs => Paint::hollow(Stroke::new(VIOLATION, 1.5)),
        Look::Inconclusive => Paint::hollow(Stroke::unit(MUTED).dashed(&[3.0, 2.0])),
        Look::Bar(_) => Paint::filled(Colour::hex(0xcfe3f1)),
        Look::Silent => Paint::nothing(),
    }
}

fn draw_field(drawing: &mut Drawing, (x, y): (f64, f64), width: f64, field: &Field) {
    let (inner, high) = (width - 4.0, ROW_HEIGHT - 3.0);
    let (x, y) = (x + 2.0, y + 1.5);
    match field.look {
        Look::Bar(share) => drawing.rect((x, y), (inner * share, high), paint(field.look)),
        Look::Silent => {}
        look => drawing.rect((x, y), (inner, high), paint(look)),
    }
    let colour = match field.look {
        Look::Silent | Look::Inconclusive => MUTED,
        _ => INK,
    };
    drawing.text(
        (x + 5.0, y + 13.5),
        &field.text,
        text(FIELD_SIZE, colour, Anchor::Start),
    );
}

/// The width of a column with this heading, in which no text reaches the next.
fn column_width(table: &Table, column: usize, heading: &[String]) -> f64 {
    let fields = { table.rows.iter() }.filter_map(|row| row.fields.get(column));
    let fields = fields.map(|field| font::width(&field.text, FIELD_SIZE) + 12.0);
    let headings = heading
        .iter()
        .map(|line| font::width(line, HEADING_SIZE) + 8.0);
    let widest = fields.chain(headings).fold(0.0, f64::max);
    widest.ceil().max(COLUMN_WIDTH)
}

/// The width of the column of labels, where no label reaches the first number.
fn label_width(table: &Table) -> f64 {
    let widths = table
        .rows
        .iter()
        .map(|row| font::width(&row.label, LABEL_SIZE));
    widths.fold(LABEL_WIDTH, |widest, width| widest.max(width.ceil() + 8.0))
}

fn text(size: f64, colour: Colour, anchor: Anchor) -> TextStyle {
    TextStyle {
        size,
        colour,
        anchor,
    }
}

/// Wraps words into as few lines as possible.
fn wrap(heading: &str) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for word in heading.split(' ') {
        match lines.last_mut() {
            Some(line) if line.chars().count() + 1 + word.chars().count() <= HEADING_LETTERS => {
                line.push(' ');
                line.push_str(word);
            }
            _ => lines.push(word.to_owned()),
        }
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::svg;
    use locklab_results::table::TableRow;

    const NOTE: &str = "A note that is far too long for one line of such a narrow table: two.";

    #[test]
    fn legend_explains_the_symbols_in_use() {
        let table = Table {
            title: "t".into(),
            rows_are: "lock",
            columns: vec!["a".into()],
            legend: vec![
                (Look::Holds, "holds"),
                (Look::Violated(0.0), "violated"),
                (Look::Inconclusive, "too few runs"),
            ],
            notes: vec![NOTE.into()],
            rows: vec![TableRow {
                label: "l".into(),
                fields: vec![Field::plain("50 %", Look::Violated(0.5))],
            }],
        };
        let drawn = svg(&draw(&table, &Sheet::SCREEN));
        assert!(drawn.contains(">violated<"), "{drawn}");
        assert!(!drawn.contains(">holds<") && !drawn.contains(">too few runs<"));
        assert!(drawn.contains("two.<") && !drawn.contains(NOTE), "{drawn}");
    }
    #[test]
    fn a_long_label_does_not_reach_the_first_number() {
        let table = |label: &str| Table {
            title: "t".into(),
            rows_are: "lock",
            columns: vec!["a".into()],
            legend: vec![],
            notes: vec![],
            rows: vec![TableRow {
                label: label.into(),
                fields: vec![],
            }],
        };
        assert_eq!(label_width(&table("redlock")), LABEL_WIDTH);
        let long = "set-nx-px (release get-del) in problems/campaign";
        assert!(label_width(&table(long)) > font::width(long, LABEL_SIZE) + 7.0);
    }
}

//! A picture of a table of results: verdicts as coloured fields, numbers as bars.

use super::palette::{FAINT, INK, MUTED, VIOLATION};
use super::svg::{Anchor, Svg, TextStyle};
use crate::results::table::{Field, Look, Table};

/// Dimensions in units of the drawing.
const LABEL_WIDTH: f64 = 230.0;
const COLUMN_WIDTH: f64 = 108.0;
const ROW_HEIGHT: f64 = 22.0;
const LINE_HEIGHT: f64 = 13.0;
const MARGIN: f64 = 16.0;
const TITLE_HEIGHT: f64 = 34.0;
/// The number of characters of a heading that fit on one line of a column.
const HEADING_LETTERS: usize = 17;

/// Draws the table, as SVG.
pub fn draw(table: &Table) -> String {
    let headings: Vec<Vec<String>> = table.columns.iter().map(|text| wrap(text)).collect();
    let lines = headings.iter().map(Vec::len).max().unwrap_or(0);
    let top = MARGIN + TITLE_HEIGHT + lines as f64 * LINE_HEIGHT + 8.0;
    let width = 2.0 * MARGIN + LABEL_WIDTH + table.columns.len() as f64 * COLUMN_WIDTH;
    let mut svg = Svg::new(width);
    svg.text(
        (MARGIN, MARGIN + 14.0),
        &table.title,
        text(15.0, INK, Anchor::Start),
    );
    for (column, heading) in headings.iter().enumerate() {
        let first = top - 8.0 - heading.len() as f64 * LINE_HEIGHT;
        for (line, words) in heading.iter().enumerate() {
            let y = first + (line + 1) as f64 * LINE_HEIGHT;
            svg.text(
                (left(column) + 4.0, y),
                words,
                text(10.5, MUTED, Anchor::Start),
            );
        }
    }
    for (place, row) in table.rows.iter().enumerate() {
        let y = top + place as f64 * ROW_HEIGHT;
        let rule = format!(r#"stroke="{FAINT}" stroke-width="0.5""#);
        svg.line((MARGIN, y), (width - MARGIN, y), &rule);
        svg.text(
            (MARGIN, y + 15.0),
            &row.label,
            text(11.5, INK, Anchor::Start),
        );
        for (column, field) in row.fields.iter().enumerate() {
            draw_field(&mut svg, (left(column), y), field);
        }
    }
    let mut y = top + table.rows.len() as f64 * ROW_HEIGHT;
    for note in &table.notes {
        y += LINE_HEIGHT + 4.0;
        svg.text((MARGIN, y), note, text(10.5, MUTED, Anchor::Start));
    }
    svg.document(y + MARGIN)
}

fn draw_field(svg: &mut Svg, (x, y): (f64, f64), field: &Field) {
    let (inner, high) = (COLUMN_WIDTH - 4.0, ROW_HEIGHT - 3.0);
    let (x, y) = (x + 2.0, y + 1.5);
    let filled = |colour: &str| format!(r#"fill="{colour}""#);
    match field.look {
        Look::Holds => svg.rect((x, y), (inner, high), &filled("#d9efe6")),
        Look::Violated(share) => {
            // A low share is pale, a high one is strong; a share of zero is not drawn this way.
            let look = format!(
                r#"fill="{VIOLATION}" fill-opacity="{:.2}""#,
                0.18 + 0.42 * share
            );
            svg.rect((x, y), (inner, high), &look);
        }
        Look::Differs => {
            let look = format!(r#"fill="none" stroke="{VIOLATION}" stroke-width="1.5""#);
            svg.rect((x, y), (inner, high), &look);
        }
        Look::Inconclusive => {
            let look = format!(r#"fill="none" stroke="{MUTED}" stroke-dasharray="3 2""#);
            svg.rect((x, y), (inner, high), &look);
        }
        Look::Bar(share) => svg.rect((x, y), (inner * share, high), &filled("#cfe3f1")),
        Look::Silent => {}
    }
    let colour = match field.look {
        Look::Silent | Look::Inconclusive => MUTED,
        _ => INK,
    };
    svg.text(
        (x + 5.0, y + 13.5),
        &field.text,
        text(11.0, colour, Anchor::Start),
    );
}

fn left(column: usize) -> f64 {
    MARGIN + LABEL_WIDTH + column as f64 * COLUMN_WIDTH
}

fn text(size: f64, colour: &'static str, anchor: Anchor) -> TextStyle {
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

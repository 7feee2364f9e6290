//! A table of results, and its output formats for people and programs.

use std::fmt::Write;
use std::ops::Range;

use serde::Serialize;

use locklab_values::untrusted::markdown;

/// Rows and columns with a heading each.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Table {
    /// The title.
    pub title: String,
    /// What the rows are: `lock`.
    pub rows_are: &'static str,
    /// The headings of the columns.
    pub columns: Vec<String>,
    /// The rows.
    pub rows: Vec<TableRow>,
    /// What the looks of fields mean, for a picture; those that no field has are left out.
    pub legend: Vec<(Look, &'static str)>,
    /// Notes on its numbers, one line each.
    pub notes: Vec<String>,
}

/// One row of a [`Table`].
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct TableRow {
    /// Its heading.
    pub label: String,
    /// A field for each column.
    pub fields: Vec<Field>,
}

/// A cell of the table.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Field {
    /// A few characters for a person to read.
    pub text: String,
    /// The same in full.
    pub detail: String,
    /// Its meaning.
    pub look: Look,
}

/// The meaning of a field, apart from its text.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
#[serde(rename_all = "kebab-case", tag = "kind", content = "share")]
pub enum Look {
    /// No violation occurred.
    Holds,
    /// A violation occurred, in this share of the runs.
    Violated(f64),
    /// The result differs from the prediction.
    Differs,
    /// The runs are too few to confirm the prediction.
    Inconclusive,
    /// There is no result.
    Silent,
    /// A number, as a share of the largest in its column.
    Bar(f64),
}

impl Table {
    /// As a heading and a table in Markdown.
    pub fn markdown(&self) -> String {
        let columns: Vec<String> = self.columns.iter().map(|it| markdown(it)).collect();
        let mut text = format!("# {}\n\n", markdown(&self.title));
        text += &format!("| | {} |\n", columns.join(" | "));
        text += &format!("|:--{}|\n", "|:--".repeat(self.columns.len()));
        for row in &self.rows {
            let fields: Vec<String> = row.fields.iter().map(|f| markdown(&f.detail)).collect();
            // Writing to a string cannot fail.
            let _ = writeln!(
                text,
                "| {} | {} |",
                markdown(&row.label),
                fields.join(" | ")
            );
        }
        for note in &self.notes {
            let _ = write!(text, "\n{}\n", markdown(note));
        }
        text
    }

    /// For a terminal of so many columns: columns have numbers instead of their long headings, and are
    /// as wide as their contents. Those that do not fit are in further blocks below the first.
    pub fn plain(&self, columns: usize) -> String {
        let numbers: Vec<String> = (1..=self.columns.len()).map(|n| format!("({n})")).collect();
        let mut lines = vec![(String::new(), numbers)];
        for row in &self.rows {
            let fields = row.fields.iter().map(Field::marked).collect();
            lines.push((row.label.clone(), fields));
        }
        let width = |texts: &mut dyn Iterator<Item = &String>| {
            texts.map(|text| text.chars().count()).max().unwrap_or(0)
        };
        let label_width = width(&mut lines.iter().map(|(label, _)| label));
        let widths: Vec<usize> = (0..self.columns.len())
            .map(|column| width(&mut lines.iter().map(|(_, fields)| &fields[column])))
            .collect();
        let mut text = String::new();
        let mut rest = 0..widths.len();
        loop {
            let block = rest.start..fitting(&widths, rest.clone(), columns, 2 + label_width);
            rest.start = block.end;
            for (label, fields) in &lines {
                let _ = write!(text, "  {label:<label_width$}");
                for place in block.clone() {
                    let (field, width) = (&fields[place], widths[place]);
                    let _ = write!(text, "  {field:<width$}");
                }
                text.truncate(text.trim_end().len());
                text.push('\n');
            }
            if rest.is_empty() {
                break;
            }
            text.push('\n');
        }
        for (number, column) in self.columns.iter().enumerate() {
            let _ = writeln!(text, "  ({}) {column}", number + 1);
        }
        for note in &self.notes {
            let _ = writeln!(text, "  {note}");
        }
        text
    }
}

/// Where the fields end that fit beside the labels, of which there is at least one.
fn fitting(widths: &[usize], rest: Range<usize>, columns: usize, labels: usize) -> usize {
    let mut used = labels;
    let fits = |place: &usize| {
        used += 2 + widths[*place];
        *place == rest.start || used <= columns
    };
    rest.clone()
        .take_while(fits)
        .last()
        .map_or(rest.end, |last| last + 1)
}

impl Field {
    /// A field whose detail is its text.
    pub fn plain(text: impl Into<String>, look: Look) -> Self {
        let text = text.into();
        Field {
            detail: text.clone(),
            text,
            look,
        }
    }

    /// Its text, with a mark if the result is not as predicted, or not certain.
    fn marked(&self) -> String {
        match self.look {
            Look::Differs => format!("{} (!)", self.text),
            Look::Inconclusive => format!("{} (?)", self.text),
            _ => self.text.clone(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn table() -> Table {
        let field = |text: &str, look| Field {
            detail: format!("{text}, as predicted"),
            ..Field::plain(text, look)
        };
        Table {
            title: "t".into(),
            rows_are: "lock",
            columns: vec!["crash".into(), "pause, long".into()],
            legend: vec![],
            notes: vec!["Of all runs.".into()],
            rows: vec![
                TableRow {
                    label: "setnx".into(),
                    fields: vec![
                        field("holds", Look::Holds),
                        field("12.0 %", Look::Violated(0.12)),
                    ],
                },
                TableRow {
                    label: "other (form)".into(),
                    fields: vec![field("0", Look::Differs), Field::plain("–", Look::Silent)],
                },
            ],
        }
    }

    #[test]
    fn the_two_forms() {
        insta::assert_snapshot!(table().markdown(), @r"
        # t

        | | crash | pause, long |
        |:--|:--|:--|
        | setnx | holds, as predicted | 12.0 %, as predicted |
        | other (form) | 0, as predicted | – |

        Of all runs.
        ");
        insta::assert_snapshot!(table().plain(80), @r"
                      (1)    (2)
        setnx         holds  12.0 %
        other (form)  0 (!)  –
        (1) crash
        (2) pause, long
        Of all runs.
        ");
    }
}

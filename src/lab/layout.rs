//! How text for people fits a terminal: its width, and its characters.
//!
//! Commands and paths are never folded, so that they can be pasted: whoever makes a text folds its
//! sentences and its tables.

use std::env;
use std::fmt::Write;

use console::{Term, measure_text_width};

/// The width where nothing says another.
const USUAL_COLUMNS: usize = 80;

/// Below this nothing can be laid out.
const FEWEST_COLUMNS: usize = 40;

/// The least room for the last field of a row; with less it begins on the next line.
const LEAST_ROOM: usize = 24;

/// How many columns a line has: `COLUMNS`, or what the terminal says, or 80.
pub fn columns() -> usize {
    said_columns().unwrap_or(USUAL_COLUMNS).max(FEWEST_COLUMNS)
}

/// What `COLUMNS` or the terminal says; `None` in a pipe.
fn said_columns() -> Option<usize> {
    let said = env::var("COLUMNS").ok().and_then(|said| said.parse().ok());
    said.or_else(|| Some(usize::from(Term::stdout().size_checked()?.1)))
}

/// The characters that a terminal shows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Characters {
    /// Those of ASCII.
    Ascii,
    /// All.
    Unicode,
}

/// The characters of the locale: those of ASCII in the locales `C` and `POSIX`.
pub fn characters() -> Characters {
    let set = |name| env::var(name).ok().filter(|locale| !locale.is_empty());
    let locale = ["LC_ALL", "LC_CTYPE", "LANG"].into_iter().find_map(set);
    match locale.as_deref() {
        Some("C" | "POSIX") => Characters::Ascii,
        _ => Characters::Unicode,
    }
}

/// The text in these characters. What ASCII lacks is written with those that it has.
pub fn spelled(text: &str, characters: Characters) -> String {
    if characters == Characters::Unicode || text.is_ascii() {
        return text.into();
    }
    let mut ascii = String::with_capacity(text.len());
    for character in text.chars() {
        match character {
            _ if character.is_ascii() => ascii.push(character),
            '✓' => ascii.push('+'),
            '✗' | '×' => ascii.push('x'),
            '–' | '—' | '−' => ascii.push('-'),
            '·' => ascii.push('*'),
            'µ' => ascii.push('u'),
            '“' | '”' => ascii.push('"'),
            '‘' | '’' => ascii.push('\''),
            '…' => ascii.push_str("..."),
            '≤' => ascii.push_str("<="),
            '≥' => ascii.push_str(">="),
            '±' => ascii.push_str("+-"),
            '→' => ascii.push_str("->"),
            '∞' => ascii.push_str("infinity"),
            '\u{a0}' => ascii.push(' '),
            _ => ascii.extend(character.escape_unicode()),
        }
    }
    ascii
}

/// The text, each line of which has at most as many columns as the terminal if its words let it. A
/// line goes on below its last field; two spaces separate fields.
pub fn fold(text: &str) -> String {
    fold_at(&spelled(text, characters()), columns())
}

/// Rows of fields, each column as wide as its widest field. The last field is folded.
pub fn rows(rows: &[impl AsRef<[String]>]) -> String {
    spelled_rows(rows, columns())
}

/// The same as a list to search in: in a pipe each row is one line, for `grep`.
pub fn list(rows: &[impl AsRef<[String]>]) -> String {
    match said_columns() {
        Some(_) => spelled_rows(rows, columns()),
        None => spelled_rows(rows, usize::MAX),
    }
}

fn spelled_rows(rows: &[impl AsRef<[String]>], columns: usize) -> String {
    let spelled = |field: &String| spelled(field, characters());
    let rows = rows.iter().map(|row| row.as_ref().iter().map(spelled));
    let rows: Vec<Vec<String>> = rows.map(Iterator::collect).collect();
    rows_at(&rows, columns)
}

fn rows_at(rows: &[Vec<String>], columns: usize) -> String {
    let fields = rows.iter().map(Vec::len).max().unwrap_or_default();
    let width = |place: usize| {
        let of_rows = rows.iter().filter_map(|row| row.get(place));
        of_rows.map(|field| measure_text_width(field)).max()
    };
    let widths = (0..fields).filter_map(width);
    let widths: Vec<usize> = widths.take(fields.saturating_sub(1)).collect();
    let last_begins = 2 + widths.iter().map(|width| width + 2).sum::<usize>();
    let mut lines = Vec::new();
    for row in rows {
        let mut line = String::from(" ");
        for (place, field) in row.iter().enumerate() {
            let is_crowded = last_begins + LEAST_ROOM > columns;
            if place == widths.len() && is_crowded && !field.is_empty() {
                lines.push(line.trim_end().to_owned());
                line = String::from("     ");
            }
            let width = widths.get(place).copied().unwrap_or_default();
            let padding = width.saturating_sub(measure_text_width(field));
            // Writing to a string cannot fail.
            let _ = write!(line, " {field}{:padding$} ", "");
        }
        lines.push(fold_line(line.trim_end(), columns));
    }
    lines.retain(|line| !line.is_empty());
    lines.join("\n")
}

fn fold_at(text: &str, columns: usize) -> String {
    let lines = text.split('\n').map(|line| fold_line(line, columns));
    lines.collect::<Vec<_>>().join("\n")
}

fn fold_line(line: &str, columns: usize) -> String {
    if measure_text_width(line) <= columns {
        return line.into();
    }
    let start = last_field(line, columns);
    let (before, field) = line.split_at(start);
    let indent = match before.trim().is_empty() {
        true => measure_text_width(before) + 2,
        false => measure_text_width(before),
    };
    let mut folded = before.to_owned();
    let mut used = measure_text_width(before);
    for (place, word) in words(field).into_iter().enumerate() {
        let width = measure_text_width(word);
        if place > 0 && used + 1 + width > columns && !word.is_empty() {
            folded.truncate(folded.trim_end().len());
            // Writing to a string cannot fail.
            let _ = write!(folded, "\n{:indent$}", "");
            used = indent;
        } else if place > 0 {
            folded.push(' ');
            used += 1;
        }
        folded.push_str(word);
        used += width;
    }
    folded
}

/// The words of a field. A number and its percent sign are one.
fn words(field: &str) -> Vec<&str> {
    let mut words = Vec::new();
    let mut start = 0;
    for (place, _) in field.match_indices(' ') {
        if !field[place + 1..].starts_with('%') {
            words.push(&field[start..place]);
            start = place + 1;
        }
    }
    words.push(&field[start..]);
    words
}

/// Where the last field of a line begins below which there is room; else where its first one does.
fn last_field(line: &str, columns: usize) -> usize {
    let first = line.len() - line.trim_start().len();
    let words = line.match_indices(' ').map(|(space, _)| space + 1);
    let words = words.filter(|place| !line[*place..].starts_with(' '));
    let begins = words.filter(|place| line[..*place].ends_with("  "));
    let has_room = |place: &usize| measure_text_width(&line[..*place]) + LEAST_ROOM <= columns;
    let begins = begins.rev().find(has_room);
    begins.unwrap_or(first).max(first)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, columns: usize, expected: &[&str]) {
        let folded = fold_at(text, columns);
        assert_eq!(folded.lines().collect::<Vec<_>>(), expected);
    }

    #[test]
    fn short_lines_stay_as_they_are() {
        check("a  b\n\n   c ", 40, &["a  b", "", "   c "]);
    }

    #[test]
    fn a_sentence_goes_on_with_an_indent() {
        check(
            "  lease: c1 wrote at 1543.5 ms on a lease that c2 had taken",
            40,
            &[
                "  lease: c1 wrote at 1543.5 ms on a",
                "    lease that c2 had taken",
            ],
        );
    }

    #[test]
    fn the_last_field_goes_on_below_itself() {
        check(
            "  lease  holds   0 of 302 runs (at most 1.3 %)",
            44,
            &[
                "  lease  holds   0 of 302 runs (at most",
                "                 1.3 %)",
            ],
        );
    }

    #[test]
    fn a_percent_sign_stays_with_its_number() {
        check(
            "aaaaaaaaa aaaaaaaaa aaaaaaaaa aaaaaaa 95 %); b",
            40,
            &["aaaaaaaaa aaaaaaaaa aaaaaaaaa aaaaaaa", "  95 %); b"],
        );
    }

    #[test]
    fn a_word_wider_than_the_terminal_is_not_broken() {
        let word = "w".repeat(50);
        check(
            &format!("a {word} b"),
            40,
            &["a", &format!("  {word}"), "  b"],
        );
    }

    #[test]
    fn colours_take_no_room() {
        let red = |text: &str| format!("\u{1b}[31m{text}\u{1b}[0m");
        let line = format!("  {}", vec![red("word"); 7].join(" "));
        assert_eq!(fold_at(&line, 40), line);
    }

    #[test]
    fn rows_have_columns_and_a_crowded_last_field_a_line_of_its_own() {
        let field = |text: &str| text.to_owned();
        let table = [
            vec![field("property"), field("violated")],
            vec![field("lease"), field("0 of 302 runs (at most 1.3 %) ✓")],
        ];
        let laid_out = rows_at(&table, 40);
        let expected =
            "  property  violated\n  lease     0 of 302 runs (at most\n            1.3 %) ✓";
        assert_eq!(laid_out, expected);
        let wide = vec![field("fault.gc.duration_ms=1500"), field("5 of 5 runs")];
        let expected = "  fault.gc.duration_ms=1500\n      5 of 5 runs";
        assert_eq!(rows_at(&[wide], 40), expected);
    }

    #[test]
    fn every_character_has_a_spelling_in_ascii() {
        let text = "holds ✓ violated ✗ 95–100 % 2 × 3 … ≥ 1 ± 2 µs é";
        let expected = "holds + violated x 95-100 % 2 x 3 ... >= 1 +- 2 us \\u{e9}";
        assert_eq!(spelled(text, Characters::Ascii), expected);
        assert_eq!(spelled(text, Characters::Unicode), text);
    }
}

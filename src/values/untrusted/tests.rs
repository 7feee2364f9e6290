//! Any text through each format is safe.

use super::*;
use crate::random::Stream;

/// Pieces of which hostile texts are made.
const PIECES: [&str; 34] = [
    "a",
    "B c",
    "K1",
    " ",
    "::error ",
    "::",
    ":",
    "##[error]",
    "##",
    "[",
    "\n",
    "\r",
    "\t",
    "\u{1b}",
    "\u{1b}[31m",
    "\u{1b}]0;t\u{7}",
    "\u{9b}2J",
    "\u{7f}",
    "|",
    "\\",
    "`",
    "``",
    "<b>",
    "< ",
    "&lt;",
    "=",
    "+",
    "-",
    "@",
    "'",
    "\"",
    ",",
    "%0A",
    "\u{202e}",
];

/// Calls `check` with many texts.
fn for_any_text(check: impl Fn(&str)) {
    for piece in PIECES {
        check(piece);
    }
    for seed in 0..20_000 {
        let mut random = Stream::new(seed, "foreign");
        let count = 1 + random.below(6);
        let pieces = (0..count).map(|_| PIECES[random.below(PIECES.len() as u64) as usize]);
        check(&pieces.collect::<String>());
    }
}

/// What GitHub's runner does with a line: see `ActionCommand.cs` of actions/runner.
fn is_command(line: &str) -> bool {
    line.trim_start().starts_with("::") || line.contains("##[")
}

/// A line without sequences for colours.
fn uncoloured(line: &str) -> String {
    let mut rest = line;
    let mut plain = String::new();
    while let Some(c) = rest.chars().next() {
        let length = colour(rest).unwrap_or(0);
        if length == 0 {
            plain.push(c);
        }
        rest = &rest[length.max(c.len_utf8() * usize::from(length == 0))..];
    }
    plain
}

#[test]
fn a_line_is_one_line_without_control_characters() {
    for_any_text(|text| assert!(!line(text).contains(is_control), "{text:?}"));
    assert_eq!(line("a\n::error b\u{1b}[1m"), "a\\n::error b\\u{1b}[1m");
}

#[test]
fn no_text_controls_a_terminal_or_a_runner() {
    for_any_text(|text| {
        for colours in [Colours::Kept, Colours::Shown] {
            let safe = terminal(text, colours);
            for line in safe.split('\n') {
                let plain = uncoloured(line);
                assert!(
                    !is_command(line) && !is_command(&plain),
                    "{text:?}: {safe:?}"
                );
                let seen = if colours == Colours::Kept {
                    plain
                } else {
                    line.to_owned()
                };
                let left = seen.replace('\t', "");
                assert!(!left.contains(is_control), "{text:?}: {safe:?}");
            }
            assert_eq!(safe.matches('\n').count(), text.matches('\n').count());
        }
    });
    let coloured = "\u{1b}[1;31merror:\u{1b}[0m a\n  b";
    assert_eq!(terminal(coloured, Colours::Kept), coloured);
    assert_eq!(terminal("a\n ::error b", Colours::Shown), "a\n \\::error b");
}

/// The cells of a row as a renderer of Markdown finds them.
fn cells(row: &str) -> Vec<String> {
    let mut cells = vec![String::new()];
    let mut chars = row.chars();
    while let Some(c) = chars.next() {
        match c {
            '\\' => {
                let cell = cells.last_mut().expect("at least one");
                cell.push(c);
                cell.extend(chars.next());
            }
            '|' => cells.push(String::new()),
            c => cells.last_mut().expect("at least one").push(c),
        }
    }
    cells
}

#[test]
fn no_text_leaves_its_cell_in_markdown() {
    for_any_text(|text| {
        for safe in [markdown(text), markdown_code(text)] {
            assert!(!safe.contains(is_control), "{text:?}");
            assert_eq!(cells(&safe), std::slice::from_ref(&safe), "{text:?}");
        }
        // Without escapes nothing is left that opens something.
        let mut left = markdown(text);
        for escaped in ["\\\\", "\\|", "\\`", "\\*", "\\[", "\\<"] {
            left = left.replace(escaped, "");
        }
        assert!(
            !left.contains(['|', '`', '*', '[', '\\']),
            "{text:?}: {left}"
        );
        assert!(!left.contains("<b"), "{text:?}: {left}");
        let code = markdown_code(text);
        let inner = code
            .strip_prefix('`')
            .and_then(|code| code.strip_suffix('`'));
        let inner = inner.or_else(|| code.strip_prefix("<code>")?.strip_suffix("</code>"));
        let inner = inner.expect("one of both forms");
        assert!(!inner.contains('`'), "{text:?}: {code}");
        assert!(
            code.starts_with('`') || !inner.contains('<'),
            "{text:?}: {code}"
        );
    });
    assert_eq!(markdown_code("k1.toml"), "`k1.toml`");
    assert_eq!(markdown("p < 0.05, 95–100 %"), "p < 0.05, 95–100 %");
}

#[test]
fn no_text_is_a_formula_in_csv_and_it_reads_back() {
    for_any_text(|text| {
        let safe = csv(text);
        let is_number = safe.parse::<f64>().is_ok();
        assert!(
            is_number || !safe.starts_with(['=', '+', '-', '@', '\t', '\r', '\n']),
            "{text:?}"
        );
        assert_eq!(safe.strip_prefix('\'').unwrap_or(&safe), text);
    });
    assert_eq!(csv("-0.5"), "-0.5");
    assert_eq!(csv("=1+1"), "'=1+1");
}

#[test]
fn no_text_ends_a_workflow_command() {
    for_any_text(|text| {
        for safe in [message(text), property(text)] {
            assert!(!safe.contains(is_control), "{text:?}: {safe:?}");
        }
        assert!(!property(text).contains([':', ',']), "{text:?}");
    });
    assert_eq!(property("a: 50 %\nb"), "a%3A 50 %25%0Ab");
}

//! Untrusted text (titles of scenarios, names of files, what a recording quotes), made safe for
//! each format that is written: a terminal, Markdown, CSV, and workflow commands of GitHub Actions.
//!
//! HTML, SVG and XML are written by code that escapes everything.

use std::fmt::Write;

/// Whether a terminal may be told colours.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Colours {
    /// Sequences that set colours remain.
    Kept,
    /// Every escape sequence is shown as text.
    Shown,
}

/// One line: control characters, and others that move text, are shown as in a string of Rust
/// (`\n`, `\u{1b}`).
pub fn line(text: &str) -> String {
    let mut safe = String::with_capacity(text.len());
    for c in text.chars() {
        match is_control(c) {
            true => show(c, &mut safe),
            false => safe.push(c),
        }
    }
    safe
}

/// Lines for a terminal, or the log of a job. Control characters are shown as text, but for line
/// ends and tabs. No line is a workflow command, which GitHub's runner reads in any output: at the
/// start of a line (`::error …`), or anywhere (`##[error]…`).
pub fn terminal(text: &str, colours: Colours) -> String {
    let mut safe = String::with_capacity(text.len());
    for (number, line) in text.split('\n').enumerate() {
        if number > 0 {
            safe.push('\n');
        }
        let mut rest = line;
        if let Some(place) = command_start(line) {
            safe.push_str(&shown(&line[..place], colours));
            safe.push('\\');
            rest = &line[place..];
        }
        safe.push_str(&shown(rest, colours).replace("##[", "##\\["));
    }
    safe
}

/// Text in a cell of a table, or a paragraph, in Markdown: one line, without markup.
pub fn markdown(text: &str) -> String {
    let mut safe = String::with_capacity(text.len());
    let line = line(text);
    let mut chars = line.chars().peekable();
    while let Some(c) = chars.next() {
        let is_tag = |next: &char| next.is_ascii_alphabetic() || "/!?".contains(*next);
        let is_markup = match c {
            '\\' | '|' | '`' | '*' | '[' => true,
            '<' => chars.peek().is_some_and(is_tag),
            _ => false,
        };
        if is_markup {
            safe.push('\\');
        }
        safe.push(c);
    }
    safe
}

/// Code in a cell of a table in Markdown. Backquotes cannot quote text that has them, nor a bar after
/// a backslash; such text is written with references to characters.
pub fn markdown_code(text: &str) -> String {
    let line = line(text);
    if !line.contains(['`', '|', '\\']) && line.trim() == line && !line.is_empty() {
        return format!("`{line}`");
    }
    let mut safe = String::from("<code>");
    for c in line.chars() {
        match c.is_alphanumeric() || c == ' ' {
            true => safe.push(c),
            false => {
                // Writing to a string cannot fail.
                let _ = write!(safe, "&#{};", u32::from(c));
            }
        }
    }
    safe + "</code>"
}

/// A field of a CSV file, without quotes. A spreadsheet takes text for a formula by its first
/// character; such text has an apostrophe before it, and so has text that begins with one, so that a
/// reader can remove it. Numbers remain as they are.
pub fn csv(field: &str) -> String {
    let looks_like_formula = field.starts_with(['=', '+', '-', '@', '\t', '\r', '\n', '\'']);
    match looks_like_formula && field.parse::<f64>().is_err() {
        true => format!("'{field}"),
        false => field.to_owned(),
    }
}

/// A document in JSON whose strings neither control a terminal nor are workflow commands. It means
/// the same.
pub fn json(document: &str) -> String {
    let mut safe = String::with_capacity(document.len());
    for c in document.replace("##[", "##\\u005b").chars() {
        match is_control(c) && c != '\n' {
            true => {
                // Such characters occur in strings only, and none needs two units of UTF-16.
                let _ = write!(safe, "\\u{:04x}", u32::from(c));
            }
            false => safe.push(c),
        }
    }
    safe
}

/// The message of a workflow command of GitHub Actions.
pub fn message(text: &str) -> String {
    let lines = text.split('\n').map(|text| line(text).replace('%', "%25"));
    lines.collect::<Vec<_>>().join("%0A")
}

/// A property of a workflow command of GitHub Actions, such as its title.
pub fn property(text: &str) -> String {
    message(text).replace(':', "%3A").replace(',', "%2C")
}

/// Whether a character controls a terminal, ends a line, or changes the direction of text.
fn is_control(c: char) -> bool {
    c.is_control()
        || matches!(c, '\u{2028}' | '\u{2029}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

fn show(c: char, safe: &mut String) {
    match c {
        '\u{2028}'.. => safe.extend(c.escape_unicode()),
        c => safe.extend(c.escape_default()),
    }
}

/// Where a workflow command begins that fills this line.
fn command_start(line: &str) -> Option<usize> {
    // What is not shown does not hide it: the runner may remove colours first.
    let mut rest = line;
    loop {
        let next = rest.trim_start_matches(|c: char| c.is_whitespace() || is_control(c));
        let next = match next.strip_prefix('[') {
            Some(parameters) if rest.len() > next.len() => {
                let parameters =
                    parameters.trim_start_matches(|c: char| c.is_ascii_digit() || c == ';');
                parameters.strip_prefix('m').unwrap_or(next)
            }
            _ => next,
        };
        if next.len() == rest.len() {
            break;
        }
        rest = next;
    }
    rest.starts_with("::").then_some(line.len() - rest.len())
}

/// Shows control characters of a line but tabs, and sequences for colours if they are kept.
fn shown(line: &str, colours: Colours) -> String {
    let mut safe = String::with_capacity(line.len());
    let mut rest = line;
    while let Some(c) = rest.chars().next() {
        if colours == Colours::Kept
            && let Some(length) = colour(rest)
        {
            safe.push_str(&rest[..length]);
            rest = &rest[length..];
            continue;
        }
        match is_control(c) && c != '\t' {
            true => show(c, &mut safe),
            false => safe.push(c),
        }
        rest = &rest[c.len_utf8()..];
    }
    safe
}

/// The length of the sequence for a colour (`ESC [ 31 m`) with which the text begins.
fn colour(text: &str) -> Option<usize> {
    let parameters = text.strip_prefix("\u{1b}[")?;
    let end = parameters.find(|c: char| !c.is_ascii_digit() && c != ';')?;
    parameters[end..]
        .starts_with('m')
        .then(|| "\u{1b}[".len() + end + "m".len())
}

#[cfg(test)]
mod tests;

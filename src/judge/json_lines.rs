//! Histories as JSON lines: the schema of `docs/judge.md`.

use std::path::Path;

use locklab_bounds::{Bounds, Refused, json};
use serde::Deserialize;

use crate::builder::Builder;
use crate::history::LockHistory;
use crate::raw::{Bad, Given, Header, InputError, RawEvent, SCHEMA};

/// Whether a file begins like a history in this form.
pub fn is_one(file: &[u8]) -> bool {
    let first = file.split(|&byte| byte == b'\n').find(|line| is_told(line));
    let start = first.and_then(|line| line.trim_ascii_start().strip_prefix(b"{"));
    start.is_some_and(|rest| rest.trim_ascii_start().starts_with(b"\"lock-history\""))
}

/// Reads a history from the bytes of the file at `path`, which is named in errors only. What is `given`
/// takes the place of what the header says.
///
/// # Errors
///
/// If it is not a history in a version that this build reads; the error has the line.
pub fn read(file: Vec<u8>, path: &Path, given: &Given) -> Result<LockHistory, InputError> {
    let builder = events(&file, given);
    drop(file);
    let history = builder.and_then(Builder::finish);
    history.map_err(|bad| bad.of(path))
}

fn events(file: &[u8], given: &Given) -> Result<Builder, Bad> {
    let lines = (1..).zip(file.split(|&byte| byte == b'\n'));
    let mut lines = lines.filter(|(_, line)| is_told(line));
    let (number, line) = lines.next().unwrap_or((1, b""));
    let header = given
        .over(header(number, line)?)
        .map_err(|what| Bad::at(number, what))?;
    let mut builder = Builder::new(header, file.len());
    for (number, line) in lines {
        let event: RawEvent = parsed(number, line)?;
        builder.push(number, &event)?;
    }
    Ok(builder)
}

/// Whether a line says something: it is not blank, and no comment.
fn is_told(line: &[u8]) -> bool {
    !matches!(line.trim_ascii_start().first(), None | Some(b'#'))
}

/// Reads a header, which may stand on this line.
pub(crate) fn header(number: u32, line: &[u8]) -> Result<Header, Bad> {
    #[derive(serde::Deserialize)]
    struct Version {
        #[serde(rename = "lock-history")]
        version: u32,
    }
    let Version { version } = parsed(number, line)?;
    if version != SCHEMA {
        let what =
            format!("this is version {version} of the schema, and Locklab reads version {SCHEMA}");
        return Err(Bad::at(number, what));
    }
    let header: Header = parsed(number, line)?;
    match header {
        Header { permits: 0, .. } | Header { servers: 0, .. } => Err(Bad::at(
            number,
            "\"permits\" and \"servers\" are at least 1",
        )),
        header => Ok(header),
    }
}

fn parsed<'l, T: Deserialize<'l>>(number: u32, line: &'l [u8]) -> Result<T, Bad> {
    let refused = |refused: Refused| Bad::at(number, refused.to_string());
    json::check(line, Bounds::EVENT).map_err(refused)?;
    serde_json::from_slice(line).map_err(|error| bad(number, &error))
}

fn bad(line: u32, error: &serde_json::Error) -> Bad {
    // The parser sees a single line, so its line number, always 1, would be misleading.
    let what = error.to_string();
    let what = what.split(" at line 1 column").next().unwrap_or_default();
    let why = if error.is_eof() {
        "; is the file truncated?"
    } else {
        ""
    };
    Bad::at(line, format!("{what}, at column {}{why}", error.column()))
}

#[cfg(test)]
mod tests {
    use locklab_testing::hostile;

    use super::*;

    const HEADER: &str = r#"{"lock-history":1,"model":"renewal","unit":"ms"}"#;

    fn read_lines(lines: &[&str]) -> Result<LockHistory, String> {
        let text = lines.join("\n");
        read(text.into(), Path::new("h.jsonl"), &Given::default())
            .map_err(|error| error.to_string())
    }

    #[test]
    fn an_event_is_bounded() {
        for (name, bytes) in hostile::json() {
            let event = String::from_utf8(bytes).expect("it is text");
            for (line, lines) in [(1, vec![&*event]), (2, vec![HEADER, &event])] {
                let error = read_lines(&lines).expect_err(name);
                let what = format!("h.jsonl:{line}: values are nested more than 64 deep");
                assert!(error.contains(&what), "{name}: {error}");
            }
        }
        let unknown = format!("{{\"unknown\":[1{}]}}", ",1".repeat(1 << 20));
        let error = read_lines(&[HEADER, &unknown]).unwrap_err();
        assert!(error.contains("more than 1048576 elements"), "{error}");
        let long = format!("{{\"unknown\":\"{}\"}}", "a".repeat(16 << 20));
        let error = read_lines(&[HEADER, &long]).unwrap_err();
        assert!(error.contains("longer than 16777216 bytes"), "{error}");
    }
}

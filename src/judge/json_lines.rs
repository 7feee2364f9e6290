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
    let header = header(number, line)?;
    let mut builder = Builder::new(given.over(header), file.len());
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
    Bad::at(line, format!("{what}, at column {}", error.column()))
}

#[cfg(test)]
mod tests {
    use locklab_testing::hostile;

    use super::*;
    use crate::history::{Clock, Deadline, Outcome, What};
    use crate::models::Act;

    const HEADER: &str = r#"{"lock-history":1,"model":"renewal","unit":"ms"}"#;

    fn read_lines(lines: &[&str]) -> Result<LockHistory, String> {
        let text = lines.join("\n");
        read(text.into(), Path::new("h.jsonl"), &Given::default())
            .map_err(|error| error.to_string())
    }

    #[test]
    fn a_call_has_what_its_two_lines_say() {
        let history = read_lines(&[
            HEADER,
            "# a comment",
            r#"{"process":"w1","type":"invoke","f":"acquire","time":1000,"key":"a","validity":30}"#,
            r#"{"process":7,"type":"invoke","f":"lock","time":1001.5,"key":"b"}"#,
            r#"{"process":"w1","type":"ok","f":"acquire","time":1002,"token":4}"#,
            r#"{"process":7,"type":"info","f":"acquire","time":1003}"#,
        ])
        .unwrap();
        assert_eq!(history.keys.len(), 2);
        let [a, b] = [&history.keys[0], &history.keys[1]];
        let call = &a.calls[0];
        assert_eq!(call.act, Act::Acquire);
        assert_eq!((call.invoked_ns, call.invoked_line), (0, 3));
        assert_eq!(call.returned, Some((2_000_000, 5)));
        assert_eq!(call.token, Some(4));
        let deadline = Deadline {
            clock: Clock::Time,
            at_ns: 30_000_000,
        };
        assert_eq!(call.deadline, Some(deadline));
        assert_eq!(b.calls[0].outcome, Outcome::Unknown);
        assert_eq!(b.calls[0].returned, None);
        assert_eq!(b.points[0].at_ns, 1_500_000);
    }

    #[test]
    fn lines_are_ordered_by_time_where_they_have_one() {
        let history = read_lines(&[
            HEADER,
            r#"{"process":2,"type":"invoke","f":"acquire","time":9}"#,
            r#"{"process":1,"type":"invoke","f":"acquire","time":5}"#,
        ])
        .unwrap();
        let order: Vec<u32> = history.keys[0]
            .points
            .iter()
            .map(|point| point.line)
            .collect();
        assert_eq!(order, [3, 2]);
        assert_eq!(history.keys[0].points[1].what, What::Invoked(1));
    }

    #[test]
    fn at_one_instant_calls_come_before_the_returns_of_others() {
        let history = read_lines(&[
            HEADER,
            r#"{"process":1,"type":"invoke","f":"acquire","time":1}"#,
            r#"{"process":1,"type":"ok","f":"acquire","time":5}"#,
            r#"{"process":1,"type":"invoke","f":"release","time":5}"#,
            r#"{"process":2,"type":"invoke","f":"acquire","time":5}"#,
        ])
        .unwrap();
        let points = history.keys[0].points.iter();
        let order: Vec<u32> = points.map(|point| point.line).collect();
        assert_eq!(order, [2, 5, 3, 4]);
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

    fn check(lines: &[&str], expected: &str) {
        assert_eq!(read_lines(lines).unwrap_err(), expected);
    }

    #[test]
    fn what_cannot_be_used_is_told_with_its_line() {
        check(&[], "h.jsonl:1: EOF while parsing a value, at column 0");
        check(
            &[r#"{"lock-history":2,"model":"mutex"}"#],
            "h.jsonl:1: this is version 2 of the schema, and Locklab reads version 1",
        );
        check(
            &[
                HEADER,
                r#"{"process":1,"type":"ok","f":"acquire","time":9}"#,
            ],
            "h.jsonl:2: this acquire has no call before it; log a line with \"type\":\"invoke\" \
             when the process calls",
        );
        check(
            &[
                HEADER,
                r#"{"process":1,"type":"invoke","f":"acquire","time":9}"#,
                r#"{"process":1,"type":"invoke","f":"release","time":9}"#,
            ],
            "h.jsonl:3: this process calls release before its call of line 2 has returned; a \
             process does one thing at a time: give each thread a name of its own, or log the \
             return as \"info\"",
        );
        check(
            &[
                HEADER,
                r#"{"process":1,"type":"invoke","f":"acquire","time":9}"#,
                r#"{"process":1,"type":"ok","f":"release","time":10}"#,
            ],
            "h.jsonl:3: a return of release, but the call of line 2 is another operation",
        );
        check(
            &[
                HEADER,
                r#"{"process":1,"type":"invoke","f":"acquire","time":9}"#,
                r#"{"process":1,"type":"ok","f":"acquire"}"#,
            ],
            "h.jsonl:3: \"time\" is on some lines only (line 2 has it); write it on every line, or \
             on none",
        );
        check(
            &[
                HEADER,
                r#"{"process":1,"type":"invoke","f":"acquire","time":9,"deadline":5,"clock":"wall"}"#,
            ],
            "h.jsonl:2: a deadline needs its clock; write \"wall\" on every line of this process",
        );
        check(
            &[
                HEADER,
                r#"{"process":1,"type":"invoke","f":"acquire","time":1e30}"#,
            ],
            "h.jsonl:2: \"time\" is too large; is it in the unit of the header (\"unit\")?",
        );
    }
}

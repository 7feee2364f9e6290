//! The text of a scenario, read once: from a file, from standard input, or from those that ship.

use std::borrow::Cow;
use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

use super::error::{Place, ScenarioError};
use super::names;
use super::shipped::SHIPPED;

/// The names of standard input.
const STANDARD_INPUT: [&str; 2] = ["-", "/dev/stdin"];

/// The largest scenario, in bytes. The largest that ships has a few thousand.
const LARGEST: u64 = 1 << 20;

/// A scenario before it is interpreted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Source {
    /// The path for errors, from which the scenario's name is derived.
    pub(super) file: String,
    /// The content.
    pub(super) text: Cow<'static, str>,
}

impl Source {
    /// The scenario in a file, on standard input (`-`), or the shipped one of this name; see
    /// `names.rs` for its short forms.
    ///
    /// # Errors
    ///
    /// When there is none, when several could be meant, or when it cannot be read.
    pub fn find(path_or_name: &str) -> Result<Source, ScenarioError> {
        if STANDARD_INPUT.contains(&path_or_name) {
            return Source::read("stdin", || Ok(io::stdin().lock()));
        }
        let path = Path::new(path_or_name);
        // A pipe or a device is read as well as a regular file.
        if path.exists() && !path.is_dir() {
            return Source::read(path_or_name, || File::open(path));
        }
        match names::find(path_or_name) {
            Ok((name, text)) => Ok(Source {
                file: format!("scenarios/{name}.toml"),
                text: Cow::Borrowed(text),
            }),
            Err(_) if path.is_dir() => Err(ScenarioError::Folder {
                path: path_or_name.into(),
            }),
            Err(names::LookupError::Several(names)) => Err(ScenarioError::Several {
                name: path_or_name.into(),
                names,
            }),
            Err(names::LookupError::None) => Err(ScenarioError::NotFound {
                name: path_or_name.into(),
                shipped: SHIPPED.iter().map(|(name, _)| (*name).into()).collect(),
            }),
        }
    }

    /// Its path, as errors name it; the same for all names of one scenario.
    pub fn file(&self) -> &str {
        &self.file
    }

    /// Its text.
    pub fn text(&self) -> &str {
        &self.text
    }

    fn read<R: Read>(
        file: &str,
        open: impl FnOnce() -> io::Result<R>,
    ) -> Result<Source, ScenarioError> {
        let mut bytes = Vec::new();
        let read = open().and_then(|file| file.take(LARGEST + 1).read_to_end(&mut bytes));
        read.map_err(|source| ScenarioError::Unreadable {
            path: file.into(),
            source,
        })?;
        match text(bytes) {
            Ok(text) => Ok(Source {
                file: file.into(),
                text: Cow::Owned(text),
            }),
            Err((line, what)) => Err(ScenarioError::Invalid {
                place: Place::File {
                    file: file.into(),
                    line,
                    column: 1,
                },
                what,
            }),
        }
    }
}

/// The text in these bytes, or the error and its line.
fn text(bytes: Vec<u8>) -> Result<String, (usize, String)> {
    let line_at = |place: usize| 1 + bytes[..place].iter().filter(|byte| **byte == b'\n').count();
    if bytes.len() as u64 > LARGEST {
        let limit = LARGEST >> 20;
        return Err((
            1,
            format!("this has more than {limit} MiB, too much for a scenario"),
        ));
    }
    if bytes.starts_with(&[0xff, 0xfe]) || bytes.starts_with(&[0xfe, 0xff]) {
        return Err((1, "this is text in UTF-16; save it as UTF-8".into()));
    }
    if let Some(zero) = bytes.iter().position(|byte| *byte == 0) {
        let what = "not a text file; a scenario is TOML";
        return Err((line_at(zero), what.into()));
    }
    if bytes.starts_with(b"{\"locklab\":") {
        let what = "this is the recording of a run, not a scenario; show it with `locklab view`, or \
                    repeat it with `locklab replay`";
        return Err((1, what.into()));
    }
    if bytes.trim_ascii().is_empty() {
        let what = "this is empty; a scenario has at least a title and a table [lock]";
        return Err((1, what.into()));
    }
    match std::str::from_utf8(&bytes) {
        Ok(text) => Ok(text.to_owned()),
        Err(error) => {
            let what = "this line is not text in UTF-8; save the file as UTF-8";
            Err((line_at(error.valid_up_to()), what.into()))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn file_that_is_not_text_is_named() {
        let check = |bytes: &[u8], line, begins: &str| match text(bytes.to_vec()) {
            Ok(text) => panic!("{text}"),
            Err((at, what)) => {
                assert_eq!(at, line);
                assert!(what.starts_with(begins), "{what}");
            }
        };
        check(b"", 1, "this is empty");
        check(b" \r\n\n", 1, "this is empty");
        check(b"a = 1\nb = \"\xe9\"", 2, "this line is not text in UTF-8");
        check(b"\x7fELF\0", 1, "not a text file");
        check(b"\xff\xfea\0", 1, "this is text in UTF-16");
        check(
            b"{\"locklab\":\"0.1.0\"",
            1,
            "this is the recording of a run",
        );
        check(
            &vec![b' '; LARGEST as usize + 1],
            1,
            "this has more than 1 MiB",
        );
        assert_eq!(text(b"a = 1".to_vec()).as_deref(), Ok("a = 1"));
    }
}

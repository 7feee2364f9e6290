//! Files of requests that both servers must answer alike: their format, and what sends them.
//!
//! A paragraph is a case, which begins with empty servers. `## ` begins a section, any other `#` a comment. A line of
//! a case is a request:
//!
//! | | |
//! |---|---|
//! | `2: PING` | on the second connection; without a number on the first |
//! | `~TIME` | only the types of the replies have to be equal, and the lengths of arrays |
//! | `≈PTTL k` | integers may differ by two seconds in milliseconds |
//! | `?KEYS *` | arrays may have another order |
//! | `@CLIENT LIST` | of a client only what does not depend on a process, its memory and its clock |
//! | `%INFO everything` | of INFO only the numbers of calls and errors |
//! | `$2` | the client id of the second connection |
//! | `"a\tb"` | one word, with the escapes `\n`, `\r`, `\t`, `\"`, `\\` and `\x7f` |
//! | `` `a "b"` `` | one word as it stands, in which `⏎` is a line break |
//! | `&2: PING` | together with the next line, without waiting for the reply |
//! | `sleep 40` | waits 40 ms |
//!
//! What several cases of a section have in common, a paragraph at its start says, which begins with one of these:
//!
//! | | |
//! |---|---|
//! | `each:` | the lines of a case: `...` is the paragraph, and `{}` within a line its text |
//! | `each line:` | the same of each line of a paragraph, which is a case of its own |
//! | `after each line:` | what follows each line of a case |
//! | `only: valkey redis-8` | the section is about servers whose names begin with one of these |
//! | `$NAME =` | a text, which is one word where a line has `$NAME`; a line that ends with it is one for each line of the text |
//!
//! `{sha1}` is the SHA-1 of what `{}` is. A line that is not a comment although it begins with `#` has a `\` before it.

use std::collections::BTreeMap;
use std::time::Duration;

use sha1_smol::Sha1;

use crate::versions;
use crate::wire::Likeness;

/// Two servers that get the same requests.
pub trait Servers {
    /// Empties both.
    fn clear(&mut self);
    /// Sends a request on a connection, counted from 1, whose replies are compared with those to the next one.
    fn tell(&mut self, connection: usize, words: &[Vec<u8>]);
    /// Sends a request on a connection; returns the differences.
    fn say(&mut self, connection: usize, words: &[Vec<u8>], likeness: Likeness) -> Vec<String>;
    /// Lets time pass; returns the differences in what was sent meanwhile.
    fn sleep(&mut self, time: Duration, likeness: Likeness) -> Vec<String>;
}

/// Runs the cases of a file.
///
/// # Panics
///
/// The servers answer differently.
pub fn check(servers: &mut impl Servers, file: &str) {
    let mut failures = Vec::new();
    for case in cases(file) {
        servers.clear();
        for line in &case.lines {
            if let Some(line) = line.strip_prefix('&') {
                let request = Request::parse(line);
                servers.tell(request.connection, &words(request.line));
                continue;
            }
            let request = Request::parse(line);
            let differences = match request.line.strip_prefix("sleep ") {
                Some(ms) => {
                    let ms = ms.parse().expect("a line `sleep N` has a number");
                    servers.sleep(Duration::from_millis(ms), request.likeness)
                }
                None => servers.say(request.connection, &words(request.line), request.likeness),
            };
            if !differences.is_empty() && !versions::excuses(request.line) {
                let differences = differences.join("\n");
                failures.push(format!("{line}\n{differences}\n  in: {}", case.text));
            }
        }
    }
    assert!(failures.is_empty(), "{}", failures.join("\n"));
}

/// A case of a file.
pub struct Case {
    /// The title of its section.
    pub section: String,
    /// What stands in the file.
    text: String,
    pub lines: Vec<String>,
}

/// The cases of a file.
pub fn cases(file: &str) -> Vec<Case> {
    let mut cases = Vec::new();
    let mut section = Section::default();
    for paragraph in file.split("\n\n") {
        let mut lines = Vec::new();
        for line in paragraph.lines() {
            if let Some(title) = line.strip_prefix("## ") {
                section = Section::titled(title);
            } else if !line.starts_with('#') && !line.trim().is_empty() {
                lines.push(line.strip_prefix('\\').unwrap_or(line));
            }
        }
        section.take(&lines, &mut cases);
    }
    cases
}

/// What the cases of a section have in common.
#[derive(Default)]
struct Section {
    title: String,
    each: Vec<String>,
    each_line: Vec<String>,
    after_each_line: Vec<String>,
    texts: BTreeMap<String, String>,
    is_of_others: bool,
}

impl Section {
    fn titled(title: &str) -> Self {
        Section {
            title: title.to_owned(),
            ..Section::default()
        }
    }

    fn take(&mut self, paragraph: &[&str], cases: &mut Vec<Case>) {
        let Some((first, rest)) = paragraph.split_first() else {
            return;
        };
        let owned = || rest.iter().map(|line| (*line).to_owned()).collect();
        if let Some(servers) = first.strip_prefix("only: ") {
            self.is_of_others = !versions::is_one_of(servers);
        }
        if self.is_of_others {
            return;
        }
        match *first {
            only if only.starts_with("only: ") => {}
            "each:" => self.each = owned(),
            "each line:" => self.each_line = owned(),
            "after each line:" => self.after_each_line = owned(),
            name if name.starts_with('$') && name.ends_with(" =") => {
                let name = name.trim_end_matches(" =").to_owned();
                self.texts.insert(name, rest.join("⏎"));
            }
            _ if !self.each_line.is_empty() => {
                let each = paragraph.iter();
                cases.extend(each.map(|line| self.case(&self.each_line, &[line])));
            }
            _ if !self.each.is_empty() => cases.push(self.case(&self.each, paragraph)),
            _ => cases.push(self.case(&["...".to_owned()], paragraph)),
        }
    }

    fn case(&self, template: &[String], paragraph: &[&str]) -> Case {
        let text = paragraph.join("⏎");
        let sha1 = Sha1::from(text.replace('⏎', "\n")).digest().to_string();
        let mut lines = Vec::new();
        for line in template {
            if line == "..." {
                for line in paragraph {
                    lines.push((*line).to_owned());
                    lines.extend_from_slice(&self.after_each_line);
                }
            } else {
                lines.push(line.replace("{}", &text).replace("{sha1}", &sha1));
            }
        }
        Case {
            section: self.title.clone(),
            text: paragraph.join("\n"),
            lines: lines
                .iter()
                .flat_map(|line| self.with_texts(line))
                .collect(),
        }
    }

    /// The lines that a line stands for.
    fn with_texts(&self, line: &str) -> Vec<String> {
        let mut texts = self.texts.iter();
        if let Some((start, text)) =
            texts.find_map(|(name, text)| Some((line.strip_suffix(name.as_str())?, text)))
        {
            return text
                .split('⏎')
                .map(|line| format!("{start}{line}"))
                .collect();
        }
        let texts = self.texts.iter();
        vec![texts.fold(line.to_owned(), |line, (name, text)| {
            line.replace(&format!("{name} "), &format!("`{text}` "))
        })]
    }
}

/// A line of a case.
pub struct Request<'a> {
    /// Counted from 1.
    pub connection: usize,
    pub likeness: Likeness,
    pub line: &'a str,
}

impl<'a> Request<'a> {
    pub fn parse(line: &'a str) -> Self {
        let mut request = Request {
            connection: 1,
            likeness: Likeness::Bytes,
            line,
        };
        loop {
            let mut letters = request.line.chars();
            request.likeness = match letters.next() {
                Some('~') => Likeness::Shape,
                Some('≈') => Likeness::Within(2000),
                Some('?') => Likeness::Sorted,
                Some('@') => Likeness::Clients,
                Some('%') => Likeness::Counts,
                Some(digit @ '1'..='9') if letters.as_str().starts_with(": ") => {
                    request.connection = digit as usize - '0' as usize;
                    request.line = &letters.as_str()[2..];
                    continue;
                }
                _ => return request,
            };
            request.line = letters.as_str();
        }
    }
}

/// The words of a line; quoted ones may have spaces.
pub fn words(line: &str) -> Vec<Vec<u8>> {
    let mut words = Vec::new();
    let mut rest = line.trim_start();
    while let Some(first) = rest.chars().next() {
        let word;
        (word, rest) = match first {
            '`' => {
                let (word, rest) = rest[1..].split_once('`').expect("a closing backtick");
                (word.replace('⏎', "\n").into_bytes(), rest)
            }
            '"' => unescaped(&rest[1..]),
            _ => {
                let end = rest.find(' ').unwrap_or(rest.len());
                (rest[..end].into(), &rest[end..])
            }
        };
        words.push(word);
        rest = rest.trim_start_matches(' ');
    }
    words
}

/// The bytes up to the next quotation mark, and what follows it.
fn unescaped(text: &str) -> (Vec<u8>, &str) {
    let mut bytes = Vec::new();
    let mut letters = text.chars();
    while let Some(letter) = letters.next() {
        match letter {
            '"' => return (bytes, letters.as_str()),
            '\\' => bytes.push(escape(&mut letters)),
            other => bytes.extend(other.to_string().bytes()),
        }
    }
    panic!("no closing quotation mark: {text}");
}

/// The byte that an escape stands for, after its backslash.
fn escape(letters: &mut std::str::Chars<'_>) -> u8 {
    match letters.next() {
        Some('n') => b'\n',
        Some('r') => b'\r',
        Some('t') => b'\t',
        Some('0') => 0,
        Some('x') => {
            let digits: String = letters.by_ref().take(2).collect();
            u8::from_str_radix(&digits, 16).expect("two hexadecimal digits")
        }
        Some(own @ ('"' | '\\')) => own as u8,
        other => panic!("no escape: {other:?}"),
    }
}

/// The bytes of each line of a file that is not empty and no comment: with escapes, and `{x*70000}` is a byte that is
/// repeated.
pub fn raw_lines(file: &str) -> Vec<Vec<u8>> {
    let lines = file
        .lines()
        .filter(|line| !line.is_empty() && !line.starts_with('#'));
    lines.map(raw).collect()
}

fn raw(line: &str) -> Vec<u8> {
    let mut bytes = Vec::new();
    let mut letters = line.chars();
    while let Some(letter) = letters.next() {
        match letter {
            '\\' => bytes.push(escape(&mut letters)),
            '{' => {
                let (repeated, rest) = letters.as_str().split_once('}').expect("a closing brace");
                let (byte, count) = repeated.split_once('*').expect("a byte and its number");
                bytes.extend(byte.repeat(count.parse().expect("a number")).bytes());
                letters = rest.chars();
            }
            other => bytes.extend(other.to_string().bytes()),
        }
    }
    bytes
}

//! The files that the rules read, and their code without comments and strings.

use std::path::Path;
use std::{fmt, fs};

use anyhow::{Context, Result};
use ra_ap_rustc_lexer::{FrontmatterAllowed, LiteralKind, TokenKind, tokenize};
use syn::{Attribute, MetaList};

use crate::tool::git;

/// A text file of the repository.
pub struct File {
    /// Relative to the root of the repository, with slashes.
    pub path: String,
    /// The unmodified text.
    pub text: String,
    /// For a Rust file, the text with comments, strings and characters replaced by spaces, so
    /// that a rule about code ignores prose; otherwise empty.
    pub code: String,
}

impl File {
    pub fn new(path: String, text: String) -> File {
        let code = if path.ends_with(".rs") {
            blank_prose(&text)
        } else {
            String::new()
        };
        File { path, text, code }
    }

    pub fn is_rust(&self) -> bool {
        self.path.ends_with(".rs")
    }

    /// A finding in this file, at a line counted from 1.
    pub fn finding(&self, line: usize, rule: &'static str, remedy: impl Into<String>) -> Finding {
        Finding {
            path: self.path.clone(),
            line,
            rule,
            remedy: remedy.into(),
        }
    }
}

/// Every text file that git tracks or would add; files that are not UTF-8 are left out.
pub fn files() -> Result<Vec<File>> {
    files_below(".")
}

/// The same of the checkout in this folder.
pub fn files_below(root: &str) -> Result<Vec<File>> {
    let mut files = Vec::new();
    for path in listed_below(root)? {
        let place = Path::new(root).join(&path);
        // A file may be deleted, and git not told yet.
        if place.is_file() {
            let bytes = fs::read(place).with_context(|| format!("read {path}"))?;
            if let Ok(text) = String::from_utf8(bytes) {
                files.push(File::new(path, text));
            }
        }
    }
    Ok(files)
}

/// What git tracks, and what it would take.
pub fn listed_below(root: &str) -> Result<Vec<String>> {
    let what = [
        "ls-files",
        "-z",
        "--cached",
        "--others",
        "--exclude-standard",
    ];
    let listed = git(&[&["-C", root], &what[..]].concat())?;
    Ok(listed.split_terminator('\0').map(str::to_owned).collect())
}

/// The innermost of some folders that contains a path. Each folder ends with a slash, unless it is
/// the root.
pub fn innermost<'a>(path: &str, folders: &[&'a str]) -> Option<&'a str> {
    let holding = folders.iter().filter(|folder| path.starts_with(**folder));
    holding.max_by_key(|folder| folder.len()).copied()
}

/// The name of the package in a folder.
pub fn package_in(folder: &str, files: &[File]) -> Result<String> {
    let path = format!("{folder}/Cargo.toml");
    let manifest = files.iter().find(|file| file.path == path);
    let manifest = manifest.with_context(|| format!("there is no {path}"))?;
    let manifest: toml::Table = toml::from_str(&manifest.text).context(path)?;
    let name = manifest["package"]["name"].as_str();
    Ok(name.context("a package has a name")?.to_owned())
}

/// Every occurrence of a word in a text, as (line from 1, byte). A word that begins or ends
/// with a letter does not match inside a longer word.
pub fn places<'a>(text: &'a str, word: &'a str) -> impl Iterator<Item = (usize, usize)> + 'a {
    let is_inner = |c: char| c.is_alphanumeric() || c == '_';
    text.match_indices(word).filter_map(move |(start, _)| {
        let (before, after) = (&text[..start], &text[start + word.len()..]);
        let longer_left = word.starts_with(is_inner) && before.ends_with(is_inner);
        let longer_right = word.ends_with(is_inner) && after.starts_with(is_inner);
        let line = before.matches('\n').count() + 1;
        (!longer_left && !longer_right).then_some((line, start))
    })
}

/// Whether what has these attributes is compiled for tests only.
pub fn is_for_tests(attributes: &[Attribute]) -> bool {
    attributes.iter().any(|attribute| {
        let names_test = |list: &MetaList| {
            let cfg = list.tokens.to_string().replace(' ', "");
            cfg.starts_with("test") || cfg.starts_with("all(test")
        };
        let path = attribute.path();
        path.is_ident("test")
            || path.is_ident("cfg") && attribute.meta.require_list().is_ok_and(names_test)
    })
}

fn blank_prose(text: &str) -> String {
    let mut code = String::with_capacity(text.len());
    let mut rest = text;
    for token in tokenize(text, FrontmatterAllowed::No) {
        let (piece, after) = rest.split_at(token.len as usize);
        rest = after;
        match token.kind {
            TokenKind::LineComment { .. } | TokenKind::BlockComment { .. } => {
                blank(piece, &mut code)
            }
            TokenKind::Literal { kind, .. } if is_text(kind) => blank(piece, &mut code),
            _ => code.push_str(piece),
        }
    }
    code
}

fn is_text(literal: LiteralKind) -> bool {
    !matches!(literal, LiteralKind::Int { .. } | LiteralKind::Float { .. })
}

/// Replaces a piece by spaces and keeps line breaks, so that line numbers stay the same.
fn blank(piece: &str, code: &mut String) {
    code.extend(piece.chars().map(|c| if c == '\n' { '\n' } else { ' ' }));
}

/// A violation of a rule, shown as `path:line: rule: what to do`.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Finding {
    pub path: String,
    /// Counted from 1.
    pub line: usize,
    pub rule: &'static str,
    pub remedy: String,
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Finding {
            path,
            line,
            rule,
            remedy,
        } = self;
        write!(f, "{path}:{line}: {rule}: {remedy}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn comments_and_strings_are_no_code() {
        let text = "a(\"b\"); // c\n/* d\ne */ 'f' 'g: r#\"h\ni\"# j";
        let code = blank_prose(text);
        assert_eq!(code.len(), text.len());
        assert_eq!(code.replace(' ', ""), "a();\n\n'g:\nj");
    }

    #[test]
    fn a_word_is_not_found_in_a_longer_one() {
        let lines = |word| -> Vec<usize> {
            let text = "std::time\nstd::timer\nmy_std::time;\n(std::time)";
            places(text, word).map(|(line, _)| line).collect()
        };
        assert_eq!(lines("std::time"), [1, 4]);
        assert_eq!(lines("::time"), [1, 3, 4]);
        assert_eq!(lines("time)"), [4]);
    }
}

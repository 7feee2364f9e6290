//! The tokens of a Rust file, with what the generator of mutants needs to know of each: where its
//! delimiter closes, and whether it stands alone as a binary operator does after `cargo fmt`.

use std::ops::Range;

use ra_ap_rustc_lexer::{FrontmatterAllowed, TokenKind, tokenize};

/// A token that is neither space nor comment. Punctuation without space between is one token, except
/// for delimiters, `,` and `;`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Token {
    pub kind: Kind,
    /// Its bytes in the text.
    pub at: Range<usize>,
    /// Whether there is space before and after it.
    pub is_spaced: bool,
    /// The index of the delimiter that belongs to this one; otherwise its own.
    pub partner: usize,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// An identifier, a keyword or a lifetime.
    Word,
    Literal,
    Open,
    Close,
    Punctuation,
}

/// A text with its tokens.
pub struct Syntax<'a> {
    pub text: &'a str,
    pub tokens: Vec<Token>,
}

impl<'a> Syntax<'a> {
    /// Reads a Rust file that compiles.
    pub fn of(text: &'a str) -> Self {
        let mut tokens: Vec<Token> = Vec::new();
        let (mut at, mut was_space) = (0, true);
        for token in tokenize(text, FrontmatterAllowed::No) {
            let range = at..at + token.len as usize;
            at = range.end;
            let kind = match token.kind {
                TokenKind::Whitespace
                | TokenKind::LineComment { .. }
                | TokenKind::BlockComment { .. } => {
                    if let Some(last) = tokens.last_mut() {
                        last.is_spaced &= last.at.end < range.start || !was_space;
                    }
                    was_space = true;
                    continue;
                }
                TokenKind::Ident | TokenKind::RawIdent | TokenKind::Lifetime { .. } => Kind::Word,
                TokenKind::Literal { .. } => Kind::Literal,
                TokenKind::OpenParen | TokenKind::OpenBrace | TokenKind::OpenBracket => Kind::Open,
                TokenKind::CloseParen | TokenKind::CloseBrace | TokenKind::CloseBracket => {
                    Kind::Close
                }
                _ => Kind::Punctuation,
            };
            let stands_alone = matches!(token.kind, TokenKind::Comma | TokenKind::Semi);
            if kind == Kind::Punctuation
                && !stands_alone
                && !was_space
                && let Some(last) = tokens.last_mut()
                && last.kind == Kind::Punctuation
                && ![",", ";"].contains(&&text[last.at.clone()])
            {
                last.at.end = range.end;
                continue;
            }
            tokens.push(Token {
                kind,
                at: range,
                is_spaced: was_space,
                partner: tokens.len(),
            });
            was_space = false;
        }
        let mut syntax = Self { text, tokens };
        syntax.mark();
        syntax
    }

    /// The text of a token; empty behind the last one.
    pub fn word(&self, index: usize) -> &'a str {
        let token = self.tokens.get(index);
        token.map_or("", |token| &self.text[token.at.clone()])
    }

    pub fn is(&self, index: usize, word: &str) -> bool {
        self.word(index) == word
    }

    /// The token behind this one, or behind its group.
    pub fn after(&self, index: usize) -> usize {
        match self.tokens.get(index) {
            Some(token) if token.kind == Kind::Open => token.partner + 1,
            _ => index + 1,
        }
    }

    /// The first of these words from `from` on, before `end`, outside of groups.
    pub fn find(&self, from: usize, end: usize, words: &[&str]) -> Option<usize> {
        let mut index = from;
        while index < end {
            if words.contains(&self.word(index)) {
                return Some(index);
            }
            index = self.after(index);
        }
        None
    }

    /// The line of a token, from 1.
    pub fn line(&self, index: usize) -> usize {
        self.text[..self.tokens[index].at.start]
            .matches('\n')
            .count()
            + 1
    }

    /// Joins delimiters, and completes what needs to know the next token.
    fn mark(&mut self) {
        let mut open = Vec::new();
        for index in 0..self.tokens.len() {
            match self.tokens[index].kind {
                Kind::Open => open.push(index),
                Kind::Close => {
                    if let Some(start) = open.pop() {
                        self.tokens[start].partner = index;
                        self.tokens[index].partner = start;
                    }
                }
                _ => {}
            }
            let next = self.tokens.get(index + 1).map(|next| next.at.start);
            let token = &mut self.tokens[index];
            token.is_spaced &= next.is_none_or(|next| token.at.end < next);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(text: &str) -> Vec<String> {
        let syntax = Syntax::of(text);
        let words = (0..syntax.tokens.len()).map(|index| {
            let alone = if syntax.tokens[index].is_spaced {
                "_"
            } else {
                ""
            };
            format!("{alone}{}", syntax.word(index))
        });
        words.collect()
    }

    #[test]
    fn a_binary_operator_stands_alone() {
        let expected = [
            "f", "(", "a", "_==", "-", "1", "_&&", "!", "b", ",", "x", "::<", "u8", ">", ")",
        ];
        assert_eq!(words("f(a == -1 && !b, x::<u8>)"), expected);
        assert_eq!(words("a\n    // why\n    < *b"), ["_a", "_<", "*", "b"]);
    }

    #[test]
    fn a_group_is_skipped() {
        let syntax = Syntax::of("f(a, { b; }) + c");
        assert_eq!(syntax.find(0, 20, &["b", "c"]), Some(10));
        assert_eq!(syntax.line(10), 1);
    }
}

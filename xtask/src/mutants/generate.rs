//! The mutants of a file: each function's body replaced by a value, comparisons, calculations and logic
//! turned into others, conditions negated, and arms of a `match` deleted, as cargo-mutants does it.
//!
//! It knows tokens and no types. A mutant that does not compile is dropped later (`build`).

use std::ops::Range;

use super::change::{others, strength, values};
use super::syntax::{Kind, Syntax};

/// A change of a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Mutant {
    /// The file, relative to the root of the repository.
    pub file: String,
    /// The line, from 1.
    pub line: usize,
    /// What is changed, in which function: `replace < with <= in Client::passed_by`.
    pub change: String,
    /// The bytes that it replaces.
    pub at: Range<usize>,
    pub edit: Edit,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Edit {
    /// This expression stands in the place of another, or of a body.
    Put(String),
    /// The arm of a `match` whose guard is replaced does not match. Without a guard the place is empty.
    NoMatch,
}

impl Mutant {
    /// Its name, as `xtask/survivors.txt` has it. The same change in several lines of one function has one name.
    pub fn name(&self) -> String {
        format!("{}: {}", self.file, self.change)
    }
}

/// All mutants of a file, in the order of their places.
pub fn mutants(file: &str, text: &str) -> Vec<Mutant> {
    let syntax = Syntax::of(text);
    let mut generator = Generator {
        file,
        syntax: &syntax,
        found: Vec::new(),
    };
    generator.items(0, syntax.tokens.len(), "");
    let mut found = generator.found;
    found.sort_by_key(|mutant| (mutant.at.start, std::cmp::Reverse(mutant.at.end)));
    found
}

struct Generator<'a> {
    file: &'a str,
    syntax: &'a Syntax<'a>,
    found: Vec<Mutant>,
}

impl Generator<'_> {
    /// The functions among these tokens, which are items of this type, or of none.
    fn items(&mut self, from: usize, end: usize, of: &str) {
        let syntax = self.syntax;
        let mut index = from;
        while index < end {
            index = match syntax.word(index) {
                "#" | "#!" => {
                    let after = syntax.after(index + 1);
                    match self.is_test(index + 1) {
                        true => self.end_of_item(after, end),
                        false => after,
                    }
                }
                "impl" | "trait" => {
                    let Some(body) = syntax.find(index, end, &["{"]) else {
                        return;
                    };
                    let name = self.type_of(index, body);
                    self.items(body + 1, syntax.tokens[body].partner, &name);
                    syntax.after(body)
                }
                "mod" if syntax.is(index + 2, "{") => {
                    self.items(index + 3, syntax.tokens[index + 2].partner, of);
                    syntax.after(index + 2)
                }
                "const" | "static" if !syntax.is(index + 1, "fn") => {
                    syntax.find(index, end, &[";"]).unwrap_or(end) + 1
                }
                "const" => self.end_of_item(index, end),
                "macro_rules" => self.end_of_item(index, end),
                "fn" => self.function(index, end, of),
                _ => syntax.after(index),
            };
        }
    }

    /// Whether an attribute, whose bracket is at `index`, is for tests.
    fn is_test(&self, index: usize) -> bool {
        let inner = (self.syntax.word(index + 1), self.syntax.word(index + 3));
        inner.0 == "test" || inner == ("cfg", "test")
    }

    /// Behind the next body or `;`.
    fn end_of_item(&self, from: usize, end: usize) -> usize {
        let found = self.syntax.find(from, end, &["{", ";"]);
        found.map_or(end, |found| self.syntax.after(found))
    }

    /// The type of an `impl`, without what it is generic over: `Client<'_>`, `<Debug for Client>`.
    fn type_of(&self, index: usize, body: usize) -> String {
        let syntax = self.syntax;
        let mut start = index + 1;
        if syntax.word(start).starts_with('<') {
            let mut depth = 0_i32;
            while start < body {
                let word = syntax.word(start);
                if syntax.tokens[start].kind == Kind::Punctuation && word != "->" {
                    depth += word.matches('<').count() as i32;
                    depth -= word.matches('>').count() as i32;
                }
                start += 1;
                if depth <= 0 {
                    break;
                }
            }
        }
        let end = syntax.find(start, body, &["where"]).unwrap_or(body);
        let words = start..end;
        let is_for_trait = syntax.is(index, "impl") && words.clone().any(|it| syntax.is(it, "for"));
        if words.is_empty() {
            return String::new();
        }
        let text = &syntax.text[syntax.tokens[start].at.start..syntax.tokens[end - 1].at.end];
        let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
        match is_for_trait {
            true => format!("<{text}>"),
            false => text,
        }
    }

    /// A function and what is in it; returns the token behind it.
    fn function(&mut self, index: usize, end: usize, of: &str) -> usize {
        let syntax = self.syntax;
        let Some(found) = syntax.find(index, end, &["{", ";"]) else {
            return end;
        };
        let behind = syntax.after(found);
        if syntax.is(found, ";") {
            return behind;
        }
        let name = match of {
            "" => syntax.word(index + 1).to_owned(),
            of => format!("{of}::{}", syntax.word(index + 1)),
        };
        let parameters = syntax.find(index, found, &["("]).unwrap_or(index);
        let returns = match syntax.find(syntax.after(parameters), found, &["->"]) {
            Some(arrow) => {
                let end = syntax.find(arrow, found, &["where"]).unwrap_or(found);
                let (start, end) = (syntax.tokens[arrow].at.end, syntax.tokens[end].at.start);
                syntax.text[start..end].trim()
            }
            None => "()",
        };
        let inside = found + 1..syntax.tokens[found].partner;
        if !inside.is_empty() {
            let at = syntax.tokens[inside.start].at.start..syntax.tokens[inside.end - 1].at.end;
            for value in values(returns) {
                if syntax.text[at.clone()] != value {
                    let change = format!("replace {name} with {value}");
                    self.add(index, change, at.clone(), Edit::Put(value));
                }
            }
        }
        self.body(inside, &name);
        behind
    }

    /// What is within a function.
    fn body(&mut self, tokens: Range<usize>, name: &str) {
        let syntax = self.syntax;
        let mut index = tokens.start;
        while index < tokens.end {
            match syntax.word(index) {
                "#" => {
                    index = syntax.after(index + 1);
                    continue;
                }
                "const" | "static" => {
                    index = syntax.find(index, tokens.end, &[";"]).unwrap_or(tokens.end);
                }
                "fn" => {
                    index = self.function(index, tokens.end, "");
                    continue;
                }
                "if" | "while" => self.condition(index, tokens.end, name),
                "match" => self.arms(index, tokens.end, name),
                "!" if !syntax.tokens[index].is_spaced => self.negation(index, name),
                _ => self.operator(index, &tokens, name),
            }
            index += 1;
        }
    }

    fn add(&mut self, token: usize, change: String, at: Range<usize>, edit: Edit) {
        self.found.push(Mutant {
            file: self.file.to_owned(),
            line: self.syntax.line(token),
            change,
            at,
            edit,
        });
    }

    fn bytes(&self, tokens: Range<usize>) -> Range<usize> {
        self.syntax.tokens[tokens.start].at.start..self.syntax.tokens[tokens.end - 1].at.end
    }

    /// Negates a condition that is neither a comparison nor composed: those change otherwise.
    fn condition(&mut self, index: usize, end: usize, name: &str) {
        let syntax = self.syntax;
        let Some(stop) = syntax.find(index + 1, end, &["{", "=>"]) else {
            return;
        };
        let tokens = index + 1..stop;
        let mut within = tokens.clone();
        let is_plain = !tokens.is_empty()
            && !syntax.is(tokens.start, "!")
            && within.all(|it| {
                let token = &syntax.tokens[it];
                let is_operator = token.kind == Kind::Punctuation && token.is_spaced;
                !syntax.is(it, "let") && !is_operator
            });
        if is_plain {
            let at = self.bytes(tokens);
            let put = format!("!({})", &syntax.text[at.clone()]);
            let change = format!("negate the condition of {} in {name}", syntax.word(index));
            self.add(index, change, at, Edit::Put(put));
        }
    }

    /// Deletes `!`.
    fn negation(&mut self, index: usize, name: &str) {
        let syntax = self.syntax;
        let is_macro = index > 0
            && syntax.tokens[index - 1].kind == Kind::Word
            && syntax.tokens[index - 1].at.end == syntax.tokens[index].at.start;
        if is_macro {
            return;
        }
        let end = self.end_of_postfix(index + 1);
        if end > index + 1 {
            let put = syntax.text[self.bytes(index + 1..end)].to_owned();
            let at = self.bytes(index..end);
            self.add(index, format!("delete ! in {name}"), at, Edit::Put(put));
        }
    }

    /// Behind an operand with its calls and fields.
    fn end_of_postfix(&self, from: usize) -> usize {
        let syntax = self.syntax;
        let mut index = from;
        while matches!(syntax.word(index), "*" | "&" | "!") {
            index += 1;
        }
        loop {
            index = syntax.after(index);
            let is_joined = match syntax.tokens.get(index) {
                None => false,
                Some(token) => match token.kind {
                    Kind::Open => syntax.tokens[index - 1].at.end == token.at.start,
                    Kind::Punctuation => {
                        matches!(syntax.word(index), "." | "::" | "?" | "?." | "::<")
                    }
                    _ => matches!(syntax.word(index - 1), "." | "::" | "?."),
                },
            };
            if !is_joined || syntax.is(index, "::<") {
                return index;
            }
        }
    }

    /// Another operator in the place of a binary one.
    fn operator(&mut self, index: usize, within: &Range<usize>, name: &str) {
        let syntax = self.syntax;
        let token = &syntax.tokens[index];
        if token.kind != Kind::Punctuation || !token.is_spaced || index == within.start {
            return;
        }
        let word = syntax.word(index);
        let Some(strength) = strength(word) else {
            return;
        };
        if !self.ends_operand(index - 1) {
            return;
        }
        let others = others(word);
        if others.is_empty() {
            return;
        }
        let left = self.left(index, within.start, strength);
        let right = self.right(index, within.end, strength);
        let (Some(left), Some(right)) = (left, right) else {
            return;
        };
        let at = self.bytes(left..right);
        let before = &syntax.text[at.start..token.at.start];
        let behind = &syntax.text[token.at.end..at.end];
        for other in others {
            let change = format!("replace {word} with {other} in {name}");
            let put = format!("{before}{other}{behind}");
            self.add(index, change, at.clone(), Edit::Put(put));
        }
    }

    fn ends_operand(&self, index: usize) -> bool {
        let word = self.syntax.word(index);
        match self.syntax.tokens[index].kind {
            Kind::Word => !KEYWORDS.contains(&word),
            Kind::Literal | Kind::Close => true,
            Kind::Open => false,
            Kind::Punctuation => word == "?",
        }
    }

    /// Where the left operand begins: behind an operator that binds less, or what ends an expression.
    fn left(&self, operator: usize, start: usize, strength: u8) -> Option<usize> {
        let syntax = self.syntax;
        let mut index = operator;
        while index > start {
            let before = index - 1;
            let token = &syntax.tokens[before];
            match token.kind {
                Kind::Close => {
                    let is_block = syntax.is(before, "}");
                    if is_block && !matches!(syntax.word(index), "." | "?" | "?.") {
                        break;
                    }
                    index = token.partner;
                    continue;
                }
                Kind::Open => break,
                Kind::Word if ENDING.contains(&syntax.word(before)) => break,
                Kind::Punctuation if self.ends_expression(before, strength, Side::Left) => break,
                _ => {}
            }
            index = before;
        }
        (index < operator).then_some(index)
    }

    /// Where the right operand ends.
    fn right(&self, operator: usize, end: usize, strength: u8) -> Option<usize> {
        let syntax = self.syntax;
        let mut index = operator + 1;
        while index < end {
            let token = &syntax.tokens[index];
            match token.kind {
                Kind::Open if syntax.is(index, "{") => break,
                Kind::Close => break,
                Kind::Word if ENDING.contains(&syntax.word(index)) => return None,
                Kind::Punctuation if self.ends_expression(index, strength, Side::Right) => break,
                _ => {}
            }
            index = syntax.after(index);
        }
        (index > operator + 1).then_some(index)
    }

    fn ends_expression(&self, index: usize, than: u8, side: Side) -> bool {
        let word = self.syntax.word(index);
        if matches!(
            word,
            "," | ";" | "=" | "=>" | "->" | ".." | "..=" | "|" | "||" | ":"
        ) {
            // A closure's parameters end at `|`. The operators of these names stand alone.
            return word != "||"
                || !self.syntax.tokens[index].is_spaced
                || !self.binds(index, than, side);
        }
        if word.starts_with("..") || word.ends_with("..") {
            return true;
        }
        self.syntax.tokens[index].is_spaced
            && strength(word).is_some()
            && !self.binds(index, than, side)
    }

    /// Whether an operator belongs to the operand on this side of one that binds as strongly as `than`.
    fn binds(&self, index: usize, than: u8, side: Side) -> bool {
        let its = strength(self.syntax.word(index)).unwrap_or(0);
        match side {
            // Operators of one strength are executed from left to right.
            Side::Left => its >= than,
            Side::Right => its > than,
        }
    }

    /// Deletes the arms of a `match` that has one for all else.
    fn arms(&mut self, index: usize, end: usize, name: &str) {
        let syntax = self.syntax;
        let Some(open) = syntax.find(index + 1, end, &["{"]) else {
            return;
        };
        let close = syntax.tokens[open].partner;
        let mut arms = Vec::new();
        let mut at = open + 1;
        while at < close {
            let Some(arrow) = syntax.find(at, close, &["=>"]) else {
                return;
            };
            let guard = syntax.find(at, arrow, &["if"]);
            arms.push((at, guard, arrow));
            at = match syntax.is(arrow + 1, "{") {
                true => {
                    let behind = syntax.after(arrow + 1);
                    match syntax.is(behind, ",") {
                        true => behind + 1,
                        false => behind,
                    }
                }
                false => syntax
                    .find(arrow, close, &[","])
                    .map_or(close, |comma| comma + 1),
            };
        }
        let is_for_all = |(at, guard, arrow): &(usize, Option<usize>, usize)| {
            guard.is_none() && *arrow == at + 1 && syntax.is(*at, "_")
        };
        if !arms.iter().any(is_for_all) {
            return;
        }
        for arm in arms.iter().filter(|arm| !is_for_all(arm)) {
            let (at, guard, arrow) = *arm;
            let pattern = &syntax.text[self.bytes(at..guard.unwrap_or(arrow))];
            let pattern = pattern.split_whitespace().collect::<Vec<_>>().join(" ");
            let change = format!("delete match arm {pattern} in {name}");
            let place = match guard {
                Some(guard) => self.bytes(guard + 1..arrow),
                None => {
                    let end = syntax.tokens[arrow - 1].at.end;
                    end..end
                }
            };
            self.add(at, change, place, Edit::NoMatch);
        }
    }
}

#[derive(Clone, Copy)]
enum Side {
    Left,
    Right,
}

/// Words after which an operator has one operand only.
const KEYWORDS: [&str; 10] = [
    "return", "if", "while", "match", "in", "else", "break", "move", "mut", "let",
];

/// Words that are in no operand.
const ENDING: [&str; 12] = [
    "return", "if", "while", "match", "in", "else", "break", "move", "let", "loop", "for", "async",
];

#[cfg(test)]
mod tests {
    use super::*;

    /// The changes of a text: the change, and the text that they make.
    #[track_caller]
    fn check(text: &str, expected: &[&str]) {
        let found = mutants("a.rs", text);
        let found: Vec<String> = found
            .iter()
            .filter(|mutant| !mutant.change.starts_with("replace f "))
            .map(|mutant| match &mutant.edit {
                Edit::Put(put) => format!("{} => {put}", &text[mutant.at.clone()]),
                Edit::NoMatch => mutant.change.clone(),
            })
            .collect();
        assert_eq!(found, expected);
    }

    #[test]
    fn an_operator_has_the_operands_that_rust_gives_it() {
        check(
            "fn f() { x = a - b + c * d; }",
            &[
                "a - b + c * d => a - b - c * d",
                "a - b => a + b",
                "c * d => c + d",
            ],
        );
        check(
            "fn f() { g(a + 1 < b && !c.d(), e) }",
            &[
                "a + 1 < b && !c.d() => a + 1 < b || !c.d()",
                "a + 1 < b => a + 1 <= b",
                "a + 1 < b => a + 1 > b",
                "a + 1 => a - 1",
                "!c.d() => c.d()",
            ],
        );
        check(
            "fn f() { x.any(|a| a == b || c) }",
            &["a == b || c => a == b && c", "a == b => a != b"],
        );
        check(
            "fn f() { a..b + 1; *n += 1; }",
            &["b + 1 => b - 1", "*n += 1 => *n -= 1"],
        );
    }

    #[test]
    fn only_operators_stand_alone() {
        check(
            "fn f(x: &Vec<u8>) { g::<u8>(-1, &a, *b, |c| c, || d); }",
            &[],
        );
        check("fn f() { if let Some(x) = a && let Some(y) = b {} }", &[]);
    }

    #[test]
    fn a_plain_condition_is_negated() {
        check(
            "fn f() { if a.b(c) { d } else if !e {} }",
            &["a.b(c) => !(a.b(c))", "!e => e"],
        );
    }

    #[test]
    fn arms_are_deleted_where_one_is_left_for_all() {
        check(
            "fn f() { match a { B { c } => d, E if g => {} _ => h } }",
            &[
                "delete match arm B { c } in f",
                "delete match arm E in f",
                "g => !(g)",
            ],
        );
        check("fn f() { match a { B => d, E => {} } }", &[]);
    }

    #[test]
    fn tests_and_constants_stay_as_they_are() {
        check(
            "#[cfg(test)] mod tests { fn f() { a < b } } const A: u8 = 1 + 1; const fn g() { 1 + 1 }",
            &[],
        );
        check(
            "fn f() { const A: u8 = 1 + 1; } #[test] fn g() { a < b }",
            &[],
        );
    }

    #[test]
    fn a_function_is_replaced_by_values_of_its_type() {
        let changes = |text| -> Vec<String> {
            mutants("a.rs", text)
                .iter()
                .map(|mutant| mutant.change.clone())
                .collect()
        };
        let found = changes(
            "impl<T: Ord> A<T> { fn g(&self) -> Result<Option<bool>, E> where T: X { a } }",
        );
        assert_eq!(
            found,
            [
                "replace A<T>::g with Ok(None)",
                "replace A<T>::g with Ok(Some(true))",
                "replace A<T>::g with Ok(Some(false))",
            ]
        );
        assert_eq!(
            changes("impl Debug for B { fn fmt(&self) { a } }"),
            ["replace <Debug for B>::fmt with ()"]
        );
        assert!(changes("fn g() {} fn h() -> ! { a } trait T { fn i(); }").is_empty());
    }
}

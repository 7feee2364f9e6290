//! The mutants of a file: each function's body replaced by a value, comparisons, calculations and logic
//! turned into others, conditions negated, and arms of a `match` deleted, as cargo-mutants does it.
//!
//! It knows no types. A mutant that does not compile is dropped later (`build`).

use std::ops::Range;

use proc_macro2::{TokenStream, TokenTree};
use syn::parse::{ParseStream, Parser as _};
use syn::punctuated::Punctuated;
use syn::spanned::Spanned;
use syn::visit::{self, Visit};
use syn::{Block, Expr, Pat, ReturnType, Signature, Token, UnOp};

use super::change::{others, values};
use crate::source::is_for_tests;

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

/// All mutants of a file that compiles, in the order of their places.
pub fn mutants(file: &str, text: &str) -> Vec<Mutant> {
    let mut generator = Generator {
        file,
        text,
        of: String::new(),
        function: String::new(),
        found: Vec::new(),
    };
    let parsed = syn::parse_file(text).unwrap_or_else(|error| panic!("{file}: {error}"));
    generator.visit_file(&parsed);
    let mut found = generator.found;
    found.sort_by_key(|mutant| (mutant.at.start, std::cmp::Reverse(mutant.at.end)));
    found
}

struct Generator<'a> {
    file: &'a str,
    text: &'a str,
    /// The type or trait whose functions these are; empty for others.
    of: String,
    /// The function that the code is in; empty outside.
    function: String,
    found: Vec<Mutant>,
}

impl Generator<'_> {
    fn add(&mut self, token: &impl Spanned, change: String, at: Range<usize>, edit: Edit) {
        self.found.push(Mutant {
            file: self.file.to_owned(),
            line: token.span().start().line,
            change,
            at,
            edit,
        });
    }

    /// The text of some bytes, on one line.
    fn on_one_line(&self, at: Range<usize>) -> String {
        self.text[at]
            .split_whitespace()
            .collect::<Vec<_>>()
            .join(" ")
    }

    /// Visits functions of this type, unless they are within another function.
    fn visit_functions(&mut self, of: String, visit: impl FnOnce(&mut Self)) {
        let outer = std::mem::replace(&mut self.of, of);
        if !self.function.is_empty() {
            self.of.clear();
        }
        visit(self);
        self.of = outer;
    }

    fn function(&mut self, signature: &Signature, body: &Block) {
        let name = match &*self.of {
            "" => signature.ident.to_string(),
            of => format!("{of}::{}", signature.ident),
        };
        let returns = match &signature.output {
            ReturnType::Type(_, of) => &self.text[bytes(of)],
            ReturnType::Default => "()",
        };
        if let (Some(first), Some(last)) = (body.stmts.first(), body.stmts.last()) {
            let at = bytes(first).start..bytes(last).end;
            for value in values(returns) {
                if self.text[at.clone()] != value {
                    let change = format!("replace {name} with {value}");
                    self.add(&signature.fn_token, change, at.clone(), Edit::Put(value));
                }
            }
        }
        let outer = std::mem::replace(&mut self.function, name);
        let of = std::mem::take(&mut self.of);
        self.visit_block(body);
        (self.function, self.of) = (outer, of);
    }

    /// Negates a condition that is neither a comparison nor composed: those change otherwise.
    fn condition(&mut self, keyword: &impl Spanned, word: &str, condition: &Expr) {
        let text = &self.text[bytes(condition)];
        let is_operator = |word: &str| word.chars().all(|c| "+-*/%^&|<>=!.".contains(c));
        let mut words = text.split_whitespace();
        if text.starts_with('!') || words.any(|word| word == "let" || is_operator(word)) {
            return;
        }
        let change = format!("negate the condition of {word} in {}", self.function);
        let put = Edit::Put(format!("!({text})"));
        self.add(keyword, change, bytes(condition), put);
    }

    /// Visits what the arguments of a macro have of expressions and blocks.
    fn visit_arguments(&mut self, arguments: TokenStream) {
        if let Ok(list) = Punctuated::<Expr, Token![,]>::parse_terminated.parse2(arguments.clone())
        {
            list.iter().for_each(|it| Visit::visit_expr(self, it));
        } else if let Ok((of, pattern)) = pattern.parse2(arguments.clone()) {
            Visit::visit_expr(self, &of);
            Visit::visit_pat(self, &pattern);
        } else if let Ok(statements) = Block::parse_within.parse2(arguments.clone()) {
            statements.iter().for_each(|it| Visit::visit_stmt(self, it));
        } else {
            for token in arguments {
                if let TokenTree::Group(group) = token {
                    self.visit_arguments(group.stream());
                }
            }
        }
    }
}

/// The arguments of `matches!`.
fn pattern(input: ParseStream<'_>) -> syn::Result<(Expr, Pat)> {
    let of = input.parse()?;
    input.parse::<Token![,]>()?;
    let pat = Pat::parse_multi_with_leading_vert(input)?;
    let Some(if_token) = input.parse::<Option<Token![if]>>()? else {
        return Ok((of, pat));
    };
    let guard = syn::PatGuard {
        attrs: Vec::new(),
        pat: Box::new(pat),
        if_token,
        guard: input.parse()?,
    };
    Ok((of, Pat::Guard(guard)))
}

fn bytes(node: &impl Spanned) -> Range<usize> {
    node.span().byte_range()
}

/// Whether a part of a condition binds names: its operators can be no others.
fn is_with_let(condition: &Expr) -> bool {
    match condition {
        Expr::Let(_) => true,
        Expr::Binary(it) => is_with_let(&it.left) || is_with_let(&it.right),
        _ => false,
    }
}

impl<'ast> Visit<'ast> for Generator<'_> {
    fn visit_item_mod(&mut self, item: &'ast syn::ItemMod) {
        if !is_for_tests(&item.attrs) {
            visit::visit_item_mod(self, item);
        }
    }

    fn visit_item_impl(&mut self, item: &'ast syn::ItemImpl) {
        if is_for_tests(&item.attrs) {
            return;
        }
        let of = bytes(&item.self_ty);
        let name = match &item.trait_ {
            Some((path, _)) => format!("<{}>", self.on_one_line(bytes(path).start..of.end)),
            None => self.on_one_line(of),
        };
        self.visit_functions(name, |own| visit::visit_item_impl(own, item));
    }

    fn visit_item_trait(&mut self, item: &'ast syn::ItemTrait) {
        if is_for_tests(&item.attrs) {
            return;
        }
        let end = bytes(&item.brace_token.span.open()).start;
        let name = self.on_one_line(bytes(&item.ident).start..end);
        self.visit_functions(name, |own| visit::visit_item_trait(own, item));
    }

    fn visit_item_fn(&mut self, item: &'ast syn::ItemFn) {
        if !is_for_tests(&item.attrs) && item.sig.constness.is_none() {
            self.function(&item.sig, &item.block);
        }
    }

    fn visit_impl_item_fn(&mut self, item: &'ast syn::ImplItemFn) {
        if !is_for_tests(&item.attrs) && item.sig.constness.is_none() {
            self.function(&item.sig, &item.block);
        }
    }

    fn visit_trait_item_fn(&mut self, item: &'ast syn::TraitItemFn) {
        if let (Some(body), false) = (&item.default, is_for_tests(&item.attrs)) {
            self.function(&item.sig, body);
        }
    }

    // Constants, types and attributes have no code that runs.
    fn visit_item_const(&mut self, _: &'ast syn::ItemConst) {}
    fn visit_item_static(&mut self, _: &'ast syn::ItemStatic) {}
    fn visit_impl_item_const(&mut self, _: &'ast syn::ImplItemConst) {}
    fn visit_trait_item_const(&mut self, _: &'ast syn::TraitItemConst) {}
    fn visit_variant(&mut self, _: &'ast syn::Variant) {}
    fn visit_type(&mut self, _: &'ast syn::Type) {}
    fn visit_attribute(&mut self, _: &'ast syn::Attribute) {}

    fn visit_macro(&mut self, found: &'ast syn::Macro) {
        if !self.function.is_empty() {
            self.visit_arguments(found.tokens.clone());
        }
    }

    fn visit_expr_if(&mut self, found: &'ast syn::ExprIf) {
        self.condition(&found.if_token, "if", &found.cond);
        visit::visit_expr_if(self, found);
    }

    fn visit_expr_while(&mut self, found: &'ast syn::ExprWhile) {
        self.condition(&found.while_token, "while", &found.cond);
        visit::visit_expr_while(self, found);
    }

    fn visit_pat_guard(&mut self, found: &'ast syn::PatGuard) {
        self.condition(&found.if_token, "if", &found.guard);
        visit::visit_pat_guard(self, found);
    }

    /// Deletes `!`.
    fn visit_expr_unary(&mut self, found: &'ast syn::ExprUnary) {
        if let UnOp::Not(not) = &found.op {
            let change = format!("delete ! in {}", self.function);
            let put = Edit::Put(self.text[bytes(&found.expr)].to_owned());
            self.add(not, change, bytes(found), put);
        }
        visit::visit_expr_unary(self, found);
    }

    /// Another operator in the place of a binary one.
    fn visit_expr_binary(&mut self, found: &'ast syn::ExprBinary) {
        if !is_with_let(&found.left) && !is_with_let(&found.right) {
            let (at, operator) = (bytes(found), bytes(&found.op));
            let before = &self.text[at.start..operator.start];
            let behind = &self.text[operator.end..at.end];
            let word = &self.text[operator];
            for other in others(word) {
                let change = format!("replace {word} with {other} in {}", self.function);
                let put = Edit::Put(format!("{before}{other}{behind}"));
                self.add(&found.op, change, at.clone(), put);
            }
        }
        visit::visit_expr_binary(self, found);
    }

    /// Deletes the arms of a `match` that has one for all else.
    fn visit_expr_match(&mut self, found: &'ast syn::ExprMatch) {
        let is_for_all = |arm: &&syn::Arm| matches!(arm.pat, Pat::Wild(_));
        if found.arms.iter().any(|arm| is_for_all(&arm)) {
            for arm in found.arms.iter().filter(|arm| !is_for_all(arm)) {
                let (pattern, place) = match &arm.pat {
                    Pat::Guard(guarded) => (bytes(&guarded.pat), bytes(&guarded.guard)),
                    pattern => (bytes(pattern), bytes(pattern).end..bytes(pattern).end),
                };
                let pattern = self.on_one_line(pattern);
                let change = format!("delete match arm {pattern} in {}", self.function);
                self.add(arm, change, place, Edit::NoMatch);
            }
        }
        visit::visit_expr_match(self, found);
    }
}

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
    fn the_arguments_of_a_macro_are_code() {
        check(
            "fn f() { g!(a < b, c = d + e); matches!(h, I | J if k == l); m! { n = o => { p && q } } }",
            &[
                "a < b => a <= b",
                "a < b => a > b",
                "d + e => d - e",
                "k == l => k != l",
                "p && q => p || q",
            ],
        );
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

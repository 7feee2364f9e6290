//! Scans a Rust file for what it defines, what it imports, and the paths that it names.
//!
//! This is no parser: it reads tokens, and so sees the arguments of macros too. Code under
//! `#[cfg(test)]` and `#[test]` is skipped.

use std::collections::{BTreeMap, BTreeSet};

use ra_ap_rustc_lexer::{FrontmatterAllowed, TokenKind, tokenize};

/// A file's own module, and the modules inside it that have a body.
pub struct Scan<'a> {
    /// By path below the file's own module, which is the empty path.
    pub modules: BTreeMap<Vec<&'a str>, Module<'a>>,
    /// The modules that are compiled for tests only and have files of their own.
    pub test_modules: Vec<Vec<&'a str>>,
    /// The whole file is compiled for tests only.
    pub is_test: bool,
}

/// The names of a module.
#[derive(Default)]
pub struct Module<'a> {
    /// The items that it defines, without its modules.
    pub items: BTreeSet<&'a str>,
    /// The leaves of its `use` trees, also those inside functions.
    pub uses: Vec<Use<'a>>,
    /// The paths of more than one segment in its code.
    pub paths: Vec<Named<'a>>,
    /// The words in its code that stand alone.
    pub words: BTreeSet<&'a str>,
}

/// A path in the code.
pub struct Named<'a> {
    pub path: Vec<&'a str>,
    /// Counted from 1.
    pub line: usize,
}

/// A leaf of a `use` tree.
pub struct Use<'a> {
    pub path: Vec<&'a str>,
    /// Counted from 1.
    pub line: usize,
    pub binds: Binds<'a>,
    /// Others may import the name from here.
    pub is_public: bool,
}

/// What a leaf of a `use` tree makes available.
#[derive(Copy, Clone, PartialEq, Eq)]
pub enum Binds<'a> {
    Name(&'a str),
    Everything,
}

/// Scans code in which comments and strings are blank.
pub fn scan(code: &str) -> Scan<'_> {
    let mut scanner = Scanner {
        tokens: tokens(code),
        at: 0,
        depth: 0,
        inside: Vec::new(),
        scan: Scan {
            modules: BTreeMap::from([(Vec::new(), Module::default())]),
            test_modules: Vec::new(),
            is_test: false,
        },
    };
    while scanner.at < scanner.tokens.len() {
        scanner.step();
    }
    scanner.scan
}

/// A word, `::`, or one character of punctuation.
#[derive(Copy, Clone)]
struct Token<'a> {
    text: &'a str,
    line: usize,
    is_word: bool,
}

fn tokens(code: &str) -> Vec<Token<'_>> {
    let (mut found, mut at, mut line) = (Vec::<Token>::new(), 0, 1);
    for token in tokenize(code, FrontmatterAllowed::No) {
        let text = &code[at..at + token.len as usize];
        let is_word = matches!(token.kind, TokenKind::Ident | TokenKind::RawIdent);
        match token.kind {
            TokenKind::Whitespace => {}
            TokenKind::Colon if code[..at].ends_with(':') && ends_with_colon(&found) => {
                found.pop();
                let text = &code[at - 1..at + 1];
                found.push(Token {
                    text,
                    line,
                    is_word,
                });
            }
            _ => found.push(Token {
                text,
                line,
                is_word,
            }),
        }
        at += token.len as usize;
        line += text.matches('\n').count();
    }
    found
}

fn ends_with_colon(tokens: &[Token<'_>]) -> bool {
    tokens.last().is_some_and(|token| token.text == ":")
}

struct Scanner<'a> {
    tokens: Vec<Token<'a>>,
    at: usize,
    /// Of open brackets of any kind.
    depth: usize,
    /// The modules with a body that are open, each with the depth inside it.
    inside: Vec<(&'a str, usize)>,
    scan: Scan<'a>,
}

impl<'a> Scanner<'a> {
    fn step(&mut self) {
        let token = self.tokens[self.at];
        match token.text {
            "#" => self.attribute(),
            "{" | "(" | "[" => {
                self.depth += 1;
                self.at += 1;
            }
            "}" | ")" | "]" => {
                if self
                    .inside
                    .last()
                    .is_some_and(|(_, depth)| *depth == self.depth)
                {
                    self.inside.pop();
                }
                self.depth = self.depth.saturating_sub(1);
                self.at += 1;
            }
            "mod" if self.word(1).is_some() => self.module(),
            "use" if self.text(1) != "<" => self.import(),
            "fn" | "struct" | "enum" | "union" | "trait" | "type" | "const" | "static" => {
                self.item();
            }
            "macro_rules" if self.text(1) == "!" => {
                self.at += 1;
                self.item();
            }
            _ if token.is_word => self.path(),
            _ => self.at += 1,
        }
    }

    fn text(&self, ahead: usize) -> &'a str {
        let token = self.tokens.get(self.at + ahead);
        token.map_or("", |token| token.text)
    }

    fn word(&self, ahead: usize) -> Option<&'a str> {
        let token = self.tokens.get(self.at + ahead)?;
        token.is_word.then_some(token.text)
    }

    fn text_before(&self, behind: usize) -> &'a str {
        let at = self.at.checked_sub(behind);
        at.map_or("", |at| self.tokens[at].text)
    }

    fn current(&mut self) -> &mut Module<'a> {
        let path: Vec<&str> = self.inside.iter().map(|(name, _)| *name).collect();
        self.scan.modules.entry(path).or_default()
    }

    /// Passes an attribute, and the item below it if that is for tests only.
    fn attribute(&mut self) {
        let is_inner = self.text(1) == "!";
        self.at += 1 + usize::from(is_inner);
        let start = self.at;
        self.skip_group();
        let words = self.tokens[start..self.at]
            .iter()
            .filter(|token| token.is_word);
        let words: Vec<&str> = words.map(|token| token.text).collect();
        if !matches!(
            words[..],
            ["test"] | ["cfg", "test"] | ["cfg", "all", "test", ..]
        ) {
            return;
        }
        match is_inner {
            true => self.scan.is_test = true,
            false => self.skip_item(),
        }
    }

    /// Passes a bracket and everything up to the one that closes it.
    fn skip_group(&mut self) {
        let mut depth = 0;
        while self.at < self.tokens.len() {
            match self.text(0) {
                "{" | "(" | "[" => depth += 1,
                "}" | ")" | "]" => depth -= 1,
                _ => {}
            }
            self.at += 1;
            if depth <= 0 {
                return;
            }
        }
    }

    /// Passes an item with its attributes: up to its semicolon or its body.
    fn skip_item(&mut self) {
        while self.at < self.tokens.len() {
            match self.text(0) {
                "mod" if self.text(2) == ";" => {
                    let own = self.inside.iter().map(|(name, _)| *name);
                    let path = own.chain(self.word(1)).collect();
                    self.scan.test_modules.push(path);
                    self.at += 3;
                    return;
                }
                ";" => {
                    self.at += 1;
                    return;
                }
                "{" => return self.skip_group(),
                "(" | "[" => self.skip_group(),
                "}" => return,
                _ => self.at += 1,
            }
        }
    }

    fn module(&mut self) {
        if let Some(name) = self.word(1)
            && self.text(2) == "{"
        {
            self.inside.push((name, self.depth + 1));
            self.current();
        }
        self.at += 2;
    }

    /// Takes down the name of an item, if it is one of the module's own.
    fn item(&mut self) {
        let is_own = self.depth == self.inside.last().map_or(0, |(_, depth)| *depth);
        let name = self.word(1).filter(|name| !["fn", "unsafe"].contains(name));
        if let Some(name) = name.filter(|_| is_own) {
            self.current().items.insert(name);
        }
        // `const fn f`: the name follows the next keyword.
        self.at += 1 + usize::from(name.is_some());
    }

    fn path(&mut self) {
        let follows = self.text_before(1);
        let (start, line) = (self.at, self.tokens[self.at].line);
        let mut path = vec![self.text(0)];
        self.at += 1;
        while self.text(0) == "::"
            && let Some(word) = self.word(1)
        {
            path.push(word);
            self.at += 2;
        }
        let at = std::mem::replace(&mut self.at, start);
        let is_visibility = follows == "in" && self.text_before(2) == "(";
        let is_visibility = is_visibility && self.text_before(3) == "pub";
        self.at = at;
        match path[..] {
            _ if is_visibility || ["::", "."].contains(&follows) => {}
            [word] => {
                self.current().words.insert(word);
            }
            _ => self.current().paths.push(Named { path, line }),
        }
    }

    fn import(&mut self) {
        let is_public = match self.text_before(1) {
            "pub" => true,
            ")" => {
                let open = self.tokens[..self.at]
                    .iter()
                    .rposition(|token| token.text == "(");
                open.is_some_and(|open| open > 0 && self.tokens[open - 1].text == "pub")
            }
            _ => false,
        };
        self.at += 1;
        self.tree(&[], is_public);
    }

    /// Takes down a `use` tree below a path.
    fn tree(&mut self, above: &[&'a str], is_public: bool) {
        let (mut path, line) = (
            above.to_vec(),
            self.tokens.get(self.at).map_or(0, |t| t.line),
        );
        let leaf = |scanner: &mut Self, path: Vec<&'a str>, binds| {
            let module = scanner.current();
            module.uses.push(Use {
                path,
                line,
                binds,
                is_public,
            });
        };
        loop {
            match self.text(0) {
                "::" => {
                    // `::name` is another crate.
                    if path.is_empty() {
                        path.push("::");
                    }
                    self.at += 1;
                }
                "*" => {
                    self.at += 1;
                    return leaf(self, path, Binds::Everything);
                }
                "{" => {
                    self.at += 1;
                    while !["}", ""].contains(&self.text(0)) {
                        self.tree(&path, is_public);
                        if self.text(0) == "," {
                            self.at += 1;
                        }
                    }
                    self.at += 1;
                    return;
                }
                "as" => {
                    let name = self.text(1);
                    self.at += 2;
                    return leaf(self, path, Binds::Name(name));
                }
                "self" if !above.is_empty() => self.at += 1,
                _ => match self.word(0) {
                    Some(word) => {
                        path.push(word);
                        self.at += 1;
                    }
                    None => {
                        if let Some(name) = path.last().copied() {
                            leaf(self, path, Binds::Name(name));
                        }
                        // Never stay at what is no part of a tree.
                        if ![",", "}", ";"].contains(&self.text(0)) {
                            self.at += 1;
                        }
                        return;
                    }
                },
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn paths(code: &str) -> Vec<String> {
        let scan = scan(code);
        let modules = scan.modules.values();
        let paths = modules.flat_map(|module| module.paths.iter());
        paths.map(|named| named.path.join("::")).collect()
    }

    fn uses(code: &str) -> Vec<String> {
        let scan = scan(code);
        let show = |found: &Use<'_>| {
            let path = found.path.join("::");
            match found.binds {
                Binds::Name(name) if found.path.last() == Some(&name) => path,
                Binds::Name(name) => format!("{path} as {name}"),
                Binds::Everything => format!("{path}::*"),
            }
        };
        let modules = scan.modules.values();
        let uses = modules.flat_map(|module| module.uses.iter());
        uses.map(show).collect()
    }

    #[test]
    fn a_use_tree_has_a_leaf_for_each_name() {
        let code = "use a::{self, b::{C, D as E, f::*}, g};\npub(crate) use ::h::I;";
        let expected = [
            "a",
            "a::b::C",
            "a::b::D as E",
            "a::b::f::*",
            "a::g",
            ":::h::I",
        ];
        let found: Vec<String> = uses(code)
            .iter()
            .map(|path| path.replace("::::", ":::"))
            .collect();
        assert_eq!(found, expected);
    }

    #[test]
    fn paths_are_found_in_types_expressions_and_macros() {
        let code = "fn f(a: Vec<b::C>) { d!(crate::e::F { g: h::I::<J>::k() }); x.l::<M>() }";
        assert_eq!(paths(code), ["b::C", "crate::e::F", "h::I"]);
        assert_eq!(paths("pub(in crate::a) struct B;"), [] as [&str; 0]);
        assert_eq!(paths("fn f() { for a in crate::b() {} }"), ["crate::b"]);
    }

    #[test]
    fn code_for_tests_is_skipped() {
        let code = "#[cfg(test)]\n#[derive(A)]\nstruct B(c::D);\n#[test]\nfn f() { g::h() }\n\
                    #[cfg(test)]\nmod i;\n#[cfg(test)]\nmod j { use k::L; }\nfn m() { n::o() }";
        assert_eq!(paths(code), ["n::o"]);
        assert!(uses(code).is_empty());
        assert_eq!(scan(code).test_modules, [["i"]]);
        assert!(scan("#![cfg(test)]\nfn f() {}").is_test);
    }

    #[test]
    fn items_belong_to_the_module_around_them() {
        let code = "const fn a() {}\nstatic B: C = D;\nmod e { pub struct F { g: H } fn i() {} }\n\
                    impl J { const K: u8 = 0; fn l() {} }\nmacro_rules! m { () => {} }";
        let scan = scan(code);
        let own: Vec<&str> = scan.modules[&vec![]].items.iter().copied().collect();
        assert_eq!(own, ["B", "a", "m"]);
        let inner: Vec<&str> = scan.modules[&vec!["e"]].items.iter().copied().collect();
        assert_eq!(inner, ["F", "i"]);
    }
}

//! Scans a Rust file for what it defines, what it imports, and the paths that it names.
//!
//! Of the arguments of macros it reads the tokens. Code under `#[cfg(test)]` and `#[test]` is skipped.

use std::collections::{BTreeMap, BTreeSet};

use proc_macro2::{Span, TokenStream, TokenTree};
use syn::visit::{self, Visit};
use syn::{Attribute, Ident, Item, UseTree, Visibility};

use crate::source::is_for_tests;

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
}

/// A path in the code.
pub struct Named<'a> {
    pub path: Vec<&'a str>,
    /// Counted from 1.
    pub line: usize,
}

/// A leaf of a `use` tree.
pub struct Use<'a> {
    pub named: Named<'a>,
    /// The name that it makes available; `None`: everything.
    pub binds: Option<&'a str>,
}

/// Scans a file that compiles.
pub fn scan(text: &str) -> syn::Result<Scan<'_>> {
    let file = syn::parse_file(text)?;
    let mut scanner = Scanner {
        text,
        inside: Vec::new(),
        scan: Scan {
            modules: BTreeMap::from([(Vec::new(), Module::default())]),
            test_modules: Vec::new(),
            is_test: is_for_tests(&file.attrs),
        },
    };
    scanner.module(&file.items);
    Ok(scanner.scan)
}

struct Scanner<'a> {
    text: &'a str,
    /// The modules with a body that are open.
    inside: Vec<&'a str>,
    scan: Scan<'a>,
}

impl<'a> Scanner<'a> {
    fn word(&self, ident: &Ident) -> &'a str {
        &self.text[ident.span().byte_range()]
    }

    fn current(&mut self) -> &mut Module<'a> {
        self.scan.modules.entry(self.inside.clone()).or_default()
    }

    /// Takes down the names of a module's own items, and visits them.
    fn module(&mut self, items: &[Item]) {
        self.current();
        for (attributes, name) in items.iter().map(parts) {
            if let (Some(name), false) = (name, is_for_tests(attributes)) {
                let name = self.word(name);
                self.current().items.insert(name);
            }
        }
        items.iter().for_each(|it| Visit::visit_item(self, it));
    }

    /// Takes down a path of several segments.
    fn path<'i>(&mut self, idents: impl IntoIterator<Item = &'i Ident>) {
        let idents: Vec<&Ident> = idents.into_iter().collect();
        if let [first, _, ..] = idents[..] {
            let line = first.span().start().line;
            let path = idents.iter().map(|it| self.word(it)).collect();
            self.current().paths.push(Named { path, line });
        }
    }

    /// Takes down a `use` tree below a path.
    fn tree(&mut self, path: &[&'a str], tree: &UseTree) {
        match tree {
            UseTree::Path(below) => {
                let path = [path, &[self.word(&below.ident)]].concat();
                self.tree(&path, &below.tree);
            }
            UseTree::Name(it) => self.leaf(path, &it.ident, None),
            UseTree::Rename(it) => self.leaf(path, &it.ident, Some(&it.rename)),
            UseTree::Glob(it) => self.add(path.to_vec(), it.star_token.span, None),
            UseTree::Group(group) => group.items.iter().for_each(|it| self.tree(path, it)),
        }
    }

    fn leaf(&mut self, above: &[&'a str], ident: &Ident, rename: Option<&Ident>) {
        let mut path = above.to_vec();
        if ident != "self" {
            path.push(self.word(ident));
        }
        let binds = rename.map(|it| self.word(it)).or(path.last().copied());
        self.add(path, ident.span(), binds);
    }

    fn add(&mut self, path: Vec<&'a str>, at: Span, binds: Option<&'a str>) {
        let line = at.start().line;
        let named = Named { path, line };
        self.current().uses.push(Use { named, binds });
    }

    /// Takes down the paths among the arguments of a macro.
    fn tokens(&mut self, tokens: TokenStream) {
        let mut path: Vec<Ident> = Vec::new();
        let mut before = String::new();
        for token in tokens {
            match token {
                TokenTree::Ident(word) => {
                    // Behind a `.` or a generic argument there is no name of this module.
                    if !before.ends_with("::") && (!before.ends_with('.') || before.ends_with(".."))
                    {
                        self.path(&std::mem::take(&mut path));
                        path.push(word);
                    } else if !path.is_empty() && before == "::" {
                        path.push(word);
                    }
                    before.clear();
                }
                TokenTree::Punct(it) => before.push(it.as_char()),
                TokenTree::Group(group) => {
                    self.path(&std::mem::take(&mut path));
                    self.tokens(group.stream());
                    before.clear();
                }
                TokenTree::Literal(_) => before.clear(),
            }
        }
        self.path(&path);
    }
}

impl<'ast> Visit<'ast> for Scanner<'_> {
    fn visit_item(&mut self, item: &'ast Item) {
        match (item, is_for_tests(parts(item).0)) {
            (Item::Mod(module), true) if module.content.is_none() => {
                let path = [&*self.inside, &[self.word(&module.ident)]].concat();
                self.scan.test_modules.push(path);
            }
            (_, true) => {}
            (_, false) => visit::visit_item(self, item),
        }
    }

    fn visit_impl_item_fn(&mut self, item: &'ast syn::ImplItemFn) {
        if !is_for_tests(&item.attrs) {
            visit::visit_impl_item_fn(self, item);
        }
    }

    fn visit_item_mod(&mut self, item: &'ast syn::ItemMod) {
        if let Some((_, items)) = &item.content {
            self.inside.push(self.word(&item.ident));
            self.module(items);
            self.inside.pop();
        }
    }

    fn visit_item_use(&mut self, item: &'ast syn::ItemUse) {
        // `::name` is another crate.
        let above: Vec<&str> = item.leading_colon.map(|_| "::").into_iter().collect();
        self.tree(&above, &item.tree);
    }

    fn visit_path(&mut self, path: &'ast syn::Path) {
        if path.leading_colon.is_none() {
            self.path(path.segments.iter().map(|it| &it.ident));
        }
        visit::visit_path(self, path);
    }

    fn visit_macro(&mut self, found: &'ast syn::Macro) {
        self.visit_path(&found.path);
        self.tokens(found.tokens.clone());
    }

    fn visit_visibility(&mut self, _: &'ast Visibility) {}
    fn visit_attribute(&mut self, _: &'ast syn::Attribute) {}
}

/// The attributes of an item, and the name that it gives its module; a module is no item.
fn parts(item: &Item) -> (&[Attribute], Option<&Ident>) {
    match item {
        Item::Const(it) => (&it.attrs, Some(&it.ident)),
        Item::Enum(it) => (&it.attrs, Some(&it.ident)),
        Item::Fn(it) => (&it.attrs, Some(&it.sig.ident)),
        Item::Impl(it) => (&it.attrs, None),
        Item::Macro(it) => (&it.attrs, it.ident.as_ref()),
        Item::Mod(it) => (&it.attrs, None),
        Item::Static(it) => (&it.attrs, Some(&it.ident)),
        Item::Struct(it) => (&it.attrs, Some(&it.ident)),
        Item::Trait(it) => (&it.attrs, Some(&it.ident)),
        Item::Type(it) => (&it.attrs, Some(&it.ident)),
        Item::Union(it) => (&it.attrs, Some(&it.ident)),
        Item::Use(it) => (&it.attrs, None),
        _ => (&[], None),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn paths(code: &str) -> Vec<String> {
        let scan = scan(code).expect("it is Rust");
        let modules = scan.modules.values();
        let paths = modules.flat_map(|module| module.paths.iter());
        paths.map(|named| named.path.join("::")).collect()
    }

    fn uses(code: &str) -> Vec<String> {
        let scan = scan(code).expect("it is Rust");
        let show = |found: &Use<'_>| {
            let path = found.named.path.join("::");
            match found.binds {
                Some(name) if found.named.path.last() == Some(&name) => path,
                Some(name) => format!("{path} as {name}"),
                None => format!("{path}::*"),
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
        assert_eq!(scan(code).expect("it is Rust").test_modules, [["i"]]);
        let own = scan("#![cfg(test)]\nfn f() {}").expect("it is Rust");
        assert!(own.is_test);
    }

    #[test]
    fn items_belong_to_the_module_around_them() {
        let code = "const fn a() {}\nstatic B: C = D;\nmod e { pub struct F { g: H } fn i() {} }\n\
                    impl J { const K: u8 = 0; fn l() {} }\nmacro_rules! m { () => {} }";
        let scan = scan(code).expect("it is Rust");
        let own: Vec<&str> = scan.modules[&vec![]].items.iter().copied().collect();
        assert_eq!(own, ["B", "a", "m"]);
        let inner: Vec<&str> = scan.modules[&vec!["e"]].items.iter().copied().collect();
        assert_eq!(inner, ["F", "i"]);
    }
}

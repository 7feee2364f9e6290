//! Which file of a crate imports from which other one, as far as their text tells.
//!
//! An import is a path, in a `use` or in the code, that ends at an item or a module of another file. A name
//! that its module has from elsewhere is followed to the file that defines it. What is not in the text is not
//! seen: methods. A name that a macro or a glob makes counts for the file of its module.
//!
//! `mod x;` is no import. Code for tests may import anything, and is left out.

mod scan;

use std::collections::{BTreeMap, BTreeSet};

use self::scan::{Module, Scan};
use crate::source::{File, Finding, innermost};
use crate::tool::parallel;

/// Code of one file names an item of another.
pub struct Import<'a> {
    pub from: &'a File,
    pub to: &'a File,
    /// The first line on which it does, counted from 1.
    pub line: usize,
}

/// The source folders of the crates, each with a trailing slash.
pub fn crate_roots(files: &[File]) -> Vec<&str> {
    let paths: BTreeSet<&str> = files.iter().map(|file| file.path.as_str()).collect();
    let folder = |path: &'_ str, name: &str| -> Option<usize> {
        let root = path.strip_suffix(name)?;
        (root.is_empty() || root.ends_with('/')).then_some(root.len())
    };
    let roots = paths.iter().filter_map(|path| {
        let lib = folder(path, "lib.rs");
        let main = folder(path, "src/main.rs").map(|root| root + "src/".len());
        let main = main.filter(|root| !paths.contains(&*format!("{}lib.rs", &path[..*root])));
        Some(&path[..lib.or(main)?])
    });
    roots.collect()
}

/// The imports between the files of the crate whose sources are in a folder: one of each pair; or a file that is no
/// Rust.
pub fn of_crate<'a>(
    root: &str,
    roots: &[&str],
    files: &'a [File],
) -> Result<Vec<Import<'a>>, Finding> {
    let has_lib = files
        .iter()
        .any(|file| file.path == format!("{root}lib.rs"));
    let is_source = |file: &&File| {
        let inner = file.path.strip_prefix(root).unwrap_or(&file.path);
        let first = inner.split('/').next();
        file.is_rust()
            && innermost(&file.path, roots) == Some(root)
            && !["tests", "benches", "examples", "build.rs"].contains(&first.unwrap_or(inner))
            && !(has_lib && inner == "main.rs")
    };
    let names = Names::of(root, files.iter().filter(is_source))?;
    let mut first: BTreeMap<(&str, &str), Import> = BTreeMap::new();
    for import in names.imports() {
        let key = (import.from.path.as_str(), import.to.path.as_str());
        let known = first.get(&key);
        if import.from.path != import.to.path && known.is_none_or(|known| import.line < known.line)
        {
            first.insert(key, import);
        }
    }
    Ok(first.into_values().collect())
}

/// A module's path from the root of its crate.
type Path<'a> = Vec<&'a str>;

/// All modules of a crate, and the names in them.
struct Names<'a> {
    modules: BTreeMap<Path<'a>, (&'a File, Module<'a>)>,
}

/// What a path leads to.
enum Target<'a> {
    Item(&'a File),
    Module(Path<'a>),
}

/// Longer chains of re-exports are taken for circles.
const MAX_REEXPORTS: usize = 16;

impl<'a> Names<'a> {
    fn of(root: &str, sources: impl Iterator<Item = &'a File>) -> Result<Self, Finding> {
        let paths: Vec<(&File, Path)> = sources
            .filter_map(|file| Some((file, module_path(root, &file.path)?)))
            .collect();
        let scans = parallel(&paths, 0, |(file, path)| match scan::scan(&file.text) {
            Ok(scan) => Ok((*file, path.clone(), scan)),
            Err(error) => Err(file.finding(error.span().start().line, "syntax", error.to_string())),
        });
        let scans: Vec<(&File, Path, Scan)> = scans.into_iter().collect::<Result<_, _>>()?;
        let own_tests = scans.iter().filter(|(_, _, scan)| scan.is_test);
        let mut tests: BTreeSet<Path> = own_tests.map(|(_, path, _)| path.clone()).collect();
        for (_, path, scan) in &scans {
            let inner = scan.test_modules.iter();
            tests.extend(inner.map(|inner| [path.as_slice(), inner].concat()));
        }
        let mut modules = BTreeMap::new();
        for (file, path, scan) in scans {
            if (0..=path.len()).any(|end| tests.contains(&path[..end])) {
                continue;
            }
            for (inner, module) in scan.modules {
                modules.insert([path.as_slice(), &inner].concat(), (file, module));
            }
        }
        Ok(Names { modules })
    }

    fn imports(&self) -> Vec<Import<'a>> {
        let modules = self.modules.iter();
        modules
            .flat_map(|(path, (file, module))| self.imports_of(path, file, module))
            .collect()
    }

    fn imports_of(&self, path: &[&'a str], from: &'a File, module: &Module<'a>) -> Vec<Import<'a>> {
        let used = module.uses.iter().map(|used| &used.named);
        let imports = module.paths.iter().chain(used).filter_map(|named| {
            let to = match self.resolve(path, &named.path, 0)? {
                Target::Item(to) => to,
                Target::Module(of) => self.modules.get(&of)?.0,
            };
            let line = named.line;
            Some(Import { from, to, line })
        });
        imports.collect()
    }

    /// What a path means in a module; `None` if it leads to another crate.
    fn resolve(&self, from: &[&'a str], path: &[&'a str], depth: usize) -> Option<Target<'a>> {
        if depth > MAX_REEXPORTS {
            return None;
        }
        let (first, mut rest) = path.split_first()?;
        let mut at = match *first {
            "crate" => Vec::new(),
            "self" => from.to_vec(),
            "super" => from.split_last()?.1.to_vec(),
            name => match self.find(from, name, rest.is_empty(), depth)? {
                Target::Module(module) => module,
                item => return Some(item),
            },
        };
        while let Some((name, after)) = rest.split_first() {
            rest = after;
            if *name == "super" {
                at.pop();
                continue;
            }
            match self.find(&at, name, rest.is_empty(), depth) {
                Some(Target::Module(module)) => at = module,
                Some(item) => return Some(item),
                None => return Some(Target::Item(self.modules.get(&at)?.0)),
            }
        }
        Some(Target::Module(at))
    }

    /// What a name means in a module; an item comes first if it is `last` in its path.
    fn find(&self, of: &[&'a str], name: &'a str, last: bool, depth: usize) -> Option<Target<'a>> {
        let (file, module) = self.modules.get(of)?;
        let child = [of, &[name]].concat();
        if last && module.items.contains(name) {
            return Some(Target::Item(file));
        } else if self.modules.contains_key(&child) {
            return Some(Target::Module(child));
        }
        let used = module.uses.iter().find(|used| used.binds == Some(name))?;
        match used.named.path[..] {
            // `use name::{self}` of another crate.
            [first] if first == name => None,
            _ => self.resolve(of, &used.named.path, depth + 1),
        }
    }
}

/// The module of a file; `None` for what is no Rust file of the crate.
fn module_path<'a>(root: &str, path: &'a str) -> Option<Path<'a>> {
    let inner = path.strip_prefix(root)?.strip_suffix(".rs")?;
    match inner {
        "lib" | "main" => Some(Vec::new()),
        _ => Some(inner.split('/').collect()),
    }
}

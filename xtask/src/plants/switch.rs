//! Turns planted mistakes into switches in the source, without writing anything.

use std::collections::BTreeMap;
use std::ops::Range;

use super::data::Plant;
use crate::source::{File, Finding};

/// The environment variable that switches a mistake on.
pub const VARIABLE: &str = "LOCKLAB_PLANT";

/// A replacement in a file of Rust or C, which one mistake switches on.
struct Edit<'a> {
    at: Range<usize>,
    plant: &'a Plant,
    put: String,
}

/// The files that differ with all switches in place: path and text. A mistake in another file than
/// one of Rust or C is an altered copy of it, and a switch where Rust includes the text.
/// Fails with every mistake whose text is not found exactly once, or overlaps another's. Several mistakes may
/// replace the same text.
pub fn planted(plants: &[Plant], files: &[File]) -> Result<BTreeMap<String, String>, Vec<Finding>> {
    let mut changed = BTreeMap::new();
    let mut edits: BTreeMap<&str, Vec<Edit>> = BTreeMap::new();
    let mut wrong = Vec::new();
    for plant in plants {
        let mut plan = || -> Result<(), String> {
            let file = files.iter().find(|file| file.path == plant.file);
            let file = file.ok_or_else(|| format!("{} is not there", plant.file))?;
            let at = place(plant, file)?;
            if file.is_rust() || is_c(file) {
                let put = plant.put.clone();
                edits
                    .entry(&file.path)
                    .or_default()
                    .push(Edit { at, plant, put });
                return Ok(());
            }
            let copy = altered_name(&file.path, &plant.name);
            let mut text = file.text.clone();
            text.replace_range(at, &plant.put);
            changed.insert(copy.clone(), text);
            include(plant, &copy, files, &mut edits)
        };
        if let Err(why) = plan() {
            wrong.push(finding(plant, &why));
        }
    }
    for file in files {
        let Some(edits) = edits.get_mut(file.path.as_str()) else {
            continue;
        };
        edits.sort_by_key(|edit| (edit.at.start, edit.at.end));
        for pair in edits.windows(2) {
            if pair[0].at != pair[1].at && pair[1].at.start < pair[0].at.end {
                let why = format!("overlaps {} in {}", pair[0].plant.name, file.path);
                wrong.push(finding(pair[1].plant, &why));
            }
        }
        if wrong.is_empty() {
            let text = match is_c(file) {
                true => format!("{C_INCLUDES}{}", switched(&file.text, edits, switch_in_c)),
                false => switched(&file.text, edits, switch),
            };
            changed.insert(file.path.clone(), text);
        }
    }
    match wrong.is_empty() {
        true => Ok(changed),
        false => Err(wrong),
    }
}

fn finding(plant: &Plant, why: &str) -> Finding {
    let (path, line) = plant.place.clone();
    Finding {
        path,
        line,
        rule: "plants",
        remedy: format!("{}: {why}", plant.name),
    }
}

/// Where the text of a mistake is.
fn place(plant: &Plant, file: &File) -> Result<Range<usize>, String> {
    let once = |text: &str, find: &str, whose: &str| match text.match_indices(find).count() {
        1 => Ok(text.find(find).unwrap_or_default()),
        0 => Err(format!("{whose} does not have `{find}`")),
        count => Err(format!("{whose} has `{find}` {count} times")),
    };
    let start = match &plant.within {
        None => once(&file.text, &plant.find, &file.path)?,
        Some(within) => {
            let whose = format!("`within`, for {},", file.path);
            once(&file.text, within, &file.path)? + once(within, &plant.find, &whose)?
        }
    };
    Ok(start..start + plant.find.len())
}

/// `a/b.lua` with the mistake `m` is `a/b.m.lua`.
fn altered_name(path: &str, name: &str) -> String {
    match path.rsplit_once('.') {
        Some((stem, extension)) => format!("{stem}.{name}.{extension}"),
        None => format!("{path}.{name}"),
    }
}

/// Switches to the altered copy wherever a Rust file has `include_str!("…")` of the mistake's file.
fn include<'a>(
    plant: &'a Plant,
    copy: &str,
    files: &'a [File],
    edits: &mut BTreeMap<&'a str, Vec<Edit<'a>>>,
) -> Result<(), String> {
    let mut is_included = false;
    for file in files.iter().filter(|file| file.is_rust()) {
        let folder = &file.path[..file.path.rfind('/').map_or(0, |slash| slash + 1)];
        let (Some(path), Some(copy)) = (plant.file.strip_prefix(folder), copy.strip_prefix(folder))
        else {
            continue;
        };
        let find = format!("include_str!(\"{path}\")");
        for (start, _) in file.text.match_indices(&find) {
            is_included = true;
            edits.entry(&file.path).or_default().push(Edit {
                at: start..start + find.len(),
                plant,
                put: format!("include_str!(\"{copy}\")"),
            });
        }
    }
    match is_included {
        true => Ok(()),
        false => Err(format!("no Rust file has include_str! of {}", plant.file)),
    }
}

/// The text with a switch at each place. The edits are in order and do not overlap.
fn switched(text: &str, edits: &[Edit], switch: fn(&str, &[Edit]) -> String) -> String {
    let mut out = String::new();
    let mut done = 0;
    for edits in edits.chunk_by(|one, next| one.at == next.at) {
        let at = edits[0].at.clone();
        out += &text[done..at.start];
        out += &switch(&text[at.clone()], edits);
        done = at.end;
    }
    out + &text[done..]
}

/// A block that is what stood here, unless one of these mistakes is switched on. It needs no
/// dependency, and no name that the file would have to import.
fn switch(find: &str, edits: &[Edit]) -> String {
    let mut block = String::from("{ ");
    for Edit { plant, put, .. } in edits {
        let name = &plant.name;
        block += &format!(
            "if {{ static CHOSEN: ::std::sync::LazyLock<bool> = ::std::sync::LazyLock::new(|| \
             ::std::env::var_os(\"{VARIABLE}\").is_some_and(|chosen| chosen == \"{name}\")); \
             *CHOSEN }} {{ {put} }} else "
        );
    }
    block += &format!("{{ {find} }} }}");
    // An expression may be followed by anything, and statements by nothing.
    match find.ends_with([';', '}']) {
        true => block,
        false => format!("({block})"),
    }
}

/// What [`switch_in_c`] needs at the top of a file. A file that wants what GNU adds says so before its
/// own first header, which is too late here.
const C_INCLUDES: &str = "#define _GNU_SOURCE\n#include <stdlib.h>\n#include <string.h>\n#line 1\n";

fn is_c(file: &File) -> bool {
    file.path.ends_with(".c")
}

/// An expression that has the value of what stood here, unless one of these mistakes is switched
/// on.
fn switch_in_c(find: &str, edits: &[Edit]) -> String {
    let chosen = edits.iter().map(|Edit { plant, put, .. }| {
        let name = &plant.name;
        format!(
            "getenv(\"{VARIABLE}\") && strcmp(getenv(\"{VARIABLE}\"), \"{name}\") == 0 ? ({put}) : "
        )
    });
    format!("({}({find}))", chosen.collect::<String>())
}

#[cfg(test)]
mod tests {
    use super::super::data::read;
    use super::*;

    /// Plants mistakes `name|file|within|find|put` in these files; returns the changed files, or
    /// what is wrong.
    fn plant(entries: &[&str], files: &[(&str, &str)]) -> Result<BTreeMap<String, String>, String> {
        let entry = |entry: &&str| {
            let parts: Vec<&str> = entry.split('|').collect();
            let [name, file, within, find, put] = parts[..] else {
                panic!("five parts")
            };
            let within = match within {
                "" => String::new(),
                within => format!("within = '{within}'\n"),
            };
            format!(
                "[[plant]]\nname = \"{name}\"\nwhat = \"w\"\nfile = '{file}'\n{within}\
                 find = '{find}'\nput = '{put}'\nscenario = \"s\"\n"
            )
        };
        let text: String = entries.iter().map(entry).collect();
        let plants = read("p.toml", &text).expect("valid");
        let file = |(path, text): &(&str, &str)| File::new((*path).into(), (*text).into());
        let files: Vec<File> = files.iter().map(file).collect();
        planted(&plants, &files).map_err(|wrong| {
            let wrong: Vec<String> = wrong.into_iter().map(|it| it.remedy).collect();
            wrong.join("\n")
        })
    }

    fn chosen(name: &str) -> String {
        format!(
            "if {{ static CHOSEN: ::std::sync::LazyLock<bool> = ::std::sync::LazyLock::new(|| \
             ::std::env::var_os(\"LOCKLAB_PLANT\").is_some_and(|chosen| chosen == \"{name}\")); \
             *CHOSEN }}"
        )
    }

    #[test]
    fn each_place_gets_its_switch() {
        let changed = plant(
            &["late|a.rs||x > 1|true", "lost|a.rs|f(); g();|g();|"],
            &[("a.rs", "if x > 1 { f(); g(); } g();"), ("b.rs", "x > 1")],
        );
        let expected = format!(
            "if ({{ {} {{ true }} else {{ x > 1 }} }}) {{ f(); {{ {} {{  }} else {{ g(); }} }} }} g();",
            chosen("late"),
            chosen("lost"),
        );
        assert_eq!(changed, Ok(BTreeMap::from([("a.rs".into(), expected)])));
    }

    #[test]
    fn two_mistakes_at_one_place_are_alternatives() {
        let changed = plant(&["one|a.rs||x|1", "two|a.rs||x|2"], &[("a.rs", "f(x)")]);
        let (one, two) = (chosen("one"), chosen("two"));
        let expected = format!("f(({{ {one} {{ 1 }} else {two} {{ 2 }} else {{ x }} }}))");
        assert_eq!(changed, Ok(BTreeMap::from([("a.rs".into(), expected)])));
    }

    #[test]
    fn an_included_text_is_altered_in_a_copy() {
        let changed = plant(
            &["bad|a/s/x.lua||GET|SET"],
            &[
                ("a/s.rs", "f(include_str!(\"s/x.lua\"))"),
                ("s.rs", "include_str!(\"s/x.lua\")"),
                ("a/s/x.lua", "call(GET)"),
            ],
        );
        let switch = format!(
            "f(({{ {} {{ include_str!(\"s/x.bad.lua\") }} else {{ include_str!(\"s/x.lua\") }} }}))",
            chosen("bad")
        );
        let expected = [("a/s.rs", switch.as_str()), ("a/s/x.bad.lua", "call(SET)")];
        let expected = expected.map(|(path, text)| (path.to_owned(), text.to_owned()));
        assert_eq!(changed, Ok(BTreeMap::from(expected)));
    }

    #[test]
    fn a_mistake_in_c_is_a_conditional_expression() {
        let changed = plant(&["bad|a.c||n < 9|1"], &[("a.c", "if (n < 9) f();")]);
        let expected = "#define _GNU_SOURCE\n#include <stdlib.h>\n#include <string.h>\n#line 1\nif ((getenv(\"LOCKLAB_PLANT\") \
                        && strcmp(getenv(\"LOCKLAB_PLANT\"), \"bad\") == 0 ? (1) : (n < 9))) f();";
        let expected = BTreeMap::from([("a.c".to_owned(), expected.to_owned())]);
        assert_eq!(changed, Ok(expected));
    }

    #[track_caller]
    fn check_wrong(entries: &[&str], expected: &str) {
        let files = [("a.rs", "x + x + y; z"), ("b.lua", "y")];
        assert_eq!(plant(entries, &files), Err(expected.to_owned()));
    }

    #[test]
    fn a_text_that_is_not_there_exactly_once_is_named_with_its_file() {
        check_wrong(&["n|a.rs||w|1"], "n: a.rs does not have `w`");
        check_wrong(&["n|a.rs||x|1"], "n: a.rs has `x` 2 times");
        check_wrong(&["n|a.rs|w|x|1"], "n: a.rs does not have `w`");
        check_wrong(&["n|a.rs|x|x|1"], "n: a.rs has `x` 2 times");
        check_wrong(
            &["n|a.rs|+ y|z|1"],
            "n: `within`, for a.rs, does not have `z`",
        );
        check_wrong(&["n|c.rs||x|1"], "n: c.rs is not there");
        check_wrong(
            &["n|b.lua||y|1"],
            "n: no Rust file has include_str! of b.lua",
        );
        check_wrong(
            &["n|a.rs||w|1", "m|a.rs||v|1"],
            "n: a.rs does not have `w`\nm: a.rs does not have `v`",
        );
    }

    #[test]
    fn mistakes_that_overlap_are_refused() {
        check_wrong(
            &["inner|a.rs||y|1", "outer|a.rs||x + y|1"],
            "inner: overlaps outer in a.rs",
        );
    }
}

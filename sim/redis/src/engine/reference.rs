//! `docs/redis-commands.md`: its tables of commands are generated from the command tables, from the comments on
//! the functions, and from the requests in the parity tests; the rest is written there.
//!
//! A test checks that the tables are up to date; `LOCKLAB_BLESS=1` rewrites them.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use super::command::Command;
use super::command_table::{COMMANDS, added_by};
use crate::Imitated;
use crate::sentinel::command_table;

#[test]
fn command_page_is_up_to_date() {
    let path = root().join("../../docs/redis-commands.md");
    let written = fs::read_to_string(&path).expect("the page is there");
    let expected = page(&written);
    if std::env::var_os("LOCKLAB_BLESS").is_some() {
        fs::write(&path, &expected).expect("the page can be written");
    }
    assert!(
        written == expected,
        "docs/redis-commands.md is out of date: run this test with LOCKLAB_BLESS=1"
    );
}

#[test]
fn every_command_documents_its_syntax() {
    let usages = usages();
    let missing = all().into_iter().chain(added()).map(shown_name);
    let missing: Vec<String> = missing.filter(|name| !usages.contains_key(name)).collect();
    assert!(missing.is_empty(), "no comment shows a call of {missing:?}");
}

/// The page with its tables made anew, each found by its header.
fn page(written: &str) -> String {
    let mut tables = BTreeMap::from([
        ("| Call | Arity | Needed by | Compared |", of_node()),
        ("| `imitate` | Call | Arity |", of_other_servers()),
        ("| Command | Arity |", of_sentinels()),
    ]);
    let mut page = String::new();
    let mut lines = written.lines();
    while let Some(line) = lines.next() {
        page = page + line + "\n";
        if let Some(rows) = tables.remove(line) {
            let rule = lines.next().expect("a line below the header");
            let end = lines.by_ref().find(|line| !line.starts_with('|'));
            page = page + rule + "\n" + &rows.concat() + end.unwrap_or_default() + "\n";
        }
    }
    assert!(tables.is_empty(), "the page lacks {:?}", tables.keys());
    page
}

fn of_node() -> Vec<String> {
    let (usages, compared) = (usages(), compared());
    let row = |command: &Command| {
        let name = shown_name(command);
        let usage = usages.get(&name).unwrap_or(&name).replace('|', "\\|");
        let mark = if compared.contains(&name) { "yes" } else { "" };
        // Who needs a container needs one of its subcommands.
        let needing = command.subcommands.first().unwrap_or(command);
        let (arity, needed_by) = (command.arity, needing.needed_by);
        format!("| `{usage}` | {arity} | {needed_by} | {mark} |\n")
    };
    all().into_iter().map(row).collect()
}

fn of_other_servers() -> Vec<String> {
    let usages = usages();
    let rows = Imitated::ALL.into_iter().flat_map(|imitated| {
        let usages = &usages;
        added_by(imitated).iter().map(move |command| {
            let usage = usages[&shown_name(command)].replace('|', "\\|");
            format!("| `{imitated}` | `{usage}` | {} |\n", command.arity)
        })
    });
    rows.collect()
}

fn of_sentinels() -> Vec<String> {
    let commands = command_table::all().filter(|command| !command.is_container());
    let rows = commands.map(|command| {
        let name = command.name.replace('|', " ").to_ascii_uppercase();
        format!("| `{name}` | {} |\n", command.arity)
    });
    rows.collect()
}

/// The commands that other servers add.
fn added() -> impl Iterator<Item = &'static Command> {
    Imitated::ALL.into_iter().flat_map(added_by)
}

/// Every command that can be called; a container is replaced by its subcommands.
fn all() -> Vec<&'static Command> {
    let callable = |command: &'static Command| match command.subcommands {
        [] => vec![command],
        // All of them say the same.
        _ if command.name == "cluster" => vec![command],
        subcommands if command.arity == -1 => {
            let with_itself = std::iter::once(command).chain(subcommands);
            with_itself.collect()
        }
        subcommands => subcommands.iter().collect(),
    };
    COMMANDS.iter().flat_map(callable).collect()
}

fn shown_name(command: &Command) -> String {
    command.name.replace('|', " ").to_ascii_uppercase()
}

/// The usage of each command, as the comment on its function shows it in backticks.
fn usages() -> BTreeMap<String, String> {
    let names: BTreeSet<String> = all().into_iter().chain(added()).map(shown_name).collect();
    let mut usages = BTreeMap::<String, String>::new();
    for text in texts(&root().join("src/engine/cmd")) {
        let comments = text.lines().map(str::trim_start);
        let comments = comments.map(|line| line.strip_prefix("/// ").unwrap_or("\n"));
        let comments = comments.collect::<Vec<_>>().join(" ");
        for span in comments.split('`').skip(1).step_by(2) {
            let words: Vec<&str> = span.split(' ').collect();
            let two = words[..words.len().min(2)].join(" ");
            let name = [two.as_str(), words[0]]
                .into_iter()
                .find(|name| names.contains(*name));
            if let Some(name) = name {
                let usage = usages.entry(name.to_owned()).or_default();
                if usage.len() < span.len() {
                    *usage = span.to_owned();
                }
            }
        }
    }
    usages
}

/// The commands in the parity tests: the first words of their lines.
fn compared() -> BTreeSet<String> {
    let names: BTreeSet<String> = all().into_iter().map(shown_name).collect();
    let mut compared = BTreeSet::new();
    for text in texts(&root().join("tests/parity")) {
        for line in text.lines() {
            // Only marks precede a request: `2:`, `~`, a quote.
            let line = line.trim_start_matches(|c: char| !c.is_alphabetic());
            let end = line.find(['"', '\\']).unwrap_or(line.len());
            let words: Vec<&str> = line[..end].split_whitespace().take(2).collect();
            for count in 1..=words.len() {
                let name = words[..count].join(" ");
                if names.contains(&name) {
                    compared.insert(name);
                }
            }
        }
    }
    compared
}

/// The contents of the Rust files in a directory and its subdirectories, sorted by path.
fn texts(directory: &Path) -> Vec<String> {
    let entries = fs::read_dir(directory).expect("the package has its sources");
    let mut paths: Vec<PathBuf> = entries.flatten().map(|entry| entry.path()).collect();
    paths.sort();
    let text = |path: PathBuf| match path.is_dir() {
        true => texts(&path),
        false => fs::read_to_string(path).into_iter().collect(),
    };
    paths.into_iter().flat_map(text).collect()
}

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

//! Tests the book (`docs/`): its commands are run, their output is compared with the text, every
//! chapter is in the table of contents, every link leads somewhere, and every property and every
//! kind of fault is defined.
//!
//! In a chapter's fenced blocks,
//!
//! - each line of a block marked `sh` is run in the chapter's own folder, in the order of the
//!   text; a comment `# exits with 2` states another exit code than 0, and with a budget of time it may be 3,
//!   inconclusive;
//! - a block marked `text` that follows occurs in what these commands printed: white space counts
//!   as one space, and `…` stands for anything;
//! - a block that begins with a comment such as `# my.toml` is written to that file, and one that
//!   begins with `# my.toml, continued` is added to it;
//! - a block marked `sh notest` is not run. It may name only commands that need what a test does
//!   not have: see `commands::UNTESTED`.

mod action;
mod commands;
mod links;
mod markdown;

use std::fs;
use std::path::{Path, PathBuf};
use std::thread;

use locklab_check::Property;
use locklab_history::FaultKind;
use markdown::Page;

/// The folder of the repository.
const ROOT: &str = env!("CARGO_MANIFEST_DIR");

/// All pages of the book, by their paths from the repository's folder.
fn book() -> Vec<Page> {
    pages("docs")
}

/// The Markdown files of a folder; "" is the repository's.
fn pages(folder: &str) -> Vec<Page> {
    let entries = fs::read_dir(Path::new(ROOT).join(folder)).expect("the folder is there");
    let mut paths: Vec<PathBuf> = entries
        .map(|entry| Path::new(folder).join(entry.expect("an entry").file_name()))
        .filter(|path| path.extension().is_some_and(|end| end == "md"))
        .collect();
    paths.sort();
    paths.into_iter().map(Page::read).collect()
}

#[test]
fn every_command_does_what_the_book_says() {
    let pages = book();
    let mistakes = thread::scope(|scope| {
        let chapters = pages
            .iter()
            .map(|page| scope.spawn(|| commands::try_out(page)));
        let chapters: Vec<_> = chapters.collect();
        let tried = chapters.into_iter().map(|chapter| match chapter.join() {
            Ok(mistakes) => mistakes,
            Err(panic) => std::panic::resume_unwind(panic),
        });
        tried.flatten().collect::<Vec<String>>()
    });
    assert!(mistakes.is_empty(), "\n{}", mistakes.join("\n\n"));
}

#[test]
fn every_command_of_a_workflow_is_run_by_a_test() {
    let page = Page::read("docs/ci.md".into());
    let tried = commands::tried(&page);
    let files = ["github", "attack", "gitlab"].map(|name| {
        let file = Path::new(ROOT).join(format!("docs/ci/{name}.yml"));
        fs::read_to_string(file).expect("it is there")
    });
    let commands = files
        .iter()
        .flat_map(|text| text.lines())
        .filter_map(|line| {
            let step = line.trim().trim_start_matches("- ");
            let step = step.trim_start_matches("run: ");
            // `tests/attack/skeletons.rs` executes what attacks.
            (step.starts_with("locklab ") && !step.contains(" attack ")).then_some(step)
        });
    let commands: Vec<&str> = commands.collect();
    assert_eq!(commands, ["locklab check"; 2]);
    for command in commands {
        let is_it = |tried: &String| tried == command;
        assert!(tried.iter().any(is_it), "docs/ci.md does not try {command}");
    }
}

#[test]
fn every_chapter_is_in_the_table_of_contents() {
    let contents = Page::read("docs/SUMMARY.md".into());
    let linked: Vec<String> = contents.links().into_iter().map(|link| link.to).collect();
    for page in book() {
        let name = page.path.file_name().expect("a file").to_string_lossy();
        let times = linked.iter().filter(|to| **to == name).count();
        let expected = usize::from(name != "SUMMARY.md");
        assert_eq!(times, expected, "{name} in docs/SUMMARY.md");
    }
}

#[test]
fn every_link_leads_somewhere() {
    let pages = [pages(""), book(), pages("reports")].concat();
    let dead: Vec<String> = pages.iter().flat_map(links::dead).collect();
    assert!(dead.is_empty(), "\n{}", dead.join("\n"));
}

#[test]
fn every_property_and_every_kind_of_fault_is_defined() {
    let properties = Property::ALL.map(Property::name);
    let kinds: Vec<&str> = FaultKind::ALL.iter().map(FaultKind::name).collect();
    for (path, names) in [
        ("docs/properties.md", &properties[..]),
        ("docs/faults.md", &kinds),
    ] {
        let anchors = Page::read(path.into()).anchors();
        for name in names {
            let is_of_it = |anchor: &String| {
                let rest = anchor.strip_prefix(name);
                rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('-'))
            };
            assert!(anchors.iter().any(is_of_it), "{path} has no heading {name}");
        }
    }
}

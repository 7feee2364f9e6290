//! `locklab new`: the crate of a new lock is that of `docs/own-lock`, which CI compiles and tests.

use std::fs;
use std::path::Path;

use crate::bench::Bench;

const ROOT: &str = env!("CARGO_MANIFEST_DIR");

/// What of `docs/own-lock` a new crate does not have.
const NOT_WRITTEN: [&str; 2] = ["Cargo.lock", "target"];

/// The files below a folder, by their paths from there.
fn files(folder: &Path) -> Vec<String> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).expect("a folder") {
        let entry = entry.expect("an entry");
        let name = entry.file_name().to_string_lossy().into_owned();
        match entry.path().is_dir() {
            true if name == "target" => {}
            true => found.extend(
                { files(&entry.path()) }
                    .iter()
                    .map(|it| format!("{name}/{it}")),
            ),
            false => found.push(name),
        }
    }
    found.retain(|name| !NOT_WRITTEN.contains(&name.as_str()));
    found.sort();
    found
}

#[test]
fn a_new_crate_is_that_of_the_book_with_its_names() {
    let bench = Bench::new("new");
    let made = bench.locklab(&["new", "our-queue"]);
    assert_eq!((made.code, &*made.err), (Some(0), ""), "{}", made.out);
    assert!(
        made.out.ends_with("Now: cd our-queue && cargo test\n"),
        "{}",
        made.out
    );
    let model = Path::new(ROOT).join("docs/own-lock");
    let names = files(&model);
    assert!(names.len() > 8, "{names:?}");
    assert_eq!(files(&bench.folder.join("our-queue")), names);
    let root = fs::canonicalize(ROOT).expect("it is there");
    let path = format!("path = \"{}\"", root.display());
    for name in names {
        let text = fs::read_to_string(model.join(&name)).expect("a text");
        let expected = text
            .replace("path = \"../..\"", &path)
            .replace("own-lock", "our-queue")
            .replace("own_lock", "our_queue")
            .replace("team-lock", "our-queue")
            .replace("TeamLock", "OurQueue");
        assert_eq!(bench.read(&format!("our-queue/{name}")), expected, "{name}");
    }
}

#[test]
fn names_that_are_none_and_folders_that_are_there_are_refused() {
    let bench = Bench::new("new-refused");
    for (arguments, expected) in [
        (&["new", "Mine"][..], "write small letters, digits and -"),
        (&["new", "9lives"], "write small letters, digits and -"),
        (&["new", "a/b"], "write small letters, digits and -"),
        (&["new", "redlock"], "is a name of Locklab's own"),
        (&["new", "locklab"], "is a name of Locklab's own"),
        (
            &["new", "mine", "--locklab", "nowhere"],
            "does not have Locklab's sources",
        ),
    ] {
        let refused = bench.locklab(arguments);
        assert_eq!(refused.code, Some(1), "{}", refused.told());
        assert!(refused.err.contains(expected), "{}", refused.told());
    }
    assert_eq!(bench.files(), [""; 0]);
    fs::create_dir(bench.folder.join("mine")).expect("the folder can be written");
    let refused = bench.locklab(&["new", "mine"]);
    assert_eq!(refused.code, Some(1));
    assert!(
        refused.err.contains("mine exists already"),
        "{}",
        refused.err
    );
}

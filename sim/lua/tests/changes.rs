//! The list of changes in the README is complete.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

#[test]
fn every_change_is_listed_with_the_files_that_have_it() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut marked = BTreeSet::new();
    for entry in fs::read_dir(folder.join("lua-5.1.5")).expect("the sources are there") {
        let path = entry.expect("a file").path();
        let text = fs::read_to_string(&path).expect("C is text");
        let file = path.file_name().expect("a name").to_string_lossy();
        for (at, mark) in text.match_indices("locklab ") {
            let rest = &text[at + mark.len()..];
            let end = rest.find(|letter: char| letter != '-' && !letter.is_ascii_lowercase());
            marked.insert((
                rest[..end.unwrap_or(rest.len())].to_owned(),
                file.to_string(),
            ));
        }
    }
    let readme = fs::read_to_string(folder.join("README.md")).expect("it is there");
    let mut listed = BTreeSet::new();
    for row in readme.lines().filter(|line| line.starts_with("| `")) {
        let cells: Vec<&str> = row.split('|').map(str::trim).collect();
        for file in cells[2].split(", ") {
            let plain = |text: &str| text.trim_matches('`').to_owned();
            listed.insert((plain(cells[1]), plain(file)));
        }
    }
    assert_eq!(marked, listed);
}

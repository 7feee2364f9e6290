//! What results say of where they come from.

use std::process::Command;

use crate::bench::Bench;

/// Who reads a page of another project would look for the commit in Locklab's repository.
#[test]
fn a_page_does_not_name_the_commit_of_the_folder_that_it_was_made_in() {
    let bench = Bench::new("provenance");
    let git = |words: &[&str]| {
        let mut git = Command::new("git");
        let author = ["-c", "user.name=a", "-c", "user.email=a@example.org"];
        let done = git.arg("-C").arg(&bench.folder).args(author).args(words);
        let done = done.output().expect("git runs");
        assert!(done.status.success(), "{done:?}");
        String::from_utf8(done.stdout).expect("UTF-8")
    };
    if Command::new("git").arg("--version").output().is_err() {
        eprintln!("skipped: there is no git");
        return;
    }
    git(&["init", "--quiet"]);
    git(&[
        "commit",
        "--quiet",
        "--allow-empty",
        "--message",
        "another project",
    ]);
    let other = git(&["rev-parse", "--short=12", "HEAD"]);
    let words = "reproduce --only K10 --quick --seeds 20 --out page";
    let done = bench.locklab(&words.split(' ').collect::<Vec<_>>());
    assert!(matches!(done.code, Some(0 | 3)), "{}", done.told());
    let page = bench.read("page/index.html");
    assert!(page.contains("<dt>Program</dt>"), "{page}");
    assert!(!page.contains(other.trim()), "{other}");
}

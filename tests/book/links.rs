//! Whether links lead somewhere.

use std::path::{Component, Path, PathBuf};

use super::ROOT;
use super::markdown::Page;

/// The links of a page to a file or a heading that is not there.
pub fn dead(page: &Page) -> Vec<String> {
    let links = page.links().into_iter();
    let dead = links.filter(|link| !leads_somewhere(page, &link.to));
    dead.map(|link| {
        format!(
            "{}:{}: {} leads nowhere",
            page.path.display(),
            link.line,
            link.to
        )
    })
    .collect()
}

fn leads_somewhere(page: &Page, to: &str) -> bool {
    let (file, anchor) = match to.split_once('#') {
        Some((file, anchor)) => (file, Some(anchor)),
        None => (to, None),
    };
    if file.is_empty() {
        return anchor.is_some_and(|anchor| page.anchors().contains(anchor));
    }
    let path = normal(&page.path.with_file_name("").join(file));
    let is_there = Path::new(ROOT).join(&path).exists();
    // What stands behind the address of a page that plays, that page says.
    let anchor = anchor.filter(|anchor| !anchor.contains('='));
    is_there && anchor.is_none_or(|anchor| Page::read(path).anchors().contains(anchor))
}

/// The path without `..`.
fn normal(path: &Path) -> PathBuf {
    let mut normal = PathBuf::new();
    for part in path.components() {
        match part {
            Component::ParentDir => assert!(normal.pop(), "{} leaves the project", path.display()),
            part => normal.push(part),
        }
    }
    normal
}

#[test]
fn a_dead_link_is_found() {
    let page = Page {
        path: "docs/x.md".into(),
        text: "[a](../README.md#licence)\n[b](../README.md#license) [c](nowhere.md) [d](#e)\n# E\n"
            .into(),
    };
    assert_eq!(
        dead(&page),
        [
            "docs/x.md:2: ../README.md#license leads nowhere",
            "docs/x.md:2: nowhere.md leads nowhere"
        ]
    );
}

//! As much of Markdown as the book uses: fenced blocks, headings and links.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

/// A file of Markdown.
#[derive(Clone)]
pub struct Page {
    /// Its path from the repository's folder.
    pub path: PathBuf,
    pub text: String,
}

/// A fenced block.
pub struct Block {
    /// The words after the fence, the language first.
    pub info: Vec<String>,
    /// The number of its first line within the page, from 1.
    pub line: usize,
    pub lines: Vec<String>,
}

/// A link within the repository, as written.
pub struct Link {
    pub line: usize,
    pub to: String,
}

impl Page {
    /// Reads the file at this path from the repository's folder.
    pub fn read(path: PathBuf) -> Page {
        let text = fs::read_to_string(Path::new(super::ROOT).join(&path));
        let text = text.unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        Page { path, text }
    }

    /// Its fenced blocks, in order.
    pub fn blocks(&self) -> Vec<Block> {
        let mut blocks: Vec<Block> = Vec::new();
        let mut is_open = false;
        for (index, line) in self.text.lines().enumerate() {
            match (fence(line), is_open) {
                (Some(info), false) => blocks.push(Block {
                    info: info.split_whitespace().map(Into::into).collect(),
                    line: index + 2,
                    lines: Vec::new(),
                }),
                (None, true) => {
                    let block = blocks.last_mut().expect("one is open");
                    block.lines.push(line.into());
                }
                (Some(_), true) | (None, false) => {}
            }
            is_open ^= fence(line).is_some();
        }
        assert!(!is_open, "{}: a block is not closed", self.path.display());
        blocks
    }

    /// Its lines outside fenced blocks, with their numbers and without code.
    fn prose(&self) -> Vec<(usize, String)> {
        let mut is_open = false;
        let mut prose = Vec::new();
        for (index, line) in self.text.lines().enumerate() {
            match fence(line) {
                Some(_) => is_open = !is_open,
                None if is_open => {}
                None => prose.push((index + 1, line.to_owned())),
            }
        }
        prose
    }

    /// The anchors of its headings.
    pub fn anchors(&self) -> BTreeSet<String> {
        let mut anchors = BTreeSet::new();
        for (_, line) in self.prose() {
            let heading = line.trim_start_matches('#');
            if heading.len() == line.len() || !heading.starts_with(' ') {
                continue;
            }
            let name = anchor(heading.trim());
            let numbered = (1..).map(|number| format!("{name}-{number}"));
            let mut names = std::iter::once(name.clone()).chain(numbered);
            anchors.extend(names.find(|name| !anchors.contains(name)));
        }
        anchors
    }

    /// Its links to files and headings of the repository.
    pub fn links(&self) -> Vec<Link> {
        let mut links = Vec::new();
        for (line, text) in self.prose() {
            let outside_code = text.split('`').step_by(2).collect::<String>();
            for rest in outside_code.split("](").skip(1) {
                let to = rest.split(')').next().unwrap_or_default().to_owned();
                if !to.contains("://") {
                    links.push(Link { line, to });
                }
            }
        }
        links
    }
}

/// The text after the fence, if this line is one.
fn fence(line: &str) -> Option<&str> {
    line.trim_start().strip_prefix("```")
}

/// A heading's anchor, as GitHub and mdBook make it.
fn anchor(heading: &str) -> String {
    let kept = heading.chars().filter_map(|letter| match letter {
        ' ' => Some('-'),
        '-' | '_' => Some(letter),
        _ if letter.is_alphanumeric() => Some(letter),
        _ => None,
    });
    kept.flat_map(char::to_lowercase).collect()
}

#[test]
fn a_page_has_blocks_links_and_anchors() {
    let text = "\
# A `title`, with B∞
See [this](x.md#y) and ![that](z.svg), `not](this)`, [nor that](https://a.b).
```sh notest
a
  b](c)
```
## Twice
## Twice
";
    let page = Page {
        path: "docs/a.md".into(),
        text: text.into(),
    };
    let blocks = page.blocks();
    assert_eq!(blocks.len(), 1);
    assert_eq!(blocks[0].info, ["sh", "notest"]);
    assert_eq!(blocks[0].line, 4);
    assert_eq!(blocks[0].lines, ["a", "  b](c)"]);
    let links: Vec<String> = page.links().into_iter().map(|link| link.to).collect();
    assert_eq!(links, ["x.md#y", "z.svg"]);
    let anchors: Vec<String> = page.anchors().into_iter().collect();
    assert_eq!(anchors, ["a-title-with-b", "twice", "twice-1"]);
}

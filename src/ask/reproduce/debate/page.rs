//! The critique as one HTML page: needs no network, no font and no JavaScript.
//!
//! It knows words, numbers and pictures that others have made, and runs nothing.

/// The page.
pub struct Page {
    /// The heading; by default that of the debate on Redis locks.
    pub title: Option<String>,
    /// What the page is about; by default that debate.
    pub about: Option<String>,
    /// What all claims came to, in a sentence.
    pub summary: String,
    /// If scenarios also ran on real Redis, when their rates are equivalent, as a sentence.
    pub real: Option<String>,
    /// A line for each claim.
    pub claims: Vec<Line>,
    /// The texts, each with its claims.
    pub sources: Vec<SourceView>,
    /// The locks compared; only on the page of the whole debate.
    pub every_step: Option<EveryStep>,
    /// How it was made: what, and its value.
    pub how: Vec<(&'static str, String)>,
}

/// Words with a meaning that has a colour.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Mark {
    /// A few words.
    pub text: String,
    /// The same as a sentence.
    pub sentence: String,
    /// The class in the style sheet: `good`, `partly`, `bad`, `open` or none.
    pub look: &'static str,
}

/// A claim in the summary.
pub struct Line {
    /// Its letter and number.
    pub id: String,
    /// The claim in one sentence.
    pub says: String,
    /// What the runs were to show.
    pub prediction: String,
    /// The rates of `belief`, `lease` and `resource`, and of what the scenario is about if that is
    /// none of them.
    pub cells: [String; 4],
    /// Where it stands.
    pub standing: Mark,
    /// Whether its runs came out as predicted.
    pub verdict: Mark,
    /// How far apart the rates on real Redis may be.
    pub real: Mark,
}

/// A text that makes claims.
pub struct SourceView {
    /// Its key in the data, for links.
    pub key: String,
    /// Its title.
    pub title: String,
    /// Its author.
    pub author: String,
    /// When it was published.
    pub date: String,
    /// Where it is to be read.
    pub url: String,
    /// What it claims.
    pub claims: Vec<ClaimView>,
}

/// A claim with its evidence.
pub struct ClaimView {
    /// Its letter and number.
    pub id: String,
    /// The claim in one sentence.
    pub says: String,
    /// The text's own words.
    pub quote: Option<String>,
    /// Where the text has them.
    pub section: String,
    /// What the runs were to show.
    pub prediction: String,
    /// Where it stands, and why.
    pub standing: Mark,
    /// Whether they did.
    pub verdict: Mark,
    /// What else shows it; what a program or a file is called stands between backticks.
    pub elsewhere: Option<String>,
    /// The scenarios that were run.
    pub scenarios: Vec<ScenarioView>,
    /// The address of its place in the page to play with, if there is one.
    pub play: Option<String>,
    /// A run of the first of them.
    pub picture: Option<Picture>,
    /// A sweep.
    pub chart: Option<Picture>,
}

/// A scenario and its rates.
pub struct ScenarioView {
    /// Its name.
    pub name: String,
    /// Its title.
    pub title: String,
    /// A row for each property.
    pub rows: Vec<Row>,
    /// What was measured besides, a line each.
    pub measured: Vec<String>,
}

/// A property of a scenario, predicted and observed.
pub struct Row {
    /// Its name.
    pub property: String,
    /// The prediction.
    pub predicted: String,
    /// The finding.
    pub observed: String,
    /// Whether they agree; see [`Mark::look`].
    pub look: &'static str,
    /// How often it was violated.
    pub rate: String,
    /// The same on real Redis.
    pub real: Mark,
}

/// All locks under one fault at every step, beyond the moments of the claims.
pub struct EveryStep {
    /// What was placed, in a sentence.
    pub summary: String,
    /// What that says about claims; names of locks stand between backticks.
    pub answers: Vec<Answer>,
    /// The headings of the table, of which the first is that of the locks.
    pub columns: Vec<String>,
    /// The rows of the table: a lock, and its numbers.
    pub rows: Vec<(String, Vec<Mark>)>,
    /// What the numbers count, a sentence or two each.
    pub notes: Vec<String>,
    /// The command that makes the table.
    pub command: String,
}

/// What a comparison says about claims.
pub struct Answer {
    /// The claims, by letter and number.
    pub claims: &'static [&'static str],
    /// What was observed.
    pub says: String,
}

/// A drawing with its caption, and the commands that make it again and go on from it.
pub struct Picture {
    /// The drawing; its ids are unique on the page.
    pub svg: String,
    /// What it shows.
    pub caption: String,
    /// The commands, a line each.
    pub commands: String,
}

impl Picture {
    /// A drawing by this program, whose ids are made unique by a prefix.
    pub fn new(svg: &str, prefix: &str, caption: String, commands: String) -> Self {
        let svg = svg
            .replace(" id=\"", &format!(" id=\"{prefix}-"))
            .replace("url(#", &format!("url(#{prefix}-"))
            .replace("href=\"#", &format!("href=\"#{prefix}-"));
        Self {
            svg,
            caption,
            commands,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_claim_says_is_text_and_not_markup() {
        let page = Page {
            title: None,
            about: None,
            summary: "<script>alert(1)</script>".into(),
            real: None,
            claims: vec![],
            sources: vec![],
            every_step: None,
            how: vec![("what", "a < b".into())],
        };
        let html = page.html();
        assert!(!html.contains("<script"), "no JavaScript at all");
        assert!(
            html.contains("alert(1)") && html.contains("a &#60; b"),
            "{html}"
        );
    }

    #[test]
    fn the_page_needs_nothing_from_elsewhere() {
        let (code, _tests) = include_str!("html.rs")
            .split_once("#[cfg(test)]")
            .expect("html.rs has tests");
        let parts = [
            ("page.html", include_str!("page.html")),
            ("page.css", include_str!("page.css")),
            ("html.rs", code),
            ("every_step.rs", include_str!("html/every_step.rs")),
        ];
        for (part, text) in parts {
            for outside in ["src=", "@import", "url(", "<link", "<script"] {
                assert!(!text.contains(outside), "{part}: {outside}");
            }
        }
    }

    #[test]
    fn the_ids_of_two_drawings_differ() {
        let svg =
            r##"<svg><pattern id="past"/><rect fill="url(#past)"/><use href="#past"/></svg>"##;
        let picture = Picture::new(svg, "K1", String::new(), String::new());
        assert_eq!(
            picture.svg,
            r##"<svg><pattern id="K1-past"/><rect fill="url(#K1-past)"/><use href="#K1-past"/></svg>"##
        );
    }
}

//! The page: data, style and scripts in one HTML file that needs no network.

use askama::Template;
use serde::Serialize;

use super::{Subject, data};

/// The scripts, in the order in which they are needed; later ones use what earlier ones define.
const SCRIPTS: &[&str] = &[
    include_str!("assets/model.js"),
    include_str!("assets/time.js"),
    include_str!("assets/picture.js"),
    include_str!("assets/overview.js"),
    include_str!("assets/list.js"),
    include_str!("assets/details.js"),
    include_str!("assets/view.js"),
];

#[derive(Template)]
#[template(path = "assets/page.html")]
struct Page<'a> {
    title: &'a str,
    style: &'a str,
    /// JSON without the character `<`.
    data: &'a str,
    scripts: &'a [&'a str],
}

/// The run as a page to explore.
///
/// # Errors
///
/// If the page cannot be rendered; a template that compiles can.
pub fn html(subject: &Subject) -> Result<String, askama::Error> {
    let page = Page {
        title: &data::title(subject),
        style: include_str!("assets/view.css"),
        data: &json(&data::page(subject)),
        scripts: SCRIPTS,
    };
    page.render()
}

/// JSON that can stand in a `<script>` element: a text in it may contain `</script>` or `<!--`.
fn json(data: &impl Serialize) -> String {
    let json = serde_json::to_string(data).expect("the keys of the data are names");
    // Between strings JSON has no such character.
    json.replace('<', "\\u003c")
}

//! The page: data, style and scripts in one HTML file that needs no network.

use serde::Serialize;

use super::{Subject, data};

/// The scripts in loading order; later ones use definitions of earlier ones.
const SCRIPTS: &[&str] = &[
    include_str!("assets/model.js"),
    include_str!("assets/time.js"),
    include_str!("assets/labels.js"),
    include_str!("assets/picture.js"),
    include_str!("assets/overview.js"),
    include_str!("assets/lost.js"),
    include_str!("assets/query.js"),
    include_str!("assets/list.js"),
    include_str!("assets/details.js"),
    include_str!("assets/known.js"),
    include_str!("assets/link.js"),
    include_str!("assets/view.js"),
];

/// The run as a page to explore.
pub fn html(subject: &Subject) -> String {
    page(&data::title(subject), &json(&data::page(subject)))
}

/// The page of a title and of JSON without the character `<`.
fn page(title: &str, data: &str) -> String {
    let scripts: String = SCRIPTS
        .iter()
        .map(|script| format!("\n<script>\n{}</script>", script))
        .collect();
    let html = format!(
        include_str!("assets/page.html"),
        title = escape(title),
        style = include_str!("assets/view.css"),
        data = data,
        scripts = scripts,
    );
    html.trim_end().to_owned()
}

/// Text in an element.
fn escape(text: &str) -> String {
    text.replace('&', "&#38;")
        .replace('<', "&#60;")
        .replace('>', "&#62;")
        .replace('"', "&#34;")
        .replace('\'', "&#39;")
}

/// JSON that can stand in a `<script>` element: a text in it may contain `</script>` or `<!--`.
fn json(data: &impl Serialize) -> String {
    let json = serde_json::to_string(data).expect("the keys of the data are names");
    // Between strings JSON has no such character.
    json.replace('<', "\\u003c")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn markup_in_title_and_data_is_escaped() {
        let title = "<script>alert('1')</script> & \"{data}\"";
        let html = page(title, &json(&["</script><!-- {title}"]));
        let written = "&#60;script&#62;alert(&#39;1&#39;)&#60;/script&#62; &#38; &#34;{data}&#34;";
        assert!(html.contains(&format!("<title>{written} – Locklab</title>")));
        assert!(html.contains(&format!("<h1>{written}</h1>")));
        assert!(html.contains(r#"id="run">["\u003c/script>\u003c!-- {title}"]</script>"#));
        assert!(!html.contains("alert('1')"), "{html}");
    }

    #[test]
    fn page_has_each_script_once() {
        let html = page("a title", "{}");
        assert_eq!(html.matches("</script>").count(), SCRIPTS.len() + 1);
        for script in SCRIPTS {
            assert_eq!(html.matches(script).count(), 1);
        }
    }
}

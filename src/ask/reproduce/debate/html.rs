//! The page's HTML: `page.html` with the style sheet, and what repeats for each claim and text.

mod every_step;

use super::page::{ClaimView, Line, Mark, Page, Picture, Row, ScenarioView, SourceView};

/// The heading of a column.
const REAL_HEAD: &str = "<th>real Redis</th>";

/// The heading of the page about the debate.
const TITLE: &str = "The critique of Redis locks, executed";

/// Its first paragraph.
const ABOUT: &str = "\
In 2016 Martin Kleppmann argued that Redlock, and leases without fencing, do not give mutual
exclusion when processes pause, messages are late and clocks are wrong. Redis’s author answered. This
page takes the claims of that debate one by one, and shows what happens when each is executed: the
code of real lock clients, in a simulated network of Redis nodes whose faults are drawn from a
seed.";

/// The columns of rates, as they are called where there is no heading.
const RATES: [&str; 4] = ["belief", "lease", "resource", "other"];

/// What that column has.
const REAL_NOTE: &str = " \
Real Redis: how far apart the rates of the claim’s scenarios may be from the
simulated ones, at 95 % confidence. Equivalent: ";

impl Page {
    /// The page as HTML. All fields are text, except the drawings.
    pub fn html(&self) -> String {
        let real = self.real.is_some();
        let html = format!(
            include_str!("page.html"),
            style = include_str!("page.css"),
            title = escape(self.title.as_deref().unwrap_or(TITLE)),
            about = escape(self.about.as_deref().unwrap_or(ABOUT)),
            contents = each(&self.sources, contents),
            summary = escape(&self.summary),
            real_head = if real { REAL_HEAD } else { "" },
            claims = each(&self.claims, |claim| line(claim, real)),
            real_note = each(&self.real, |equivalent| format!(
                "{REAL_NOTE}{}",
                escape(equivalent)
            )),
            sources = each(&self.sources, |text| source(text, real)),
            every_step_link = each(&self.every_step, |_| every_step::LINK.into()),
            every_step = each(&self.every_step, every_step::section),
            how = each(&self.how, |(what, value)| format!(
                "\n<dt>{}</dt><dd>{}</dd>",
                escape(what),
                escape(value)
            )),
        );
        html.trim_end().to_owned()
    }
}

/// A text's claims, as links.
fn contents(text: &SourceView) -> String {
    format!(
        r##"
<p><a href="#{}">{}</a>: {}</p>"##,
        escape(&text.key),
        escape(&text.title),
        each(&text.claims, |claim| format!(
            r##"<a href="#{id}">{id}</a> "##,
            id = escape(&claim.id)
        ))
        .trim_end(),
    )
}

fn line(claim: &Line, real: bool) -> String {
    format!(
        r##"
<tr class="claim is-{stands}"><td><a href="#{id}">{id}</a></td><td class="words">{}<br><span class="faint">{}</span></td><td class="standing {stands}">{}</td>{}{}<td class="verdict {look}" data-of="as predicted">{}</td></tr>"##,
        escape(&claim.says),
        escape(&claim.prediction),
        escape(&claim.standing.text),
        each(RATES.iter().zip(&claim.cells), |(of, cell)| format!(
            r#"<td class="rate" data-of="{of}">{}</td>"#,
            escape(cell)
        )),
        if real {
            format!(
                r#"<td class="real {}" data-of="real Redis">{}</td>"#,
                escape(claim.real.look),
                escape(&claim.real.text)
            )
        } else {
            String::new()
        },
        escape(&claim.verdict.text),
        stands = escape(claim.standing.look),
        look = escape(claim.verdict.look),
        id = escape(&claim.id),
    )
}

fn cell(mark: &Mark) -> String {
    format!(
        r#"<td class="{}">{}</td>"#,
        escape(mark.look),
        escape(&mark.text)
    )
}

fn source(text: &SourceView, real: bool) -> String {
    format!(
        r#"
<h2 id="{}">{}: “{}”</h2>
<p class="faint">{}, <a href="{url}">{url}</a></p>{}"#,
        escape(&text.key),
        escape(&text.author),
        escape(&text.title),
        escape(&text.date),
        each(&text.claims, |claim| section(claim, &text.url, real)),
        url = escape(&text.url),
    )
}

fn section(claim: &ClaimView, url: &str, real: bool) -> String {
    format!(
        r#"
<section aria-labelledby="{id}" class="claim is-{stands}">
<h3 id="{id}">{id}. {}</h3>{}
<p class="faint">In: {}</p>{}
<p><strong>Prediction.</strong> {} <span class="{look}">{}</span></p>{}{}{}
</section>"#,
        escape(&claim.says),
        each(&claim.quote, |quote| format!(
            "\n<blockquote cite=\"{}\"><p>{}</p></blockquote>",
            escape(url),
            escape(quote)
        )),
        escape(&claim.section),
        standing(&claim.standing),
        escape(&claim.prediction),
        escape(&claim.verdict.sentence),
        each(&claim.elsewhere, |words| elsewhere(words)),
        each(&claim.play, |address| play(address)),
        evidence(claim, real),
        stands = escape(claim.standing.look),
        look = escape(claim.verdict.look),
        id = escape(&claim.id),
    )
}

/// Where a claim stands, in words with the reason.
fn standing(mark: &Mark) -> String {
    match &*mark.text {
        "" => String::new(),
        text => format!(
            "\n<p><strong class=\"{}\">{}.</strong> {}</p>",
            escape(mark.look),
            escape(text),
            escape(&mark.sentence)
        ),
    }
}

/// The runs of a claim and their pictures, which are shown on demand.
fn evidence(claim: &ClaimView, real: bool) -> String {
    let count = claim.scenarios.len();
    if count == 0 {
        return String::new();
    }
    format!(
        "\n<details><summary>{count} scenario{}, {} and how to repeat them</summary>{}{}{}\n</details>",
        if count == 1 { "" } else { "s" },
        match (&claim.picture, &claim.chart) {
            (Some(_), Some(_)) => "a picture of a run, a chart",
            (Some(_), None) => "a picture of a run",
            (None, Some(_)) => "a chart",
            (None, None) => "their rates",
        },
        scenarios(&claim.scenarios, real),
        each(&claim.picture, figure),
        each(&claim.chart, figure),
    )
}

fn play(address: &str) -> String {
    format!(
        "\n<p><a href=\"{}\">Play with it in the browser</a></p>",
        escape(address)
    )
}

fn elsewhere(words: &str) -> String {
    format!("\n<p>{}</p>", with_code(words))
}

/// Text in an element, of which code stands between backticks.
fn with_code(words: &str) -> String {
    let mut html = String::new();
    for (part, words) in words.split('`').enumerate() {
        html += &match part % 2 {
            0 => escape(words),
            _ => format!("<code>{}</code>", escape(words)),
        };
    }
    html
}

fn scenarios(scenarios: &[ScenarioView], real: bool) -> String {
    if scenarios.is_empty() {
        return String::new();
    }
    format!(
        r#"
<div class="wide">
<table>
<thead><tr><th>scenario</th><th>property</th><th>predicted</th><th>observed</th><th>violated</th>{}</tr></thead>
<tbody>{}
</tbody>
</table>
</div>{}"#,
        if real { "<th>on real Redis</th>" } else { "" },
        each(scenarios, |scenario| rows(scenario, real)),
        each(scenarios, measured),
    )
}

/// A row for each property; the first of them names the scenario.
fn rows(scenario: &ScenarioView, real: bool) -> String {
    let mut name = format!(
        r#"<td rowspan="{}"><code>{}</code><br>{}</td>"#,
        scenario.rows.len(),
        escape(&scenario.name),
        escape(&scenario.title)
    );
    each(&scenario.rows, |row| {
        let Row {
            property,
            predicted,
            observed,
            look,
            rate,
            real: on_real,
        } = row;
        format!(
            "\n<tr>{}<td>{}</td><td>{}</td><td class=\"{}\">{}</td><td>{}</td>{}</tr>",
            std::mem::take(&mut name),
            escape(property),
            escape(predicted),
            escape(look),
            escape(observed),
            escape(rate),
            if real { cell(on_real) } else { String::new() },
        )
    })
}

fn measured(scenario: &ScenarioView) -> String {
    let name = escape(&scenario.name);
    each(&scenario.measured, |line| {
        format!("\n<p><code>{name}</code>: {}</p>", escape(line))
    })
}

fn figure(picture: &Picture) -> String {
    format!(
        r#"
<figure><div>{}</div><figcaption>{}</figcaption></figure>
<pre>{}</pre>"#,
        picture.svg,
        escape(&picture.caption),
        escape(&picture.commands)
    )
}

/// The parts of all items, one after another.
fn each<T>(items: impl IntoIterator<Item = T>, part: impl FnMut(T) -> String) -> String {
    items.into_iter().map(part).collect()
}

/// Text in an element, or in an attribute's quotes.
fn escape(text: &str) -> String {
    text.replace('&', "&#38;")
        .replace('<', "&#60;")
        .replace('>', "&#62;")
        .replace('"', "&#34;")
        .replace('\'', "&#39;")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::reproduce::debate::page::{Answer, EveryStep};

    const HOSTILE: &str = "<script>alert('1')</script> & \"{summary}\" `";
    const WRITTEN: &str =
        "&#60;script&#62;alert(&#39;1&#39;)&#60;/script&#62; &#38; &#34;{summary}&#34;";

    fn hostile() -> String {
        HOSTILE.into()
    }

    fn mark() -> Mark {
        Mark {
            text: hostile(),
            sentence: hostile(),
            look: "bad",
        }
    }

    /// A page with each part, and in every text of it markup.
    fn page() -> Page {
        let picture = || Picture::new("<svg/>", "K1", hostile(), hostile());
        let row = || Row {
            property: hostile(),
            predicted: hostile(),
            observed: hostile(),
            look: "bad",
            rate: hostile(),
            real: mark(),
        };
        let scenario = ScenarioView {
            name: hostile(),
            title: hostile(),
            rows: vec![row(), row()],
            measured: vec![hostile()],
        };
        let claim = ClaimView {
            id: hostile(),
            says: hostile(),
            quote: Some(hostile()),
            section: hostile(),
            prediction: hostile(),
            standing: mark(),
            verdict: mark(),
            elsewhere: Some(hostile()),
            scenarios: vec![scenario],
            play: Some(hostile()),
            picture: Some(picture()),
            chart: Some(picture()),
        };
        let line = Line {
            id: hostile(),
            says: hostile(),
            prediction: hostile(),
            cells: std::array::from_fn(|_| hostile()),
            standing: mark(),
            verdict: mark(),
            real: mark(),
        };
        let source = SourceView {
            key: hostile(),
            title: hostile(),
            author: hostile(),
            date: hostile(),
            url: hostile(),
            claims: vec![claim],
        };
        Page {
            title: Some(hostile()),
            about: Some(hostile()),
            summary: hostile(),
            real: Some(hostile()),
            claims: vec![line],
            sources: vec![source],
            every_step: Some(EveryStep {
                summary: hostile(),
                answers: vec![
                    Answer {
                        claims: &["K1", "K13"],
                        says: "`redlock` holds".into(),
                    },
                    Answer {
                        claims: &["K5"],
                        says: hostile(),
                    },
                ],
                columns: vec![hostile(), hostile()],
                rows: vec![(hostile(), vec![mark()])],
                notes: vec![hostile()],
                command: hostile(),
            }),
            how: vec![("what", hostile())],
        }
    }

    #[test]
    fn markup_in_any_text_is_escaped() {
        let html = page().html();
        assert!(!html.contains("<script"), "{html}");
        assert!(!html.contains("alert('1')"), "{html}");
        assert_eq!(
            html.matches(WRITTEN).count(),
            html.matches("alert(").count()
        );
        assert_eq!(html.matches("<svg/>").count(), 2, "drawings are markup");
        assert_eq!(html.matches("<td rowspan=\"2\">").count(), 1);
        for (open, close) in [
            ("<td", "</td>"),
            ("<tr", "</tr>"),
            ("<section", "</section>"),
            ("<details", "</details>"),
        ] {
            assert_eq!(html.matches(open).count(), html.matches(close).count());
        }
    }

    #[test]
    fn comparison_of_locks_stands_behind_the_claims_and_in_the_contents() {
        let with = page().html();
        let at = |part: &str| with.find(part).unwrap_or_else(|| panic!("{part}:\n{with}"));
        let section = at("<h2 id=\"every-step\">");
        assert!(at("<section aria-labelledby") < section && section < at("<h2 id=\"how\">"));
        assert!(at("<a href=\"#every-step\">") < at("<h2 id=\"summary\">"));
        at(
            "<li><code>redlock</code> holds (<a href=\"#K1\">K1</a>, <a href=\"#K13\">K13</a>)</li>",
        );
        let without = Page {
            every_step: None,
            ..page()
        };
        let without = without.html();
        assert!(!without.contains("every-step") && !without.contains("every step"));
    }

    #[test]
    fn code_stands_between_backticks() {
        let html = elsewhere("see `a < b`, and `c`");
        assert_eq!(
            html,
            "\n<p>see <code>a &#60; b</code>, and <code>c</code></p>"
        );
    }

    #[test]
    fn columns_of_real_redis_are_absent_without_it() {
        let with = page().html();
        let without = Page {
            real: None,
            ..page()
        };
        let without = without.html();
        assert!(with.contains(REAL_HEAD) && with.contains(REAL_NOTE));
        assert!(!without.contains("eal Redis"), "{without}");
        assert_eq!(
            with.matches("<td").count(),
            without.matches("<td").count() + 3
        );
    }
}

//! The section that compares all locks under one fault at every step.

use super::{each, escape, with_code};
use crate::reproduce::debate::page::{Answer, EveryStep, Mark};

/// The entry in the contents.
pub(super) const LINK: &str = "
<p><a href=\"#every-step\">One fault at every step</a></p>";

/// What was done, whatever came of it.
const ABOUT: &str = "\
The runs of a claim strike at moments that somebody thought of. Here a fault strikes at every step, in the simulator.
Each lock of the catalogue runs once without faults, with two clients of which the second asks while the
first holds the lock. Then it runs once for each step of that run and each kind of fault that can begin there:
pauses, kills, power losses, lost and late messages, partitions, wrong clocks and others.";

/// Where the debate expects a violation, and what is to prevent it.
const QUESTION: &str = "\
Kleppmann says that a lease cannot keep the resource safe (<a href=\"#K1\">K1</a>), and that fencing tokens can
(<a href=\"#K5\">K5</a>), as long as the counter is not lost (<a href=\"#K7\">K7</a>). Redlock checks the clock a
second time to keep the lease (<a href=\"#K13\">K13</a>).";

/// What the table shows, and what it does not.
const NOTE: &str = "\
A placement is inconclusive if its run could not have violated lease or resource, and violated nothing else. Each placement
is one run of one seed: if none violates a property, another seed still may.";

pub(super) fn section(every_step: &EveryStep) -> String {
    format!(
        r#"

<h2 id="every-step">One fault at every step</h2>
<p>{ABOUT}</p>
<p>{QUESTION}</p>
<p><strong>{}</strong></p>
<ul>{}
</ul>
<div class="wide">
<table class="counts">
<thead><tr>{}</tr></thead>
<tbody>{}
</tbody>
</table>
</div>
<p class="faint">{}{NOTE}</p>
<pre>{}</pre>"#,
        escape(&every_step.summary),
        each(&every_step.answers, answer),
        each(&every_step.columns, |column| format!(
            r#"<th scope="col">{}</th>"#,
            escape(column)
        )),
        each(&every_step.rows, row),
        each(&every_step.notes, |note| escape(note) + " "),
        escape(&every_step.command),
    )
}

fn answer(answer: &Answer) -> String {
    let links = { answer.claims.iter() }.map(|id| format!("<a href=\"#{id}\">{id}</a>"));
    let links: Vec<String> = links.collect();
    format!(
        "\n<li>{} ({})</li>",
        with_code(&answer.says),
        links.join(", ")
    )
}

fn row((lock, numbers): &(String, Vec<Mark>)) -> String {
    format!(
        "\n<tr><th scope=\"row\">{}</th>{}</tr>",
        escape(lock),
        each(numbers, super::cell)
    )
}

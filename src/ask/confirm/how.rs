//! How a comparison came about, and how its findings look in tables.

use locklab_model::scenario::Scale;
use locklab_real::comparison::{Criteria, Finding};
use locklab_report::Provenance;
use locklab_results::recording::server_name;
use locklab_results::table::{Field, Look};
use locklab_vecmap::VecSet;

/// How the results came about.
pub(super) struct How<'a> {
    pub(super) criteria: Criteria,
    /// Of the real servers.
    pub(super) version: &'a str,
    /// Which Locklab made the runs, on which machine; usually one.
    pub(super) made_by: VecSet<String>,
    pub(super) scale: Scale,
    pub(super) seconds: u64,
    pub(super) provenance: Provenance,
}

/// The title of a table: the servers, the scale, and who made the runs.
pub(super) fn title(how: &How<'_>, what: &str) -> String {
    let mut title = format!("{what} {}", server_name(how.version));
    if how.scale != Scale::FULL {
        title += &format!(", all durations times {}", how.scale);
    }
    let made_by: Vec<&str> = how.made_by.iter().map(String::as_str).collect();
    if !made_by.is_empty() {
        title += &format!(", by {}", made_by.join(" and by "));
    }
    title
}

/// The looks of findings.
pub(super) fn legend() -> Vec<(Look, &'static str)> {
    vec![
        (Look::Holds, "equivalent"),
        (
            Look::Violated(0.0),
            "they differ for a known reason, or no bound is asked for",
        ),
        (Look::Inconclusive, "unclear"),
        (Look::Differs, "they differ"),
    ]
}

/// The look of a finding.
pub(super) fn look_of(finding: Finding) -> Look {
    match finding {
        Finding::Equivalent => Look::Holds,
        Finding::Explained | Finding::Unbounded => Look::Violated(0.0),
        Finding::Unclear => Look::Inconclusive,
        Finding::Differ => Look::Differs,
    }
}

/// A field without a look.
pub(super) fn plain(text: String) -> Field {
    Field {
        detail: text.clone(),
        text,
        look: Look::Silent,
    }
}

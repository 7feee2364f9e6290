//! How a comparison came about, and how its findings look in tables.

use locklab_model::scenario::Scale;
use locklab_real::comparison::{Criteria, Finding};
use locklab_report::Provenance;
use locklab_results::recording::server_name;
use locklab_results::table::{Field, Look};

/// How the results came about.
pub(super) struct How<'a> {
    pub(super) criteria: Criteria,
    /// Of the real servers.
    pub(super) version: &'a str,
    pub(super) scale: Scale,
    pub(super) seconds: u64,
    pub(super) provenance: Provenance,
}

/// The title of a table.
pub(super) fn title(how: &How<'_>, what: &str) -> String {
    match how.scale == Scale::FULL {
        true => format!("{what} {}", server_name(how.version)),
        false => format!(
            "{what} {}, all durations times {}",
            server_name(how.version),
            how.scale
        ),
    }
}

/// The looks of findings.
pub(super) fn legend() -> Vec<(Look, &'static str)> {
    vec![
        (Look::Holds, "equivalent"),
        (Look::Violated(0.0), "they differ for a known reason"),
        (Look::Inconclusive, "unclear"),
        (Look::Differs, "they differ"),
    ]
}

/// The look of a finding.
pub(super) fn look_of(finding: Finding) -> Look {
    match finding {
        Finding::Equivalent => Look::Holds,
        Finding::Explained => Look::Violated(0.0),
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

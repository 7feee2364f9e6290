//! Comma-separated values (RFC 4180): one row for each observation, a named column for each
//! variable. `docs/formats.md` has the columns.

use super::FORMAT;
use locklab_evidence::{Interval, Rate, Tally};
use locklab_values::untrusted;

/// A table for programs. Its first column is the version of the format.
#[derive(Debug, Clone, PartialEq)]
pub struct Csv {
    columns: Vec<String>,
    rows: Vec<Vec<String>>,
}

impl Csv {
    /// A table without rows.
    pub fn new<S: Into<String>>(columns: impl IntoIterator<Item = S>) -> Self {
        Csv {
            columns: columns.into_iter().map(Into::into).collect(),
            rows: Vec::new(),
        }
    }

    /// Adds a row: a field for each column.
    pub fn push(&mut self, row: Vec<String>) {
        assert_eq!(row.len(), self.columns.len(), "a field for each column");
        self.rows.push(row);
    }

    /// The text of a file.
    pub fn text(&self) -> String {
        let format = FORMAT.to_string();
        let mut text = line("format", &self.columns);
        for row in &self.rows {
            text += &line(&format, row);
        }
        text
    }
}

/// The columns of [`counts`].
pub const COUNTS: [&str; 12] = [
    "runs",
    "holds",
    "violated",
    "inconclusive",
    "rate",
    "rate_low",
    "rate_high",
    "struck_runs",
    "struck_violated",
    "struck_rate",
    "struck_rate_low",
    "struck_rate_high",
];

/// The counts of a tally, its rate over all runs, and that of the runs in which every fault
/// began, each with its 95 % interval.
pub fn counts(tally: &Tally) -> Vec<String> {
    let rate = |rate: Rate| {
        let Interval { low, high } = rate.interval();
        [rate.share(), Some(low), Some(high)].map(number)
    };
    let mut fields: Vec<String> = [
        tally.runs(),
        tally.holds,
        tally.violated,
        tally.inconclusive,
    ]
    .map(|count| count.to_string())
    .into();
    fields.extend(rate(tally.rate()));
    fields.extend([tally.struck, tally.violated_struck].map(|count| count.to_string()));
    fields.extend(rate(tally.rate_struck()));
    fields
}

/// A number with six decimals; empty if there is none.
pub fn number(value: Option<f64>) -> String {
    value.map_or(String::new(), |value| format!("{value:.6}"))
}

/// Nanoseconds as milliseconds; empty if there are none.
pub fn milliseconds(ns: Option<u64>) -> String {
    ns.map_or(String::new(), |ns| {
        locklab_values::units::fractional_ms_from_ns(ns).to_string()
    })
}

fn line(first: &str, rest: &[String]) -> String {
    let fields = [first].into_iter().chain(rest.iter().map(String::as_str));
    let quoted = fields.map(|field| {
        let field = untrusted::csv(field);
        match field.contains([',', '"', '\n', '\r']) {
            true => format!("\"{}\"", field.replace('"', "\"\"")),
            false => field,
        }
    });
    let mut line = quoted.collect::<Vec<_>>().join(",");
    line.push_str("\r\n");
    line
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_are_quoted_when_necessary() {
        let mut csv = Csv::new(["lock", "what, in words"]);
        csv.push(vec!["a \"form\"".into(), "plain".into()]);
        let expected = "format,lock,\"what, in words\"\r\n1,\"a \"\"form\"\"\",plain\r\n";
        assert_eq!(csv.text(), expected);
    }

    #[test]
    fn a_tally_has_a_field_for_each_column() {
        let tally = Tally {
            holds: 1,
            violated: 1,
            inconclusive: 2,
            ..Tally::default()
        };
        let fields = counts(&tally);
        assert_eq!(fields.len(), COUNTS.len());
        assert_eq!(fields[..5], ["4", "1", "1", "2", "0.250000"]);
        // No runs have no rate.
        assert_eq!(fields[7..10], ["0", "0", ""]);
    }
}

//! What was published in `reports/`, for answers that run nothing: the tables as they are in the repository.

use std::collections::BTreeMap;

/// The libraries and what each does: a row for each cell of the scorecard.
pub(crate) const SCORECARD: &str = include_str!("../../reports/scorecard/scorecard.csv");

/// Every lock against every problem.
pub(crate) const MATRIX: &str = include_str!("../../reports/matrix/matrix.csv");

/// What every lock costs.
pub(crate) const COST: &str = include_str!("../../reports/cost/cost.csv");

/// How long others wait for a lock.
pub(crate) const LIVENESS: &str = include_str!("../../reports/cost/liveness.csv");

/// Violations a year against the lease, in each environment that ships.
pub(crate) const RISK: [&str; 3] = [
    include_str!("../../reports/risk/jvm-on-vms/leases.csv"),
    include_str!("../../reports/risk/go-on-bare-metal/leases.csv"),
    include_str!("../../reports/risk/functions/leases.csv"),
];

/// A row of a table, by the names of the columns.
pub(crate) type Row = BTreeMap<String, String>;

/// The rows of a table.
pub(crate) fn rows(table: &str) -> impl Iterator<Item = Row> {
    let mut lines = table.lines();
    let columns = fields(lines.next().unwrap_or_default());
    lines.map(move |line| columns.iter().cloned().zip(fields(line)).collect())
}

/// The fields of a line, in which texts may be in quotes.
fn fields(line: &str) -> Vec<String> {
    let mut fields = vec![String::new()];
    let mut is_quoted = false;
    for letter in line.chars() {
        match letter {
            '"' => is_quoted = !is_quoted,
            ',' if !is_quoted => fields.push(String::new()),
            _ => fields.last_mut().expect("there is one").push(letter),
        }
    }
    fields
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_in_quotes_may_have_commas() {
        let found: Vec<Row> = rows("a,b\n\"x, y\",\"\"\n").collect();
        let expected = [("a", "x, y"), ("b", "")].map(|(a, b)| (a.to_owned(), b.to_owned()));
        assert_eq!(found, [Row::from(expected)]);
    }

    #[test]
    fn published_tables_have_the_columns_that_are_read() {
        for (table, columns) in [
            (
                SCORECARD,
                &[
                    "library",
                    "version",
                    "language",
                    "lock",
                    "experiment",
                    "verdict",
                    "good",
                    "port_of",
                ][..],
            ),
            (MATRIX, &["row", "problem", "observed", "runs", "violated"]),
            (COST, &["row", "title", "value"]),
            (LIVENESS, &["row", "title", "value"]),
            (
                RISK[0],
                &[
                    "environment",
                    "lock",
                    "lease_ms",
                    "property",
                    "per_year",
                    "low",
                    "high",
                    "not_excluded",
                ],
            ),
        ] {
            let first = rows(table).next().expect("it has rows");
            assert!(
                columns.iter().all(|it| first.contains_key(*it)),
                "{first:?}"
            );
        }
    }
}

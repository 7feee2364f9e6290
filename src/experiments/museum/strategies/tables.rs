//! What the searches took, as tables.

use locklab_check::Property;
use locklab_evidence::thousands;
use locklab_report::Provenance;
use locklab_results::csv::Csv;
use locklab_results::table::{Field, Look, Table, TableRow};
use locklab_values::units::fractional_ms_from_ns;
use serde::Serialize;
use serde_json::{Value, json};

use super::sighting::Cost;
use super::start::Start;
use super::way::Way;
use super::{Made, Starts};
use crate::section::Section;
use crate::{Store, data};

/// What is searched for.
#[derive(Debug, Clone, Copy)]
pub(super) enum Subject {
    /// The mechanisms of the museum.
    Mechanisms,
    /// Planted mistakes.
    Mistakes,
}

impl Subject {
    fn one(self) -> &'static str {
        match self {
            Subject::Mechanisms => "mechanism",
            Subject::Mistakes => "mistake",
        }
    }

    /// The heading of its column in lists.
    fn column(self) -> &'static str {
        match self {
            Subject::Mechanisms => "exhibit",
            Subject::Mistakes => "mistake",
        }
    }

    /// The command that searches.
    fn command(self) -> &'static str {
        match self {
            Subject::Mechanisms => "museum",
            Subject::Mistakes => "plants",
        }
    }

    /// The names of the files: with numbers of runs, and with processor times.
    fn stems(self) -> [&'static str; 2] {
        match self {
            Subject::Mechanisms => ["search", "times"],
            Subject::Mistakes => ["mistakes", "mistakes-times"],
        }
    }

    fn provenance(self, search: &Extent) -> Provenance {
        let subject = match self {
            Subject::Mechanisms => "searches for the mechanisms of the museum",
            Subject::Mistakes => "searches for planted mistakes",
        };
        Provenance {
            subject: subject.into(),
            overrides: vec![],
            seeds: format!("{} starts of {} seeds", search.starts, search.limit),
            environment: "simulated world".into(),
        }
    }

    fn notes(self, search: &Extent) -> Vec<String> {
        let each = format!(
            "Each number is the median of {} starts, each with seeds of its own; a start ends after {} runs. \
             In brackets: how many starts found it, if not all did.",
            search.starts,
            thousands(search.limit)
        );
        let (each, shows) = match self {
            Subject::Mechanisms => (
                each,
                "A run shows a mechanism if it violates the property, and the same run of the mended lock does not. \
                 The runs without faults that steps makes are counted.",
            ),
            Subject::Mistakes => (
                each + " After two starts that found nothing there was no third.",
                "A run shows a mistake if it violates the property, which then holds in the same run without the \
                 mistake. The runs without faults that steps makes are counted.",
            ),
        };
        vec!["* the fewest of its row.".into(), each, shows.into()]
    }
}

/// How much was searched.
#[derive(Debug, Clone, Copy)]
pub(super) struct Extent {
    pub(super) starts: u64,
    /// The runs of a start that finds nothing.
    pub(super) limit: u64,
}

/// The searches for one mechanism or mistake.
#[derive(Serialize)]
pub(super) struct Row {
    #[serde(rename = "exhibit")]
    name: String,
    property: &'static str,
    searches: Vec<Found>,
}

/// What the starts of one search came to.
#[derive(Serialize)]
struct Found {
    strategy: &'static str,
    starts: u64,
    /// How many starts found a run that shows the mechanism.
    found: u64,
    /// How many found a run that violates the property.
    violated: u64,
    /// The medians over all starts; `None` if it is beyond the limit.
    runs: Option<f64>,
    runs_to_violation: Option<f64>,
    cpu_ms: Option<f64>,
}

impl Row {
    pub(super) fn of(name: &str, property: Property, made: &[Made<Starts>]) -> Row {
        let searches = Way::ALL.iter().zip(made);
        Row {
            name: name.to_owned(),
            property: property.name(),
            searches: searches
                .map(|(way, made)| Found::of(*way, &made.result))
                .collect(),
        }
    }
}

impl Found {
    fn of(way: Way, starts: &Starts) -> Found {
        let starts: Vec<Start> = starts.0.values().copied().collect();
        let costs = |cost: fn(&Start) -> Option<Cost>| starts.iter().map(cost);
        let (shown, violated) = (costs(|start| start.shown), costs(|start| start.violated));
        let runs = |cost: Option<Cost>| cost.map(|cost| cost.runs);
        let cpu_ns = |cost: Option<Cost>| cost.map(|cost| cost.cpu_ns);
        Found {
            strategy: way.name(),
            starts: starts.len() as u64,
            found: shown.clone().flatten().count() as u64,
            violated: violated.clone().flatten().count() as u64,
            runs: median(shown.clone().map(runs)),
            runs_to_violation: median(violated.map(runs)),
            cpu_ms: median(shown.map(cpu_ns)).map(|ns| fractional_ms_from_ns(ns as u64)),
        }
    }
}

/// The median of numbers of which those beyond the limit are only known to be larger than the others; `None`
/// if it is one of these, or there are no numbers.
fn median(numbers: impl Iterator<Item = Option<u64>>) -> Option<f64> {
    let mut sorted: Vec<u64> = numbers.map(|it| it.unwrap_or(u64::MAX)).collect();
    sorted.sort_unstable();
    let last = sorted.len().checked_sub(1)?;
    let middle = [sorted[last / 2], sorted[sorted.len() / 2]];
    let is_known = middle.iter().all(|it| *it < u64::MAX);
    is_known.then(|| (middle[0] as f64 + middle[1] as f64) / 2.0)
}

/// A number of which each search has a median.
#[derive(Clone, Copy)]
struct Measure {
    of: fn(&Found) -> Option<f64>,
    /// For people.
    say: fn(f64) -> String,
}

const RUNS: Measure = Measure {
    of: |found| found.runs,
    say: runs_in_words,
};

const TIME: Measure = Measure {
    of: |found| found.cpu_ms,
    say: |ms| match ms {
        ms if ms < 100.0 => format!("{ms:.1} ms"),
        ms => format!("{:.2} s", ms / 1e3),
    },
};

fn runs_in_words(runs: f64) -> String {
    let whole = thousands(runs as u64);
    match runs.fract() > 0.0 {
        true => format!("{whole}.5"),
        false => whole,
    }
}

impl Measure {
    /// The rows of a table: each with the best marked, then the medians over all.
    fn rows(self, subject: Subject, rows: &[Row]) -> Vec<TableRow> {
        let mut all: Vec<TableRow> = { rows.iter() }
            .map(|row| TableRow {
                label: row.name.clone(),
                fields: self.fields(row),
            })
            .collect();
        let medians = (0..Way::ALL.len()).map(|way| {
            // As whole thousandths, so that a median beyond the limit counts as larger than any other.
            let of_row = |row: &Row| (self.of)(&row.searches[way]);
            let whole = |it: Option<f64>| it.map(|it| (it * 1e3).round() as u64);
            median(rows.iter().map(of_row).map(whole)).map(|it| it / 1e3)
        });
        let medians: Vec<Option<f64>> = medians.collect();
        let best = least(medians.iter().copied());
        let field = |median: &Option<f64>| match median {
            None => Field::plain(BEYOND, Look::Inconclusive),
            Some(it) => marked((self.say)(*it), Some(*it) == best),
        };
        all.push(TableRow {
            label: format!("median of the {}s", subject.one()),
            fields: medians.iter().map(field).collect(),
        });
        let found = (0..Way::ALL.len()).map(|way| {
            let is_found = |row: &&Row| (self.of)(&row.searches[way]).is_some();
            let (found, of) = (rows.iter().filter(is_found).count(), rows.len());
            Field::plain(format!("{found} of {of}"), Look::Silent)
        });
        all.push(TableRow {
            label: format!("{}s found", subject.one()),
            fields: found.collect(),
        });
        all
    }

    fn fields(self, row: &Row) -> Vec<Field> {
        let best = least(row.searches.iter().map(self.of));
        let field = |found: &Found| {
            let value = (self.of)(found);
            let text = match value {
                Some(it) => (self.say)(it),
                None => BEYOND.into(),
            };
            let text = match found.found == found.starts {
                true => text,
                false => format!("{text} ({} of {})", found.found, found.starts),
            };
            match value {
                None => Field::plain(text, Look::Inconclusive),
                value => marked(text, value == best),
            }
        };
        row.searches.iter().map(field).collect()
    }
}

/// In the place of a median that is beyond the limit.
const BEYOND: &str = "–";

/// A number, with a mark if it is the best of its row.
fn marked(text: String, is_best: bool) -> Field {
    match is_best {
        true => Field::plain(format!("{text} *"), Look::Holds),
        false => Field::plain(text, Look::Silent),
    }
}

/// The least of the medians that are known.
fn least(values: impl Iterator<Item = Option<f64>>) -> Option<f64> {
    values.flatten().min_by(f64::total_cmp)
}

impl Subject {
    /// A table of the numbers of runs, and one of the processor times.
    pub(super) fn tables(self, rows: &[Row], search: Extent, folder: &Store) -> [Section; 2] {
        [
            self.runs(rows, search, folder),
            self.times(rows, search, folder),
        ]
    }

    fn runs(self, rows: &[Row], search: Extent, folder: &Store) -> Section {
        let mut list = Csv::new([
            self.column(),
            "property",
            "strategy",
            "starts",
            "found",
            "violated",
            "runs",
            "runs_to_violation",
        ]);
        let number = |it: Option<f64>| it.map_or(String::new(), |it| it.to_string());
        let mut entries = Vec::new();
        for row in rows {
            for found in &row.searches {
                let counts = [found.starts, found.found, found.violated];
                let mut fields = vec![
                    row.name.clone(),
                    row.property.to_owned(),
                    found.strategy.to_owned(),
                ];
                fields.extend(counts.map(|count| count.to_string()));
                fields.extend([found.runs, found.runs_to_violation].map(number));
                list.push(fields);
                entries.push(json!({
                    self.column(): row.name, "property": row.property, "strategy": found.strategy,
                    "starts": found.starts, "found": found.found, "violated": found.violated,
                    "runs": found.runs, "runs_to_violation": found.runs_to_violation,
                }));
            }
        }
        let table = Table {
            title: format!("Runs until a {} is shown", self.one()),
            rows_are: self.one(),
            columns: columns(),
            rows: RUNS.rows(self, rows),
            legend: legend("fewest runs"),
            notes: self.notes(&search),
        };
        self.section(table, list, entries, search, folder, self.stems()[0])
    }

    fn times(self, rows: &[Row], search: Extent, folder: &Store) -> Section {
        let mut list = Csv::new([self.column(), "property", "strategy", "found", "cpu_ms"]);
        let mut entries = Vec::new();
        for row in rows {
            for found in &row.searches {
                let cpu_ms = found.cpu_ms.map_or(String::new(), |ms| format!("{ms:.3}"));
                list.push(vec![
                    row.name.clone(),
                    row.property.to_owned(),
                    found.strategy.to_owned(),
                    found.found.to_string(),
                    cpu_ms,
                ]);
                entries.push(json!({
                    self.column(): row.name, "property": row.property, "strategy": found.strategy,
                    "found": found.found, "cpu_ms": found.cpu_ms,
                }));
            }
        }
        let table = Table {
            title: format!("Processor time until a {} is shown", self.one()),
            rows_are: self.one(),
            columns: columns(),
            rows: TIME.rows(self, rows),
            legend: legend("least time"),
            notes: vec![
                "* the least of its row.".into(),
                "The time of the thread that searches. It depends on the machine, and on what else the \
                 machine does; the numbers of runs do not."
                    .into(),
            ],
        };
        self.section(table, list, entries, search, folder, self.stems()[1])
    }

    fn section(
        self,
        table: Table,
        list: Csv,
        entries: Vec<Value>,
        search: Extent,
        folder: &Store,
        stem: &str,
    ) -> Section {
        let contents = json!({ "limit": search.limit, "results": entries });
        let data = data::document(self.command(), contents);
        let provenance = self.provenance(&search);
        Section::of_table(table, list, data, provenance, folder, stem)
    }
}

fn columns() -> Vec<String> {
    Way::ALL.iter().map(|way| way.describe()).collect()
}

fn legend(best: &'static str) -> Vec<(Look, &'static str)> {
    vec![
        (Look::Holds, best),
        (Look::Inconclusive, "not found by half of the starts"),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_median_of_a_search_that_often_fails_is_beyond_the_limit() {
        let of = |numbers: &[Option<u64>]| median(numbers.iter().copied());
        assert_eq!(of(&[]), None);
        assert_eq!(of(&[Some(3), None, Some(1)]), Some(3.0));
        assert_eq!(of(&[Some(3), Some(8), Some(1), None]), Some(5.5));
        assert_eq!(of(&[Some(3), Some(1), None, None]), None);
        assert_eq!(of(&[None]), None);
    }
}

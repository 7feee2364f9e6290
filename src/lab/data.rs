//! Results for programs: JSON documents, and tables with a row for each cell and property.
//! `docs/formats.md` describes them.

use serde_json::{Value, json};

use super::{Exit, describe};
use locklab_check::Property;
use locklab_results::csv::{COUNTS, Csv, counts, milliseconds, number};
use locklab_results::recording::VERSION;
use locklab_results::{Cell, FORMAT};
use locklab_runner::prediction::Comparison;

/// A document of results: its format, what made it, and its contents.
pub fn document(command: &str, contents: Value) -> Value {
    let mut document = json!({ "format": FORMAT, "locklab": VERSION, "command": command });
    describe::merge(&mut document, contents);
    document
}

/// A badge for a web page, as an endpoint of shields.io has it: green, red, or grey where nothing is decided.
pub fn badge(label: &str, message: &str, exit: Exit) -> String {
    let color = match exit {
        Exit::AsPredicted => "brightgreen",
        Exit::Differs => "red",
        _ => "lightgrey",
    };
    let badge = json!({ "schemaVersion": 1, "label": label, "message": message, "color": color });
    format!("{badge}\n")
}

/// Overrides as parameters with names. No path is set twice, nor varied as well.
pub fn parameters(overrides: &[String]) -> Vec<(String, String)> {
    let named = overrides.iter().filter_map(|set| set.split_once('='));
    named
        .map(|(path, value)| (path.trim().into(), value.trim().into()))
        .collect()
}

/// The results of some cells of a scenario. `comparisons` has those of each cell that was
/// predicted; a sweep predicts nothing.
pub fn table(
    scenario: &str,
    environment: &str,
    overrides: &[(String, String)],
    cells: &[Cell],
    comparisons: &[&[Comparison]],
) -> Csv {
    let varied = cells.first().map_or(&[][..], |cell| &cell.parameters);
    let has_loss = cells.iter().any(|cell| cell.loss.is_some());
    let mut columns: Vec<String> = vec!["scenario".into(), "environment".into()];
    columns.extend(overrides.iter().chain(varied).map(|(path, _)| path.clone()));
    columns.extend(["property", "predicted", "observed", "judgement"].map(String::from));
    columns.extend(COUNTS.map(String::from));
    columns.extend(["shortest_seed", "shortest_ms"].map(String::from));
    if has_loss {
        columns.extend(LOSS.map(String::from));
    }
    let mut csv = Csv::new(columns);
    for (place, cell) in cells.iter().enumerate() {
        for (property, tally) in &cell.tallies {
            let parameters = overrides.iter().chain(&cell.parameters);
            let mut row = vec![scenario.to_owned(), environment.to_owned()];
            row.extend(parameters.map(|(_, value)| value.clone()));
            row.push(property.to_string());
            row.extend(prediction(comparisons.get(place).copied(), *property));
            row.extend(counts(tally));
            let shortest = cell.shortest.get(property);
            row.push(shortest.map_or(String::new(), |shortest| shortest.seed.to_string()));
            row.push(milliseconds(shortest.map(|shortest| shortest.at_ns)));
            if has_loss {
                row.extend(loss(cell));
            }
            csv.push(row);
        }
    }
    csv
}

fn prediction(comparisons: Option<&[Comparison]>, property: Property) -> [String; 3] {
    let found = comparisons.unwrap_or_default().iter();
    let found = { found }.find(|comparison| comparison.property == property);
    found.map_or_else(Default::default, |comparison| {
        [
            comparison
                .predicted
                .map_or(String::new(), |p| p.to_string()),
            comparison.observed.name().to_owned(),
            comparison.judgement.name().to_owned(),
        ]
    })
}

/// The columns of [`loss`].
const LOSS: [&str; 5] = [
    "acknowledged_adds",
    "lost_adds",
    "loss_rate",
    "loss_rate_low",
    "loss_rate_high",
];

/// How much acknowledged data the cell lost.
fn loss(cell: &Cell) -> [String; 5] {
    cell.loss.as_ref().map_or_else(Default::default, |loss| {
        let interval = loss.interval();
        [
            loss.acknowledged.to_string(),
            loss.lost.to_string(),
            number(Some(loss.rate())),
            number(Some(interval.low)),
            number(Some(interval.high)),
        ]
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use locklab_evidence::Tally;

    #[test]
    fn parameters_have_columns_of_their_own() {
        let tally = Tally {
            holds: 3,
            violated: 1,
            ..Tally::default()
        };
        let cell = Cell {
            parameters: vec![("lock.ttl_ms".into(), "500".into())],
            tallies: [(Property::Lease, tally)].into(),
            ..Cell::default()
        };
        let cells = [cell];
        let overrides = parameters(&["a = 2".into()]);
        assert_eq!(overrides, [("a".to_owned(), "2".to_owned())]);
        let text = table("k1", "world", &overrides, &cells, &[]).text();
        let begins: Vec<&str> = text
            .lines()
            .map(|line| &line[..line.find(",pred").unwrap_or(40).min(line.len())])
            .collect();
        assert_eq!(
            begins[0],
            "format,scenario,environment,a,lock.ttl_ms,property"
        );
        assert!(
            begins[1].starts_with("1,k1,world,2,500,lease,,,,4,3,1"),
            "{text}"
        );
    }
}

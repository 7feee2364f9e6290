//! The table of single runs: a row for each seed, with its verdicts and the times of violations and
//! faults.

use locklab_check::Property;

use super::cell::Cell;
use super::csv::{Csv, milliseconds};
use super::run_row::Outcome;

/// The runs of some cells of a scenario, one row each. `overrides` are the parameters that all
/// cells share.
pub fn csv(
    scenario: &str,
    environment: &str,
    overrides: &[(String, String)],
    cells: &[Cell],
) -> Csv {
    let rows = || cells.iter().flat_map(|cell| &cell.runs);
    let is_judged = |property: &Property| rows().any(|row| row.verdicts.contains_key(property));
    let properties: Vec<Property> = Property::ALL.into_iter().filter(is_judged).collect();
    let varied = cells.first().map_or(&[][..], |cell| &cell.parameters);
    let mut columns: Vec<String> = vec!["scenario".into(), "environment".into()];
    columns.extend(overrides.iter().chain(varied).map(|(path, _)| path.clone()));
    columns.push("seed".into());
    for property in &properties {
        columns.extend([property.to_string(), format!("{property}_violated_ms")]);
    }
    columns.extend(["first_violation_ms", "faults_began"].map(String::from));
    let mut csv = Csv::new(columns);
    for cell in cells {
        for run in &cell.runs {
            let mut fields = vec![scenario.to_owned(), environment.to_owned()];
            let parameters = overrides.iter().chain(&cell.parameters);
            fields.extend(parameters.map(|(_, value)| value.clone()));
            fields.push(run.seed.to_string());
            let mut first: Option<u64> = None;
            for property in &properties {
                let (word, at_ns) = match run.verdicts.get(property) {
                    None => ("", None),
                    Some(Outcome::Holds) => ("holds", None),
                    Some(Outcome::Inconclusive) => ("inconclusive", None),
                    Some(Outcome::Violated { at_ns }) => ("violated", Some(*at_ns)),
                };
                first = first.into_iter().chain(at_ns).min();
                fields.extend([word.to_owned(), milliseconds(at_ns)]);
            }
            let began = run.began.iter();
            let began = began.map(|(name, at_ns)| format!("{name}={}", milliseconds(Some(*at_ns))));
            let began: Vec<String> = began.collect();
            fields.extend([milliseconds(first), began.join(";")]);
            csv.push(fields);
        }
    }
    csv
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::RunRow;

    #[test]
    fn a_row_for_each_seed() {
        let run = |seed, outcome| RunRow {
            seed,
            verdicts: [
                (Property::Lease, Outcome::Inconclusive),
                (Property::Resource, outcome),
                (Property::StaleWrite, outcome),
            ]
            .into(),
            began: vec![("gc".into(), 1_500_000), ("cut#1".into(), 2_000_000)],
        };
        let at = |at_ns| Outcome::Violated { at_ns };
        let cell = Cell {
            parameters: vec![("fault.gc.duration_ms".into(), "500".into())],
            runs: vec![run(0, Outcome::Holds), run(1, at(12_345_678))],
            ..Cell::default()
        };
        let overrides = [("lock.ttl_ms".into(), "900".into())];
        let csv = csv("kleppmann/k1", "world", &overrides, &[cell]);
        insta::assert_snapshot!(csv.text().replace("\r\n", "\n"), @"
        format,scenario,environment,lock.ttl_ms,fault.gc.duration_ms,seed,lease,lease_violated_ms,resource,resource_violated_ms,stale-write,stale-write_violated_ms,first_violation_ms,faults_began
        1,kleppmann/k1,world,900,500,0,inconclusive,,holds,,holds,,,gc=1.5;cut#1=2
        1,kleppmann/k1,world,900,500,1,inconclusive,,violated,12.345678,violated,12.345678,12.345678,gc=1.5;cut#1=2
        ");
    }
}

//! The numbers of all locks and leases as text, as a table and as data.

use locklab_evidence::thousands;
use locklab_report::Provenance;
use locklab_results::csv::Csv;
use locklab_results::table::{Field, Look, Table, TableRow};
use locklab_risk::{Number, PROPERTIES};
use serde_json::{Value, json};

use super::super::words::{cell, data, lock_and_term, term};
use super::answer::{Answer, Point, WHAT};
use super::chart::chart;
use super::knee;
use crate::report::Report;
use crate::section::{Form, Section};
use crate::{Exit, Store, data as documents, layout};

/// The report on all of them.
///
/// # Errors
///
/// If the chart cannot be drawn.
pub(super) fn report(answer: &Answer<'_>, folder: &Store) -> anyhow::Result<Report> {
    let document = json(answer);
    let table = table(answer);
    let mut forms = vec![
        Form::List(csv(answer)),
        Form::Data(document.clone()),
        Form::Table(table.clone()),
    ];
    let chart = chart(answer);
    // Where no run is violated there is nothing to draw.
    if chart.curves.iter().any(|curve| !curve.points.is_empty()) {
        let provenance = Provenance {
            subject: "violations a year against the lease".into(),
            overrides: vec![],
            seeds: format!("{} runs for each cause", thousands(answer.runs)),
            environment: "simulated world".into(),
        };
        forms.push(Form::Chart(chart.draw(&folder.sheet)?, provenance));
    }
    let text = format!(
        "{}\n\n{}\n{}",
        layout::fold(&answer.about()),
        layout::fold(&table.plain(layout::columns())),
        layout::fold(&knees(answer))
    );
    let section = Section {
        forms,
        ..Section::of(text, folder, "leases")
    };
    Ok(Report::of(section, document, Exit::AsPredicted))
}

fn table(answer: &Answer<'_>) -> Table {
    let field = |year: &Number| Field::plain(cell(year), Look::Silent);
    let rows = answer.all().map(|(lock, point)| TableRow {
        label: format!(
            "{}, {}",
            lock_and_term(lock, point.setup),
            point.setup.lease
        ),
        fields: point.years.iter().map(field).collect(),
    });
    Table {
        title: format!("Violations a year against the lease. {}", answer.about()),
        rows_are: "lock",
        columns: WHAT.map(String::from).into(),
        rows: rows.collect(),
        legend: vec![],
        notes: vec![
            "≤ no violation in the runs; ~ few violations decide it. A holder that dies keeps the \
             others waiting for the lease."
                .into(),
        ],
    }
}

/// For each lock, from which lease on a longer one changes little.
fn knees(answer: &Answer<'_>) -> String {
    let knees = answer.curves.iter().map(knee::sentence);
    knees.collect::<Vec<_>>().join("\n")
}

fn csv(answer: &Answer<'_>) -> Csv {
    let mut csv = Csv::new([
        "environment",
        "lock",
        "lease_ms",
        "term",
        "property",
        "per_year",
        "low",
        "high",
        "not_excluded",
    ]);
    for (lock, Point { setup, years }) in answer.all() {
        for (property, number) in PROPERTIES.iter().zip(years) {
            let interval = number.interval();
            csv.push(vec![
                setup.environment.name.clone(),
                lock.to_owned(),
                setup.lease.0.to_string(),
                term(setup).to_owned(),
                property.name().to_owned(),
                number.mean.to_string(),
                interval.map(|it| it.low.to_string()).unwrap_or_default(),
                interval.map(|it| it.high.to_string()).unwrap_or_default(),
                number.not_excluded.to_string(),
            ]);
        }
    }
    csv
}

fn json(answer: &Answer<'_>) -> Value {
    let points = answer.all().map(|(lock, Point { setup, years })| {
        let numbers = PROPERTIES.iter().zip(years);
        let numbers = numbers.map(|(property, year)| (property.name().to_owned(), data(year)));
        json!({
            "environment": setup.environment.name,
            "lock": lock,
            "lease_ms": setup.lease.0,
            "term": term(setup),
            "per_year": Value::Object(numbers.collect()),
        })
    });
    documents::document("risk", json!({ "leases": points.collect::<Vec<_>>() }))
}

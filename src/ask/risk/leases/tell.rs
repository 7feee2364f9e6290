//! The numbers of all locks and leases as text, as a table and as data.

use crate::risk::model::{Environment, Number, PROPERTIES};
use locklab_evidence::Mean;
use locklab_report::Provenance;
use locklab_report::chart::Quantity;
use locklab_results::csv::{self, Csv};
use locklab_results::table::{Field, Look, Table, TableRow};
use serde_json::{Value, json};

use super::super::words::{SIGNS, cell, data, figures, lock_and_term, term};
use super::super::{bound, sources};
use super::answer::{Answer, MESSAGES, Point, WAIT, WHAT};
use super::chart::chart;
use super::knee;
use locklab_lab::report::Report;
use locklab_lab::section::{Form, Section};
use locklab_lab::{Exit, Store, data as documents, layout};

/// The report on all of them.
///
/// # Errors
///
/// If the chart cannot be drawn.
pub(super) fn report(answer: &Answer<'_>, folder: &Store) -> anyhow::Result<Report> {
    let document = json(answer);
    let table = table(answer);
    let mut forms = vec![
        Form::List(list(answer)),
        Form::Data(document.clone()),
        Form::Table(table.clone()),
    ];
    let chart = chart(answer);
    // Where no run is violated there is nothing to draw.
    if chart.panels.iter().any(Quantity::has_points) {
        let provenance = Provenance {
            subject: "violations a year against the lease".into(),
            overrides: vec![],
            seeds: answer.runs(),
            environment: answer.sources(),
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
    let mut report = Report::of(section, document, Exit::AsPredicted);
    if let Some(environment) = answer.environment() {
        let text = format!(
            "The environment {}: {}. Each number with its origin:",
            environment.name,
            sources::summary(environment)
        );
        let section = sources::section(layout::fold(&text), environment, folder);
        report.sections.push(section);
    }
    Ok(report)
}

fn table(answer: &Answer<'_>) -> Table {
    let field = |year: &Number| Field::plain(cell(year), Look::Silent);
    let cost =
        |value: Option<f64>| Field::plain(value.map_or_else(|| "–".into(), figures), Look::Silent);
    let row = |(lock, point): (&str, &Point<'_>)| {
        let Point {
            setup,
            years,
            costs,
            ..
        } = point;
        let mut fields: Vec<Field> = years.iter().map(field).collect();
        let wait_ms = costs.wait_ms.value();
        fields.push(cost(wait_ms.map(|ms| ms / 1000.0)));
        fields.push(cost(costs.messages.value()));
        TableRow {
            label: format!("{}, {}", lock_and_term(lock, setup), setup.lease),
            fields,
        }
    };
    let mut notes = vec![format!(
        "{SIGNS} The wait is the mean of runs in which a holder dies at a random moment of its work and another client \
         waits. Messages are those between a client and the servers, from the request to the end of the release, where \
         no other client asks."
    )];
    notes.extend(ignorance(answer));
    notes.extend(excluded(answer));
    Table {
        title: format!("Violations a year against the lease. {}", answer.about()),
        rows_are: "lock",
        columns: [WHAT[0], WHAT[1], WAIT, MESSAGES].map(String::from).into(),
        rows: answer.all().map(row).collect(),
        legend: vec![],
        notes,
    }
}

/// What a number after ≤ is, if there is one.
fn ignorance(answer: &Answer<'_>) -> Option<String> {
    let none = |(_, point): (_, &Point<'_>)| {
        let bounds = point.years.iter().zip(point.bounds.clone());
        let bounds = bounds.filter_map(|(year, bound)| bound.filter(|_| year.violated == 0));
        bounds.collect::<Vec<_>>()
    };
    let highest =
        { answer.all().flat_map(none) }.max_by(|a, b| a.per_grant.total_cmp(&b.per_grant))?;
    Some(format!(
        "none: no run is violated. The number after ≤ is no estimate, and no reason to prefer another lock. {}",
        bound::told(&highest, answer.every.per_year(), answer.asked)
    ))
}

/// What "none" without a bound is, if there is one.
fn excluded(answer: &Answer<'_>) -> Option<String> {
    let is_none = |year: &Number| year.violated == 0 && year.not_excluded() == 0.0;
    let is_excluded = |point: &Point<'_>| point.has_excluded && point.years.iter().any(is_none);
    let (lock, point) = answer.all().find(|(_, point)| is_excluded(point))?;
    Some(format!(
        "none without a number: arithmetic excludes it for each cause. The sums: locklab study risk '{lock}' --lease '{}' with \
         the same options.",
        point.setup.lease
    ))
}

/// For each lock, from which lease on a longer one changes little.
fn knees(answer: &Answer<'_>) -> String {
    let knees = answer.curves.iter().map(knee::sentence);
    knees.collect::<Vec<_>>().join("\n")
}

fn list(answer: &Answer<'_>) -> Csv {
    let mut list = Csv::new([
        "environment",
        "lock",
        "lease_ms",
        "term",
        "property",
        "per_year",
        "low",
        "high",
        "not_excluded",
        "runs",
        "wait_ms",
        "wait_ms_low",
        "wait_ms_high",
        "messages",
        "messages_low",
        "messages_high",
    ]);
    for (lock, point) in answer.all() {
        let Point {
            setup,
            runs,
            years,
            costs,
            ..
        } = point;
        for (property, number) in PROPERTIES.iter().zip(years) {
            let interval = number.interval();
            let mut row = vec![
                setup.environment.name.clone(),
                lock.to_owned(),
                setup.lease.0.to_string(),
                term(setup).to_owned(),
                property.name().to_owned(),
                number.mean.to_string(),
                interval.map(|it| it.low.to_string()).unwrap_or_default(),
                interval.map(|it| it.high.to_string()).unwrap_or_default(),
                number.not_excluded().to_string(),
                runs.to_string(),
            ];
            row.extend(of_mean(&costs.wait_ms));
            row.extend(of_mean(&costs.messages));
            list.push(row);
        }
    }
    list
}

fn json(answer: &Answer<'_>) -> Value {
    let points = answer.all().map(|(lock, point)| {
        let Point {
            setup,
            runs,
            years,
            bounds,
            costs,
            ..
        } = point;
        let numbers = PROPERTIES.iter().zip(years);
        let numbers = numbers.map(|(property, year)| (property.name().to_owned(), data(year)));
        let left_open = PROPERTIES.iter().zip(bounds).map(|(property, bound)| {
            let of = bound::data(bound.as_ref(), answer.every.per_year());
            (property.name().to_owned(), of)
        });
        json!({
            "environment": setup.environment.name,
            "lock": lock,
            "lease_ms": setup.lease.0,
            "term": term(setup),
            "runs_per_cause": runs,
            "per_year": Value::Object(numbers.collect()),
            "bounds": Value::Object(left_open.collect()),
            "wait_ms": mean_data(&costs.wait_ms),
            "messages": mean_data(&costs.messages),
        })
    });
    let curves = answer.curves.iter();
    let knees = curves.map(|curve| {
        let lease_ms = knee::lease_ms(curve);
        json!({ "lock": curve.lock, "lease_ms": lease_ms, "told": knee::sentence(curve) })
    });
    let contents = json!({
        "leases": points.collect::<Vec<_>>(),
        "knees": knees.collect::<Vec<_>>(),
        "sources": answer.sources(),
        "parameters": answer.environment().map(Environment::parameters),
    });
    documents::document("risk", contents)
}

/// A mean and the ends of its interval; empty where there is none.
fn of_mean(mean: &Mean) -> [String; 3] {
    let interval = mean.interval();
    let low = interval.map(|it| it.low);
    let high = interval.map(|it| it.high);
    [mean.value(), low, high].map(csv::number)
}

fn mean_data(mean: &Mean) -> Value {
    json!({
        "mean": mean.value(),
        "interval": mean.interval().map(|it| [it.low, it.high]),
        "runs": mean.count,
    })
}

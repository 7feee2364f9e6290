//! What is told and written of a comparison.

use std::collections::BTreeMap;

use locklab_values::units::NS_PER_MS;
use serde::Serialize;
use serde_json::json;

use super::Refused;
use crate::report::Report;
use crate::section::Section;
use crate::{Exit, Store, data};
use locklab_evidence::{Tally, p_equals, p_value};
use locklab_model::scenario::{Scale, Scenario};
use locklab_real::series::{Agreement, Confirmed, Finding, LONGEST_STALL_NS, explanation};
use locklab_report::Provenance;
use locklab_results::Cell;
use locklab_results::csv::{self, Csv};
use locklab_results::table::{Field, Look, Table, TableRow};

/// What a scenario came to: its predicted properties, and the one to be shown.
pub(super) struct Line<'a> {
    scenario: &'a Scenario,
    confirmed: &'a Confirmed,
    agreements: Vec<Agreement>,
}

impl<'a> Line<'a> {
    pub(super) fn of(scenario: &'a Scenario, world: &Cell, confirmed: &'a Confirmed) -> Self {
        Self {
            agreements: Agreement::of(scenario, world, &confirmed.real),
            scenario,
            confirmed,
        }
    }

    /// The property about which world and real Redis agree least; the headline if they agree.
    fn shown(&self) -> Option<&Agreement> {
        let headline = self.scenario.headline();
        let rank = |a: &&Agreement| (a.finding, a.property == headline);
        self.agreements.iter().max_by_key(rank)
    }

    fn finding(&self) -> Finding {
        match (self.shown(), &self.confirmed.failure) {
            (Some(shown), None) => shown.finding,
            (Some(shown), Some(_)) => shown.finding.max(Finding::Unclear),
            (None, _) => Finding::Unclear,
        }
    }

    /// Why the rates differ, where the scenario says so and they do.
    fn known(&self) -> Option<String> {
        let why = explanation(self.scenario, &self.agreements)?;
        Some(format!("{}: {why}", self.scenario.name))
    }

    pub(super) fn sentence(&self) -> String {
        let name = &self.scenario.name;
        let what = match self.shown() {
            None => "predicts nothing".to_owned(),
            Some(a) => format!(
                "{}: {} of {} in the world, {} of {} on real Redis{}",
                a.property.name(),
                a.world.violated,
                a.world.runs(),
                a.real.violated,
                a.real.runs(),
                match a.finding {
                    Finding::Agree => String::new(),
                    Finding::Explained => format!("; they differ as known, {}", p_equals(a.p)),
                    Finding::Unclear => format!("; unclear, {}", p_equals(a.p)),
                    Finding::Differ => format!("; they DIFFER, {}", p_equals(a.p)),
                }
            ),
        };
        match &self.confirmed.failure {
            None => format!("{name}  {what}"),
            Some(why) => format!("{name}  {what}; a run failed: {why}"),
        }
    }
}

/// How the results came about.
pub(super) struct How<'a> {
    /// Of Redis.
    pub(super) version: &'a str,
    pub(super) scale: Scale,
    pub(super) seconds: u64,
    pub(super) provenance: Provenance,
}

/// A finished scenario, for programs.
#[derive(Serialize)]
struct Entry<'a> {
    scenario: &'a str,
    agreements: &'a [Agreement],
    discarded: u64,
    failure: &'a Option<String>,
    seconds: f64,
}

/// The report on these results.
pub(super) fn report(
    how: How<'_>,
    scenarios: &[(Scenario, Cell)],
    results: &BTreeMap<usize, Confirmed>,
    refused: &Refused,
    folder: &Store,
) -> Report {
    let line = |(place, confirmed): (&usize, &'_ Confirmed)| {
        let (scenario, world) = &scenarios[*place];
        (scenario, world, confirmed.clone())
    };
    let finished: Vec<_> = results.iter().map(line).collect();
    let lines: Vec<Line<'_>> = finished
        .iter()
        .map(|(scenario, world, confirmed)| Line::of(scenario, world, confirmed))
        .collect();
    let count = |finding| {
        lines
            .iter()
            .filter(|line| line.finding() == finding)
            .count()
    };
    let discarded: u64 = lines.iter().map(|line| line.confirmed.discarded).sum();
    let mut notes = vec![
        format!(
            "{} scenarios: {} agree, {} differ for a known reason, {} unclear, {} differ. {} \
             more are left out.",
            lines.len(),
            count(Finding::Agree),
            count(Finding::Explained),
            count(Finding::Unclear),
            count(Finding::Differ),
            refused.len(),
        ),
        "Violated runs of all runs; of each scenario the property that agrees least, or its headline."
            .into(),
        "p: Fisher's exact test of equal rates; below 0.001 they differ, below 0.05 it is unclear."
            .into(),
        "Few runs agree with many rates: 0 of 5 is what a rate of 40 % gives in one of 13 cases."
            .into(),
        format!(
            "{discarded} runs were discarded: the machine stood still for more than {} ms.",
            how.scale.of_ns(LONGEST_STALL_NS) / NS_PER_MS
        ),
    ];
    notes.extend(lines.iter().filter_map(Line::known));
    let entry = |line: &Line<'_>| {
        json!(Entry {
            scenario: &line.scenario.name,
            agreements: &line.agreements,
            discarded: line.confirmed.discarded,
            failure: &line.confirmed.failure,
            seconds: line.confirmed.seconds,
        })
    };
    let why =
        |(scenario, why): &(Scenario, String)| json!({ "scenario": scenario.name, "why": why });
    let rows = lines
        .iter()
        .filter_map(|line| Some(row(&line.scenario.name, line.shown()?)));
    let document = data::document(
        "confirm",
        json!({
            "redis": how.version,
            "scale": how.scale,
            "seconds": how.seconds,
            "scenarios": lines.iter().map(entry).collect::<Vec<_>>(),
            "refused": refused.iter().map(why).collect::<Vec<_>>(),
        }),
    );
    let exit = match () {
        () if count(Finding::Differ) > 0 => Exit::Differs,
        () if count(Finding::Unclear) > 0 => Exit::Inconclusive,
        () => Exit::AsPredicted,
    };
    let table = Table {
        title: match how.scale == Scale::FULL {
            true => format!("The world beside Redis {}", how.version),
            false => format!(
                "The world beside Redis {}, all durations times {}",
                how.version, how.scale
            ),
        },
        rows_are: "scenario",
        columns: columns(),
        rows: rows.collect(),
        legend: vec![
            (Look::Holds, "the rates agree"),
            (Look::Violated(0.0), "they differ for a known reason"),
            (Look::Inconclusive, "unclear"),
            (Look::Differs, "they differ"),
        ],
        notes,
    };
    let list = as_list(how.version, &lines);
    let data = document.clone();
    let section = Section::of_table(table, list, data, how.provenance, folder, "confirm");
    Report::of(section, document, exit)
}

/// One row per predicted property, for programs that read tables.
fn as_list(version: &str, lines: &[Line<'_>]) -> Csv {
    let of = |place: &'static str| csv::COUNTS.map(move |column| format!("{place}_{column}"));
    let before = [
        "redis_version",
        "scenario",
        "property",
        "predicted",
        "finding",
        "p",
    ];
    let before = before.map(String::from);
    let columns = [
        &before[..],
        &of("world"),
        &of("redis"),
        &["discarded".into()],
    ]
    .concat();
    let mut list = Csv::new(columns);
    for line in lines {
        for agreement in &line.agreements {
            let mut row = vec![
                version.to_owned(),
                line.scenario.name.clone(),
                agreement.property.to_string(),
                agreement.predicted.to_string(),
                agreement.finding.name().to_owned(),
                csv::number(Some(agreement.p)),
            ];
            row.extend(csv::counts(&agreement.world));
            row.extend(csv::counts(&agreement.real));
            row.push(line.confirmed.discarded.to_string());
            list.push(row);
        }
    }
    list
}

fn columns() -> Vec<String> {
    ["property", "predicted", "world", "real Redis", "p"]
        .map(String::from)
        .into()
}

/// The prediction: its words are the detail, the rate or the word the text.
fn predicted(agreement: &Agreement) -> Field {
    let detail = agreement.predicted.to_string();
    let rate = detail
        .split_once('(')
        .and_then(|(_, rest)| rest.strip_suffix(')'));
    Field {
        text: rate.unwrap_or(&detail).to_owned(),
        detail,
        look: Look::Silent,
    }
}

fn row(scenario: &str, agreement: &Agreement) -> TableRow {
    let look = match agreement.finding {
        Finding::Agree => Look::Holds,
        Finding::Explained => Look::Violated(0.0),
        Finding::Unclear => Look::Inconclusive,
        Finding::Differ => Look::Differs,
    };
    let plain = |text: String| Field {
        detail: text.clone(),
        text,
        look: Look::Silent,
    };
    let counts = |tally: &Tally| Field {
        text: format!("{}/{}", tally.violated, tally.runs()),
        detail: tally.describe(),
        look: Look::Silent,
    };
    TableRow {
        label: scenario.to_owned(),
        fields: vec![
            plain(agreement.property.name().to_owned()),
            predicted(agreement),
            counts(&agreement.world),
            counts(&agreement.real),
            Field {
                look,
                ..plain(p_value(agreement.p))
            },
        ],
    }
}

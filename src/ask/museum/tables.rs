//! The exhibits and the bugs as tables.

use crate::museum::exhibits::{Bug, Museum as Data};
use locklab_evidence::thousands;
use locklab_report::Provenance;
use locklab_results::csv::Csv;
use locklab_results::table::{Field, Look, Table, TableRow};
use serde::Serialize;
use serde_json::{Value, json};

use super::minimum::Minimum;
use super::trial::{Runs, Trial};
use super::{Made, Room, Trials};
use locklab_lab::Store;
use locklab_lab::section::{Form, Section};

/// What came of an exhibit.
#[derive(Serialize)]
pub(super) struct Row {
    pub(super) exhibit: String,
    what: String,
    property: &'static str,
    /// The threads of its bugs.
    threads: Vec<String>,
    mended_by: String,
    /// The sort of runs: `placements`, or the name of the scenario.
    searched: String,
    runs: u64,
    pub(super) is_whole: bool,
    violated: usize,
    /// Of those that are violated: without the mistake the property holds.
    mended: usize,
    inconclusive: usize,
    both: usize,
    pub(super) shown: Option<Shown>,
}

/// A run that shows an exhibit.
#[derive(Serialize)]
pub(super) struct Shown {
    pub(super) by: String,
    pub(super) command: String,
    /// The smallest scenario that shows it, if the run could be shrunk.
    pub(super) minimum: Option<Minimum>,
}

impl Row {
    pub(super) fn of(room: &Room, data: &Data, made: &Made<Trials>, shown: Option<Shown>) -> Row {
        let exhibit = &room.exhibit;
        let trials = &made.result;
        let threads = data.bugs_of(exhibit).flat_map(|bug| bug.threads.clone());
        Row {
            exhibit: exhibit.name.clone(),
            what: exhibit.what.clone(),
            property: exhibit.property.name(),
            threads: threads.collect(),
            mended_by: exhibit.mended_by.clone(),
            searched: match room.runs {
                Runs::Placements { .. } => "placements".to_owned(),
                Runs::Seeds { ref sick, .. } => sick.name.clone(),
            },
            runs: made.runs,
            is_whole: made.is_whole(),
            violated: trials.count(|trial| trial != Trial::Sound),
            mended: trials.count(|trial| trial == Trial::Mended),
            inconclusive: trials.count(|trial| trial == Trial::Inconclusive),
            both: trials.count(|trial| trial == Trial::Both),
            shown,
        }
    }

    fn fields(&self) -> Vec<Field> {
        let of_these = |count: usize, look| Field::plain(thousands(count as u64), look);
        let violated = self.violated.max(1) as f64;
        vec![
            Field::plain(self.threads.len().to_string(), Look::Silent),
            Field::plain(self.property, Look::Silent),
            Field::plain(thousands(self.runs), Look::Silent),
            of_these(self.violated, Look::Violated(1.0)),
            of_these(
                self.mended,
                match self.mended {
                    0 => Look::Differs,
                    _ => Look::Holds,
                },
            ),
            of_these(self.inconclusive, Look::Silent),
            of_these(
                self.both,
                match self.both {
                    0 => Look::Holds,
                    both => Look::Violated(both as f64 / violated),
                },
            ),
        ]
    }
}

/// The exhibits.
pub(super) fn exhibits(rows: &[Row], document: &Value, folder: &Store) -> Section {
    let columns = [
        "threads",
        "property",
        "runs",
        "violate it",
        "mended: hold",
        "mended: inconclusive",
        "mended: violate it too",
    ];
    let note = |row: &Row| {
        let shown = row.shown.as_ref();
        let shown = shown.map_or("Not shown.".to_owned(), |it| format!("First: {}.", it.by));
        format!(
            "{}: {} Mended by: {}. {shown} Reported in {}.",
            row.exhibit,
            row.what,
            row.mended_by,
            row.threads.join(", ")
        )
    };
    let table = Table {
        title: "Reported bugs by their mechanism".into(),
        rows_are: "mechanism",
        columns: columns.map(String::from).into(),
        rows: rows
            .iter()
            .map(|row| TableRow {
                label: row.exhibit.clone(),
                fields: row.fields(),
            })
            .collect(),
        legend: vec![
            (Look::Holds, "holds"),
            (Look::Violated(1.0), "violated"),
            (Look::Differs, "not shown"),
        ],
        notes: rows.iter().map(note).collect(),
    };
    let mut list = Csv::new([
        "exhibit",
        "property",
        "searched",
        "runs",
        "violated",
        "mended",
        "inconclusive",
        "both",
        "first",
        "command",
    ]);
    for row in rows {
        let counts = [row.violated, row.mended, row.inconclusive, row.both];
        let mut fields = vec![
            row.exhibit.clone(),
            row.property.to_owned(),
            row.searched.clone(),
            row.runs.to_string(),
        ];
        fields.extend(counts.map(|count| count.to_string()));
        let shown = row.shown.as_ref();
        fields.extend(shown.map_or(["", ""].map(String::from), |it| {
            [it.by.clone(), it.command.clone()]
        }));
        list.push(fields);
    }
    let provenance = Provenance {
        subject: "reported bugs of lock libraries".into(),
        overrides: vec![],
        seeds: "seed 0, or those of the scenario".into(),
        environment: "simulated world".into(),
    };
    Section::of_table(table, list, document.clone(), provenance, folder, "museum")
}

/// Every bug, with its exhibit or why there is none.
pub(super) fn all_bugs(data: &Data, folder: &Store) -> Section {
    let mut list = Csv::new(["threads", "version", "harm", "what", "exhibit", "absent"]);
    let mut rows = Vec::new();
    for bug in &data.bugs {
        let threads = bug.threads.join(", ");
        let version = bug.version.clone().unwrap_or_default();
        let exhibit = bug.exhibit.clone().unwrap_or_default();
        let absent = bug.absent.map_or("", |it| it.why());
        let place = match bug.absent {
            Some(absent) => format!("absent: {}", absent.why()),
            None => exhibit.clone(),
        };
        let plain = |text: &str| Field::plain(text, Look::Silent);
        rows.push(TableRow {
            label: threads.clone(),
            fields: [bug.harm.name(), &version, &bug.what, &place]
                .map(plain)
                .into(),
        });
        list.push(
            [
                &threads,
                &version,
                bug.harm.name(),
                &bug.what,
                &exhibit,
                absent,
            ]
            .map(str::to_owned)
            .into(),
        );
    }
    let table = Table {
        title: "Reported bugs of lock libraries".into(),
        rows_are: "bug",
        columns: ["harm", "version", "what", "mechanism"]
            .map(String::from)
            .into(),
        rows,
        legend: vec![],
        notes: vec!["Harm is our classification.".into()],
    };
    Section {
        forms: vec![Form::Table(table), Form::List(list)],
        ..Section::of("Every bug, with its mechanism:".into(), folder, "bugs")
    }
}

/// The bugs for programs.
pub(super) fn bugs(data: &Data) -> Value {
    let bug = |bug: &Bug| {
        json!({
            "threads": bug.threads,
            "version": bug.version,
            "harm": bug.harm,
            "what": bug.what,
            "exhibit": bug.exhibit,
            "absent": bug.absent,
        })
    };
    data.bugs.iter().map(bug).collect()
}

/// How many bugs have an exhibit, and why others have none.
pub(super) fn closing(data: &Data) -> String {
    let absent = data.absent();
    let without: usize = absent.values().map(Vec::len).sum();
    let mut lines = vec![format!(
        "Of {} bugs, {} have an exhibit. The others:",
        data.bugs.len(),
        data.bugs.len() - without
    )];
    lines.extend(
        absent
            .iter()
            .map(|(why, bugs)| format!("  {:>3}  {}", bugs.len(), why.why())),
    );
    lines.join("\n")
}

//! Several runs, each shrunk, and a table that compares what was written with what is left.

use serde::Serialize;
use serde_json::json;

use super::Shrink;
use locklab_check::Property;
use locklab_lab::output::status;
use locklab_lab::report::Report;
use locklab_lab::section::Section;
use locklab_lab::{Exit, Session, data, store};
use locklab_report::Provenance;
use locklab_results::csv::Csv;
use locklab_results::table::{Field, Look, Table, TableRow};
use locklab_shrink::{Size, Statistics, lines};

/// Shrinks each of these runs, and tells how large each was and is.
///
/// # Errors
///
/// If one violates nothing, or a file cannot be written.
pub fn conduct_all(shrinks: &[Shrink], session: &Session) -> anyhow::Result<Exit> {
    let folder = session.store.below("shrink")?;
    let mut rows = Vec::new();
    for shrink in shrinks {
        if session.stop.is_set() {
            break;
        }
        let scenario = &shrink.subject.scenario;
        let property = shrink.property()?;
        let name = label(shrink);
        status!("{name}: {property}, seed {}", shrink.subject.seed);
        let stem = store::folder_of(&name, &[]);
        let shrunk = shrink.smallest(property, session, &folder, &stem)?.found;
        rows.push(Row {
            run: name,
            seed: shrink.subject.seed,
            property,
            lines_before: lines(scenario),
            lines_after: lines(&shrunk.scenario),
            rate: shrunk.tally().and_then(|tally| tally.rate().share()),
            before: shrunk.minimum.before,
            after: shrunk.minimum.after,
            statistics: shrunk.minimum.statistics,
        });
    }
    let exit = match (session.stop.is_by_user(), session.stop.is_set()) {
        (true, _) => Exit::Interrupted,
        (false, true) => Exit::Inconclusive,
        (false, false) => Exit::AsPredicted,
    };
    let document = data::document("shrink", json!({ "results": rows }));
    let provenance = Provenance {
        subject: "shrunk runs".into(),
        overrides: vec![],
        seeds: "the seeds in the table".into(),
        environment: "simulated world".into(),
    };
    let (table, list) = (table(&rows), list(&rows));
    let section = Section::of_table(table, list, document.clone(), provenance, &folder, "shrink");
    Report::of(section, document, exit).publish(session.stdout)?;
    Ok(exit)
}

/// The scenario, and the lock that was put into it.
fn label(shrink: &Shrink) -> String {
    let scenario = &shrink.subject.scenario;
    let lock = scenario.overrides.iter();
    let lock = lock.filter_map(|set| set.strip_prefix("lock=")).next();
    match lock {
        Some(lock) => format!("{lock} in {}", scenario.name),
        None => scenario.name.clone(),
    }
}

/// A run, before and after.
#[derive(Debug, Serialize)]
struct Row {
    run: String,
    seed: u64,
    property: Property,
    lines_before: usize,
    lines_after: usize,
    /// The share of runs of the minimum that violate the property.
    rate: Option<f64>,
    before: Size,
    after: Size,
    statistics: Statistics,
}

impl Row {
    /// Each measure, before and after.
    fn measures(&self) -> [(&'static str, u64, u64); 5] {
        let Row { before, after, .. } = self;
        [
            ("faults", before.faults as u64, after.faults as u64),
            ("clients", before.clients.into(), after.clients.into()),
            ("servers", before.servers as u64, after.servers as u64),
            ("rounds", before.rounds, after.rounds),
            ("lines", self.lines_before as u64, self.lines_after as u64),
        ]
    }
}

/// A number before and after; green if there is less.
pub(crate) fn change(before: u64, after: u64) -> Field {
    match after <= before {
        true if after == before => Field::plain(after.to_string(), Look::Silent),
        true => Field::plain(format!("{before} → {after}"), Look::Holds),
        false => Field::plain(format!("{before} → {after}"), Look::Inconclusive),
    }
}

fn table(rows: &[Row]) -> Table {
    let row = |row: &Row| {
        let rate = row
            .rate
            .map_or("–".into(), |rate| format!("{:.0} %", 100.0 * rate));
        let mut fields = vec![Field::plain(row.property.to_string(), Look::Silent)];
        fields.extend(
            row.measures()
                .map(|(_, before, after)| change(before, after)),
        );
        fields.push(Field::plain(rate, Look::Silent));
        fields.push(Field::plain(row.statistics.runs.to_string(), Look::Silent));
        TableRow {
            label: row.run.clone(),
            fields,
        }
    };
    let columns = [
        "property",
        "faults",
        "clients",
        "servers",
        "rounds",
        "lines",
        "seeds that violate",
        "runs to get there",
    ];
    Table {
        title: "Runs that violate a property, and the smallest that were found".into(),
        rows_are: "run",
        columns: columns.map(String::from).into(),
        rows: rows.iter().map(row).collect(),
        legend: vec![(Look::Holds, "fewer"), (Look::Inconclusive, "more")],
        notes: vec![
            "Lines are those of the scenario as TOML, without texts and predictions; of a campaign \
             those of the run that it drew."
                .into(),
        ],
    }
}

/// A row for each run, for programs that read tables.
fn list(rows: &[Row]) -> Csv {
    let measures = ["faults", "clients", "servers", "rounds", "lines"];
    let both = measures.map(|name| [format!("{name}_before"), format!("{name}_after")]);
    let mut columns = ["run", "seed", "property"].map(String::from).to_vec();
    columns.extend(both.into_iter().flatten());
    columns.extend(["rate", "runs"].map(String::from));
    let mut list = Csv::new(columns);
    for row in rows {
        let mut fields = vec![
            row.run.clone(),
            row.seed.to_string(),
            row.property.to_string(),
        ];
        let measures = row.measures().into_iter();
        fields
            .extend(measures.flat_map(|(_, before, after)| [before, after].map(|n| n.to_string())));
        fields.push(row.rate.map_or(String::new(), |rate| rate.to_string()));
        fields.push(row.statistics.runs.to_string());
        list.push(fields);
    }
    list
}

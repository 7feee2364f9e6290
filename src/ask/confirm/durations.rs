//! The durations of a comparison, told and written.

use locklab_real::comparison::{Durations, Finding};
use locklab_results::Observable;
use locklab_results::csv::{self, Csv};
use locklab_results::table::{Field, Look, Table, TableRow};
use locklab_values::units::fractional_ms_from_ns;

use super::how::{How, legend, look_of, plain, title};
use super::line::{Line, milliseconds};

use locklab_lab::Store;
use locklab_lab::section::Section;

/// The durations of every scenario; only those that differ are told.
pub(super) fn section(
    how: &How<'_>,
    lines: &[Line<'_>],
    data: serde_json::Value,
    folder: &Store,
) -> Section {
    let field = |line: &Line<'_>, observable: Observable| {
        let mut rows = line.comparison.durations.iter();
        let Some(row) = rows.find(|row| row.observable == observable) else {
            return plain("–".into());
        };
        let number = |durations: Durations| match durations.median_ns {
            None => "–".into(),
            Some(ns) => format!("{:.1}", fractional_ms_from_ns(ns)),
        };
        Field {
            text: format!("{} / {}", number(row.world), number(row.real)),
            detail: format!("{} / {}", milliseconds(row.world), milliseconds(row.real)),
            look: row.finding.map_or(Look::Silent, look_of),
        }
    };
    let rows = lines.iter().map(|line| TableRow {
        label: line.scenario.name.clone(),
        fields: Observable::ALL
            .map(|observable| field(line, observable))
            .into(),
    });
    let compared = lines.iter().map(|line| line.comparison.durations.len());
    let differ: Vec<&Line<'_>> = lines
        .iter()
        .filter(|line| line.duration().is_some())
        .collect();
    let notes = vec![
        "Medians of runs in the world / on real Redis, in milliseconds.".into(),
        format!(
            "{} durations were compared by Smirnov's test and, in pairs, the sign test: \
             real ones must tend to be neither shorter nor longer than both simulated ones and those of runs \
             in which every message and every timer is as late as the machine was during the real run. They \
             differ if p < {:.1e}.",
            compared.sum::<usize>(),
            how.criteria.different,
        ),
        "grant: from the first request to the first grant. reply: a call of release, read or write, \
         the median of a run. takeover: from the first grant to the first one of another client. \
         notice, recovery, failover: from the beginning of the first fault to the first call without \
         a reply, the next grant, the first sentinel that has switched. finish: from the first \
         request to the last call that returned, if none is under way at the end."
            .into(),
    ];
    let table = Table {
        title: title(how, "Durations in the world beside"),
        rows_are: "scenario",
        columns: Observable::ALL
            .map(|observable| observable.name().to_owned())
            .into(),
        rows: rows.collect(),
        legend: legend(),
        notes,
    };
    let mut section = Section::of_table(
        table,
        list(how.version, lines),
        data,
        how.provenance.clone(),
        folder,
        "durations",
    );
    section.text = match differ.is_empty() {
        true => String::new(),
        false => {
            let sentences = differ.iter().map(|line| format!("  {}\n", line.sentence()));
            format!("Durations that differ:\n{}", sentences.collect::<String>())
        }
    };
    section
}

/// One row per duration, for programs that read tables.
fn list(version: &str, lines: &[Line<'_>]) -> Csv {
    let columns = [
        "redis_version",
        "scenario",
        "duration",
        "finding",
        "world_of_runs",
        "world_runs",
        "world_median_ms",
        "late_of_runs",
        "late_runs",
        "late_median_ms",
        "redis_of_runs",
        "redis_runs",
        "redis_median_ms",
        "p_occurs",
        "p_shorter",
        "p_longer",
    ];
    let mut list = Csv::new(Vec::from(columns.map(String::from)));
    for line in lines {
        for row in &line.comparison.durations {
            let mut fields = vec![
                version.to_owned(),
                line.scenario.name.clone(),
                row.observable.name().to_owned(),
                row.finding.map_or("", Finding::name).to_owned(),
            ];
            for durations in [row.world, row.late, row.real] {
                fields.extend([durations.of_runs, durations.runs].map(|count| count.to_string()));
                fields.push(csv::number(durations.median_ns.map(fractional_ms_from_ns)));
            }
            let p = [row.p_occurs, row.p_shorter, row.p_longer];
            fields.extend(p.map(|p| csv::number(Some(p))));
            list.push(fields);
        }
    }
    list
}

//! What is told and written of a comparison.

use locklab_values::units::NS_PER_MS;
use locklab_vecmap::{VecMap, VecSet};
use serde::Serialize;
use serde_json::json;

use super::how::{How, legend, look_of, plain, title};
use super::line::{Line, points};
use super::{Refused, durations};
use locklab_evidence::{Interval, Level, Pairs, Tally};
use locklab_lab::report::Report;
use locklab_lab::section::Section;
use locklab_lab::{Exit, Program, Store, data};
use locklab_model::scenario::Scenario;
use locklab_real::comparison::{Confirmed, DurationRow, Finding, Method, RateRow, equivalent};
use locklab_real::series::LONGEST_STALL_NS;
use locklab_real::simulated::Simulation;
use locklab_results::csv::{self, Csv};
use locklab_results::table::{Field, Look, Table, TableRow};

/// A finished scenario, for programs.
#[derive(Serialize)]
struct Entry<'a> {
    scenario: &'a str,
    finding: Finding,
    /// Whether an earlier scenario has the same runs.
    repeated: bool,
    rates: &'a [RateRow],
    durations: &'a [DurationRow],
    discarded: u64,
    failure: &'a Option<String>,
    seconds: f64,
}

/// The report on these results.
pub(super) fn report(
    how: How<'_>,
    scenarios: &[(Scenario, Simulation)],
    results: &VecMap<usize, Confirmed>,
    refused: &Refused,
    folder: &Store,
    program: &Program,
) -> Report {
    let mut seen = VecSet::new();
    let line = |(place, confirmed): (&usize, &'_ Confirmed)| {
        let (scenario, simulation) = &scenarios[*place];
        let runs = simulation.prompt.runs.values();
        let runs: Vec<u64> = runs.take(SHARED_RUNS).map(|run| run.trace_hash).collect();
        (scenario, simulation, confirmed.clone(), !seen.insert(runs))
    };
    let finished: Vec<_> = results.iter().map(line).collect();
    let lines: Vec<Line<'_>> = finished
        .iter()
        .map(|(scenario, simulation, confirmed, is_repeated)| Line {
            is_repeated: *is_repeated,
            ..Line::of(scenario, simulation, confirmed, how.criteria)
        })
        .collect();
    let document = document(&how, &lines, refused);
    let data = |part: &str| data::document(part, json!({ "results": document["scenarios"] }));
    let sections = vec![
        Section::of_table(
            rates_table(&how, &lines, refused.len()),
            rates_list(how.version, &lines),
            document.clone(),
            how.provenance.clone(),
            folder,
            "confirm",
        ),
        durations::section(&how, &lines, data("durations"), folder),
    ];
    let exit = match () {
        () if count(&lines, Finding::Differ) > 0 => Exit::Differs,
        () if count(&lines, Finding::Unclear) > 0 || failed(&lines) > 0 => Exit::Inconclusive,
        () => Exit::AsPredicted,
    };
    Report {
        sections,
        closing: shrinking(&lines, program),
        document,
        exit,
    }
}

/// The commands that shrink a simulated run, of each scenario in which something differs that the
/// simulator violates.
fn shrinking(lines: &[Line<'_>], program: &Program) -> String {
    let differing = lines
        .iter()
        .filter(|line| line.finding() == Finding::Differ);
    let command = |line: &Line<'_>| {
        let mut rates = line.comparison.rates.iter();
        let violated = rates.find(|rates| rates.world.violated > 0)?;
        let (name, property) = (&line.scenario.name, violated.property.name());
        Some(program.line(&["shrink", name, "--property", property]))
    };
    let commands: Vec<String> = differing
        .filter_map(command)
        .map(|line| format!("  shrink  {line}"))
        .collect();
    commands.join("\n")
}

/// Two scenarios whose first so many runs are the same are the same scenario.
const SHARED_RUNS: usize = 20;

/// How many scenarios came to this, those that repeat another one apart.
fn count(lines: &[Line<'_>], finding: Finding) -> usize {
    let lines = lines.iter().filter(|line| !line.is_repeated);
    lines.filter(|line| line.finding() == finding).count()
}

/// How many scenarios have runs that failed.
fn failed(lines: &[Line<'_>]) -> usize {
    let lines = lines.iter().filter(|line| !line.is_repeated);
    lines
        .filter(|line| line.confirmed.failure.is_some())
        .count()
}

fn document(how: &How<'_>, lines: &[Line<'_>], refused: &Refused) -> serde_json::Value {
    let entry = |line: &Line<'_>| {
        json!(Entry {
            scenario: &line.scenario.name,
            finding: line.finding(),
            repeated: line.is_repeated,
            rates: &line.comparison.rates,
            durations: &line.comparison.durations,
            discarded: line.confirmed.discarded,
            failure: &line.confirmed.failure,
            seconds: line.confirmed.seconds,
        })
    };
    let why =
        |(scenario, why): &(Scenario, String)| json!({ "scenario": scenario.name, "why": why });
    data::document(
        "confirm",
        json!({
            "redis": how.version,
            "made_by": how.made_by,
            "scale": how.scale,
            "criteria": how.criteria,
            "seconds": how.seconds,
            "scenarios": lines.iter().map(entry).collect::<Vec<_>>(),
            "refused": refused.iter().map(why).collect::<Vec<_>>(),
        }),
    )
}

fn rates_table(how: &How<'_>, lines: &[Line<'_>], left_out: usize) -> Table {
    let counted = lines.iter().filter(|line| !line.is_repeated).count();
    let discarded: u64 = lines.iter().map(|line| line.confirmed.discarded).sum();
    let mut notes = vec![
        format!(
            "{counted} scenarios: {} equivalent, {} differ for a known reason, {} without a bound, {} unclear, \
             {} differ. {} more have the same runs as one of them, {left_out} are left out. Of {} a run failed.",
            count(lines, Finding::Equivalent),
            count(lines, Finding::Explained),
            count(lines, Finding::Unbounded),
            count(lines, Finding::Unclear),
            count(lines, Finding::Differ),
            lines.len() - counted,
            failed(lines),
        ),
        format!(
            "Equivalent: {equivalent}; of such \
             intervals about one in twenty misses. In the other rows is the interval at {joint}, at which those of all \
             {rates} rates together hold with 95 %: if none of them differs by more than ±{bound:.0} points, one is found to differ \
             in at most one of twenty such tables. Differ: this interval lies outside of ±{bound:.0} points, after as many \
             runs as are made at most. Unclear: neither.",
            equivalent = equivalent(how.criteria.within),
            bound = 100.0 * how.criteria.within,
            joint = how.criteria.joint,
            rates = how.criteria.rates,
        ),
        "Of each scenario the property that is furthest from equivalent, or its headline; the \
         scenario's finding is that of all its properties and durations."
            .into(),
        "Pairs share their faults (Tango's interval). Where the outcome does not follow from the faults, \
         real runs are compared with simulated runs of other seeds (Newcombe's)."
            .into(),
        format!(
            "{discarded} runs were discarded: the machine stood still, or a process began late, by more \
             than {} ms.",
            how.scale.of_ns(LONGEST_STALL_NS) / NS_PER_MS
        ),
    ];
    notes.extend(lines.iter().flat_map(Line::unfinished));
    notes.extend(lines.iter().filter_map(Line::known));
    let rows = lines
        .iter()
        .filter_map(|line| Some(rate_row(line, line.shown()?, how.criteria.joint)));
    let columns = [
        "property",
        "predicted",
        "world",
        "real Redis",
        "difference",
        "of",
    ];
    Table {
        title: title(how, "The world beside"),
        rows_are: "scenario",
        columns: columns.map(String::from).into(),
        rows: rows.collect(),
        legend: legend(),
        notes,
    }
}

/// One row per predicted property, for programs that read tables.
fn rates_list(version: &str, lines: &[Line<'_>]) -> Csv {
    let of = |place: &'static str| csv::COUNTS.map(move |column| format!("{place}_{column}"));
    let before = [
        "redis_version",
        "scenario",
        "property",
        "predicted",
        "finding",
    ]
    .map(String::from);
    let after = [
        "method",
        "both",
        "only_world",
        "only_redis",
        "neither",
        "low",
        "high",
        "joint_low",
        "joint_high",
        "p",
        "deciding_runs",
        "discarded",
    ];
    let after = after.map(String::from);
    let columns = [&before[..], &of("world"), &of("redis"), &after].concat();
    let mut list = Csv::new(columns);
    for line in lines {
        for rates in &line.comparison.rates {
            let mut row = vec![
                version.to_owned(),
                line.scenario.name.clone(),
                rates.property.to_string(),
                rates.predicted.to_string(),
                rates.finding.name().to_owned(),
            ];
            row.extend(csv::counts(&rates.world));
            row.extend(csv::counts(&rates.real));
            let Pairs {
                both,
                only_first,
                only_second,
                neither,
            } = rates.pairs;
            row.push(rates.method.name().to_owned());
            row.extend([both, only_first, only_second, neither].map(|count| count.to_string()));
            let intervals = [rates.low, rates.high, rates.joint_low, rates.joint_high];
            row.extend(intervals.map(|bound| csv::number(Some(bound))));
            row.push(csv::number(Some(rates.p)));
            row.push(
                rates
                    .deciding_runs
                    .map_or(String::new(), |runs| runs.to_string()),
            );
            row.push(line.confirmed.discarded.to_string());
            list.push(row);
        }
    }
    list
}

/// The prediction: its words are the detail, the rate or the word the text.
fn predicted(rates: &RateRow) -> Field {
    let detail = rates.predicted.to_string();
    let rate = detail
        .split_once('(')
        .and_then(|(_, rest)| rest.strip_suffix(')'));
    Field {
        text: rate.unwrap_or(&detail).to_owned(),
        detail,
        look: Look::Silent,
    }
}

fn rate_row(line: &Line<'_>, rates: &RateRow, joint: Level) -> TableRow {
    let counts = |tally: &Tally| Field {
        text: format!("{}/{}", tally.violated, tally.runs()),
        detail: tally.describe(),
        look: Look::Silent,
    };
    let (Interval { low, high }, is_joint) = rates.decisive();
    let level = if is_joint { joint } else { Level::SINGLE };
    let difference = Field {
        text: format!("{:+.0} to {:+.0}", 100.0 * low, 100.0 * high),
        detail: match rates.finding {
            Finding::Equivalent => points(rates),
            Finding::Unbounded => format!("no bound; {}", points(rates)),
            finding => format!("{}: {} at {level}", finding.name(), points(rates)),
        },
        look: look_of(rates.finding),
    };
    let of = match rates.method {
        Method::Paired => {
            let (count, unlike) = (rates.pairs.count(), rates.pairs.discordant());
            match unlike {
                0 => format!("{count} pairs"),
                _ => format!("{count} pairs, {unlike} unlike"),
            }
        }
        Method::Separate => format!("{} runs", rates.real.runs()),
    };
    TableRow {
        label: line.scenario.name.clone(),
        fields: vec![
            plain(rates.property.name().to_owned()),
            predicted(rates),
            counts(&rates.world),
            counts(&rates.real),
            difference,
            plain(of),
        ],
    }
}

//! The picture: the run without faults, and below it what each fault does when it begins there.

use locklab_history::Schedule;
use locklab_report::spacetime::map::{Lane, Mark, Row, Span, draw};
use locklab_report::{Drawing, Sheet};
use locklab_runner::judged;
use locklab_runner::simulate::Keep;

use super::kinds::{KINDS, lane};
use super::outcome::Does;
use super::tables::Struck;

/// The map of one run.
pub(super) fn map(struck: &Struck<'_>, title: &str, sheet: &Sheet) -> anyhow::Result<Drawing> {
    let baseline = struck.baseline;
    let run = judged::run_schedule(
        &baseline.scenario,
        baseline.seed,
        Schedule::default(),
        Keep::MESSAGES,
    )?;
    Ok(draw(&run.history, title, &lanes(struck), sheet)?)
}

/// A lane for each kind of fault, with a row for each host that it strikes.
fn lanes(struck: &Struck<'_>) -> Vec<Lane> {
    let steps = &struck.baseline.log.steps;
    let hosts = struck.baseline.scenario.topology.hosts();
    let mut lanes = Vec::new();
    for (place, kind) in KINDS.iter().enumerate() {
        let row = |host: &String| {
            let own = struck
                .classes()
                .filter(|(class, _)| class.kind == place && **lane(&class.target) == **host);
            let span =
                |(class, outcome): (&super::classes::Class, &super::outcome::Outcome)| Span {
                    from_ns: steps[class.steps[0]].at_ns,
                    to_ns: steps[class.run_at()].at_ns,
                    mark: mark(outcome.does()),
                };
            let spans: Vec<Span> = own.map(span).collect();
            (!spans.is_empty()).then(|| Row {
                host: host.clone(),
                spans,
            })
        };
        let rows: Vec<Row> = hosts.iter().filter_map(row).collect();
        if !rows.is_empty() {
            lanes.push(Lane {
                title: kind.name.into(),
                rows,
            });
        }
    }
    lanes
}

fn mark(does: Does) -> Mark {
    match does {
        Does::Lease => Mark::Lease,
        Does::Resource => Mark::Resource,
        Does::Deadlock => Mark::Deadlock,
        Does::Availability => Mark::Availability,
        Does::Other => Mark::Other,
        Does::Belief => Mark::Belief,
        Does::Inconclusive => Mark::Inconclusive,
        Does::Nothing => Mark::Nothing,
    }
}

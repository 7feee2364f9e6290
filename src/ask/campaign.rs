//! Every lock under random faults.

mod coverage;
pub(crate) mod options;
mod searched;
pub(crate) mod strategy;
mod tables;
#[cfg(test)]
mod tests;

use std::num::NonZeroU64;
use std::ops::Range;

use anyhow::{anyhow, ensure};
use serde::Serialize;
use serde_json::{Value, json};

use self::coverage::Coverage;
use self::searched::{Searched, WouldMiss};
use self::tables::{LIVENESS, Measure, SAFETY, as_list, title};
use crate::campaign::strategy::{Kinds, Rehearsals, Source, Strategy, Turn, Workload};
use crate::problems::{Row, Setting, chosen_rows, put_in};
use locklab_check::Property;
use locklab_evidence::thousands;
use locklab_history::FaultKind;
use locklab_lab::bug::Bug;
use locklab_lab::parts::Stage;
use locklab_lab::report::Report;
use locklab_lab::section::Section;
use locklab_lab::work::{Made, Work};
use locklab_lab::{Exit, Experiment, Program, Reports, Session, Store, data, layout, recordings};
use locklab_model::scenario::Scenario;
use locklab_report::Provenance;
use locklab_results::Cell;
use locklab_results::recording::Environment;
use locklab_runner::pool::{self, Broken};
use locklab_runner::simulate::Keep;
use locklab_runner::{RunError, judged};

/// Locks under random faults.
pub struct Campaign {
    rows: Vec<Row>,
    /// Whether the user chose locks, so that their first violations are shown.
    is_chosen: bool,
    overrides: Vec<String>,
    /// Of what the runs of each row are made.
    sources: Vec<Source>,
    seeds: Range<u64>,
    strategy: Strategy,
    kinds: Kinds,
    quota: NonZeroU64,
}

impl Campaign {
    /// Plans a campaign of these locks, or single forms of one; without any, of all. `overrides`
    /// are those of the scenario, and `strategy` chooses the runs, with these kinds of fault, or all. A
    /// property is inconclusive if fewer runs than `quota` met a situation that it needs.
    ///
    /// # Errors
    ///
    /// If an override does not fit, the strategy has no such faults, or the quota is more than all runs.
    pub fn plan(
        locks: &[String],
        mut overrides: Vec<String>,
        faults: &[FaultKind],
        seeds: Range<u64>,
        strategy: Strategy,
        quota: NonZeroU64,
    ) -> anyhow::Result<Self> {
        let runs = seeds.end.saturating_sub(seeds.start);
        ensure!(
            quota.get() <= runs.max(1),
            "--quota {quota} is more than the {} of each lock; write at most {runs}, or more seeds",
            if runs == 1 {
                "one run".into()
            } else {
                format!("{} runs", thousands(runs))
            }
        );
        let mut kinds = Kinds::All;
        if !faults.is_empty() {
            match strategy {
                Strategy::Uniform | Strategy::Swarm => {
                    overrides.push(format!("campaign.faults={}", json!(faults)));
                }
                Strategy::Steps | Strategy::Mixed => {
                    kinds = Kinds::Of(faults.to_vec());
                    ensure!(
                        kinds.exist(),
                        "no fault of these kinds is placed at steps; `locklab help place` has those that are"
                    );
                }
            }
        }
        let rows = chosen_rows(locks);
        let turns = strategy.turns(&kinds);
        let source = |(number, row)| -> anyhow::Result<Source> {
            let way = |turn: &Turn| {
                let mut sets = overrides.clone();
                if strategy == Strategy::Mixed {
                    adapt(&mut sets, turn, faults);
                }
                anyhow::Ok((turn.clone(), in_campaign(row, turn.workload, &sets)?))
            };
            let ways: anyhow::Result<Vec<_>> = turns.iter().map(way).collect();
            Ok(Source::new(number, ways?))
        };
        let sources: anyhow::Result<Vec<Source>> = rows.iter().enumerate().map(source).collect();
        let sources = sources?;
        let is_chosen = !locks.is_empty();
        Ok(Self {
            rows,
            is_chosen,
            overrides,
            sources,
            seeds,
            strategy,
            kinds,
            quota,
        })
    }
}

/// Locks, or single forms of one, under random faults.
///
/// # Errors
///
/// If a lock does not fit.
pub(crate) fn scenarios(locks: &[String]) -> anyhow::Result<Vec<(Row, Scenario)>> {
    let rows = chosen_rows(locks).into_iter();
    let put = |row: Row| Ok((row.clone(), in_campaign(&row, Workload::Campaign, &[])?));
    rows.map(put).collect()
}

/// Changes the overrides of a mix to those of one of its turns: what a campaign draws is for those that draw.
fn adapt(overrides: &mut Vec<String>, turn: &Turn, faults: &[FaultKind]) {
    match turn.workload {
        Workload::Once => overrides.retain(|set| !set.starts_with("campaign")),
        Workload::Campaign | Workload::Repeated if faults.is_empty() => {}
        Workload::Campaign | Workload::Repeated => {
            overrides.push(format!("campaign.faults={}", json!(faults)));
        }
    }
}

/// A lock under random faults.
fn in_campaign(row: &Row, workload: Workload, overrides: &[String]) -> anyhow::Result<Scenario> {
    let setting = Setting {
        lease_ms: 1000,
        parameters: toml::Table::new(),
    };
    let mut sets = workload.sets();
    sets.extend_from_slice(overrides);
    put_in(row, workload.scenario(), &sets, &setting).map_err(|error| anyhow!(error))
}

impl Experiment for Campaign {
    const NAME: &'static str = "campaign";
    const REPORTS: Reports = Reports::Whole;
    type Results = Vec<Made<Searched>>;

    fn folder(&self, store: &Store) -> anyhow::Result<Store> {
        let folder = store.below("campaign")?;
        match self.strategy {
            Strategy::Uniform => Ok(folder),
            strategy => folder.below(strategy.name()),
        }
    }

    fn identity(&self) -> impl Serialize {
        (&self.sources, self.seeds.clone())
    }

    fn run(&self, work: &Work<'_>) -> anyhow::Result<Self::Results> {
        let seeds = vec![self.seeds.clone(); self.sources.len()];
        let session = work.session();
        let rehearsals = Rehearsals::of_threads(session.threads);
        let run = |place: usize, seed, searched: &mut Searched| -> Result<(), RunError> {
            let chosen = self.sources[place].choose(seed, &rehearsals)?;
            let run = chosen.run(Keep::HELD)?;
            searched.add(seed, &run, &chosen);
            Ok(())
        };
        work.runs(&Stage::SIMULATED, &seeds, session.threads, run, &|broken| {
            self.bug(broken, &session.program)
        })
    }

    fn report(
        &self,
        made: Self::Results,
        session: &Session,
        folder: &Store,
    ) -> anyhow::Result<Report> {
        let runs = made.iter().map(|made| made.runs).max().unwrap_or_default();
        // After Ctrl-C a lock may have fewer than another.
        let runs_of: Vec<u64> = made.iter().map(|made| made.runs).collect();
        let all: Vec<Searched> = made.into_iter().map(|made| made.result).collect();
        let by = self.strategy;
        let mut document = json!({});
        if by != Strategy::Uniform {
            document["strategy"] = json!(by);
        }
        let would_miss = { self.rows.iter().zip(&all) }
            .filter(|_| by == Strategy::Steps)
            .filter_map(|(row, searched)| Some((row, searched.would_miss(runs)?)));
        let would_miss: Vec<(&Row, WouldMiss)> = would_miss.collect();
        if !would_miss.is_empty() {
            let entry = |(row, miss): &(&Row, WouldMiss)| json!({ "lock": row.entry.name, "row": row.label, "would_miss": miss });
            document["missed"] = would_miss.iter().map(entry).collect();
        }
        let scenarios = self.sources.iter().map(Source::scenario);
        let of_lock = |(((row, scenario), searched), runs): (_, &u64)| Coverage {
            row,
            scenario,
            searched,
            runs: *runs,
            quota: self.quota.get(),
        };
        let locks = self.rows.iter().zip(scenarios).zip(&all).zip(&runs_of);
        let coverage: Vec<Coverage> = locks.map(of_lock).collect();
        document["quota"] = json!(self.quota);
        let with = |key: &str, value: Value| {
            let mut document = document.clone();
            document[key] = value;
            document
        };
        let section = |table, list, data, stem: &str| {
            let end = self.seeds.start + runs;
            let provenance = Provenance {
                subject: format!("{stem} of locks in {}", self.scenario()),
                overrides: self.overrides.clone(),
                seeds: format!("seeds {}..{end} of each lock", self.seeds.start),
                environment: "simulated world".into(),
            };
            let data = data::document(Self::NAME, data);
            Section::of_table(table, list, data, provenance, folder, stem)
        };
        let mut every = Vec::new();
        let mut sections = Vec::new();
        for part in [&SAFETY, &LIVENESS] {
            let numbers = part.numbers(&coverage);
            let table = part.table(runs, &coverage, by);
            let data = with("results", json!(numbers));
            sections.push(section(table, as_list(&numbers), data, part.stem));
            every.extend(numbers);
        }
        let counts = coverage::counts(&coverage);
        sections.push(section(
            coverage::table(title("Situations", runs, by), self.quota.get(), &coverage),
            coverage::as_list(&counts),
            with("situations", json!(counts)),
            "situations",
        ));
        let mut closing = layout::fold(&coverage::tell_gaps(&judged_properties(), &coverage));
        closing += &tell_missed(&would_miss, runs);
        if self.is_chosen {
            let rows = self.rows.iter().zip(&self.sources).zip(&all);
            let shown = pool::each(
                &rows.collect::<Vec<_>>(),
                session.threads,
                |((row, source), it)| show(row, source, &it.cell, folder, &session.program),
            );
            closing += &shown.into_iter().collect::<anyhow::Result<String>>()?;
        }
        closing.truncate(closing.trim_end().len());
        let mut whole = with("results", json!(every));
        whole["situations"] = json!(counts);
        Ok(Report {
            sections,
            closing,
            document: data::document(Self::NAME, whole),
            exit: Exit::AsPredicted,
        })
    }
}

impl Campaign {
    /// The name of the scenario in which the locks are.
    fn scenario(&self) -> &'static str {
        let turns = self.strategy.turns(&self.kinds);
        turns[0].workload.scenario()
    }

    /// The error for a run without a result.
    fn bug(&self, broken: Broken, program: &Program) -> anyhow::Error {
        let row = &*self.rows[broken.job].own_name();
        let seeds = format!("{}..{}", broken.seed, broken.seed + 1);
        let mut words = vec!["study", "campaign", "--lock", row, "--seeds", &seeds];
        if self.strategy != Strategy::Uniform {
            words.extend(["--strategy", self.strategy.name()]);
        }
        for set in &self.overrides {
            words.extend(["--set", set]);
        }
        if let Kinds::Of(kinds) = &self.kinds {
            for kind in kinds {
                words.extend(["--fault", kind.name()]);
            }
        }
        let reproduce = program.line(&words);
        Bug::or_usage(broken, &format!("{row} in a campaign"), reproduce)
    }
}

/// Records the first run that violates each property.
fn show(
    row: &Row,
    source: &Source,
    cell: &Cell,
    folder: &Store,
    program: &Program,
) -> anyhow::Result<String> {
    let rehearsals = Rehearsals::of_threads(1);
    let mut text = String::new();
    for property in judged_properties() {
        let Some(shortest) = cell.shortest.get(&property) else {
            continue;
        };
        let scenario = source.scenario_of(shortest.seed);
        let chosen = source.choose(shortest.seed, &rehearsals)?;
        let run = match chosen.run(Keep::MESSAGES) {
            Ok(run) => run,
            Err(error) => {
                let seed = shortest.seed;
                text += &format!(
                    "  {} violates {property} with seed {seed}; not drawn: {error}\n",
                    row.label
                );
                continue;
            }
        };
        let drawn = &chosen.drawn.scenario;
        let recording = judged::recording(drawn, chosen.world_seed, run, Environment::World);
        let folder = folder.of_scenario(&row.label, &scenario.overrides)?;
        let stem = format!("{property}-seed-{}", shortest.seed);
        let kept = recordings::keep(&folder, &stem, scenario, &recording, property)?;
        text += &format!(
            "  {} violates {property} with seed {}\n{}\n",
            row.label,
            shortest.seed,
            kept.describe(program)
        );
    }
    Ok(text)
}

/// The properties in the tables.
fn judged_properties() -> Vec<Property> {
    let measures = SAFETY.measures.iter().chain(LIVENESS.measures);
    let properties = measures.filter_map(|(measure, _)| match measure {
        Measure::Violations(property) => Some(*property),
        Measure::Grants(..) => None,
    });
    properties.collect()
}

/// What the runs of each lock would miss, a line each; nothing if they were not chosen from placements.
fn tell_missed(would_miss: &[(&Row, WouldMiss)], runs: u64) -> String {
    let mut text = String::new();
    if !would_miss.is_empty() {
        text += &format!(
            "The probability that {} runs miss a violation that takes one given placement, or two:\n",
            thousands(runs)
        );
    }
    for (row, miss) in would_miss {
        text += &format!(
            "  {}: {}, {}, of {} placements at {} steps\n",
            row.label,
            percent(miss.one),
            percent(miss.two),
            thousands(miss.placements.round() as u64),
            thousands(miss.steps.round() as u64),
        );
    }
    text
}

/// A probability; what is nearly certain is not called certain.
fn percent(probability: f64) -> String {
    match probability {
        it if it > 0.9999 => "> 99.99 %".into(),
        it => format!("{:.2} %", it * 100.0),
    }
}

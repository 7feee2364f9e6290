//! Scenarios with some seeds, judged: in the simulator, or on real Redis.

use std::error::Error;
use std::mem;

use locklab_vecmap::VecMap;
use serde::Serialize;
use serde_json::{Value, json};

use self::foreign::gate::Gate;
use self::foreign::{again, is_told, of_several, renewals, unshown};
use crate::meaning::excuse::badness;
use crate::meaning::{self, Meaning, meanings};
use locklab_check::{Property, Verdict};
use locklab_evidence::{Finding, Judgement};
use locklab_lab::bug::Bug;
use locklab_lab::parts::{self, Stage};
use locklab_lab::program::run_words;
use locklab_lab::recordings::{self, Evidence};
use locklab_lab::report::Report;
use locklab_lab::scenarios::Scenarios;
use locklab_lab::section::{Form, Section};
use locklab_lab::work::{Made, Work};
use locklab_lab::{Exit, Experiment, Program, Session, Store, data, describe, layout};
use locklab_locks::Need;
use locklab_model::scenario::{Drawn, Scenario};
use locklab_real::series::LONGEST_STALL_NS;
use locklab_real::{Clients, Programs, RealRedis};
use locklab_results::reactions::ReactionCounts;
use locklab_results::recording::{self, Recording, server_name};
use locklab_results::{Cell, Detail, per_run};
use locklab_runner::backend::Backend;
use locklab_runner::batch::Job;
use locklab_runner::judged::{self, JudgedRun};
use locklab_runner::pool::Broken;
use locklab_runner::prediction::{Comparison, compare};
use locklab_runner::simulate::Keep;
use locklab_values::count::times;
use locklab_values::units::NS_PER_MS;
use locklab_values::untrusted;

mod excused;
pub(crate) mod foreign;
mod mute;
pub(crate) mod on;
pub(crate) mod options;
pub(crate) mod runs;
pub(crate) mod twice;

use self::mute::Shown;
pub use self::on::On;
use self::runs::Runs;

/// Scenarios to run and to judge.
pub struct Run {
    scenarios: Scenarios,
    /// For runs on real servers: the programs.
    real: Option<Programs>,
    /// What is kept of each run.
    detail: Detail,
    /// On real Redis: what the clients are.
    clients: Clients,
    /// On real Redis: how many runs there are at once.
    at_once: usize,
    /// Of real Redis: results of one version are not mixed with those of another.
    version: Option<String>,
}

/// What is said of a lock by a majority on one node.
const MAJORITY_OF_ONE: &str = "the majority of one node is that node, so this lock survives no failure of it; \
                               topology.nodes says how many there are";

/// Whether the lock needs a majority of its nodes, and has one node.
fn is_majority_of_one(scenario: &Scenario) -> bool {
    let held = scenario.lock.facts().held;
    scenario.topology.nodes == 1 && held.is_ok_and(|held| held.need == Need::Majority)
}

impl Experiment for Run {
    const NAME: &'static str = "run";
    type Results = Vec<Made<Runs>>;

    fn identity(&self) -> impl Serialize {
        let scenarios = self.scenarios.identity();
        let key = self.clients.key().map(|key| format!("--key={key}"));
        let program: Vec<String> = self.clients.words().into_iter().chain(key).collect();
        (scenarios, self.on(), self.detail, &self.version, program)
    }

    fn run(&self, work: &Work<'_>) -> anyhow::Result<Self::Results> {
        let Scenarios {
            scenarios, seeds, ..
        } = &self.scenarios;
        let program = &work.session().program;
        let bug = |broken: Broken| {
            let name = &self.scenarios.names[broken.job];
            let reproduce = self.command(program, name, broken.seed);
            Bug::or_usage(broken, name, reproduce)
        };
        match &self.real {
            None => {
                let jobs = scenarios.iter().zip(seeds);
                let jobs: Vec<Job> = jobs.map(|(s, seeds)| Job::of(s, seeds.clone())).collect();
                let cells = work.cells(&Stage::SIMULATED, &jobs, self.detail, &bug)?;
                let cells = cells.into_iter();
                Ok(cells.map(|made| made.map(Runs::from)).collect())
            }
            Some(programs) => {
                let backend = RealRedis {
                    clients: self.clients.clone(),
                    stop: work.session().stop.flag(),
                    ..RealRedis::new(programs.clone())
                };
                let gate = Gate::new(self.at_once);
                let (shown, all) = (Shown::default(), seeds.iter().map(parts::length).sum());
                let run = |place: usize, seed, runs: &mut Runs| {
                    let first = seeds[place].start;
                    let is_first = seed == first;
                    let run =
                        self.run_once((&backend, &gate), &scenarios[place], seed, is_first, runs);
                    let Err(error) = run else {
                        shown.something();
                        return Ok(());
                    };
                    match mute::why_mute(&*error) {
                        Some(why) if !shown.nothing(all) => {
                            runs.mute.insert(seed, why);
                            Ok(())
                        }
                        _ => Err(format!("{:#}", anyhow::Error::from_boxed(error))),
                    }
                };
                work.runs(&Stage::REAL, seeds, self.at_once, run, &bug)
            }
        }
    }

    fn report(
        &self,
        made: Self::Results,
        session: &Session,
        folder: &Store,
    ) -> anyhow::Result<Report> {
        let mut report = Report {
            sections: vec![],
            closing: String::new(),
            document: Value::Null,
            exit: Exit::AsPredicted,
        };
        let mut results = Vec::new();
        for (place, made) in made.into_iter().enumerate() {
            let Made {
                mut result, runs, ..
            } = made;
            let scenario = &self.scenarios.scenarios[place];
            if runs == 0 {
                let text = format!("{}: not run", scenario.name);
                report.sections.push(Section::of(text, folder, ""));
                continue;
            }
            let without_resource = match is_unshowable(&result) {
                true => unshown::without_resource(scenario, &self.scenarios.sets),
                false => None,
            };
            if without_resource.is_some() {
                result.notes.insert(unshown::NO_RESOURCE.to_owned());
            }
            if self.clients == Clients::Own && is_majority_of_one(scenario) {
                result.notes.insert(MAJORITY_OF_ONE.to_owned());
            }
            let scenario = without_resource.as_ref().unwrap_or(scenario);
            let mut comparisons = compare(scenario, &result.cell);
            if self.clients != Clients::Own {
                comparisons.retain(is_told);
                let sets = &self.scenarios.sets;
                let open = excused::set_aside(&mut comparisons, |it| {
                    let is_fact = it.observed == Finding::Violated && result.excuses(it.property);
                    is_fact && !unshown::is_set(it.property, sets)
                });
                if !open.is_empty() {
                    report.exit = report.exit.worse(Exit::Inconclusive);
                }
                result.notes.extend(open);
            }
            let (evidence, means) = self.gather(scenario, place, &result, &comparisons, folder)?;
            report.exit = report.exit.worse(describe::exit(&comparisons));
            let mut found = self.json(place, scenario, runs, &result, &comparisons, &evidence);
            if !means.is_empty() {
                found["meanings"] = json!(means);
            }
            if let Some(reactions) = &result.reactions {
                found["reactions"] = reactions.json();
            }
            if !result.notes.is_empty() {
                found["notes"] = json!(result.notes);
            }
            if !result.mute.is_empty() {
                found["not_judged"] = json!(result.mute);
            }
            if !result.wrong_renewals.is_empty() {
                report.exit = report.exit.worse(Exit::Differs);
                found["wrong_renewals"] = json!(result.wrong_renewals);
            }
            if !result.excused.is_empty() {
                found["excused"] = json!(result.excused);
            }
            results.push(found);
            let program = &session.program;
            let mut text = self.text(place, scenario, &result, &comparisons, &evidence, program);
            text.extend(means.iter().map(Meaning::paragraph));
            report.sections.push(self.section(
                text,
                scenario,
                result.cell,
                &comparisons,
                folder,
            )?);
        }
        report.document = data::document("run", json!({ "results": results }));
        Ok(report)
    }
}

impl Run {
    /// Scenarios to run, in the simulator or with the programs of real servers, and what is to be kept of each run.
    ///
    /// # Errors
    ///
    /// If a server to run them on is missing.
    pub fn plan(
        scenarios: Scenarios,
        real: Option<Programs>,
        detail: Detail,
    ) -> anyhow::Result<Run> {
        let version = { real.as_ref() }
            .map(|programs| locklab_real::server_versions(programs, &scenarios.scenarios));
        Ok(Run {
            scenarios,
            clients: Clients::Own,
            detail,
            at_once: 1,
            version: version.transpose()?,
            real,
        })
    }

    fn on(&self) -> On {
        match self.real {
            None => On::World,
            Some(_) => On::Redis,
        }
    }

    /// The same with this program in the place of the clients, on real Redis, so many runs at once.
    pub fn with_clients(self, clients: Clients, at_once: usize) -> Run {
        Run {
            clients,
            at_once,
            ..self
        }
    }

    /// The command line that repeats one run of a scenario.
    fn command(&self, program: &Program, scenario: &str, seed: u64) -> String {
        let sets = &self.scenarios.sets;
        match &self.clients {
            Clients::Own if self.real.is_some() => {
                let mut words = run_words(scenario, sets, seed);
                words.extend(["--on", "redis"].map(String::from));
                program.line(&on::with_server(words, self.real.as_ref()))
            }
            Clients::Own => program.run_line(scenario, sets, seed),
            Clients::Foreign(foreign) => {
                let words = again::words(scenario, sets, seed, foreign);
                program.line(&on::with_server(words, self.real.as_ref()))
            }
        }
    }

    /// The arguments that repeat a run of somebody else's program in the scenario at this place.
    fn again(&self, place: usize, run: &Evidence) -> Option<Vec<String>> {
        match &self.clients {
            Clients::Own => None,
            Clients::Foreign(program) => {
                let name = &self.scenarios.names[place];
                let words = again::repeat(name, &self.scenarios.sets, run, program);
                Some(on::with_server(words, self.real.as_ref()))
            }
        }
    }

    /// What is told of a scenario.
    fn text(
        &self,
        place: usize,
        scenario: &Scenario,
        runs: &Runs,
        comparisons: &[Comparison],
        evidence: &[Evidence],
        program: &Program,
    ) -> String {
        let table = match comparisons.is_empty() {
            true => "  no run counts, so nothing is judged".into(),
            false => describe::table(comparisons),
        };
        let mut lines = vec![describe::heading(scenario), table];
        let measured = describe::measured(scenario, &runs.cell).into_iter();
        let reactions = runs.reactions.iter().flat_map(ReactionCounts::describe);
        let measured = measured.chain(reactions);
        lines.extend(measured.map(|line| layout::fold(&format!("  {line}"))));
        lines.extend(
            self.version
                .iter()
                .map(|version| format!("  on {}", server_name(version))),
        );
        if runs.discarded > 0 {
            lines.push(format!(
                "  runs discarded, since the machine stalled, or a process began late, by more than {} ms: {}; \
                 they take a machine with less to do",
                LONGEST_STALL_NS / NS_PER_MS,
                runs.discarded
            ));
        }
        for note in &runs.notes {
            lines.push(layout::fold(&format!("  note: {}", untrusted::line(note))));
        }
        lines.extend(mute::describe(&runs.mute));
        lines.extend(renewals(&runs.wrong_renewals));
        for (why, excused) in &runs.excused {
            let properties: Vec<&str> = excused.keys().map(|it| it.name()).collect();
            let most = excused.values().max().copied().unwrap_or_default();
            let line = format!(
                "  not the lock's fault, {}: {}: {why}",
                times(most),
                properties.join(", ")
            );
            lines.push(layout::fold(&line));
        }
        // An override asks another question, and a campaign has no steps of its own.
        let is_as_written = scenario.overrides.is_empty() && scenario.campaign.is_none();
        if self.real.is_none() && is_as_written && scenario.relies_on_tokens() {
            lines.push(
                "  resource is predicted to hold under these faults; to place others at each step:"
                    .into(),
            );
            let command = program.line(&["study", "place", &self.scenarios.names[place]]);
            lines.push(format!("    place    {command}"));
        }
        for evidence in evidence {
            lines.push(String::new());
            let sentences = describe::sentences(&evidence.verdicts, &evidence.properties);
            lines.extend(Some(sentences).filter(|it| !it.is_empty()));
            lines.push(evidence.describe(program));
            if let Some(words) = self.again(place, evidence) {
                lines.push(format!("    again    {}", program.line(&words)));
            }
        }
        lines.join("\n")
    }

    /// Runs a scenario on real Redis with one seed.
    fn run_once(
        &self,
        (backend, gate): (&RealRedis, &Gate),
        scenario: &Scenario,
        seed: u64,
        is_first: bool,
        runs: &mut Runs,
    ) -> Result<(), Box<dyn Error + Send + Sync>> {
        let Drawn { scenario, schedule } = scenario.drawn(seed);
        let keep = Keep::MESSAGES;
        let run = || gate.pass(|| backend.run(&scenario, seed, &schedule, keep));
        let Some(mut run) = runs.attempt(run)? else {
            return Ok(());
        };
        runs.notes.extend(run.notes.iter().cloned());
        for what in mem::take(&mut run.wrong_renewals) {
            runs.wrong_renewals.entry(what).or_default().insert(seed);
        }
        let (moments, is_full) = (mem::take(&mut run.moments), run.full_ns.is_some());
        let run = JudgedRun::of_worst_lock(run, &schedule, &scenario, |it| badness(it, &scenario));
        let told = run.lock.iter().filter(|_| is_first);
        (runs.notes).extend(told.map(|lock| of_several(seed, lock)));
        // Belief is not predicted, so nothing else would say that it is open.
        if is_first
            && run.unshown.contains_key(&Property::Belief)
            && let Some(Verdict::Inconclusive { why }) = run.verdicts.get(&Property::Belief)
        {
            let note = format!("belief, with seed {seed}, is inconclusive: {why}");
            runs.notes.insert(note);
        }
        if self.clients != Clients::Own {
            runs.sort(&scenario, seed, &run);
        }
        let is_unshown = run.unshown.contains_key(&Property::Resource);
        runs.unshowable += u64::from(is_unshown && !is_full);
        runs.cell.add(seed, &run.judged());
        // Of a program that tells nothing it is not known what it noticed.
        let tells = !run.unshown.contains_key(&Property::Deadlock);
        if self.clients != Clients::Own && tells {
            let reactions = runs.reactions.get_or_insert_default();
            reactions.add(&locklab_check::reactions(&run.history));
        }
        if self.detail == Detail::Runs {
            runs.cell.keep(seed, &run.judged());
        }
        let mut shortest = runs.cell.shortest.values();
        let is_shown = shortest.any(|shortest| shortest.seed == seed)
            || runs.blamed.values().any(|blamed| *blamed == seed);
        if is_first || is_shown {
            let again = again::restated(&scenario, seed, &run, &moments);
            runs.again.extend(again.map(|text| (seed, text)));
            let run = judged::recording(&scenario, seed, run, backend.environment());
            let text = String::from_utf8(recording::write(&run))?;
            runs.recordings.insert(seed, text);
        }
        Ok(())
    }

    /// The beginning of the names of all files.
    fn stem(&self) -> &'static str {
        match (self.on(), &self.clients) {
            (On::World, _) => "",
            (On::Redis, Clients::Own) => "redis-",
            (On::Redis, Clients::Foreign(_)) => "attack-",
        }
    }

    fn section(
        &self,
        text: String,
        scenario: &Scenario,
        cell: Cell,
        comparisons: &[Comparison],
        folder: &Store,
    ) -> anyhow::Result<Section> {
        let folder = folder.of_scenario(&scenario.name, &scenario.overrides)?;
        let stem = self.stem();
        let (name, on, cells) = (&scenario.name, self.on().name(), [cell]);
        let overrides = data::parameters(&scenario.overrides);
        let list = data::table(name, on, &overrides, &cells, &[comparisons]);
        let mut section = Section::of(text, &folder, &format!("{stem}results"));
        section.forms.push(Form::List(list));
        if self.detail == Detail::Runs {
            let list = per_run::csv(name, on, &overrides, &cells);
            section.forms.push(Form::Runs {
                stem: format!("{stem}runs"),
                list,
            });
        }
        Ok(section)
    }

    /// Writes the run with the earliest violation of each violated property, and the first run if
    /// no run could be judged; the headline's comes first. Properties violated by the same run
    /// share it. With what they mean: of a lock of ours the worst, of a program's all that is held against it.
    fn gather(
        &self,
        scenario: &Scenario,
        place: usize,
        runs: &Runs,
        comparisons: &[Comparison],
        folder: &Store,
    ) -> anyhow::Result<(Vec<Evidence>, Vec<Meaning>)> {
        let (cell, first) = (&runs.cell, self.scenarios.seeds[place].start);
        let store = folder.of_scenario(&scenario.name, &scenario.overrides)?;
        let mut shown: VecMap<u64, Vec<Property>> = VecMap::new();
        for comparison in comparisons {
            let property = comparison.property;
            let seed = match (cell.shortest.get(&property), comparison.judgement) {
                (Some(shortest), _) => *runs.blamed.get(&property).unwrap_or(&shortest.seed),
                (None, Judgement::Inconclusive) => first,
                (None, _) => continue,
            };
            shown.entry(seed).or_default().push(property);
        }
        let headline = scenario.headline();
        let mut shown: Vec<(u64, Vec<Property>)> = shown.into_iter().collect();
        shown.sort_by_key(|(_, properties)| !properties.contains(&headline));
        let (mut evidence, mut means) = (Vec::new(), Vec::new());
        for (seed, properties) in shown {
            let (run, stem) = match self.on() {
                On::World => (judged::record(scenario, seed)?, format!("seed-{seed}")),
                On::Redis => match runs.recordings.get(&seed) {
                    Some(text) => (read(text)?, format!("{}seed-{seed}", self.stem())),
                    // This run was discarded.
                    None => continue,
                },
            };
            means.extend(meanings(&run, &properties));
            let drawn = recordings::drawn(&properties, scenario, &run.footer.verdicts);
            let mut kept = recordings::keep(&store, &stem, scenario, &run, drawn)?;
            kept.properties = properties;
            if let Some(text) = runs.again.get(&seed) {
                kept.again = Some(store.write(&format!("{stem}-again.toml"), text.as_bytes())?);
            }
            evidence.push(kept);
        }
        let means = match self.clients {
            Clients::Own => meaning::worst(means, headline).into_iter().collect(),
            Clients::Foreign(_) => meaning::blamed(means),
        };
        Ok((evidence, means))
    }

    /// The results of a scenario, for programs.
    fn json(
        &self,
        place: usize,
        scenario: &Scenario,
        runs: u64,
        result: &Runs,
        comparisons: &[Comparison],
        evidence: &[Evidence],
    ) -> Value {
        let mut value = describe::json(scenario, self.on().name(), runs, &result.cell, comparisons);
        let recordings = evidence.iter().flat_map(|evidence| {
            let path = evidence.recording.display().to_string();
            let named = |p: &Property| (p.name().to_owned(), Value::from(path.clone()));
            evidence.properties.iter().map(named).collect::<Vec<_>>()
        });
        let parameters = data::parameters(&scenario.overrides).into_iter();
        let parameters = parameters.map(|(path, value)| (path, Value::from(value)));
        value["parameters"] = Value::Object(parameters.collect());
        value["recordings"] = Value::Object(recordings.collect());
        if let Some(version) = &self.version {
            value["server"] = json!(server_name(version));
        }
        for evidence in evidence {
            for property in &evidence.properties {
                if let Some(words) = self.again(place, evidence) {
                    value["again"][property.name()] = json!(words);
                }
            }
        }
        value
    }
}

/// Whether no run could have shown what becomes of the resource.
fn is_unshowable(runs: &Runs) -> bool {
    runs.unshowable > 0 && runs.unshowable == runs.cell.writes.runs
}

/// A recording that the ledger has kept.
fn read(text: &str) -> anyhow::Result<Recording> {
    Ok(recording::read(text.as_bytes(), "recording".as_ref())?)
}

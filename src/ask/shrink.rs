//! The smallest counterexample of a run: its scenario, its picture, and its story.

use std::path::{Path, PathBuf};

use anyhow::{Context, anyhow, bail};
use console::style;
use locklab_vecmap::VecMap;
use serde_json::{Value, json};

pub(crate) mod options;
pub mod shrinker;
mod table;

pub(crate) use self::table::change;
pub use self::table::conduct_all;

use super::campaign;
use crate::shrink::shrinker::{
    Best, Minimum, Needed, NotViolated, Statistics, Subject, expect, needed, toml,
};
use locklab_check::{Property, Verdict};
use locklab_evidence::{Tally, thousands};
use locklab_history::leases;
use locklab_lab::bug::Bug;
use locklab_lab::output::status;
use locklab_lab::progress::Progress;
use locklab_lab::recordings::{self, Evidence};
use locklab_lab::report::Report;
use locklab_lab::section::Section;
use locklab_lab::{Exit, Program, Session, Store, data, describe, layout};
use locklab_model::scenario::Scenario;
use locklab_report::story::story;
use locklab_results::recording::Recording;
use locklab_runner::prediction::usual_property;
use locklab_runner::simulate::Keep;
use locklab_runner::{judged, recorded};

/// How many other seeds are tried for each candidate, unless the user says otherwise.
pub const USUAL_TRIES: u64 = 8;

/// What to shrink, and how.
#[derive(Debug, Clone)]
pub struct Shrink {
    /// The run.
    pub subject: Subject,
    /// The property that stays violated; `None`: the one that the run is about.
    pub property: Option<Property>,
    /// How many other seeds are tried for each candidate.
    pub tries: u64,
}

impl Shrink {
    /// Runs of locks, or of single forms of one, under random faults: of each the first that violates
    /// `lease`, or else `resource`. A lock that violates neither is left out.
    ///
    /// # Errors
    ///
    /// If a lock is unknown, or a run has no end.
    pub fn of_campaign(locks: &[String], tries: u64) -> anyhow::Result<Vec<Shrink>> {
        let mut found = Vec::new();
        for (row, scenario) in campaign::scenarios(locks)? {
            let first = [Property::Lease, Property::Resource]
                .into_iter()
                .find_map(|it| Some((it, first_violating(&scenario, Some(it)).ok()?)));
            match first {
                Some((property, seed)) => found.push(Shrink {
                    subject: Subject::of(&scenario, seed),
                    property: Some(property),
                    tries,
                }),
                None => status!("skipped: {}: it violates nothing", row.label),
            }
        }
        Ok(found)
    }
}

/// The first run of a scenario, of its usual number of seeds, that violates a property.
///
/// # Errors
///
/// If none does, or a run has no end.
pub fn first_violating(scenario: &Scenario, property: Option<Property>) -> anyhow::Result<u64> {
    let seeds = 0..scenario.usual_seeds();
    let end = seeds.end;
    for seed in seeds {
        let run = judged::run(scenario, seed, Keep::default())?;
        let found = match property {
            Some(property) => is_violated(&run.verdicts, property).then_some(property),
            None => usual_property(scenario, &run.verdicts)
                .filter(|found| *found == scenario.headline() || found.surprises()),
        };
        if found.is_some() {
            return Ok(seed);
        }
    }
    let what = property.map_or("a property".to_owned(), |property| property.to_string());
    bail!(
        "none of the seeds 0..{end} of {} violates {what}, so there is nothing to shrink; give \
         another --seed or --property, or a recording",
        scenario.name
    )
}

fn is_violated(verdicts: &VecMap<Property, Verdict>, property: Property) -> bool {
    matches!(verdicts.get(&property), Some(Verdict::Violated(_)))
}

/// A smallest counterexample, and its files.
pub struct Shrunk {
    /// What was found.
    pub minimum: Minimum,
    /// The property that it violates.
    pub property: Property,
    /// The scenario as it was written, with its predictions.
    pub scenario: Scenario,
    /// How often it violates what, over many seeds; `None` if there was no time for them.
    pub tallies: Option<VecMap<Property, Tally>>,
    /// What happens in its run, a sentence each.
    pub story: Vec<String>,
    /// The scenario's file.
    pub toml: PathBuf,
    /// The recording of its run, and its picture.
    pub evidence: Evidence,
}

impl Shrink {
    /// Says which faults the run needed, shrinks it, writes what is left, and tells it.
    ///
    /// # Errors
    ///
    /// If the run violates nothing, or a file cannot be written.
    pub fn conduct(&self, session: &Session) -> anyhow::Result<Exit> {
        let Subject { scenario, seed, .. } = &self.subject;
        let property = self.property()?;
        session.stdout.tell(&format!(
            "{}\n  seed {seed} violates {property}\n",
            describe::heading(scenario)
        ))?;
        let needed = needed(&self.subject, property, session.stop.flag())?;
        session.stdout.tell(&without_each(&needed, property))?;
        let folder = session
            .store
            .of_scenario(&scenario.name, &scenario.overrides)?;
        let shrunk = self.smallest(property, session, &folder, "shrunk")?;
        let text = shrunk.text(&session.program);
        let mut document = shrunk.json();
        describe::merge(
            &mut document,
            json!({ "scenario": scenario.name, "from_seed": seed, "needed": needed }),
        );
        let exit = match (
            session.stop.is_by_user(),
            shrunk.minimum.statistics.is_minimal,
        ) {
            (true, _) => Exit::Interrupted,
            (false, false) => Exit::Inconclusive,
            (false, true) => Exit::AsPredicted,
        };
        let section = Section::of(text, &folder, "shrunk");
        Report::of(section, data::document("shrink", document), exit).publish(session.stdout)?;
        Ok(exit)
    }

    /// The property that the run is shrunk for.
    fn property(&self) -> anyhow::Result<Property> {
        if let Some(property) = self.property {
            return Ok(property);
        }
        let Subject {
            scenario,
            seed,
            schedule,
        } = &self.subject;
        let run = judged::run_schedule(scenario, *seed, schedule.clone(), Keep::default())?;
        usual_property(scenario, &run.verdicts).with_context(|| {
            format!(
                "the run of {} with seed {seed} violates nothing in the simulator",
                scenario.name
            )
        })
    }

    /// Shrinks the run, and writes the scenario, a recording and a picture of what is left.
    ///
    /// # Errors
    ///
    /// If the run does not violate the property, or a file cannot be written.
    pub fn smallest(
        &self,
        property: Property,
        session: &Session,
        folder: &Store,
        stem: &str,
    ) -> anyhow::Result<Shrunk> {
        let minimum = self.minimum(property, &|_| true, session);
        let minimum =
            minimum.map_err(|error| anyhow!("{}: {error}", self.subject.scenario.name))?;
        let comments = |shrunk: &Shrunk| self.comments(shrunk);
        self.written(minimum, property, session, folder, stem, &comments)
    }

    /// Writes a minimum of this run: the scenario, with these comments, a recording and a picture.
    ///
    /// # Errors
    ///
    /// If a file cannot be written.
    pub(crate) fn written(
        &self,
        minimum: Minimum,
        property: Property,
        session: &Session,
        folder: &Store,
        stem: &str,
        comments: &dyn Fn(&Shrunk) -> Vec<String>,
    ) -> anyhow::Result<Shrunk> {
        let seed = minimum.best.seed;
        let mut scenario = Scenario {
            title: format!("{}, shrunk", self.subject.scenario.title),
            headline: Some(property),
            ..minimum.best.scenario.clone()
        };
        let tallies = expect(
            &mut scenario,
            property,
            session.threads,
            session.stop.flag(),
        );
        let tallies = tallies.map_err(|broken| {
            let reproduce = session
                .program
                .run_line(&scenario.name, &scenario.overrides, seed);
            Bug::or_usage(broken, &scenario.name, reproduce)
        })?;
        let run = judged::record(&scenario, seed)?;
        let story = told(&run, property)?;
        scenario.about = numbered(&story).join("\n") + "\n";
        let evidence = recordings::keep(folder, stem, &scenario, &run, property)?;
        let mut shrunk = Shrunk {
            minimum,
            property,
            scenario,
            tallies,
            story,
            toml: folder.path(&format!("{stem}.toml")),
            evidence,
        };
        let text = toml(&shrunk.scenario, &comments(&shrunk));
        shrunk.toml = folder.write(&format!("{stem}.toml"), text.as_bytes())?;
        Ok(shrunk)
    }

    /// The smallest scenario whose run violates the property, and is accepted.
    ///
    /// # Errors
    ///
    /// If the run itself does not, or is not.
    pub(crate) fn minimum(
        &self,
        property: Property,
        accepts: &(dyn Fn(&Best) -> bool + Sync),
        session: &Session,
    ) -> Result<Minimum, NotViolated> {
        let progress = Progress::counting("shrinking");
        let options = crate::shrink::shrinker::Options {
            property,
            tries: self.tries,
            threads: session.threads,
            stop: session.stop.flag(),
            accepts,
            progress: &|runs| progress.add(runs),
        };
        let found = crate::shrink::shrinker::shrink(&self.subject, &options);
        progress.clear();
        let found = found?;
        if !found.statistics.is_minimal {
            status!("the search was ended: this is the smallest scenario so far");
        }
        Ok(found)
    }

    /// The lines with which the file begins.
    fn comments(&self, shrunk: &Shrunk) -> Vec<String> {
        let Subject { scenario, seed, .. } = &self.subject;
        let property = shrunk.property;
        let overrides: String = scenario
            .overrides
            .iter()
            .map(|set| format!(" with {set}"))
            .collect();
        vec![
            format!(
                "The smallest scenario found that violates `{property}`, made by `locklab shrink` from"
            ),
            format!(
                "{}{overrides}, seed {seed}: {}.",
                scenario.name,
                shrunk.size()
            ),
            shrunk.command(),
        ]
    }
}

/// `21 faults, 5 clients, 5 servers and 900 rounds became …`.
fn sizes(minimum: &Minimum) -> String {
    let both = minimum.before.counts().into_iter();
    let both = both.zip(minimum.after.counts());
    let part = |((what, before), (_, after)): ((&str, u64), (&str, u64))| {
        let plural = if after == 1 { "" } else { "s" };
        match before == after {
            true => format!("{} {what}{plural}", thousands(after)),
            false => format!("{} of {} {what}s", thousands(after), thousands(before)),
        }
    };
    both.map(part).collect::<Vec<_>>().join(", ")
}

/// Which faults the run needed, a line each.
fn without_each(needed: &[Needed], property: Property) -> String {
    if needed.is_empty() {
        return "  the run has no faults".into();
    }
    let mut rows = vec![["without", "kind", property.name()].map(String::from)];
    for it in needed {
        let words = match it.is_needed() {
            true => style(it.words()).green(),
            false => style(it.words()).red(),
        };
        rows.push([
            it.fault.to_string(),
            it.kind.name().into(),
            words.to_string(),
        ]);
    }
    layout::rows(&rows)
}

impl Shrunk {
    /// How large it is, and was: `1 of 3 faults, 2 clients, …`.
    pub fn size(&self) -> String {
        sizes(&self.minimum)
    }

    /// How often it violates the property, and the command that runs it.
    pub(crate) fn command(&self) -> String {
        let file = self.file();
        let with_seed = format!("locklab run {file} --seed {}", self.minimum.best.seed);
        match self.tally() {
            Some(tally) if tally.violated == tally.runs() => {
                format!("Every seed violates it: locklab run {file}")
            }
            Some(tally) => format!(
                "{} of {} seeds violate it; one that does: {with_seed}",
                tally.violated,
                tally.runs()
            ),
            None => format!("A seed that violates it: {with_seed}"),
        }
    }

    /// The name of its scenario's file.
    pub(crate) fn file(&self) -> String {
        let name = self.toml.file_name();
        name.map_or_else(String::new, |name| name.to_string_lossy().into())
    }

    /// How often it violates the property; `None` if there was no time for that.
    pub(crate) fn tally(&self) -> Option<&Tally> {
        self.tallies.as_ref()?.get(&self.property)
    }

    /// What is told of it.
    fn text(&self, program: &Program) -> String {
        let Statistics { runs, steps, .. } = self.minimum.statistics;
        let mut lines = vec![
            String::new(),
            layout::fold(&format!(
                "  {} in {} runs and {} steps",
                sizes(&self.minimum),
                thousands(runs),
                thousands(steps)
            )),
        ];
        lines.push(layout::fold(&format!("  {}", self.certainty())));
        lines.push(String::new());
        let story = numbered(&self.story).into_iter();
        lines.extend(story.map(|line| layout::fold(&format!("  {line}"))));
        lines.push(String::new());
        lines.push(format!("    scenario {}", self.toml.display()));
        lines.push(self.evidence.files(program));
        lines.join("\n")
    }

    /// How often it violates the property.
    fn certainty(&self) -> String {
        let property = self.property;
        let seed = self.minimum.best.seed;
        match self.tally() {
            Some(tally) => format!("it violates {property} in {}", tally.describe()),
            None => format!("it violates {property} with seed {seed}"),
        }
    }

    /// The same for programs.
    pub fn json(&self) -> Value {
        let path = |path: &Path| path.display().to_string();
        json!({
            "property": self.property,
            "seed": self.minimum.best.seed,
            "before": self.minimum.before,
            "after": self.minimum.after,
            "statistics": self.minimum.statistics,
            "violated": self.tally().map(describe::rates),
            "story": self.story,
            "toml": path(&self.toml),
            "recording": path(&self.evidence.recording),
            "picture": path(&self.evidence.picture),
        })
    }
}

/// The story of a recorded run that violates a property; the last sentence is that of the violation.
fn told(run: &Recording, property: Property) -> anyhow::Result<Vec<String>> {
    let violation = recordings::violation_of(run, property)
        .with_context(|| format!("a run that violated {property} does not when it is repeated"))?;
    let scenario = recorded::scenario(run)?;
    let contents = recorded::contents(run, &scenario)?;
    let leases = contents.as_ref().map_or(Vec::new(), |contents| {
        leases::leases(&run.history, contents, &scenario.topology)
    });
    let mut story = story(&run.history, &run.header.schedule, violation, &leases);
    story.push(format!("So {property} is violated: {}.", violation.what));
    Ok(story)
}

/// The sentences, numbered.
fn numbered(story: &[String]) -> Vec<String> {
    let line = |(place, sentence): (usize, &String)| format!("{}. {sentence}", place + 1);
    story.iter().enumerate().map(line).collect()
}

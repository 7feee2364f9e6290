//! The smallest counterexample of a run: its scenario, its picture, and its story.

use std::path::{Path, PathBuf};

use anyhow::{Context, anyhow, bail};
use console::style;
use locklab_vecmap::VecMap;
use serde_json::{Value, json};

pub(crate) mod options;
mod table;

pub(crate) use self::table::change;
pub use self::table::conduct_all;

use super::campaign;
use locklab_check::{Property, Verdict};
use locklab_lab::bug::Bug;
use locklab_lab::output::status;
use locklab_lab::progress::Progress;
use locklab_lab::recordings::{self, Evidence};
use locklab_lab::report::Report;
use locklab_lab::section::Section;
use locklab_lab::{Exit, Program, Session, Store, data, describe, layout};
use locklab_model::scenario::Scenario;
use locklab_runner::judged;
use locklab_runner::prediction::usual_property;
use locklab_runner::simulate::Keep;
use locklab_shrink::{
    Best, Counterexample, Minimum, Needed, NotViolated, Options, Subject, Untold, needed, numbered,
};

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
    pub found: Counterexample,
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
            shrunk.found.minimum.statistics.is_minimal,
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
        self.subject.violated()?.with_context(|| {
            format!(
                "the run of {} with seed {} violates nothing in the simulator",
                self.subject.scenario.name, self.subject.seed
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
        let text = |found: &Counterexample, file: &str| found.toml(&self.subject, file);
        written(minimum, property, session, folder, stem, &text)
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
        let options = Options {
            property,
            tries: self.tries,
            threads: session.threads,
            stop: session.stop.flag(),
            accepts,
            progress: &|runs| progress.add(runs),
        };
        let found = locklab_shrink::shrink(&self.subject, &options);
        progress.clear();
        let found = found?;
        if !found.statistics.is_minimal {
            status!("the search was ended: this is the smallest scenario so far");
        }
        Ok(found)
    }
}

/// Writes a minimum: the scenario, whose file has this text, a recording and a picture.
///
/// # Errors
///
/// If a run fails, or a file cannot be written.
pub(crate) fn written(
    minimum: Minimum,
    property: Property,
    session: &Session,
    folder: &Store,
    stem: &str,
    text: &dyn Fn(&Counterexample, &str) -> String,
) -> anyhow::Result<Shrunk> {
    let Best { scenario, seed, .. } = minimum.best.clone();
    let found = Counterexample::of(minimum, property, session.threads, session.stop.flag());
    let found = found.map_err(|untold| match untold {
        Untold::Broken(broken) => {
            let program = &session.program;
            let reproduce = program.run_line(&scenario.name, &scenario.overrides, seed);
            Bug::or_usage(broken, &scenario.name, reproduce)
        }
        other => other.into(),
    })?;
    let evidence = recordings::keep(folder, stem, &found.scenario, &found.run, property)?;
    let file = format!("{stem}.toml");
    let toml = folder.write(&file, text(&found, &file).as_bytes())?;
    Ok(Shrunk {
        found,
        toml,
        evidence,
    })
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
    /// The name of its scenario's file.
    pub(crate) fn file(&self) -> String {
        let name = self.toml.file_name();
        name.map_or_else(String::new, |name| name.to_string_lossy().into())
    }

    /// What is told of it.
    fn text(&self, program: &Program) -> String {
        let mut lines = vec![String::new()];
        let words = self.found.words().into_iter();
        lines.extend(words.map(|line| layout::fold(&format!("  {line}"))));
        lines.push(String::new());
        let story = numbered(&self.found.story).into_iter();
        lines.extend(story.map(|line| layout::fold(&format!("  {line}"))));
        lines.push(String::new());
        lines.push(format!("    scenario {}", self.toml.display()));
        lines.push(self.evidence.files(program));
        lines.join("\n")
    }

    /// The same for programs.
    pub fn json(&self) -> Value {
        let path = |path: &Path| path.display().to_string();
        let Minimum {
            best,
            before,
            after,
            statistics,
        } = &self.found.minimum;
        json!({
            "property": self.found.property,
            "seed": best.seed,
            "before": before,
            "after": after,
            "statistics": statistics,
            "violated": self.found.tally().map(describe::rates),
            "story": self.found.story,
            "toml": path(&self.toml),
            "recording": path(&self.evidence.recording),
            "picture": path(&self.evidence.picture),
        })
    }
}

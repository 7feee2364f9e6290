//! A minimum as a reader gets it: a scenario that stands alone, with what its runs violate and the story of one of them.

use std::sync::atomic::AtomicBool;

use locklab_check::{Property, Verdict};
use locklab_evidence::{Tally, thousands};
use locklab_history::leases;
use locklab_model::scenario::Scenario;
use locklab_report::story::story;
use locklab_results::recording::{Environment, Recording};
use locklab_runner::pool::Broken;
use locklab_runner::simulate::Keep;
use locklab_runner::{RunError, judged};
use locklab_vecmap::VecMap;

use crate::{Minimum, Statistics, Subject, expect, toml};

/// A smallest counterexample.
pub struct Counterexample {
    /// What was found.
    pub minimum: Minimum,
    /// The property that it violates.
    pub property: Property,
    /// The scenario, with its predictions and its story.
    pub scenario: Scenario,
    /// How often it violates what, over many seeds; `None` if there was no time for them.
    pub tallies: Option<VecMap<Property, Tally>>,
    /// What happens in its run, a sentence each.
    pub story: Vec<String>,
    /// Its run.
    pub run: Recording,
}

/// Why a minimum has no story.
#[derive(Debug, thiserror::Error)]
pub enum Untold {
    /// One of the runs that are counted has no result.
    #[error(transparent)]
    Broken(#[from] Broken),
    /// Its run cannot be repeated.
    #[error(transparent)]
    Run(#[from] RunError),
    /// Its run holds when it is repeated.
    #[error("a run that violated {0} does not when it is repeated")]
    Holds(Property),
}

impl Counterexample {
    /// Runs a minimum with many seeds, and tells its own run.
    ///
    /// # Errors
    ///
    /// If a run fails, or its own run does not violate the property again.
    pub fn of(
        minimum: Minimum,
        property: Property,
        threads: usize,
        stop: &AtomicBool,
    ) -> Result<Counterexample, Untold> {
        let found = &minimum.best;
        let mut scenario = Scenario {
            title: format!("{}, shrunk", found.scenario.title),
            headline: Some(property),
            ..found.scenario.clone()
        };
        let tallies = expect(&mut scenario, property, threads, stop)?;
        let mut run = judged::run(&scenario, found.seed, Keep::CONTENTS)?;
        let contents = run.contents.take();
        let run = judged::recording(&scenario, found.seed, run, Environment::World);
        let Some(Verdict::Violated(violation)) = run.footer.verdicts.get(&property) else {
            return Err(Untold::Holds(property));
        };
        let leases = contents.as_ref().map_or(Vec::new(), |contents| {
            leases::leases(&run.history, contents, &scenario.topology)
        });
        let mut story = story(&run.history, &run.header.schedule, violation, &leases);
        story.push(format!("So {property} is violated: {}.", violation.what));
        scenario.about = numbered(&story).join("\n") + "\n";
        Ok(Counterexample {
            minimum,
            property,
            scenario,
            tallies,
            story,
            run,
        })
    }

    /// The text of its file, which has this name. `from` is the run that was shrunk.
    pub fn toml(&self, from: &Subject, file: &str) -> String {
        let overrides = from.scenario.overrides.iter();
        let overrides: String = overrides.map(|set| format!(" with {set}")).collect();
        let property = self.property;
        let comments = [
            format!(
                "The smallest scenario found that violates `{property}`, made by `locklab shrink` from"
            ),
            format!(
                "{}{overrides}, seed {}: {}.",
                from.scenario.name,
                from.seed,
                self.size()
            ),
            self.command(file),
        ];
        toml(&self.scenario, &comments)
    }

    /// How large it is, and was: `1 of 3 faults, 2 clients, …`.
    pub fn size(&self) -> String {
        let both = self.minimum.before.counts().into_iter();
        let both = both.zip(self.minimum.after.counts());
        let part = |((what, before), (_, after)): ((&str, u64), (&str, u64))| {
            let plural = if after == 1 { "" } else { "s" };
            match before == after {
                true => format!("{} {what}{plural}", thousands(after)),
                false => format!("{} of {} {what}s", thousands(after), thousands(before)),
            }
        };
        both.map(part).collect::<Vec<_>>().join(", ")
    }

    /// What was left out in how many runs, and how often the rest violates the property.
    pub fn words(&self) -> [String; 2] {
        let Statistics { runs, steps, .. } = self.minimum.statistics;
        let (property, seed) = (self.property, self.minimum.best.seed);
        [
            format!(
                "{} in {} runs and {} steps",
                self.size(),
                thousands(runs),
                thousands(steps)
            ),
            match self.tally() {
                Some(tally) => format!("it violates {property} in {}", tally.describe()),
                None => format!("it violates {property} with seed {seed}"),
            },
        ]
    }

    /// How often it violates the property, and the command that runs its file.
    pub fn command(&self, file: &str) -> String {
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

    /// How often it violates the property; `None` if there was no time for that.
    pub fn tally(&self) -> Option<&Tally> {
        self.tallies.as_ref()?.get(&self.property)
    }
}

/// The sentences of a story, numbered.
pub fn numbered(story: &[String]) -> Vec<String> {
    let line = |(place, sentence): (usize, &String)| format!("{}. {sentence}", place + 1);
    story.iter().enumerate().map(line).collect()
}

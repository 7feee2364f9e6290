//! A shipped scenario's run, with all that the viewer shows.

use locklab_history::Contents;
use locklab_model::scenario::{self, Scenario};
use locklab_results::recording::{Environment, Recording};
use locklab_runner::judged;
use locklab_runner::simulate::Keep;
use locklab_view::Subject;

/// A run with its contents.
pub struct Shown {
    pub scenario: Scenario,
    pub recording: Recording,
    pub contents: Contents,
}

impl Shown {
    /// The run of a shipped scenario with this seed.
    pub fn of(name: &str, seed: u64) -> Shown {
        let scenario = scenario::load(name, &[]).expect("it ships");
        let mut run = judged::run(&scenario, seed, Keep::CONTENTS).expect("it ends");
        let contents = run.contents.take().expect("they were kept");
        Shown {
            recording: judged::recording(&scenario, seed, run, Environment::World),
            scenario,
            contents,
        }
    }

    pub fn subject(&self) -> Subject<'_> {
        Subject {
            scenario: &self.scenario.name,
            title: &self.scenario.title,
            claim: self.scenario.claim.as_deref(),
            about: &self.scenario.about,
            headline: self.scenario.headline(),
            topology: &self.scenario.topology,
            recording: &self.recording,
            contents: Some(&self.contents),
            remark: "",
            without: None,
            lost: None,
        }
    }
}

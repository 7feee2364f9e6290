//! One run: the page of the viewer, and the digest of the recording that `locklab run` writes of it.

use locklab_check::Property;
use locklab_history::Contents;
use locklab_model::scenario::Drawn;
use locklab_results::recording::{self, Environment};
use locklab_runner::judged;
use locklab_runner::prediction::usual_property;
use locklab_runner::simulate::Keep;
use serde_json::{Value, json};

use super::subject::Subject;

/// Runs the scenario with this seed.
pub fn one(subject: &Subject, seed: u64) -> Result<Value, Value> {
    let loaded = subject.scenario()?;
    let Drawn { scenario, schedule } = loaded.drawn(seed);
    let run = judged::run_schedule(&scenario, seed, schedule, Keep::CONTENTS);
    let mut run = run.map_err(|error| json!({ "error": error.to_string() }))?;
    let contents: Option<Contents> = run.contents.take();
    let violated = usual_property(&scenario, &run.verdicts);
    let recording = judged::recording(&scenario, seed, run, Environment::World);
    let bytes = recording::write(&recording);
    let html = locklab_view::html(&locklab_view::Subject {
        scenario: subject.label().unwrap_or(&scenario.name),
        title: &scenario.title,
        claim: scenario.claim.as_deref(),
        about: &scenario.about,
        headline: scenario.headline(),
        topology: &scenario.topology,
        recording: &recording,
        contents: contents.as_ref(),
        remark: "",
        without: None,
        lost: None,
    });
    let end = seed.saturating_add(1);
    Ok(json!({
        "page": html,
        "violated": violated.map(Property::name),
        "sha1": sha1_smol::Sha1::from(&bytes).digest().to_string(),
        "bytes": bytes.len(),
        "view": subject.command("view", &format!(" --seed {seed}")),
        "record": subject.command("run", &format!(" --seeds {seed}..{end}")),
    }))
}

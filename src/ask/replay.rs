//! `locklab replay`: repeats a recorded run and compares the results byte by byte.

use std::path::{Path, PathBuf};

use anyhow::Context;
use clap::Args;
use serde_json::json;

use crate::meaning;
use crate::options::{Ask, Out};
use locklab_check::Property;
use locklab_lab::output::{self, Stdout};
use locklab_lab::{Exit, data, describe, layout, recordings};
use locklab_model::scenario::Scenario;
use locklab_results::recording::{self, Environment, Recording};
use locklab_runner::simulate::Keep;
use locklab_runner::{RunError, judged, recorded};

const EXAMPLES: &str = "\
Examples:
  locklab replay target/locklab/kleppmann-k1/seed-0.jsonl
  locklab why target/locklab/kleppmann-k1/seed-0.jsonl

It says what happened in the run, and of each violation what would have
prevented it.

A run recorded on real Redis cannot be repeated; its history is judged again.

Exit codes: 0 identical; 1 the recording cannot be read or run; 2 different.";

#[derive(Args)]
#[command(after_help = EXAMPLES, visible_alias = "why")]
pub(crate) struct Options {
    /// The recording: a .jsonl file that `locklab run` wrote
    #[arg(value_name = "FILE")]
    recording: PathBuf,
    /// Print the result as JSON on standard output
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    out: Out,
}

impl Ask for Options {
    fn answer(&self, _: &crate::options::Context) -> anyhow::Result<Exit> {
        let path = &self.recording;
        let bytes = recording::bytes(path)?;
        let recorded = recording::read(&bytes, path)?;
        let scenario =
            recorded::scenario(&recorded).with_context(|| format!("{}:1", path.display()))?;
        let again = again(&recorded, &scenario)?;
        let store = self
            .out
            .store()?
            .of_scenario(&scenario.name, &scenario.overrides)?;
        let stdout = Stdout::of(self.json);
        stdout.tell(&describe::heading(&scenario))?;
        let verdicts = &again.footer.verdicts;
        match describe::sentences(verdicts, &Property::ALL).as_str() {
            "" => stdout.tell("  every property holds")?,
            sentences => stdout.tell(sentences)?,
        }
        let means = meaning::of_run(&again, &scenario);
        for meaning in &means {
            stdout.tell(&layout::fold(&format!("  {meaning}")))?;
        }
        let stem = format!("replay-seed-{}", again.header.seed);
        let kept = recordings::keep(&store, &stem, &scenario, &again, scenario.headline())?;
        stdout.tell(&format!("  picture  {}", kept.picture.display()))?;
        let rewritten = recording::write(&again);
        let difference = first_difference(&bytes, &rewritten);
        let conclusion = conclusion(&recorded, difference, path, &kept.recording);
        stdout.tell(&format!("  {conclusion}"))?;
        if self.json {
            let result = json!({
                "scenario": scenario.name,
                "seed": again.header.seed,
                "identical": difference.is_none(),
                "first_different_line": difference,
                "verdicts": again.footer.verdicts,
                "meanings": means,
            });
            output::print_json(&data::document("replay", result))?;
        }
        Ok(if difference.is_none() {
            Exit::AsPredicted
        } else {
            Exit::Differs
        })
    }
}

/// Repeats the run; for a run on real Redis, repeats only its judgement.
fn again(recorded: &Recording, scenario: &Scenario) -> Result<Recording, RunError> {
    let header = &recorded.header;
    match header.environment {
        Environment::World => {
            let schedule = header.schedule.clone();
            let run = judged::run_until_full(scenario, header.seed, schedule, Keep::MESSAGES)?;
            Ok(judged::recording(
                scenario,
                header.seed,
                run,
                Environment::World,
            ))
        }
        Environment::Redis => {
            let mut again = recorded.clone();
            again.footer.verdicts = judged::judge_as_shown(
                &recorded.history,
                scenario,
                &judged::Clients {
                    unshown: &header.unshown,
                    lease_ns: header.lease_ns,
                    program: &header.program,
                },
            );
            Ok(again)
        }
    }
}

/// The number of the first line that differs, counted from 1.
fn first_difference(one: &[u8], other: &[u8]) -> Option<usize> {
    if one == other {
        return None;
    }
    let same = one.iter().zip(other).take_while(|(a, b)| a == b).count();
    Some(one[..same].iter().filter(|byte| **byte == b'\n').count() + 1)
}

fn conclusion(
    recorded: &Recording,
    difference: Option<usize>,
    path: &Path,
    again: &Path,
) -> String {
    match (recorded.header.environment, difference) {
        (Environment::World, None) => "the same run, byte for byte".into(),
        (Environment::Redis, None) => {
            "recorded on real Redis: judged again, with the same verdicts".into()
        }
        (Environment::Redis, Some(line)) => format!(
            "NOT the same: {} was changed since it was recorded, or its verdicts differ now (line \
             {line}); judged again: {}",
            path.display(),
            again.display(),
        ),
        (Environment::World, Some(line)) => format!(
            "NOT the same: line {line} of {} differs; the new run: {}",
            path.display(),
            again.display(),
        ),
    }
}

//! `locklab view`: one run to explore, in a browser or in other viewers.

use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;
use std::thread;

use anyhow::{Context, ensure};
use clap::{Args, ValueEnum};

use crate::options::number::whole;
use crate::options::setting::set_completer;
use crate::options::{Ask, scenario_completer, seeds};
use locklab_check::Property;
use locklab_history::Contents;
use locklab_lab::output::{self, status};
use locklab_lab::progress::Progress;
use locklab_lab::{Exit, Store, layout};
use locklab_model::scenario::{self, Drawn, Scenario};
use locklab_results::recording::{self, Environment, Recording};
use locklab_runner::prediction::usual_property;
use locklab_runner::simulate::Keep;
use locklab_runner::{judged, recorded};
use locklab_shrink::{self as shrink, Estimate, Subject, needed};
use locklab_view::{Without, WithoutFault};

const EXAMPLES: &str = "\
Examples:
  locklab view target/locklab/kleppmann-k1/seed-0.jsonl
  locklab view kleppmann/k10 --seed 3             a run without a recording
  locklab view kleppmann/k1-exponential --seed 3 --lost
                                                  the step that lost the run
  locklab view kleppmann/k1 --out k1.html
  locklab view kleppmann/k1 --format perfetto     for ui.perfetto.dev
  locklab view kleppmann/k1 --format shiviz       for ShiViz, with vector clocks

The page is one file that needs no network: open it in a browser. A simulated
run is repeated, so that the page can show the contents of messages and of
nodes; a recording from real Redis has neither.

Exit codes: 0 written; 1 the run or the file cannot be read or written.";

#[derive(Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Options {
    /// A recording: a .jsonl file that `locklab run` wrote; or a scenario, to run it
    #[arg(value_name = "RECORDING", add = scenario_completer())]
    run: String,
    /// The seed of the run, for a scenario
    #[arg(long, value_name = "N", value_parser = seeds::one)]
    seed: Option<u64>,
    /// Override a value of the scenario; may be given several times
    #[arg(long = "set", value_name = "PATH=VALUE", add = set_completer())]
    sets: Vec<String>,
    /// What to write
    #[arg(long, value_enum, value_name = "FORMAT", default_value_t = Format::Html)]
    format: Format,
    /// Show when the run was lost: the probability of its violation along its time. At up to 65 times of
    /// the run, RUNS runs repeat it until then and draw everything later anew; 1000 by default
    #[arg(long, value_name = "RUNS", num_args = 0..=1, require_equals = true, default_missing_value = "1000",
          value_parser = whole::<u32>(1..=1_000_000))]
    lost: Option<u32>,
    /// The file to write, `-` for standard output; by default in target/locklab, beside the recordings
    /// of the scenario
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Format {
    /// A page to explore in a browser
    Html,
    /// Trace events for Perfetto (ui.perfetto.dev)
    Perfetto,
    /// A log with vector clocks for ShiViz
    Shiviz,
}

impl Format {
    /// How the names of its files end.
    fn ending(self) -> &'static str {
        match self {
            Format::Html => "html",
            Format::Perfetto => "perfetto.json",
            Format::Shiviz => "shiviz.log",
        }
    }
}

/// A run with all that is known of it.
struct Known {
    scenario: Scenario,
    recording: Recording,
    contents: Option<Contents>,
    remark: &'static str,
}

/// With more faults than this, the page does not say which of them the run needed.
const MOST_FAULTS: usize = 30;

impl Known {
    /// The run, to be made again in the simulator.
    fn subject(&self) -> Subject {
        let header = &self.recording.header;
        Subject {
            scenario: self.scenario.clone(),
            seed: header.seed,
            schedule: header.schedule.clone(),
        }
    }

    /// The property that the run violates; of several, the one to show.
    fn property(&self) -> Option<Property> {
        usual_property(&self.scenario, &self.recording.footer.verdicts)
    }

    /// When the run was lost.
    fn lost(&self, runs: u32) -> anyhow::Result<shrink::Lost> {
        ensure!(
            self.contents.is_some(),
            "--lost needs a run of the simulator that this build repeats"
        );
        let property = self
            .property()
            .context("this run violates nothing, so it was not lost; choose another --seed")?;
        let most = u64::from(runs) * shrink::MOST_TIMES as u64;
        let progress = Progress::of("drawing anew", "runs at most", most);
        let how = Estimate {
            property,
            runs: runs.into(),
            threads: thread::available_parallelism().map_or(1, usize::from),
            stop: &AtomicBool::new(false),
            progress: &|runs| progress.add(runs),
        };
        let lost = shrink::Lost::of(&self.subject(), how);
        progress.clear();
        Ok(lost?)
    }

    /// What becomes of the property that the run violates without each fault, in the simulator.
    fn without(&self) -> anyhow::Result<Option<Without>> {
        let (subject, property) = (self.subject(), self.property());
        let faults = subject.schedule.faults.len();
        let (Some(property), Some(_), 1..=MOST_FAULTS) = (property, &self.contents, faults) else {
            return Ok(None);
        };
        let needed = needed(&subject, property, &AtomicBool::new(false))?;
        let faults = needed.iter().map(|it| WithoutFault {
            fault: it.fault.to_string(),
            kind: it.kind.name(),
            verdict: it.words(),
            needed: it.is_needed(),
        });
        Ok(Some(Without {
            property: property.name(),
            faults: faults.collect(),
        }))
    }
}

impl Ask for Options {
    fn answer(&self, _: &crate::options::Context) -> anyhow::Result<Exit> {
        let path = Path::new(&self.run);
        let known = match path.extension().is_some_and(|ending| ending == "jsonl") {
            true => {
                ensure!(
                    self.seed.is_none() && self.sets.is_empty(),
                    "--seed and --set are for a scenario; a recording has its own"
                );
                recorded(path)?
            }
            false => simulated(&scenario::load(&self.run, &self.sets)?, self.seed)?,
        };
        let without = match self.format {
            Format::Html => known.without()?,
            Format::Perfetto | Format::Shiviz => None,
        };
        let lost = match self.lost {
            Some(runs) => Some(known.lost(runs)?),
            None => None,
        };
        let shown = lost.as_ref().map(shown);
        let subject = locklab_view::Subject {
            scenario: &known.scenario.name,
            title: &known.scenario.title,
            claim: known.scenario.claim.as_deref(),
            about: &known.scenario.about,
            headline: known.scenario.headline(),
            topology: &known.scenario.topology,
            recording: &known.recording,
            contents: known.contents.as_ref(),
            remark: known.remark,
            without: without.as_ref(),
            lost: shown.as_ref(),
        };
        let contents = match self.format {
            Format::Html => locklab_view::html(&subject),
            Format::Perfetto => locklab_view::trace(&subject),
            Format::Shiviz => locklab_view::log(&subject),
        };
        if self.out.as_deref() == Some(Path::new("-")) {
            output::print_exactly(&contents)?;
            return Ok(Exit::AsPredicted);
        }
        if let Some(lost) = &lost {
            status!("{}", layout::fold(&lost.sentence()));
        }
        let file = write(self, &known, contents.as_bytes())?;
        if !known.remark.is_empty() {
            status!("{}", known.remark);
        }
        output::print(&file.display().to_string())?;
        Ok(Exit::AsPredicted)
    }
}

/// When a run was lost, as the page shows it.
fn shown(lost: &shrink::Lost) -> locklab_view::Lost {
    let share = |point: &shrink::Point| (point.at_ns, point.violated as f64 / lost.runs as f64);
    locklab_view::Lost {
        property: lost.property.name(),
        sentence: lost.sentence(),
        points: lost.points.iter().map(share).collect(),
    }
}

/// A run of the scenario in the world.
fn simulated(scenario: &Scenario, seed: Option<u64>) -> anyhow::Result<Known> {
    let seed = seed.unwrap_or(0);
    let Drawn { scenario, schedule } = scenario.drawn(seed);
    let mut run = judged::run_schedule(&scenario, seed, schedule, Keep::CONTENTS)?;
    let contents = run.contents.take();
    Ok(Known {
        recording: judged::recording(&scenario, seed, run, Environment::World),
        scenario: scenario.into_owned(),
        contents,
        remark: "",
    })
}

/// A recorded run; of the world, repeated.
fn recorded(path: &Path) -> anyhow::Result<Known> {
    let bytes = recording::bytes(path)?;
    let recording = recording::read(&bytes, path)?;
    let scenario =
        recorded::scenario(&recording).with_context(|| format!("{}:1", path.display()))?;
    let contents = recorded::contents(&recording, &scenario)?;
    let remark = match (recording.header.environment, &contents) {
        (_, Some(_)) => "",
        (Environment::Redis, None) => {
            "This run took place on real Redis: of its messages the beginning is known, and what the \
             nodes held is not."
        }
        (Environment::World, None) => {
            "The recording is not what this build of Locklab repeats: of its messages the beginning \
             is known, and what the nodes held is not."
        }
    };
    Ok(Known {
        scenario,
        recording,
        contents,
        remark,
    })
}

fn write(options: &Options, known: &Known, contents: &[u8]) -> anyhow::Result<PathBuf> {
    if let Some(file) = &options.out {
        std::fs::write(file, contents).with_context(|| {
            format!(
                "cannot write {}; choose another file with --out",
                file.display()
            )
        })?;
        return Ok(file.clone());
    }
    let header = &known.recording.header;
    let stem = match header.environment {
        Environment::World => format!("seed-{}", header.seed),
        Environment::Redis => format!("redis-seed-{}", header.seed),
    };
    let store = Store::at(Path::new("target/locklab"), &[])?
        .of_scenario(&known.scenario.name, &known.scenario.overrides)?;
    store.write(&format!("{stem}.{}", options.format.ending()), contents)
}

//! Deliberate mistakes, each of which a shipped scenario or a test must catch.
//!
//! `registry` has the list. For each mistake its catcher runs as a separate process with the
//! mistake enabled, and must fail; and once without any mistake, and must pass. A mistake
//! that survives is a gap in the coverage of scenarios and tests.
//!
//! Catchers that start real servers run with `LOCKLAB_LONG=1`, and then they alone.

mod registry;

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::{env, fs, thread};

use locklab_evidence::Judgement;
use locklab_model::scenario::{Scenario, load};
use locklab_runner::batch::{self, BatchOptions, Job};
use locklab_runner::prediction::{compare, worst};

use registry::{Binary, Catcher, Plant, plants};

/// The environment variable that selects the mistake (`sim/plant`).
const PLANT: &str = "LOCKLAB_PLANT";

/// A mistake must show within this many runs: more would only reveal small differences of
/// rates.
const MOST_SEEDS: u64 = 120;

/// The environment variable with the scenario that [`a_scenario_is_as_predicted`] runs.
const SCENARIO: &str = "LOCKLAB_PLANT_SCENARIO";

#[test]
fn every_mistake_is_caught() {
    let is_long = env::var_os("LOCKLAB_LONG").is_some();
    let is_real = |plant: &Plant| matches!(plant.caught_by, Catcher::Test(Binary::Agreement, _));
    let due = || plants().filter(|plant| is_real(plant) == is_long);
    let binaries = binaries();
    let catchers: BTreeSet<Catcher> = due().map(|plant| plant.caught_by).collect();
    let sound = catchers.into_iter().map(|catcher| (None, catcher));
    let mistaken = due().map(|plant| (Some(plant), plant.caught_by));
    let trials: Vec<(Option<&Plant>, Catcher)> = sound.chain(mistaken).collect();
    let next = AtomicUsize::new(0);
    let wrong = Mutex::new(Vec::new());
    thread::scope(|scope| {
        let work = || {
            while let Some((plant, catcher)) = trials.get(next.fetch_add(1, Ordering::Relaxed)) {
                let passes = passes(*catcher, plant.map(|plant| plant.name), &binaries);
                let complaint = match plant {
                    None if !passes => format!("fails without any mistake: {catcher:?}"),
                    Some(Plant { name, what, .. }) if passes => {
                        format!("{name} survives {catcher:?}: {what}")
                    }
                    _ => continue,
                };
                wrong.lock().expect("nobody panics here").push(complaint);
            }
        };
        let threads = thread::available_parallelism().map_or(1, usize::from);
        (0..threads).for_each(|_| drop(scope.spawn(work)));
    });
    let wrong = wrong.into_inner().expect("nobody panics here");
    assert!(wrong.is_empty(), "\n{}", wrong.join("\n"));
}

/// Whether the catcher passes with this mistake.
fn passes(catcher: Catcher, plant: Option<&str>, binaries: &BTreeMap<Binary, PathBuf>) -> bool {
    let mut command = match catcher {
        Catcher::Scenario(name) => {
            let mut command = Command::new(env::current_exe().expect("this runs"));
            command.args(["--exact", "a_scenario_is_as_predicted"]);
            command.env(SCENARIO, name);
            command
        }
        Catcher::Test(binary, filter) => {
            let mut command = Command::new(&binaries[&binary]);
            command.arg(filter);
            command
        }
    };
    // A random test that fails saves its case, in a folder below this one.
    command.current_dir(env!("CARGO_TARGET_TMPDIR"));
    command.env_remove(PLANT);
    if let Some(name) = plant {
        command.env(PLANT, name);
    }
    let command = command.stdout(Stdio::null()).stderr(Stdio::null());
    command.status().expect("it starts").success()
}

/// [`passes`] runs this in a separate process, because a mistake is selected for a whole
/// process; the environment variable names a scenario.
#[test]
fn a_scenario_is_as_predicted() {
    let Ok(name) = env::var(SCENARIO) else {
        return;
    };
    let scenario = load(&name, &[]).expect("it ships");
    assert!(!differs(&scenario));
}

/// Whether the observed result of a scenario differs from its prediction.
fn differs(scenario: &Scenario) -> bool {
    let job = Job {
        scenario: scenario.clone(),
        parameters: Vec::new(),
        seeds: 0..scenario.usual_seeds().min(MOST_SEEDS),
    };
    let stop = AtomicBool::new(false);
    let cells = batch::run(&[job], &BatchOptions::quiet(1, &stop)).expect("no run panics");
    let cell = cells[0].as_ref().expect("it was finished");
    worst(&compare(scenario, cell)) == Judgement::Differs
}

/// Builds the test binaries with mistakes; returns their paths.
fn binaries() -> BTreeMap<Binary, PathBuf> {
    let line = "test --package locklab --package locklab-check --package locklab-locks \
                --package locklab-world --features locklab/plants --lib --test agreement \
                --test injectors \
                --test locks --test paper --test world \
                --no-run --color never";
    let built = Command::new(env!("CARGO"))
        .args(line.split_whitespace())
        .current_dir(root())
        .output()
        .expect("cargo runs");
    let said = String::from_utf8_lossy(&built.stderr);
    assert!(built.status.success(), "{said}");
    let found = said.lines().filter_map(|line| {
        let (_, path) = line.strip_suffix(')')?.split_once('(')?;
        let file = Path::new(path).file_name()?.to_str()?;
        let (name, _) = file.rsplit_once('-')?;
        let binary = Binary::ALL
            .into_iter()
            .find(|binary| binary.name() == name)?;
        Some((binary, root().join(path)))
    });
    let binaries: BTreeMap<Binary, PathBuf> = found.collect();
    assert_eq!(binaries.len(), Binary::ALL.len(), "{said}");
    binaries
}

/// Each mistake of the list is used in exactly one place of the source, and no other mistake
/// is.
#[test]
fn the_list_has_the_mistakes_that_are_in_the_source() {
    let mut text = String::new();
    for folder in ["src", "sim"] {
        collect(&root().join(folder), &mut text);
    }
    let mut asked: Vec<&str> = ["plant(\"", "plant: \""]
        .iter()
        .flat_map(|before| text.split(before).skip(1))
        .filter_map(|rest| rest.split('"').next())
        .collect();
    asked.sort_unstable();
    let mut listed: Vec<&str> = plants().map(|plant| plant.name).collect();
    listed.sort_unstable();
    assert_eq!(asked, listed);
}

fn collect(folder: &Path, text: &mut String) {
    for entry in fs::read_dir(folder).expect("the source is there") {
        let path = entry.expect("it can be listed").path();
        if path.is_dir() {
            collect(&path, text);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            *text += &fs::read_to_string(&path).expect("it is text");
        }
    }
}

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

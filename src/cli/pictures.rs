//! The evidence for a verdict: the recording of a run, and its picture.

use std::collections::BTreeMap;
use std::path::PathBuf;

use locklab_check::{Property, Verdict, Violation};

use locklab_model::scenario::Scenario;
use locklab_report::{Drawing, Provenance, spacetime};
use locklab_results::recording::{self, Environment, Recording};

use super::format::Format;
use super::say::{self, tell};
use super::store::Store;

/// A run that serves as evidence, and the path of its recording.
pub(super) struct Evidence {
    /// The verdicts of the run.
    pub(super) verdicts: BTreeMap<Property, Verdict>,
    /// The properties that it violates, of those in question.
    pub(super) properties: Vec<Property>,
    pub(super) recording: PathBuf,
    pub(super) picture: PathBuf,
}

impl Evidence {
    /// Tells where its picture is, and how to explore and to repeat the run.
    pub(super) fn tell(&self) {
        let recording = self.recording.to_string_lossy();
        tell!("    picture  {}", self.picture.display());
        tell!("    explore  {}", say::line(&["view", &recording]));
        tell!("    replay   {}", say::line(&["replay", &recording]));
    }
}

/// Writes a recording and draws it, with the violation of `property` highlighted if there is
/// one.
pub(super) fn keep(
    store: &Store,
    stem: &str,
    scenario: &Scenario,
    run: &Recording,
    property: Property,
) -> anyhow::Result<Evidence> {
    let recording = store.write(&format!("{stem}.jsonl"), &recording::write(run))?;
    let (picture, provenance) = drawing(scenario, run, property)?;
    let pictures = write(store, stem, picture, &provenance)?;
    Ok(Evidence {
        verdicts: run.footer.verdicts.clone(),
        properties: vec![property],
        recording,
        picture: pictures.last().cloned().unwrap_or_default(),
    })
}

/// The drawing of a run, and where it comes from.
pub(super) fn drawing(
    scenario: &Scenario,
    run: &Recording,
    property: Property,
) -> anyhow::Result<(Drawing, Provenance)> {
    let title = match &scenario.claim {
        Some(claim) => format!("{claim}: {}", scenario.title),
        None => scenario.title.clone(),
    };
    let (environment, real) = place(run);
    let with = match &scenario.overrides[..] {
        [] => String::new(),
        overrides => format!(", with {}", overrides.join(", ")),
    };
    let title = format!("{title}{real}{with}");
    let picture = spacetime::draw(&run.history, &title, violation_of(run, property))?;
    let provenance = Provenance {
        subject: scenario.name.clone(),
        overrides: scenario.overrides.clone(),
        seeds: format!("seed {}", run.header.seed),
        environment,
    };
    Ok((picture, provenance))
}

/// Where a run took place, for its provenance and for its title.
fn place(run: &Recording) -> (String, String) {
    match (run.header.environment, &run.header.redis) {
        (Environment::World, _) => ("simulated world".into(), String::new()),
        (Environment::Redis, None) => ("real Redis".into(), " (on real Redis)".into()),
        (Environment::Redis, Some(version)) => (
            format!("Redis {version}"),
            format!(" (on real Redis {version})"),
        ),
    }
}

/// Writes a drawing in each format, as `STEM.svg` and so on; returns their paths.
pub(super) fn write(
    store: &Store,
    stem: &str,
    picture: Drawing,
    provenance: &Provenance,
) -> anyhow::Result<Vec<PathBuf>> {
    let picture = provenance.stamp(picture);
    let write = |format: &Format| {
        let name = format!("{stem}.{}", format.ending());
        store.write(&name, &format.of(&picture)?)
    };
    store.formats.iter().map(write).collect()
}

/// The one of these properties, of which there is at least one, that a picture is to show.
pub(super) fn drawn(properties: &[Property], scenario: &Scenario) -> Property {
    let headline = scenario.headline();
    match properties.contains(&headline) {
        true => headline,
        false => properties[0],
    }
}

/// The violation of `property` by the run, if there is one.
pub(super) fn violation_of(run: &Recording, property: Property) -> Option<&Violation> {
    match run.footer.verdicts.get(&property) {
        Some(Verdict::Violated(violation)) => Some(violation),
        _ => None,
    }
}

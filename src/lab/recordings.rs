//! The evidence for a verdict: the recording of a run, and its picture.

use std::path::PathBuf;

use locklab_check::{Property, Verdict, Violation};
use locklab_vecmap::VecMap;

use locklab_history::leases;
use locklab_model::scenario::Scenario;
use locklab_report::{Drawing, Provenance, Sheet, spacetime};
use locklab_results::recording::{self, Environment, Recording, server_name};
use locklab_runner::prediction::usual_property;
use locklab_runner::recorded;
use locklab_values::untrusted;

use super::export;
use super::program::Program;
use super::store::Store;

/// A run that serves as evidence, and the path of its recording.
pub struct Evidence {
    /// The verdicts of the run.
    pub verdicts: VecMap<Property, Verdict>,
    /// The properties that it violates, of those in question.
    pub properties: Vec<Property>,
    /// Its seed.
    pub seed: u64,
    /// The violated property for which it is shrunk unless another is named.
    pub usual: Option<Property>,
    /// Whether the clients are a program of somebody else.
    pub is_foreign: bool,
    /// The lock that it is about, of a program with several.
    pub lock: Option<String>,
    /// Where the recording is.
    pub recording: PathBuf,
    /// Where its picture is, in the last of the formats.
    pub picture: PathBuf,
    /// A scenario that repeats it better than its seed does, if there is one.
    pub again: Option<PathBuf>,
}

impl Evidence {
    /// Lines that say where its picture is, and how to explore, to repeat and to shrink the run.
    pub fn describe(&self, program: &Program) -> String {
        // The lock of somebody else is not in the simulator.
        let Some(property) = self.violated().filter(|_| !self.is_foreign) else {
            return self.files(program);
        };
        let recording = self.recording.to_string_lossy();
        let mut words = vec!["shrink", &recording];
        if self.usual != Some(property) {
            words.extend(["--property", property.name()]);
        }
        format!(
            "{}\n    shrink   {}",
            self.files(program),
            program.line(&words)
        )
    }

    /// Lines that say where its picture is, and how to explore and to repeat the run.
    pub fn files(&self, program: &Program) -> String {
        let recording = self.recording.to_string_lossy();
        let lock = self.lock.iter();
        let lock: String = lock.map(|it| format!("    lock     {it}\n")).collect();
        format!(
            "{lock}    picture  {}\n    explore  {}\n    replay   {}",
            self.picture.display(),
            program.line(&["view", &recording]),
            program.line(&["replay", &recording]),
        )
    }

    /// The violated property that the run is about, or else the first of those in question.
    fn violated(&self) -> Option<Property> {
        let violated =
            |property: &Property| matches!(self.verdicts.get(property), Some(Verdict::Violated(_)));
        let usual = self.usual.filter(|usual| self.properties.contains(usual));
        let mut candidates = usual.into_iter().chain(self.properties.iter().copied());
        candidates.find(violated)
    }
}

/// Writes a recording and draws it, with the violation of `property` highlighted if there is
/// one.
pub fn keep(
    store: &Store,
    stem: &str,
    scenario: &Scenario,
    run: &Recording,
    property: Property,
) -> anyhow::Result<Evidence> {
    let recording = store.write(&format!("{stem}.jsonl"), &recording::write(run))?;
    let (picture, provenance) = drawing(scenario, run, property, &store.sheet)?;
    let drawing = provenance.stamp(picture);
    let mut last = PathBuf::new();
    for (name, contents) in export::pictures(stem, &drawing, &store.formats)? {
        last = store.write(&name, &contents)?;
    }
    Ok(Evidence {
        verdicts: run.footer.verdicts.clone(),
        properties: vec![property],
        seed: run.header.seed,
        usual: usual_property(scenario, &run.footer.verdicts),
        is_foreign: !run.header.program.is_empty(),
        lock: run.header.lock.clone(),
        recording,
        picture: last,
        again: None,
    })
}

/// The drawing of a run on this paper, and where it comes from.
pub fn drawing(
    scenario: &Scenario,
    run: &Recording,
    property: Property,
    sheet: &Sheet,
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
    let lock = run.header.lock.iter();
    let lock: String = lock.map(|lock| format!(", lock {lock}")).collect();
    let title = format!("{title}{real}{with}{lock}");
    let recorded = recorded::scenario(run).ok();
    let contents = recorded.and_then(|it| recorded::contents(run, &it).ok()?);
    let leases = contents.as_ref().map_or(Vec::new(), |contents| {
        leases::leases(&run.history, contents, &scenario.topology)
    });
    let clients = match &run.header.program[..] {
        [] => String::new(),
        words => format!(", clients: {}", shortened(&words.join(" "))),
    };
    let violation = violation_of(run, property);
    let picture = spacetime::draw(&run.history, &title, violation, &leases, sheet)?;
    let provenance = Provenance {
        subject: scenario.name.clone(),
        overrides: scenario.overrides.clone(),
        seeds: format!("seed {}", run.header.seed),
        environment: environment + &clients,
    };
    Ok((picture, provenance))
}

/// A command line that fits below a picture.
fn shortened(text: &str) -> String {
    const LONGEST: usize = 100;
    let text = untrusted::line(text);
    match text.char_indices().nth(LONGEST) {
        None => text,
        Some((end, _)) => format!("{}…", &text[..end]),
    }
}

/// Where a run took place, for its provenance and for its title.
fn place(run: &Recording) -> (String, String) {
    match (run.header.environment, &run.header.redis) {
        (Environment::World, _) => ("simulated world".into(), String::new()),
        (Environment::Redis, None) => ("real Redis".into(), " (on real Redis)".into()),
        (Environment::Redis, Some(version)) => (
            server_name(version),
            format!(" (on real {})", server_name(version)),
        ),
    }
}

/// The one of these properties, of which there is at least one, that a picture is to show: one that is violated, if
/// there is one, and rather the headline.
pub fn drawn(
    properties: &[Property],
    scenario: &Scenario,
    verdicts: &VecMap<Property, Verdict>,
) -> Property {
    let headline = scenario.headline();
    let is_violated =
        |property: &&Property| matches!(verdicts.get(*property), Some(Verdict::Violated(_)));
    let violated: Vec<Property> = properties.iter().filter(is_violated).copied().collect();
    let candidates = if violated.is_empty() {
        properties
    } else {
        &violated
    };
    match candidates.contains(&headline) {
        true => headline,
        false => candidates[0],
    }
}

/// The violation of `property` by the run, if there is one.
pub fn violation_of(run: &Recording, property: Property) -> Option<&Violation> {
    match run.footer.verdicts.get(&property) {
        Some(Verdict::Violated(violation)) => Some(violation),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use locklab_model::scenario;
    use locklab_report::svg;
    use locklab_runner::judged;
    use locklab_runner::simulate::Keep;

    /// Whether the picture of a run of K10 shows that the node n3 no longer held the key.
    fn is_expiry_shown(change: impl FnOnce(&mut Recording)) -> bool {
        let scenario = scenario::load("kleppmann/k10", &[]).expect("it ships");
        let run = judged::run(&scenario, 0, Keep::MESSAGES).expect("it ends");
        let mut recording = judged::recording(&scenario, 0, run, Environment::World);
        change(&mut recording);
        let (picture, _) =
            drawing(&scenario, &recording, Property::Lease, &Sheet::SCREEN).expect("it is drawn");
        let drawn = svg(&picture);
        drawn.contains(">lock → c1<") && drawn.contains(">expired<")
    }

    #[test]
    fn what_is_violated_is_drawn_before_the_headline() {
        let mut scenario = scenario::load("kleppmann/k1", &[]).expect("it ships");
        scenario.headline = Some(Property::Resource);
        let violation = Violation {
            at_ns: 1,
            until_ns: 1,
            clients: vec![],
            what: String::new(),
        };
        let drawn = |violated: &[Property]| {
            let verdict = |property: &Property| (*property, Verdict::Violated(violation.clone()));
            let verdicts = violated.iter().map(verdict).collect();
            let properties = [Property::Belief, Property::Lease, Property::Resource];
            super::drawn(&properties, &scenario, &verdicts)
        };
        assert_eq!(drawn(&[]), Property::Resource);
        assert_eq!(drawn(&[Property::Lease]), Property::Lease);
        assert_eq!(
            drawn(&[Property::Lease, Property::Resource]),
            Property::Resource
        );
    }

    #[test]
    fn picture_of_a_simulated_run_shows_what_the_nodes_held() {
        assert!(is_expiry_shown(|_| {}));
    }

    #[test]
    fn picture_of_a_run_that_cannot_be_repeated_has_no_keys() {
        assert!(!is_expiry_shown(
            |run| run.header.environment = Environment::Redis
        ));
        assert!(!is_expiry_shown(|run| run.history.end_ns += 1));
    }
}

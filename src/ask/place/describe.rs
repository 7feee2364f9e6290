//! What is told of placed faults: the estimate before, and the result with its evidence.

use console::style;
use locklab_check::Property;
use locklab_evidence::thousands;
use locklab_report::Provenance;
use locklab_results::recording::Environment;
use locklab_runner::judged;
use locklab_runner::simulate::Keep;
use locklab_values::units::fractional_ms_from_ns;
use serde_json::Value;

use super::classes::{Class, schedule};
use super::outcome::Outcome;
use super::pairs::{self, Pairs};
use super::subject::{Baseline, as_override};
use super::tables::{self, Struck, Summary};
use super::{Faults, Subject, list, picture};
use locklab_lab::section::{Form, Section};
use locklab_lab::{Program, Session, Store, layout, recordings};

/// How many pairs are told.
const MOST_TOLD: usize = 10;

/// How much is to be run, and how long that takes at the speed of the runs without faults.
pub(super) fn estimate(baselines: &[&Baseline], faults: Faults, threads: usize) -> String {
    let count = |of: &dyn Fn(&Baseline) -> u64| baselines.iter().map(|it| of(it)).sum::<u64>();
    let classes = count(&|it| it.singles.len() as u64);
    let placements = count(&Baseline::placements);
    let seconds = |runs: &dyn Fn(u64) -> f64| {
        let all =
            { baselines.iter() }.map(|it| it.took.as_secs_f64() * runs(it.singles.len() as u64));
        all.sum::<f64>() / threads.max(1) as f64
    };
    let mut text = format!(
        "  {} placements at {} steps, {} runs: about {}",
        thousands(placements),
        thousands(count(&|it| it.log.steps.len() as u64)),
        thousands(classes),
        about(seconds(&|classes| classes as f64)),
    );
    if faults == Faults::Two {
        // In the mean, half of the steps come after the first fault; it may also make the run longer or shorter.
        let pairs = |classes: u64| classes as f64 * classes as f64 / 2.0;
        let runs = { baselines.iter() }
            .map(|it| pairs(it.singles.len() as u64))
            .sum::<f64>();
        text += &format!(
            "; then some {} pairs: about {}",
            thousands(runs as u64),
            about(seconds(&pairs))
        );
    }
    text
}

fn about(seconds: f64) -> String {
    match seconds {
        0.0..1.0 => "a second".into(),
        1.0..120.0 => format!("{seconds:.0} seconds"),
        _ => format!("{:.0} minutes", seconds / 60.0),
    }
}

/// The command that runs a scenario with the faults of these classes.
pub(super) fn command(baseline: &Baseline, classes: &[&Class], program: &Program) -> String {
    let steps = &baseline.log.steps;
    let faults = classes
        .iter()
        .map(|class| class.fault(steps, &baseline.setting));
    run_line(baseline, &as_override(&schedule(faults)), program)
}

fn run_line(baseline: &Baseline, faults: &str, program: &Program) -> String {
    let scenario = &baseline.scenario;
    let kept = scenario
        .overrides
        .iter()
        .filter(|set| !set.starts_with("fault"));
    let sets: Vec<String> = kept.cloned().chain([faults.to_owned()]).collect();
    program.run_line(&scenario.name, &sets, baseline.seed)
}

/// What is told of one scenario.
pub(super) struct Told<'a> {
    pub(super) subject: &'a Subject,
    pub(super) struck: &'a [Struck<'a>],
    pub(super) summary: &'a Summary,
    pub(super) pairs: &'a [&'a Pairs],
    pub(super) program: &'a Program,
    pub(super) folder: &'a Store,
}

impl Told<'_> {
    /// The parts of the report; `document` is all of it for programs.
    pub(super) fn sections(&self, document: &Value) -> anyhow::Result<Vec<Section>> {
        let &Told {
            subject,
            struck,
            summary,
            pairs,
            program,
            folder,
        } = self;
        let name = &subject.scenario.name;
        let (first, last) = (&struck[0].baseline, &struck[struck.len() - 1].baseline);
        let seeds = match struck.len() {
            1 => format!("seed {}", first.seed),
            _ => format!("seeds {}..{}", first.seed, last.seed + 1),
        };
        let title = format!("One fault at every step: {name}, {seeds}");
        let table = tables::by_kind(title.clone(), summary);
        let mut text = format!("{}\n", style(&title).bold());
        if !summary.violated_without_faults.is_empty() {
            let names = summary.violated_without_faults.iter();
            let names: Vec<&str> = names.map(|property| property.name()).collect();
            let already = format!(
                "Without any fault it violates {} already.",
                names.join(", ")
            );
            text += &format!("\n{}\n", layout::fold(&already));
        }
        text += &format!("\n{}", layout::fold(&table.plain(layout::columns())));
        if !pairs.is_empty() {
            text += &format!("\n\n{}", of_pairs(struck, pairs, program));
        }
        let list = list::as_list(&list::entries(struck));
        let provenance = Provenance {
            subject: format!("a fault at every step of {name}"),
            overrides: subject.scenario.overrides.clone(),
            seeds,
            environment: "simulated world".into(),
        };
        let main = Section {
            text,
            forms: vec![
                Form::List(list),
                Form::Data(document.clone()),
                Form::Table(table),
                Form::Chart(picture::map(&struck[0], &title, &folder.sheet)?, provenance),
            ],
            ..Section::of(String::new(), folder, "place")
        };
        let by_step = tables::by_step(format!("{title}, by step"), struck, summary);
        let by_step = Section {
            forms: vec![Form::Table(by_step)],
            ..Section::of("The same by step:".into(), folder, "steps")
        };
        Ok(vec![main, by_step])
    }
}

fn of_pairs(struck: &[Struck<'_>], pairs: &[&Pairs], program: &Program) -> String {
    let all = pairs::joined(pairs);
    let counts = |property| all.violated.get(&property).copied().unwrap_or_default();
    let ((lease, new_lease), (resource, new_resource)) =
        (counts(Property::Lease), counts(Property::Resource));
    let mut text = layout::fold(&format!(
        "Of {} pairs of placements ({} runs), {} runs violate the lease, {new_lease} of them although \
         neither fault would alone, and {} the resource, {new_resource} of them although neither would \
         alone. After {} first faults, which never took effect, no second was run.",
        thousands(all.placements),
        thousands(all.runs),
        thousands(lease),
        thousands(resource),
        thousands(all.without_effect),
    ));
    for pair in all.listed.iter().take(MOST_TOLD) {
        let names: Vec<&str> = pair
            .violates
            .iter()
            .map(|property| property.name())
            .collect();
        text += &format!(
            "\n  {}\n    {}\n    and {}",
            names.join(", "),
            pair.faults[0],
            pair.faults[1]
        );
        let own = struck.iter().find(|run| run.baseline.seed == pair.seed);
        if let Some(run) = own {
            text += &format!("\n    {}", run_line(run.baseline, &pair.set, program));
        }
    }
    text
}

/// For each of the properties that matter: the first fault that violates it, recorded and drawn.
pub(super) fn evidence(
    subject: &Subject,
    struck: &[Struck<'_>],
    session: &Session,
    folder: &Store,
) -> anyhow::Result<String> {
    let mut lines = Vec::new();
    for property in [Property::Lease, Property::Resource, Property::Deadlock] {
        let violates = |(_, outcome): &(&Class, &Outcome)| outcome.violates(property);
        let all = struck.iter().flat_map(|run| {
            let classes = run.classes().filter(violates);
            classes.map(move |(class, _)| (run.baseline, class))
        });
        let Some((baseline, class)) =
            all.min_by_key(|(baseline, class)| baseline.step(class).at_ns)
        else {
            continue;
        };
        let seen = baseline.step(class);
        let run = baseline.single(class, Keep::MESSAGES)?;
        let scenario = locklab_model::scenario::Scenario {
            name: subject.scenario.name.clone(),
            overrides: subject.scenario.overrides.clone(),
            ..baseline.scenario.clone()
        };
        let recording = judged::recording(&scenario, baseline.seed, run, Environment::World);
        let stem = format!("first-{}", property.name());
        let evidence = recordings::keep(folder, &stem, &scenario, &recording, property)?;
        lines.push(format!(
            "{}: first by a {} of {} at “{}”, {:.1} ms\n{}\n    run      {}",
            style(property.name()).bold(),
            class.kind().name,
            class.target,
            seen.step,
            fractional_ms_from_ns(seen.at_ns),
            evidence.describe(&session.program),
            command(baseline, &[class], &session.program),
        ));
    }
    Ok(lines.join("\n"))
}

//! The counts of placements: together, by kind of fault, by step, and by lock.

use std::collections::{BTreeMap, BTreeSet};

use locklab_check::Property;
use locklab_evidence::thousands;
use locklab_report::Provenance;
use locklab_results::csv::Csv;
use locklab_results::table::{Field, Look, Table, TableRow};
use locklab_values::units::fractional_ms_from_ns;
use serde::{Serialize, Serializer};
use serde_json::Value;

use super::classes::Class;
use super::kinds::KINDS;
use super::outcome::{Does, Outcome};
use super::pairs::{self, Pairs};
use super::subject::Baseline;
use locklab_lab::Store;
use locklab_lab::section::Section;

/// A run, and what came of the faults placed in it.
pub(super) struct Struck<'a> {
    pub(super) baseline: &'a Baseline,
    /// By the number of the class; all, unless the work was interrupted.
    pub(super) outcomes: &'a BTreeMap<u64, Outcome>,
}

impl<'a> Struck<'a> {
    /// The classes that were run, with what came of them.
    pub(super) fn classes(&self) -> impl Iterator<Item = (&'a Class, &'a Outcome)> {
        let baseline = self.baseline;
        { self.outcomes.iter() }
            .map(move |(number, outcome)| (&baseline.singles[*number as usize], outcome))
    }
}

/// Placements and classes, by what they do.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub(crate) struct Counts {
    /// How many placements.
    pub(crate) placements: u64,
    /// How many classes of them, each of which is one run.
    pub(crate) classes: u64,
    /// How many placements violate the lease.
    pub(crate) lease: u64,
    /// How many placements violate the resource.
    pub(crate) resource: u64,
    /// How many placements violate `deadlock`.
    pub(crate) deadlock: u64,
    /// How many placements violate `availability`.
    pub(crate) availability: u64,
    /// How many placements violate something else than `belief`, and none of these.
    pub(crate) other: u64,
    /// How many placements violate `belief`, and nothing else.
    pub(crate) belief: u64,
    /// How many placements could not have violated lease or resource, and violate nothing.
    pub(crate) inconclusive: u64,
    /// How many placements violate nothing.
    pub(crate) nothing: u64,
}

impl Counts {
    fn add(&mut self, class: &Class, outcome: &Outcome) {
        self.add_some(class.steps.len() as u64, outcome);
        self.classes += 1;
    }

    fn add_some(&mut self, placements: u64, outcome: &Outcome) {
        self.placements += placements;
        for (property, count) in [
            (Property::Lease, &mut self.lease),
            (Property::Resource, &mut self.resource),
            (Property::Deadlock, &mut self.deadlock),
            (Property::Availability, &mut self.availability),
        ] {
            if outcome.violates(property) {
                *count += placements;
            }
        }
        match outcome.does() {
            Does::Other => self.other += placements,
            Does::Belief => self.belief += placements,
            Does::Inconclusive => self.inconclusive += placements,
            Does::Nothing => self.nothing += placements,
            Does::Lease | Does::Resource | Does::Deadlock | Does::Availability => {}
        }
    }

    fn fields(&self) -> Vec<Field> {
        let plain = |count: u64| Field::plain(thousands(count), Look::Silent);
        let bad = |count: u64| match count {
            0 => Field::plain("0", Look::Holds),
            count => {
                let share = count as f64 / self.placements.max(1) as f64;
                Field::plain(thousands(count), Look::Violated(share))
            }
        };
        vec![
            plain(self.placements),
            plain(self.classes),
            bad(self.lease),
            bad(self.resource),
            bad(self.deadlock),
            plain(self.availability),
            plain(self.other),
            plain(self.belief),
            plain(self.inconclusive),
            plain(self.nothing),
        ]
    }
}

/// The headings of [`Counts::fields`].
const COUNTED: [&str; 10] = [
    "placements",
    "classes run",
    "lease",
    "resource",
    "deadlock",
    "availability",
    "other",
    "belief only",
    "inconclusive",
    "nothing",
];

/// Everything that was placed, in numbers.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub(crate) struct Summary {
    /// The number of runs without faults.
    pub(super) runs_without_faults: u64,
    /// What these violate.
    pub(super) violated_without_faults: Vec<Property>,
    /// Their steps.
    pub(crate) steps: u64,
    /// The kinds of fault that were placed.
    pub(super) kinds: u64,
    /// The placements that there are; fewer were run if the work was interrupted.
    pub(super) planned: u64,
    /// All that were run, or represented by one that was.
    #[serde(flatten)]
    pub(crate) counts: Counts,
    /// The same by kind.
    #[serde(serialize_with = "named")]
    pub(super) by_kind: BTreeMap<usize, Counts>,
    /// The same by step, in the order of the run; for the first run only.
    #[serde(skip)]
    pub(super) by_step: BTreeMap<usize, Counts>,
}

fn named<S: Serializer>(kinds: &BTreeMap<usize, Counts>, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_map(
        kinds
            .iter()
            .map(|(kind, counts)| (KINDS[*kind].name, counts)),
    )
}

impl Summary {
    pub(super) fn of(struck: &[Struck<'_>]) -> Self {
        let mut summary = Summary {
            runs_without_faults: struck.len() as u64,
            ..Summary::default()
        };
        let mut violated = BTreeSet::new();
        for (place, run) in struck.iter().enumerate() {
            summary.steps += run.baseline.log.steps.len() as u64;
            summary.planned += run.baseline.placements();
            violated.extend(run.baseline.outcome.violated.iter().copied());
            for (class, outcome) in run.classes() {
                summary.counts.add(class, outcome);
                summary
                    .by_kind
                    .entry(class.kind)
                    .or_default()
                    .add(class, outcome);
                if place == 0 {
                    for at in &class.steps {
                        summary.by_step.entry(*at).or_default().add_some(1, outcome);
                    }
                }
            }
        }
        summary.kinds = summary.by_kind.len() as u64;
        summary.violated_without_faults = violated.into_iter().collect();
        summary
    }

    /// The result in a sentence that can be cited.
    pub(super) fn sentence(&self) -> String {
        let Counts {
            placements,
            classes,
            lease,
            resource,
            deadlock,
            ..
        } = &self.counts;
        let runs = match self.runs_without_faults {
            1 => String::new(),
            runs => format!(" of {} runs", thousands(runs)),
        };
        let deadlock = match deadlock {
            0 => String::new(),
            count => format!(", {} leave the lock deadlocked", thousands(*count)),
        };
        let unfinished = match self.planned - placements {
            0 => String::new(),
            rest => format!(" ({} more were not run)", thousands(rest)),
        };
        format!(
            "Of {} placements of {} kinds of fault at {} steps{runs} ({} classes), {} violate the \
             lease, {} the resource{deadlock}{unfinished}.",
            thousands(*placements),
            self.kinds,
            thousands(self.steps),
            thousands(*classes),
            thousands(*lease),
            thousands(*resource),
        )
    }
}

/// The counts by kind of fault.
pub(super) fn by_kind(title: String, summary: &Summary) -> Table {
    let row = |(kind, counts): (&usize, &Counts)| TableRow {
        label: KINDS[*kind].name.into(),
        fields: counts.fields(),
    };
    Table {
        title,
        rows_are: "fault",
        columns: COUNTED.map(String::from).into(),
        rows: summary.by_kind.iter().map(row).collect(),
        legend: LEGEND.into(),
        notes: vec![summary.sentence(), NOTE.into()],
    }
}

const LEGEND: [(Look, &str); 2] = [
    (Look::Violated(0.0), "violated, by the share of placements"),
    (Look::Holds, "not violated"),
];

const NOTE: &str = "The columns from “lease” on count placements. One that violates several properties is \
                    in each of their columns; “other” counts those that violate none of these but another property, \
                    “belief only” those that violate nothing but belief.";

/// The counts by step, for the steps of the first run at which a fault violates anything.
pub(super) fn by_step(title: String, struck: &[Struck<'_>], summary: &Summary) -> Table {
    let row = |(at, counts): (&usize, &Counts)| {
        let seen = &struck.first()?.baseline.log.steps[*at];
        let hurts = counts.lease + counts.resource + counts.deadlock > 0;
        let mut fields = vec![Field::plain(
            format!("{:.1}", fractional_ms_from_ns(seen.at_ns)),
            Look::Silent,
        )];
        fields.extend(counts.fields());
        // A class has several steps.
        fields.remove(2);
        hurts.then(|| TableRow {
            label: seen.step.to_string(),
            fields,
        })
    };
    let mut columns = vec!["at (ms)".to_owned()];
    columns.extend(
        COUNTED
            .iter()
            .filter(|it| **it != "classes run")
            .map(|it| (*it).to_owned()),
    );
    Table {
        title,
        rows_are: "step",
        columns,
        rows: summary.by_step.iter().filter_map(row).collect(),
        legend: LEGEND.into(),
        notes: vec![
            "Steps at which no fault violates lease, resource or deadlock are left out. A pause, a \
             partition and a step of a clock count at every step at which they could begin."
                .into(),
        ],
    }
}

/// What the report calls the subjects of a comparison.
pub(super) struct Words {
    /// Behind "One fault at every step: ".
    title: &'static str,
    /// The first column.
    rows_are: &'static str,
    /// The list of them in JSON.
    pub(super) list: &'static str,
    /// What the files are about.
    subject: &'static str,
    /// The name of the files.
    stem: &'static str,
}

/// Locks on the standard workload.
pub(super) const LOCKS: Words = Words {
    title: "the locks compared",
    rows_are: "lock",
    list: "locks",
    subject: "locks, with two clients",
    stem: "place",
};

/// Scenarios that rely on fencing tokens.
pub(super) const FENCED: Words = Words {
    title: "the scenarios that rely on fencing tokens",
    rows_are: "scenario",
    list: "scenarios",
    subject: "scenarios of locks with tokens that predict resource: holds",
    stem: "fenced",
};

/// One subject of a comparison.
#[derive(Serialize)]
pub(crate) struct ComparedRow<'a> {
    /// The lock, or the scenario.
    pub(crate) label: String,
    /// Whether the lock gives fencing tokens, which the resource then compares.
    #[serde(skip)]
    pub(crate) gives_tokens: bool,
    /// What one fault does.
    pub(crate) summary: Summary,
    /// What two faults do; empty unless pairs were placed.
    #[serde(serialize_with = "summed")]
    pub(crate) pairs: Vec<&'a Pairs>,
}

fn summed<S: Serializer>(pairs: &[&Pairs], serializer: S) -> Result<S::Ok, S::Error> {
    pairs::summary(pairs).serialize(serializer)
}

/// The comparison.
pub(super) fn compared(
    words: &Words,
    rows: &[ComparedRow<'_>],
    seeds: usize,
    document: &Value,
    folder: &Store,
) -> Section {
    let table = table(words, rows, seeds);
    let mut list = Csv::new(
        [words.rows_are.to_owned()]
            .into_iter()
            .chain(table.columns.iter().cloned()),
    );
    for row in &table.rows {
        let numbers = row
            .fields
            .iter()
            .map(|field| field.text.replace(['\u{202f}', ','], ""));
        list.push([row.label.clone()].into_iter().chain(numbers).collect());
    }
    let provenance = Provenance {
        subject: words.subject.into(),
        overrides: vec![],
        seeds: format!("{seeds} seeds each"),
        environment: "simulated world".into(),
    };
    let document = document.clone();
    Section::of_table(table, list, document, provenance, folder, words.stem)
}

/// The table of the comparison.
pub(super) fn table(words: &Words, rows: &[ComparedRow<'_>], seeds: usize) -> Table {
    let has_pairs = rows.iter().any(|row| !row.pairs.is_empty());
    let mut columns = vec!["steps".to_owned()];
    columns.extend(COUNTED.map(String::from));
    if has_pairs {
        columns.extend(PAIRED.map(String::from));
    }
    let row = |row: &ComparedRow<'_>| {
        let mut fields = vec![Field::plain(thousands(row.summary.steps), Look::Silent)];
        fields.extend(row.summary.counts.fields());
        if has_pairs {
            fields.extend(paired(&pairs::joined(&row.pairs)));
        }
        TableRow {
            label: row.label.clone(),
            fields,
        }
    };
    Table {
        title: format!(
            "One fault at every step: {} ({seeds} {} each)",
            words.title,
            if seeds == 1 { "run" } else { "runs" }
        ),
        rows_are: words.rows_are,
        columns,
        rows: rows.iter().map(row).collect(),
        legend: LEGEND.into(),
        notes: vec![NOTE.into()],
    }
}

/// The columns of [`paired`].
const PAIRED: [&str; 4] = ["pairs", "pairs run", "pairs: lease", "pairs: resource"];

fn paired(pairs: &Pairs) -> Vec<Field> {
    let violated = |property| {
        let (runs, _) = pairs.violated.get(&property).copied().unwrap_or_default();
        match runs {
            0 => Field::plain("0", Look::Holds),
            runs => {
                let share = runs as f64 / pairs.runs.max(1) as f64;
                Field::plain(thousands(runs), Look::Violated(share))
            }
        }
    };
    vec![
        Field::plain(thousands(pairs.placements), Look::Silent),
        Field::plain(thousands(pairs.runs), Look::Silent),
        violated(Property::Lease),
        violated(Property::Resource),
    ]
}

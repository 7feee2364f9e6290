//! What came of the cases of a suite.

use anyhow::ensure;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::{Case, Kind};
use locklab_check::{Property, Verdict};
use locklab_evidence::{Expected, Finding, Judgement, Prediction, Tally, thousands};
use locklab_results::Cell;
use locklab_results::recording::Recording;
use locklab_runner::prediction::{self, Comparison};
use locklab_values::shell::quoted;

/// The results of a suite, or of a part of one.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Results {
    /// Which part of the suite this is; absent: all of it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub shard: Option<String>,
    /// The number of cases of the whole suite.
    pub suite: usize,
    /// The seed with which every scenario begins.
    pub first_seed: u64,
    /// The name of the program that ran it.
    pub program: String,
    /// The cases, in the order of the suite.
    pub cases: Vec<CaseResult>,
}

/// What came of a case.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct CaseResult {
    /// Its place in the whole suite, from 0.
    pub place: usize,
    /// See [`Case::id`].
    pub id: String,
    /// What it is.
    pub kind: Kind,
    /// The title of its scenario.
    pub title: String,
    /// The claim's number, if it has one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub claim: Option<String>,
    /// Its scenario, to see what of it has changed; absent in files of earlier versions.
    #[serde(default, skip_serializing_if = "Value::is_null")]
    pub scenario: Value,
    /// The runs: 0 if it did not come to its turn.
    pub runs: u64,
    /// A hash over all events of all runs.
    pub fingerprint: String,
    /// How many of its seeds were run a second time, to see whether the runs are the same.
    #[serde(default)]
    pub repeated: u64,
    /// Where two runs of one seed differ, if they do: a bug in Locklab, or a lock that uses
    /// something other than its `Env`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unlike: Option<String>,
    /// The properties that were predicted, or violated without a prediction.
    pub properties: Vec<PropertyResult>,
}

/// A property of a case: predicted and observed.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct PropertyResult {
    /// The property.
    pub property: Property,
    /// The prediction, if there is one.
    pub predicted: Option<Prediction>,
    /// The counts of the runs.
    pub tally: Tally,
    /// What the runs show together.
    pub observed: Finding,
    /// Whether they confirm the prediction.
    pub judgement: Judgement,
    /// If that is inconclusive: how many more runs would decide.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub more_runs: Option<u64>,
    /// The seed of the run with the earliest violation, if there is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub shortest: Option<u64>,
    /// Where the prediction stands in the scenario's file: the line, from 1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub line: Option<usize>,
    /// The run that shows why it differs, if it does.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub evidence: Option<Evidence>,
}

/// A run that shows a violation.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Evidence {
    /// Its seed.
    pub seed: u64,
    /// What happened, in a sentence.
    pub what: String,
    /// What would have prevented it, in a sentence; absent in files of earlier versions.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub prevents: String,
    /// The arguments of the command that makes it again.
    pub replay: Vec<String>,
    /// The recording, in the folder of the results.
    pub recording: String,
    /// The picture, in the folder of the results.
    pub picture: String,
    /// The smallest scenario that violates the same property, if it was looked for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub smallest: Option<Smallest>,
}

/// A run, shrunk.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Smallest {
    /// The scenario, in the folder of the results.
    pub scenario: String,
    /// How large it is.
    pub size: String,
    /// What happens in its run, a sentence each.
    pub story: Vec<String>,
}

impl CaseResult {
    /// A case of which nothing is known yet.
    pub fn of(place: usize, case: &Case) -> CaseResult {
        CaseResult {
            place,
            id: case.id.clone(),
            kind: case.kind(),
            title: case.scenario.title.clone(),
            claim: case.scenario.claim.clone(),
            scenario: json!(case.scenario),
            runs: 0,
            fingerprint: String::new(),
            repeated: 0,
            unlike: None,
            properties: vec![],
        }
    }

    /// Whether it came to its turn: it was run, or two runs of it have been found to differ.
    pub fn was_run(&self) -> bool {
        self.runs > 0 || self.unlike.is_some()
    }

    /// Adds what the runs of a scenario show. Without runs every prediction is inconclusive.
    pub fn judge(&mut self, case: &Case, mut cell: Cell, runs: u64) {
        for property in case.scenario.expect.keys() {
            cell.tallies.entry(*property).or_default();
        }
        let comparisons = prediction::compare(&case.scenario, &cell);
        self.add(comparisons, &cell, runs);
    }

    /// Adds what a recorded run shows that was repeated, whose cell this is. A single run cannot show that a
    /// property holds, or how often it is violated; it can show that the failure for which it is
    /// kept is back. So a property that is predicted to hold has to hold in it, and one that is
    /// predicted to be violated, and was, has to be violated again. A run that can no longer show
    /// either, since its fault misses, say, is inconclusive.
    pub fn judge_again(&mut self, case: &Case, recorded: &Recording, cell: &Cell) {
        let was = &recorded.footer.verdicts;
        let mut comparisons = prediction::compare(&case.scenario, cell);
        comparisons.retain_mut(|comparison| {
            let property = &comparison.property;
            let Some(predicted) = comparison.predicted else {
                return comparison.judgement == Judgement::Differs;
            };
            let was = was.get(property);
            let found = match comparison.tally {
                Tally { violated: 1.., .. } => Finding::Violated,
                Tally { holds: 1.., .. } => Finding::Holds,
                Tally { .. } => Finding::Inconclusive,
            };
            comparison.more_runs = None;
            comparison.judgement = match (predicted.expected(), found) {
                (Expected::Violated, _) if !matches!(was, Some(Verdict::Violated(_))) => {
                    return false;
                }
                (_, Finding::Inconclusive) => Judgement::Inconclusive,
                (Expected::Holds, Finding::Holds) | (Expected::Violated, Finding::Violated) => {
                    Judgement::AsPredicted
                }
                (Expected::Holds, Finding::Violated) | (Expected::Violated, Finding::Holds) => {
                    Judgement::Differs
                }
            };
            true
        });
        self.add(comparisons, cell, 1);
    }

    fn add(&mut self, comparisons: Vec<Comparison>, cell: &Cell, runs: u64) {
        self.runs = runs;
        self.fingerprint = format!("{:016x}", cell.fingerprint);
        let told = comparisons
            .into_iter()
            .filter(|c| c.predicted.is_some() || c.judgement == Judgement::Differs);
        let of = |comparison: Comparison| {
            let shortest = cell.shortest.get(&comparison.property);
            PropertyResult::of(comparison, shortest.map(|shortest| shortest.seed))
        };
        self.properties = told.map(of).collect();
    }

    /// The worst of what is known of it; [`Judgement::Unpredicted`] if it was run, predicts nothing,
    /// and violates nothing.
    pub fn judgement(&self) -> Judgement {
        let of_properties = self.properties.iter().map(|found| found.judgement);
        match (&self.unlike, self.runs) {
            (Some(_), _) => Judgement::Differs,
            (None, 0) => Judgement::Inconclusive,
            (None, _) => of_properties.max().unwrap_or(Judgement::Unpredicted),
        }
    }
}

impl PropertyResult {
    fn of(comparison: Comparison, shortest: Option<u64>) -> PropertyResult {
        PropertyResult {
            property: comparison.property,
            predicted: comparison.predicted,
            tally: comparison.tally,
            observed: comparison.observed,
            judgement: comparison.judgement,
            more_runs: comparison.more_runs,
            shortest,
            line: None,
            evidence: None,
        }
    }

    /// What was found, set against the prediction, in a sentence.
    pub fn sentence(&self) -> String {
        let predicted = match self.predicted {
            Some(predicted) => format!("predicted: {predicted}"),
            None => "no violation was predicted".into(),
        };
        let found = match self.tally.runs() {
            0 => "not run".into(),
            _ => format!("violated in {}", self.tally.describe()),
        };
        let more = match self.more_runs {
            Some(runs) => format!("; {} more runs would decide", thousands(runs)),
            None => String::new(),
        };
        format!("{predicted}; {found}{more}")
    }
}

impl Results {
    /// The worst judgement of all cases; a part of a small suite may have none.
    pub fn judgement(&self) -> Judgement {
        let of_cases = self.cases.iter().map(CaseResult::judgement);
        of_cases.max().unwrap_or(Judgement::Unpredicted)
    }

    /// Whether every prediction came true, and was shown to.
    pub fn is_as_predicted(&self) -> bool {
        self.judgement() <= Judgement::AsPredicted
    }

    /// How many cases were judged so.
    pub fn count(&self, judgement: Judgement) -> usize {
        let found = self.cases.iter().map(CaseResult::judgement);
        found.filter(|found| *found == judgement).count()
    }

    /// The command that makes a run again, as a line for a shell.
    pub fn command(&self, evidence: &Evidence) -> String {
        let words = { evidence.replay.iter() }.map(|word| quoted(word));
        let words: Vec<String> = [self.program.clone()].into_iter().chain(words).collect();
        words.join(" ")
    }

    /// Reads the results from the JSON document that `locklab check` writes.
    ///
    /// # Errors
    ///
    /// If it is none.
    pub fn read(text: &str) -> anyhow::Result<Results> {
        let document: Value = serde_json::from_str(text)?;
        ensure!(
            document["command"] == "check" && document["format"] == locklab_results::FORMAT,
            "these are not the results of `locklab check` in format {}",
            locklab_results::FORMAT
        );
        Ok(serde_json::from_value(document)?)
    }
}

//! `locklab judge`: the history of a lock from anywhere, judged.

use std::path::{Path, PathBuf};

use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use clap::{Args, ValueEnum, ValueHint};

use crate::meaning::Meaning;
use crate::options::{Ask, number};
use locklab_check::Property;
use locklab_judge::{Criterion, Given, KeyReport, ModelName, Pairs, Verdict, jepsen};
use locklab_lab::output::{self, Stdout};
use locklab_lab::{Exit, data};
use serde_json::json;

mod read;
mod tell;

use self::read::Input;

const EXAMPLES: &str = "\
Examples:
  locklab judge history.jsonl
  locklab judge --model owner store/latest/history.edn
  locklab judge --model semaphore --permits 2 store/latest/history.edn
  locklab judge - < history.jsonl
  locklab judge history.jsonl --format edn > history.edn
  locklab judge target/locklab/kleppmann-k1/seed-3.jsonl

HISTORY is a log of a lock's calls: JSON lines in the schema of docs/judge.md,
Jepsen's EDN or JSON, or a recording of `locklab run`.

Exit codes: 0 nothing that the lock promises is violated; 1 the history cannot
be used; 2 violated; 3 inconclusive: the lock was never contended, or the budget
was spent.";

#[derive(Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Options {
    /// The history, `-` for standard input
    #[arg(value_name = "HISTORY", value_hint = ValueHint::FilePath)]
    history: PathBuf,
    /// The kind of lock; by default that of the header, and `mutex` for EDN
    #[arg(long, value_name = "MODEL", value_parser = model_parser())]
    model: Option<ModelName>,
    /// How many permits a semaphore has; by default as many as its header says, or 1
    #[arg(long, value_name = "N", value_parser = number::whole::<u32>(1..=u64::from(u32::MAX)))]
    permits: Option<u32>,
    /// What the first of two texts in a `:value` of Jepsen's is
    #[arg(long, value_enum, value_name = "WHAT")]
    pairs: Option<First>,
    /// How many steps the search for an order may try, for each lock
    #[arg(long, value_name = "STEPS", default_value_t = BUDGET, value_parser = number::whole::<u64>(1..=u64::MAX))]
    budget: u64,
    /// Print the history in this format instead of judging it
    #[arg(long, value_enum, value_name = "FORMAT")]
    format: Option<Format>,
    /// Print the result as JSON on standard output
    #[arg(long)]
    json: bool,
    /// Folder for the picture of a violation
    #[arg(long, value_name = "DIR", default_value = "target/locklab")]
    out: PathBuf,
}

/// A few seconds of search.
const BUDGET: u64 = 10_000_000;

fn model_parser() -> impl TypedValueParser<Value = ModelName> {
    let values = ModelName::ALL.map(|model| PossibleValue::new(model.name()).help(model.about()));
    PossibleValuesParser::new(values).try_map(|name| name.parse::<ModelName>())
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Format {
    /// Jepsen's
    Edn,
}

/// What the first of two texts is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum First {
    /// The lock, as jepsen.independent writes it
    Lock,
    /// Of no lock: a client with an id, say; both are passed over
    Value,
}

impl Ask for Options {
    fn answer(&self, _: &crate::options::Context) -> anyhow::Result<Exit> {
        let file = read::bytes(&self.history)?;
        let name = match self.history == Path::new("-") {
            true => PathBuf::from("standard input"),
            false => self.history.clone(),
        };
        let given = Given {
            model: self.model,
            permits: self.permits,
            pairs: self.pairs.map(|first| match first {
                First::Lock => Pairs::Lock,
                First::Value => Pairs::Value,
            }),
        };
        let input = Input::read(file, &name, &given)?;
        if let Some(Format::Edn) = self.format {
            output::print_exactly(&jepsen::write(&input.into_log(self.model)))?;
            return Ok(Exit::AsPredicted);
        }
        let recorded = input.meaning();
        let judged = input.judge(&name, self.model, self.budget)?;
        let stdout = Stdout::of(self.json);
        stdout.tell(&tell::heading(&judged, &name))?;
        stdout.tell(&tell::verdicts(&judged.reports))?;
        let picture = tell::picture(&judged, &name, &self.out)?;
        if let Some(picture) = &picture {
            stdout.tell(&format!("  picture  {}", picture.display()))?;
        }
        let meaning = recorded.or_else(|| meaning(&judged.reports));
        if let Some(meaning) = &meaning {
            stdout.tell(meaning.paragraph().trim_start_matches('\n'))?;
        }
        if self.json {
            let mut document = tell::document(&judged, &name, picture.as_deref());
            document["meaning"] = json!(meaning);
            output::print_json(&data::document("judge", document))?;
        }
        Ok(exit(&judged.reports))
    }
}

/// What the first violation means that counts.
fn meaning(reports: &[KeyReport]) -> Option<Meaning> {
    let is_violated = |verdict: &Verdict| matches!(verdict, Verdict::Violated(_));
    reports.iter().find_map(|report| {
        let mut counted = report.verdicts.iter().filter(|(it, _)| report.counts(*it));
        let (criterion, _) = counted.find(|(_, verdict)| is_violated(verdict))?;
        let tokens = report.verdict(Criterion::Checked(Property::TokenRegression));
        let is_shown = |verdict: &Verdict| !matches!(verdict, Verdict::Inconclusive { .. });
        let (property, happened) = match criterion {
            // Of a lock that tells no deadline it is what it promises.
            Criterion::Checked(Property::Belief) => (Property::Lease, None),
            Criterion::Checked(property) => (*property, None),
            Criterion::Permits => (
                Property::Lease,
                Some("more clients had the lock at once than it has permits"),
            ),
            Criterion::GrantTokens => (
                Property::TokenRegression,
                Some("a later grant had no higher token"),
            ),
            Criterion::UnheldRelease => (
                Property::ForeignRelease,
                Some("a client released a lock that it did not have"),
            ),
            Criterion::Linearizable => (
                Property::Lease,
                Some("no order of the calls explains what they returned"),
            ),
        };
        let meaning = Meaning::of(property, tokens.is_some_and(is_shown));
        Some(Meaning {
            violated: criterion.name().to_owned(),
            happened: happened.map_or(meaning.happened, str::to_owned),
            ..meaning
        })
    })
}

fn exit(reports: &[KeyReport]) -> Exit {
    let is_violated = |report: &KeyReport| {
        let mut verdicts = report.verdicts.iter();
        verdicts.any(|(criterion, verdict)| {
            matches!(verdict, Verdict::Violated(_)) && report.counts(*criterion)
        })
    };
    let is_open = |verdict: &Verdict| matches!(verdict, Verdict::Inconclusive { .. });
    // A lock whose calls could not have contradicted anything leaves the others their verdict.
    let is_unknown = |report: &KeyReport| {
        let searched = report.verdict(Criterion::Linearizable);
        searched.is_some_and(is_open)
            && !report.verdicts.iter().all(|(_, verdict)| is_open(verdict))
    };
    let excludes = |report: &KeyReport| report.verdict(report.exclusion) == Some(&Verdict::Holds);
    if reports.iter().any(is_violated) {
        Exit::Differs
    } else if reports.iter().any(is_unknown) || !reports.iter().any(excludes) {
        Exit::Inconclusive
    } else {
        Exit::AsPredicted
    }
}

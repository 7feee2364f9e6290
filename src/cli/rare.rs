//! `locklab rare`: how likely a violation is that is too rare to count.

use anyhow::Context as _;
use clap::{Args, ValueEnum};
use serde_json::{Value, json};

use super::many::Jobs;
use super::number::whole;
use super::{Exit, interrupt, scenario_completer, seeds, sweep};
use locklab_check::Property;
use locklab_evidence::{Interval, LEAST_EFFECTIVE, REPLICATIONS, Rate, Weighted, thousands};
use locklab_experiments::layout;
use locklab_experiments::output::{self, Stdout};
use locklab_experiments::progress::Progress;
use locklab_model::scenario::{self, Scenario};
use locklab_rare::sampling;
use locklab_rare::splitting::{self, Split};
use locklab_rare::{Lengths, Question};

const EXAMPLES: &str = "\
Examples:
  locklab rare kleppmann/k1-exponential
               --set fault.gc.duration_ms.exponential=100
  locklab rare kleppmann/k4-loss --set fault.loss.probability=0.05
  locklab rare kleppmann/k10 --by plain --json

Sampling draws long faults far more often than the scenario does, and weighs
each run by how much likelier it is in the scenario. It needs a fault whose
duration_ms or extra_ms is random. Splitting repeats runs in which a client has
held the lock for long, and draws anew what had not happened by then; it helps
where many faults add up. Plain counts. By default, it is sampling if a fault
may last far longer than usual, and otherwise splitting.

All three estimate the same rate: violated runs over all runs, with its 95 %
interval. Where too few runs decided the rate there is no interval. The same
seed gives the same result, on any number of threads.

Exit codes: 0 a rate with its interval; 1 usage; 3 inconclusive; 70 a bug in
Locklab; 130 interrupted.";

#[derive(Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct Options {
    /// The scenario: the name of a shipped one, or a file
    #[arg(value_name = "SCENARIO", add = scenario_completer())]
    scenario: String,
    /// The property; by default the one that the scenario is about
    #[arg(long, value_name = "PROPERTY", value_parser = sweep::property_parser())]
    property: Option<Property>,
    /// How the rate is estimated; by default sampling or splitting, see below
    #[arg(long, value_enum, value_name = "METHOD")]
    by: Option<Method>,
    /// Runs; the copies of splitting come on top
    #[arg(long, value_name = "N", default_value_t = 10_000, value_parser = whole::<u64>(100..=1_000_000_000))]
    runs: u64,
    /// The seed from which the seeds of all runs are drawn
    #[arg(long, value_name = "N", value_parser = seeds::one, default_value = "0")]
    seed: u64,
    /// Override a value of the scenario; may be given several times
    #[arg(long = "set", value_name = "PATH=VALUE")]
    sets: Vec<String>,
    /// Print the result as JSON on standard output
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    jobs: Jobs,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Method {
    /// Long faults, weighed
    Sampling,
    /// Copies of runs that come near
    Splitting,
    /// Runs of the scenario, counted
    Plain,
}

impl Method {
    /// The method that usually needs the fewest runs.
    fn usual(scenario: &Scenario) -> Method {
        match Lengths::of(scenario).is_some_and(|it| it.have_tails()) {
            true => Method::Sampling,
            false => Method::Splitting,
        }
    }

    fn name(self) -> &'static str {
        match self {
            Method::Sampling => "sampling",
            Method::Splitting => "splitting",
            Method::Plain => "plain",
        }
    }
}

pub(super) fn rare(options: &Options) -> anyhow::Result<Exit> {
    let scenario = scenario::load(&options.scenario, &options.sets)?;
    let property = options.property.unwrap_or_else(|| scenario.headline());
    let progress = Progress::counting("looking for rare violations");
    let stop = interrupt::flag()?;
    let question = Question {
        scenario: &scenario,
        property,
        seed: options.seed,
        runs: options.runs,
        threads: options.jobs.threads(),
        stop,
        progress: &|runs| progress.add(runs),
    };
    let method = options.by.unwrap_or_else(|| Method::usual(&scenario));
    let found = Found::by(method, &question);
    progress.clear();
    if stop.load(std::sync::atomic::Ordering::Relaxed) {
        return Ok(Exit::Interrupted);
    }
    let found = found?;
    match options.json {
        true => output::print_json(&found.json(&scenario, property))?,
        false => Stdout::Text.tell(&layout::fold(&found.text(&scenario, property)))?,
    }
    Ok(match found.interval {
        Some(_) => Exit::AsPredicted,
        None => Exit::Inconclusive,
    })
}

/// A rate, and how it was found.
struct Found {
    method: Method,
    rate: f64,
    interval: Option<Interval>,
    /// All runs that were made.
    runs: u64,
    violated: u64,
    /// The method in a sentence.
    how: String,
    /// Why there is no interval, if there is none.
    why_not: String,
    /// The numbers of the method alone.
    details: Value,
}

impl Found {
    fn by(method: Method, question: &Question<'_>) -> anyhow::Result<Found> {
        Ok(match method {
            Method::Sampling => {
                let lengths = Lengths::of(question.scenario);
                let drawn = lengths.map(|it| it.names()).unwrap_or_default();
                Found::sampled(&drawn, &sampling::sample(question)?)
            }
            Method::Splitting => {
                let lease_ns = lease_ns(question.scenario)?;
                Found::split(&splitting::split(question, lease_ns)?)
            }
            Method::Plain => Found::counted(&sampling::count(question)?),
        })
    }

    fn sampled(drawn: &[&str], weighted: &Weighted) -> Found {
        let effective = weighted.effective();
        Found {
            method: Method::Sampling,
            rate: weighted.rate(),
            interval: weighted.interval(),
            runs: weighted.runs,
            violated: weighted.violated,
            how: format!(
                "importance sampling: long faults are drawn more often than they happen ({}), and each run \
                 is weighed by how much likelier it is in the scenario. The {} violations are worth \
                 {effective:.0} of equal weight",
                drawn.join(", "),
                thousands(weighted.violated),
            ),
            why_not: match effective > 0.0 {
                true => format!(
                    "{effective:.0} violations of equal weight are fewer than {LEAST_EFFECTIVE:.0}; about \
                     {:.1e} runs would do",
                    weighted.runs as f64 * LEAST_EFFECTIVE / effective
                ),
                false => "no run violates the property, so long faults may not cause it; try --by splitting"
                    .to_owned(),
            },
            details: json!({ "drawn": drawn, "effective": effective }),
        }
    }

    fn split(split: &Split) -> Found {
        Found {
            method: Method::Splitting,
            rate: split.rate,
            interval: split.interval,
            runs: split.runs,
            violated: split.violated,
            how: format!(
                "splitting: {REPLICATIONS} independent estimates, each from {} runs and copies of those in \
                 which a client held the lock longest, at {:.1} levels on average",
                thousands(split.first_runs),
                split.levels,
            ),
            why_not: format!("fewer than half of the {REPLICATIONS} estimates decide their mean"),
            details: json!({ "first_runs": split.first_runs, "levels": split.levels }),
        }
    }

    fn counted(weighted: &Weighted) -> Found {
        let (runs, violated) = (weighted.runs, weighted.violated);
        Found {
            method: Method::Plain,
            rate: weighted.rate(),
            interval: Some(Rate { violated, runs }.interval()),
            runs,
            violated,
            how: format!("{} runs of the scenario, counted", thousands(runs)),
            why_not: String::new(),
            details: json!({}),
        }
    }

    /// Half the width of the interval, as a share of the rate.
    fn precision(&self) -> Option<f64> {
        let interval = self.interval.filter(|_| self.rate > 0.0)?;
        Some(interval.width() / 2.0 / self.rate)
    }

    /// How many plain runs would give an interval as narrow.
    fn plain_runs(&self) -> Option<f64> {
        const Z: f64 = 1.96;
        let needed = Z * Z * (1.0 - self.rate) / self.rate;
        self.precision()
            .map(|precision| needed / (precision * precision))
    }

    fn text(&self, scenario: &Scenario, property: Property) -> String {
        let mut lines = vec![format!("{}  {}", scenario.name, property.name())];
        lines.push(match (self.interval, self.precision()) {
            (Some(Interval { low, high }), Some(precision)) => format!(
                "  rate    {:.3e} per run ({low:.3e} to {high:.3e}, ± {:.1} %)",
                self.rate,
                precision * 100.0
            ),
            (Some(Interval { high, .. }), None) => format!("  rate    at most {high:.3e} per run"),
            (None, _) => format!(
                "  rate    inconclusive, near {:.0e} per run: {}. Take more --runs",
                self.rate, self.why_not
            ),
        });
        lines.push(format!(
            "  runs    {}, of which {} violate",
            thousands(self.runs),
            thousands(self.violated)
        ));
        if let Some(plain) = self.plain_runs().filter(|_| self.method != Method::Plain) {
            lines.push(format!(
                "  plain   {plain:.1e} runs would give the same interval"
            ));
        }
        lines.push(format!("  method  {}", self.how));
        lines.join("\n")
    }

    fn json(&self, scenario: &Scenario, property: Property) -> Value {
        json!({
            "scenario": scenario.name,
            "overrides": scenario.overrides,
            "property": property.name(),
            "method": self.method.name(),
            "rate": self.rate,
            "interval": self.interval.map(|it| [it.low, it.high]),
            "runs": self.runs,
            "violated": self.violated,
            "plain_runs": self.plain_runs(),
            "details": self.details,
        })
    }
}

/// The lease of the scenario's lock, in nanoseconds.
fn lease_ns(scenario: &Scenario) -> anyhow::Result<u64> {
    let lease_ms = scenario.lock.lease_ms();
    let lease_ms = lease_ms.context("splitting needs a lock with a lease; write --by plain")?;
    Ok(locklab_values::units::ns_from_ms(lease_ms))
}

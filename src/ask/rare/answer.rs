//! The answer of `locklab study rare` in words, as JSON and as a table.

use crate::rare::estimators::{Method, Question, Split};
use locklab_evidence::{Interval, LEAST_EFFECTIVE, Rate, Weighted, thousands};
use locklab_results::csv::{Csv, number};
use serde_json::{Value, json};

use locklab_lab::{data, layout};

/// The 97.5 % quantile of the normal distribution.
const Z: f64 = 1.96;

/// What the runs come to, by the method with which they were made.
#[derive(Debug)]
pub enum Found {
    /// Runs with weights.
    Sampled {
        /// The faults whose lengths were drawn.
        drawn: Vec<String>,
        /// The runs.
        runs: Weighted,
    },
    /// Independent estimates.
    Split(Split),
    /// Runs that were counted.
    Counted(Weighted),
}

impl Found {
    fn method(&self) -> Method {
        match self {
            Found::Sampled { .. } => Method::Sampling,
            Found::Split(_) => Method::Splitting,
            Found::Counted(_) => Method::Plain,
        }
    }

    fn rate(&self) -> f64 {
        match self {
            Found::Sampled { runs, .. } | Found::Counted(runs) => runs.rate(),
            Found::Split(split) => split.rates.rate(),
        }
    }

    /// The 95 % interval of the rate; `None` if too few runs decide it.
    pub(super) fn interval(&self) -> Option<Interval> {
        match self {
            Found::Sampled { runs, .. } => runs.interval(),
            Found::Split(split) => split.rates.interval(),
            Found::Counted(Weighted { runs, violated, .. }) => {
                let (runs, violated) = (*runs, *violated);
                Some(Rate { violated, runs }.interval())
            }
        }
    }

    /// All runs, and those that violate the property.
    fn counts(&self) -> [u64; 2] {
        match self {
            Found::Sampled { runs, .. } | Found::Counted(runs) => [runs.runs, runs.violated],
            Found::Split(split) => [split.runs, split.violated],
        }
    }

    /// Half the width of the interval, as a share of the rate.
    fn precision(&self) -> Option<f64> {
        let rate = self.rate();
        let interval = self.interval().filter(|_| rate > 0.0)?;
        Some(interval.width() / 2.0 / rate)
    }

    /// How many plain runs would give an interval as narrow.
    fn plain_runs(&self) -> Option<f64> {
        let rate = self.rate();
        let needed = Z * Z * (1.0 - rate) / rate;
        self.precision()
            .map(|precision| needed / (precision * precision))
    }

    /// The method in a sentence.
    fn how(&self) -> String {
        match self {
            Found::Sampled { drawn, runs } => format!(
                "importance sampling: long faults are drawn more often than they happen ({}), and each run \
                 is weighed by how much likelier it is in the scenario. The {} violations are worth \
                 {:.0} of equal weight",
                drawn.join(", "),
                thousands(runs.violated),
                runs.effective(),
            ),
            Found::Split(split) => format!(
                "splitting: {} independent estimates, each from {} runs and copies of those in \
                 which a client held the lock longest, at {:.1} levels on average",
                split.rates.estimates,
                thousands(first_runs(split)),
                split.levels(),
            ),
            Found::Counted(runs) => {
                format!("{} runs of the scenario, counted", thousands(runs.runs))
            }
        }
    }

    /// Why there is no interval, if there is none.
    fn why_not(&self) -> String {
        match self {
            Found::Sampled { runs, .. } => match runs.effective() {
                effective if effective > 0.0 => format!(
                    "{effective:.0} violations of equal weight are fewer than {LEAST_EFFECTIVE:.0}; about \
                     {:.1e} runs would do",
                    runs.runs as f64 * LEAST_EFFECTIVE / effective
                ),
                _ => "no run violates the property, so long faults may not cause it; try --by splitting"
                    .to_owned(),
            },
            Found::Split(split) => format!(
                "fewer than half of the {} estimates decide their mean",
                split.rates.estimates
            ),
            Found::Counted(_) => String::new(),
        }
    }

    /// The numbers of the method alone.
    fn details(&self) -> Value {
        match self {
            Found::Sampled { drawn, runs } => {
                json!({ "drawn": drawn, "effective": runs.effective() })
            }
            Found::Split(split) => json!({
                "estimates": split.rates.estimates,
                "first_runs": first_runs(split),
                "levels": split.levels(),
            }),
            Found::Counted(_) => json!({}),
        }
    }
}

/// With how many runs each estimate began.
fn first_runs(split: &Split) -> u64 {
    split.first_runs / split.rates.estimates.max(1)
}

/// What was found of a question.
pub(super) struct Answer<'a> {
    pub question: &'a Question,
    pub found: &'a Found,
}

impl Answer<'_> {
    pub(super) fn text(&self) -> String {
        let Answer { question, found } = self;
        let (scenario, rate) = (&question.scenario, found.rate());
        let mut lines = vec![format!("{}  {}", scenario.name, question.property.name())];
        lines.push(match (found.interval(), found.precision()) {
            (Some(Interval { low, high }), Some(precision)) => format!(
                "  rate    {rate:.3e} per run ({low:.3e} to {high:.3e}, ± {:.1} %)",
                precision * 100.0
            ),
            (Some(Interval { high, .. }), None) => format!("  rate    at most {high:.3e} per run"),
            (None, _) => format!(
                "  rate    inconclusive, near {rate:.0e} per run: {}. Take more --runs",
                found.why_not()
            ),
        });
        let [runs, violated] = found.counts().map(thousands);
        lines.push(format!("  runs    {runs}, of which {violated} violate"));
        let is_plain = found.method() == Method::Plain;
        if let Some(plain) = found.plain_runs().filter(|_| !is_plain) {
            lines.push(format!(
                "  plain   {plain:.1e} runs would give the same interval"
            ));
        }
        lines.push(format!("  method  {}", found.how()));
        layout::fold(&lines.join("\n"))
    }

    pub(super) fn json(&self) -> Value {
        let Answer { question, found } = self;
        let [runs, violated] = found.counts();
        let contents = json!({
            "scenario": question.scenario.name,
            "overrides": question.scenario.overrides,
            "property": question.property.name(),
            "seed": question.seed,
            "method": found.method().name(),
            "rate": found.rate(),
            "interval": found.interval().map(|it| [it.low, it.high]),
            "runs": runs,
            "violated": violated,
            "plain_runs": found.plain_runs(),
            "details": found.details(),
        });
        data::document("rare", contents)
    }

    /// One row, with a column for each override.
    pub(super) fn csv(&self) -> Csv {
        let Answer { question, found } = self;
        let parameters = data::parameters(&question.scenario.overrides);
        let (paths, values): (Vec<String>, Vec<String>) = parameters.into_iter().unzip();
        let own = |names: &[&str]| names.iter().map(|it| (*it).to_owned()).collect::<Vec<_>>();
        let mut columns = own(&["scenario"]);
        columns.extend(paths);
        columns.extend(own(&[
            "property",
            "method",
            "seed",
            "rate",
            "rate_low",
            "rate_high",
            "runs",
            "violated",
            "plain_runs",
        ]));
        let mut csv = Csv::new(columns);
        let interval = found.interval();
        let [runs, violated] = found.counts();
        let mut row = vec![question.scenario.name.clone()];
        row.extend(values);
        row.extend([
            question.property.name().to_owned(),
            found.method().name().to_owned(),
            question.seed.to_string(),
            found.rate().to_string(),
            number(interval.map(|it| it.low)),
            number(interval.map(|it| it.high)),
            runs.to_string(),
            violated.to_string(),
            number(found.plain_runs()),
        ]);
        csv.push(row);
        csv
    }
}

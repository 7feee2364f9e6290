//! What the comparison of a scenario came to.

use locklab_evidence::{Interval, p_equals, thousands};
use locklab_model::scenario::Scenario;
use locklab_real::comparison::{
    Comparison, Confirmed, Criteria, DurationRow, Durations, Finding, RateRow,
};
use locklab_real::simulated::Simulation;
use locklab_values::units::fractional_ms_from_ns;

/// What a scenario came to: its predicted properties and its durations, and what is to be shown.
pub(super) struct Line<'a> {
    pub(super) scenario: &'a Scenario,
    pub(super) confirmed: &'a Confirmed,
    pub(super) comparison: Comparison,
    /// Whether an earlier scenario has the same runs.
    pub(super) is_repeated: bool,
}

impl<'a> Line<'a> {
    pub(super) fn of(
        scenario: &'a Scenario,
        simulation: &Simulation,
        confirmed: &'a Confirmed,
        criteria: Criteria,
    ) -> Self {
        Self {
            comparison: Comparison::of(scenario, simulation, confirmed, criteria),
            scenario,
            confirmed,
            is_repeated: false,
        }
    }

    /// The property whose rates are furthest from equivalent; the headline if all are.
    pub(super) fn shown(&self) -> Option<&RateRow> {
        let headline = self.scenario.headline();
        let rank = |row: &&RateRow| (row.finding, row.property == headline);
        self.comparison.rates.iter().max_by_key(rank)
    }

    /// The duration that differs most clearly.
    pub(super) fn duration(&self) -> Option<&DurationRow> {
        let differ = self.comparison.durations.iter();
        let differ = differ.filter(|row| row.finding.is_some());
        differ.min_by(|one, other| one.p().total_cmp(&other.p()))
    }

    pub(super) fn finding(&self) -> Finding {
        self.comparison.finding()
    }

    /// Why they differ, where the scenario says so and they do, or why there is no bound.
    pub(super) fn known(&self) -> Option<String> {
        let why = self.comparison.explanation(self.scenario)?;
        Some(format!("{}: {why}", self.scenario.name))
    }

    /// What is unclear, and after how many runs it would not be; and why a run failed.
    pub(super) fn unfinished(&self) -> Vec<String> {
        let name = &self.scenario.name;
        let unclear = { self.comparison.rates.iter() }
            .filter(|row| row.finding == Finding::Unclear)
            .map(|row| format!("{name}, {}: {}.", row.property.name(), unclear(row)));
        let failed = self.confirmed.failure.iter();
        unclear
            .chain(failed.map(|why| format!("{name}: a run failed: {why}")))
            .collect()
    }

    pub(super) fn sentence(&self) -> String {
        let name = &self.scenario.name;
        let mut said = match self.shown() {
            None => format!("{name}  predicts nothing"),
            Some(row) => format!(
                "{name}  {}: {} of {} in the world, {} of {} on real Redis; {}",
                row.property.name(),
                row.world.violated,
                row.world.runs(),
                row.real.violated,
                row.real.runs(),
                match row.finding {
                    Finding::Equivalent => format!("equivalent {}", within(row)),
                    Finding::Unbounded => format!("no bound is asked for, {}", points(row)),
                    Finding::Explained => format!("they differ as known, {}", points(row)),
                    Finding::Unclear => unclear(row),
                    Finding::Differ => format!("they DIFFER, {}", points(row)),
                }
            ),
        };
        if let Some(row) = self.duration() {
            said += &format!(
                "; {} DIFFERS, {}: {} in the world, {} on real Redis",
                row.observable.name(),
                p_equals(row.p()),
                milliseconds(row.world),
                milliseconds(row.real),
            );
        }
        match &self.confirmed.failure {
            None => said,
            Some(why) => format!("{said}; a run failed: {why}"),
        }
    }
}

/// How far apart two rates may be: `within ±6 points`.
fn within(row: &RateRow) -> String {
    format!("within ±{:.0} points", 100.0 * row.apart())
}

/// The interval by which it is judged: `-91 to -49 points`.
pub(super) fn points(row: &RateRow) -> String {
    let (Interval { low, high }, _) = row.decisive();
    format!("{:+.0} to {:+.0} points", 100.0 * low, 100.0 * high)
}

/// An unclear difference, and how many runs would decide.
fn unclear(row: &RateRow) -> String {
    let more = match row.deciding_runs {
        Some(runs) => format!("about {} runs would decide", thousands(runs)),
        None if row.real.runs() == 0 => "no run counts".into(),
        None => "so near to the bound that more runs than a comparison makes would decide".into(),
    };
    format!("unclear, {}; {more}", points(row))
}

/// A duration in some runs: its median, and how many have it if not all do.
pub(super) fn milliseconds(durations: Durations) -> String {
    let Some(median_ns) = durations.median_ns else {
        return "never".into();
    };
    let median = format!("{:.1} ms", fractional_ms_from_ns(median_ns));
    match durations.runs < durations.of_runs {
        true => format!(
            "{median} in {} of {} runs",
            durations.runs, durations.of_runs
        ),
        false => median,
    }
}

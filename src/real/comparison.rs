//! Whether a scenario's runs on real Redis are like those in the simulator.
//!
//! A significance test that finds no difference shows nothing: with few runs it never finds one.
//! So rates are compared by an interval of their difference, and with a bound. The interval lies
//! within the bound: they are *equivalent*. It lies outside: they *differ*. Otherwise it is unclear,
//! and the number of runs is told that would decide (`difference`).
//!
//! - *Equivalent* is said of one rate by itself: the interval is that at 95 %. That is two one-sided
//!   tests (D. J. Schuirmann, 1987), each at 2.5 %: there are two looks at the runs ([`Runs`]), and
//!   5 % are divided among them.
//! - That something *differs* is said of a table of many rates, and one false difference spoils it. So
//!   the interval is wider, that of [`Criteria::joint`]: the intervals of all rates together contain the
//!   true differences with 95 %. It is looked at once, after all runs. [`Criteria::fewest_runs`] says
//!   after how many it can lie outside the bound; a comparison with less at most is refused.
//!
//! A simulated and a real run of the same seed draw the same faults. Where the outcome follows from
//! what is drawn, they are compared in pairs, since then the two runs of a pair seldom differ;
//! elsewhere as two samples without a common seed. Which of both is decided by simulated runs
//! alone: by how often two of them differ that share the faults and nothing else.
//!
//! Rates of 0 and 100 % are the same for many wrong models. So durations are compared as well, by
//! Smirnov's test and, for runs of one seed, by the sign test. Real machines are late: so real
//! durations must tend to be neither shorter nor longer than both those of the simulation as it is
//! and those of the same runs in a simulation in which every message and every timer is late, by
//! as much as the machine was during the real run. The heartbeat measures that (`probe.rs`); a
//! measurement before the runs understates it, since the runs are what makes the machine late.
//!
//! The proxy and the simulator go by one model of a link (`sim/link/`, with the timeouts of
//! `src/values/tcp.rs`), so their agreement says nothing about that model. `locklab measure constants` compares
//! it with the machine's own kernel: a socket filter makes a receiver drop what arrives. It also
//! compares the times of Sentinels, of replication and of the append-only file in histories of the world
//! and of real runs; `reports/calibrate/` has them.
//!
//! `tests/disagreements/` plants what the comparison must notice: a simulator that stands in for real
//! Redis and does one thing differently.
//!
//! Where rates or durations are known to differ, the scenario says which and why (`[on-redis]`), and
//! `confirm` counts it apart: ten clients that act at the same instant exist in the simulation only
//! (`redis-docs/r10`). A rate that is a race of milliseconds depends on the machine, so that no bound is
//! asked for (`unbounded`, `kleppmann/k8-forgets`).
//!
//! `confirm --scale` shortens a scenario in the world and on real Redis alike. It leaves a scenario out
//! if the world's rates change with the scale (Redis's own periods and TCP's do not shrink), or with
//! this machine's jitter, measured at the start and added to every message, timer and restart
//! (`jitter.rs`).

use std::collections::BTreeMap;

use locklab_check::Property;
use locklab_evidence::{
    Interval, Level, Pairs, Prediction, Rate, Tally, heads, median, same_rate, smaller,
};
use locklab_model::scenario::Scenario;
use locklab_results::{Cell, Observable, Sketch};
use locklab_runner::batch::Part;
use locklab_values::units::NS_PER_MS;
use locklab_vecmap::VecSet;
use serde::{Deserialize, Serialize};

mod difference;

use self::difference::Difference;
use super::simulated::{Simulated, Simulation};

/// Two rates are equivalent if they are less than this apart, unless asked otherwise.
pub const WITHIN: f64 = 0.2;

/// When two rates are equivalent within this, from 0 to 1, as a sentence without its full stop.
pub fn equivalent(within: f64) -> String {
    format!(
        "the 95 % interval of the difference of the rates lies within ±{:.0} points",
        100.0 * within
    )
}

/// The probability that a comparison of everything finds a duration that differs where there is none.
const FALSE_ALARM: f64 = 0.01;

/// Between this rate and its complement few runs show little, and the first look comes later.
pub const RARE: f64 = 0.05;

/// By how much a real duration may seem shorter, in nanoseconds: Redis counts in milliseconds.
const RESOLUTION_NS: u64 = NS_PER_MS;

/// The values of a duration in these runs, in ascending order, in nanoseconds.
fn durations_ns(runs: &BTreeMap<u64, Sketch>, observable: Observable) -> Vec<u64> {
    let values = runs
        .values()
        .filter_map(|run| run.durations_ns.get(&observable));
    let mut values: Vec<u64> = values.copied().collect();
    values.sort_unstable();
    values
}

/// How many runs of each scenario: the two looks of a sequential test.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Runs {
    /// After these the first look is taken; after half of the most where the simulator violates
    /// something in neither nearly none nor nearly all of its runs. It ends a comparison in which
    /// all is equivalent.
    pub least: u64,
    /// Otherwise so many runs are made, and a second look is the last. Only then something differs.
    pub most: u64,
}

/// One scenario on real Redis.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Confirmed {
    /// The runs that count.
    pub real: Cell,
    /// What a comparison keeps of each, by their seeds.
    pub runs: BTreeMap<u64, Sketch>,
    /// The same runs in the simulator, each as late as the machine was during the real one.
    pub late: Simulated,
    /// Runs discarded because the machine stalled or a process began late.
    pub discarded: u64,
    /// Why runs failed, if some did: the first reason.
    pub failure: Option<String>,
    /// Which Locklab made the runs, on which machine; several if they were resumed or joined.
    #[serde(default)]
    pub made_by: VecSet<String>,
    /// The time that its runs took together, in seconds.
    pub seconds: f64,
}

impl Part for Confirmed {
    fn join(&mut self, other: Confirmed) {
        self.real.merge(other.real);
        self.runs.extend(other.runs);
        self.late.join(other.late);
        self.discarded += other.discarded;
        self.failure = self.failure.take().or(other.failure);
        self.made_by.extend(other.made_by);
        self.seconds += other.seconds;
    }
}

impl Confirmed {
    /// The number of runs that count.
    pub fn real_runs(&self) -> u64 {
        let runs = self.real.tallies.values().map(Tally::runs);
        runs.max().unwrap_or(0)
    }
}

impl Simulation {
    /// How many real runs there are at the first look.
    pub fn first_look(&self, scenario: &Scenario, runs: Runs) -> u64 {
        let is_between = |property: &Property| {
            let tally = tally(&self.prompt.cell, *property);
            let share = tally.rate().share();
            share.is_some_and(|share| (RARE..=1.0 - RARE).contains(&share))
        };
        match scenario.expect.keys().any(is_between) {
            true => runs.least.max(runs.most / 2),
            false => runs.least,
        }
    }

    /// Whether the runs of both kinds are compared in pairs: whether that leaves less to chance.
    fn method(&self, property: Property, pairs: u64) -> Method {
        let mut twins = Pairs::default();
        for (seed, twin) in &self.twins.runs {
            if let Some(run) = self.prompt.runs.get(seed) {
                twins.add(violates(run, property), violates(twin, property));
            }
        }
        let rest = tally(&self.prompt.cell, property).runs();
        let rest = rest.saturating_sub(pairs);
        if rest == 0 {
            return Method::Paired;
        }
        if twins.count() == 0 {
            // Nothing says how alike the runs of a pair are. A few pairs cannot differ by McNemar's test, whatever they
            // show: six have a p-value of at least 0.03.
            return Method::Separate;
        }
        let share = |count: u64| count as f64 / twins.count() as f64;
        let rate = share(twins.both + twins.only_first);
        let paired = share(twins.discordant()) / pairs as f64;
        let separate = rate * (1.0 - rate) * (1.0 / pairs as f64 + 1.0 / rest as f64);
        match paired <= separate {
            true => Method::Paired,
            false => Method::Separate,
        }
    }
}

fn violates(run: &Sketch, property: Property) -> bool {
    run.violated.contains(&property)
}

fn tally(cell: &Cell, property: Property) -> Tally {
    cell.tallies.get(&property).copied().unwrap_or_default()
}

/// How two rates are compared.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Method {
    /// Runs of one seed in pairs: McNemar's exact test, and Tango's interval.
    Paired,
    /// Real runs and simulated runs of other seeds: Fisher's exact test, and Newcombe's interval.
    Separate,
}

impl Method {
    /// The name in results.
    pub fn name(self) -> &'static str {
        match self {
            Method::Paired => "paired",
            Method::Separate => "separate",
        }
    }
}

/// When two rates or durations are taken for different, and when for equivalent.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Criteria {
    /// Rates are equivalent within this, from 0 to 1.
    pub within: f64,
    /// The rates that are compared together.
    pub rates: usize,
    /// How sure it is of each of them that it differs.
    pub joint: Level,
    /// Below this p-value durations differ.
    pub different: f64,
}

impl Criteria {
    /// For a comparison of these scenarios: of all rates, some of which differ by no more than the
    /// bound, one is found to differ in one of twenty comparisons at most; of all durations by chance
    /// one in a hundred (Bonferroni).
    pub fn of<'s>(scenarios: impl Iterator<Item = &'s Scenario>, within: f64) -> Criteria {
        const OF_A_DURATION: usize = 3;
        let (mut rates, mut durations) = (0, 0);
        for scenario in scenarios {
            rates += scenario.expect.len();
            durations += OF_A_DURATION * Observable::ALL.len();
        }
        Criteria {
            within,
            rates,
            joint: Level::joint(rates),
            different: FALSE_ALARM / durations.max(1) as f64,
        }
    }
}

/// Whether two rates or durations are alike.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Finding {
    /// They are not further apart than was asked for.
    Equivalent,
    /// The scenario says that its rate depends on the machine, so that none is asked for; see
    /// [`OnRedis`](locklab_model::scenario::OnRedis).
    Unbounded,
    /// They are, or may be, and the scenario says why; see
    /// [`OnRedis`](locklab_model::scenario::OnRedis).
    Explained,
    /// There are too few runs to tell.
    Unclear,
    /// They differ.
    Differ,
}

impl Finding {
    /// The name in results.
    pub fn name(self) -> &'static str {
        match self {
            Finding::Equivalent => "equivalent",
            Finding::Unbounded => "unbounded",
            Finding::Explained => "explained",
            Finding::Unclear => "unclear",
            Finding::Differ => "differ",
        }
    }
}

/// The rates of one property, in the simulator and on real Redis.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct RateRow {
    /// The property.
    pub property: Property,
    /// The scenario's prediction.
    pub predicted: Prediction,
    /// The counts in the simulator.
    pub world: Tally,
    /// The counts on real Redis.
    pub real: Tally,
    /// The runs of one seed in pairs: simulated first.
    pub pairs: Pairs,
    /// How the rates are compared.
    pub method: Method,
    /// The lower bound of the difference, real less simulated, from -1 to 1, at 95 %.
    pub low: f64,
    /// The upper bound.
    pub high: f64,
    /// The lower bound at the level of all rates together.
    pub joint_low: f64,
    /// The upper bound at that level.
    pub joint_high: f64,
    /// The p-value of equal rates. Nothing is decided by it.
    pub p: f64,
    /// The finding.
    pub finding: Finding,
    /// If it is unclear, how many real runs would decide it if their results were like these; `None`
    /// also if more would be needed than a comparison makes.
    pub deciding_runs: Option<u64>,
}

impl RateRow {
    /// The interval by which the finding is made, and whether it is that of all rates together.
    pub fn decisive(&self) -> (Interval, bool) {
        let (single, joint) = (
            Interval {
                low: self.low,
                high: self.high,
            },
            Interval {
                low: self.joint_low,
                high: self.joint_high,
            },
        );
        match self.finding {
            Finding::Equivalent | Finding::Unbounded => (single, false),
            Finding::Explained | Finding::Unclear | Finding::Differ => (joint, true),
        }
    }

    /// How far apart the rates may be, from 0 to 1.
    pub fn apart(&self) -> f64 {
        let (Interval { low, high }, _) = self.decisive();
        high.max(-low)
    }
}

/// A duration in the simulator and on real Redis.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct DurationRow {
    /// Which.
    pub observable: Observable,
    /// In simulated runs.
    pub world: Durations,
    /// In simulated runs that are late as the machine was.
    pub late: Durations,
    /// In real runs.
    pub real: Durations,
    /// The p-value of real runs that have it as often as simulated ones.
    pub p_occurs: f64,
    /// The p-value of real ones that are not shorter than both kinds of simulated ones.
    pub p_shorter: f64,
    /// The p-value of real ones that are not longer than both.
    pub p_longer: f64,
    /// That they differ, if they do. That no difference was found shows little, so it is no
    /// finding.
    pub finding: Option<Finding>,
}

impl DurationRow {
    /// The smallest of the p-values.
    pub fn p(&self) -> f64 {
        self.p_occurs.min(self.p_shorter).min(self.p_longer)
    }
}

/// A duration in some runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Durations {
    /// How many runs there are.
    pub of_runs: u64,
    /// How many of them have it.
    pub runs: u64,
    /// The median, in nanoseconds.
    pub median_ns: Option<u64>,
}

impl Durations {
    /// These values, in ascending order, of this number of runs.
    fn of(sorted_ns: &[u64], runs: usize) -> Durations {
        Durations {
            of_runs: runs as u64,
            runs: sorted_ns.len() as u64,
            median_ns: median(sorted_ns),
        }
    }

    fn rate(&self) -> Rate {
        Rate {
            violated: self.runs,
            runs: self.of_runs,
        }
    }
}

/// A scenario in the simulator and on real Redis.
#[derive(Debug, Clone, PartialEq)]
pub struct Comparison {
    /// For each predicted property.
    pub rates: Vec<RateRow>,
    /// For each duration that runs have.
    pub durations: Vec<DurationRow>,
}

impl Comparison {
    /// Compares the real runs of a scenario with its simulated ones.
    pub fn of(
        scenario: &Scenario,
        world: &Simulation,
        confirmed: &Confirmed,
        criteria: Criteria,
    ) -> Comparison {
        let sides = Sides {
            scenario,
            world,
            confirmed,
            criteria,
        };
        let rates = scenario.expect.iter();
        let durations = Observable::ALL.into_iter();
        Comparison {
            rates: rates
                .map(|(property, predicted)| sides.rates(*property, *predicted))
                .collect(),
            durations: durations
                .filter_map(|observable| sides.durations(observable))
                .collect(),
        }
    }

    /// What they come to together.
    pub fn finding(&self) -> Finding {
        let rates = self.rates.iter().map(|row| row.finding);
        let durations = self.durations.iter().filter_map(|row| row.finding);
        rates.chain(durations).max().unwrap_or(Finding::Unclear)
    }

    /// Whether more runs may change what is found.
    pub fn is_open(&self) -> bool {
        matches!(self.finding(), Finding::Unclear | Finding::Differ)
    }

    /// Why they differ, if they do and the scenario says why; or why there is no bound.
    pub fn explanation<'s>(&self, scenario: &'s Scenario) -> Option<&'s str> {
        let rates = self.rates.iter().map(|row| row.finding);
        let mut all = rates.chain(self.durations.iter().filter_map(|row| row.finding));
        let is_explained =
            all.any(|finding| matches!(finding, Finding::Explained | Finding::Unbounded));
        is_explained.then_some(scenario.on_redis.as_ref()?.why.trim())
    }
}

/// What is compared.
struct Sides<'a> {
    scenario: &'a Scenario,
    world: &'a Simulation,
    confirmed: &'a Confirmed,
    criteria: Criteria,
}

impl Sides<'_> {
    fn rates(&self, property: Property, predicted: Prediction) -> RateRow {
        let Sides {
            scenario,
            world,
            confirmed,
            criteria,
        } = *self;
        let (all, real) = (
            tally(&world.prompt.cell, property),
            tally(&confirmed.real, property),
        );
        let mut pairs = Pairs::default();
        for (seed, run) in &confirmed.runs {
            if let Some(simulated) = world.prompt.runs.get(seed) {
                pairs.add(violates(simulated, property), violates(run, property));
            }
        }
        let method = world.method(property, real.runs().max(1));
        let difference = match method {
            Method::Paired => Difference::Paired(pairs),
            Method::Separate => Difference::Separate {
                world: Rate {
                    violated: all.violated - (pairs.both + pairs.only_first),
                    runs: all.runs() - pairs.count(),
                },
                real: real.rate(),
            },
        };
        let found = difference.finding(criteria);
        let known = scenario.on_redis.as_ref();
        let is_in = |list: &[Property]| list.contains(&property);
        let finding = match known {
            _ if real.runs() == 0 => Finding::Unclear,
            Some(known) if is_in(&known.unbounded) => Finding::Unbounded,
            Some(known) if is_in(&known.differs) && found != Finding::Equivalent => {
                Finding::Explained
            }
            _ => found,
        };
        let (single, joint) = (
            difference.interval(Level::SINGLE),
            difference.interval(criteria.joint),
        );
        RateRow {
            property,
            predicted,
            world: all,
            real,
            pairs,
            method,
            low: single.low,
            high: single.high,
            joint_low: joint.low,
            joint_high: joint.high,
            p: difference.same_rate(),
            finding,
            deciding_runs: match finding {
                Finding::Unclear => difference.deciding_runs(criteria),
                _ => None,
            },
        }
    }

    /// `None` if no run has it.
    fn durations(&self, observable: Observable) -> Option<DurationRow> {
        let Sides {
            scenario,
            world,
            confirmed,
            criteria,
        } = *self;
        let runs = [&world.prompt.runs, &confirmed.late.runs, &confirmed.runs];
        let values = runs.map(|runs| durations_ns(runs, observable));
        if values.iter().all(Vec::is_empty) {
            return None;
        }
        let [prompt, late, real] = runs;
        let shorter = |less, more| p_shorter(less, more, observable);
        let of = |place: usize| Durations::of(&values[place], runs[place].len());
        let known = scenario.on_redis.as_ref();
        let is_known = known.is_some_and(|known| known.durations.contains(&observable));
        let mut row = DurationRow {
            observable,
            world: of(0),
            late: of(1),
            real: of(2),
            p_occurs: same_rate(of(0).rate(), of(2).rate())
                .max(same_rate(of(1).rate(), of(2).rate())),
            p_shorter: shorter(real, prompt).max(shorter(real, late)),
            p_longer: shorter(prompt, real).max(shorter(late, real)),
            finding: None,
        };
        row.finding = (row.p() < criteria.different).then_some(match is_known {
            true => Finding::Explained,
            false => Finding::Differ,
        });
        Some(row)
    }
}

/// The p-value of a duration that is not shorter in the runs of `less` than in those of `more`: the
/// lower one of Smirnov's test of all runs and the sign test of those of one seed, doubled.
fn p_shorter(
    less: &BTreeMap<u64, Sketch>,
    more: &BTreeMap<u64, Sketch>,
    observable: Observable,
) -> f64 {
    let mut at_most = durations_ns(less, observable);
    at_most
        .iter_mut()
        .for_each(|ns| *ns = ns.saturating_add(RESOLUTION_NS));
    let by_all = smaller(&at_most, &durations_ns(more, observable));
    let (mut shorter, mut pairs) = (0, 0);
    for (seed, run) in less {
        let of = |run: &Sketch| run.durations_ns.get(&observable).copied();
        if let (Some(less), Some(more)) = (of(run), more.get(seed).and_then(of)) {
            pairs += 1;
            shorter += u64::from(less.saturating_add(RESOLUTION_NS) < more);
        }
    }
    (2.0 * by_all.min(heads(shorter, pairs))).min(1.0)
}

#[cfg(test)]
mod tests;

//! The distribution from which runs are drawn instead of the scenario's: some faults last longer.
//!
//! It is a *defensive mixture* (T. Hesterberg, "Weighted average importance sampling and defensive mixture
//! distributions", Technometrics 37, 1995): a run has, with a fixed probability, the faults of the scenario,
//! and otherwise faults whose durations are multiplied. Its weight is the ratio of the two densities at
//! the durations that were drawn. The density of the mixture is at least its share times that of
//! the scenario, so no weight exceeds the inverse of the share, however badly the factors are chosen.

use std::collections::BTreeMap;

use locklab_history::Schedule;
use locklab_model::fault::{FaultSpec, Placement, expand};
use locklab_model::scenario::Scenario;
use locklab_values::dist::Dist;
use locklab_values::random::Stream;
use locklab_values::units::fractional_ms_from_ns;

/// The share of runs with the faults of the scenario. Hesterberg advises a tenth to a half.
pub const DEFENSIVE: f64 = 0.2;

/// How long faults last in a scenario, and in the runs that are drawn.
#[derive(Debug, Clone)]
pub struct Proposal {
    /// The share of runs with the scenario's own faults, from 0 to 1.
    share: f64,
    /// The scenario's faults.
    original: BTreeMap<String, FaultSpec>,
    /// The same with stretched durations.
    stretched: BTreeMap<String, FaultSpec>,
    /// By how much the duration of each fault is multiplied; only those that can be.
    pub factors: BTreeMap<String, f64>,
}

impl Proposal {
    /// Every fault that can be stretched lasts as long as in the scenario. `None` if there is none.
    pub fn of(scenario: &Scenario) -> Option<Proposal> {
        let is_stretchable = |spec: &FaultSpec| spec.duration_ms.and_then(|it| it.stretched(1.0));
        let names = { scenario.fault.iter() }.filter(|(_, spec)| is_stretchable(spec).is_some());
        let factors: BTreeMap<String, f64> = names.map(|(name, _)| (name.clone(), 1.0)).collect();
        (!factors.is_empty()).then(|| Proposal {
            share: DEFENSIVE,
            original: scenario.fault.clone(),
            stretched: scenario.fault.clone(),
            factors,
        })
    }

    /// Whether one of these faults strikes once, so that its duration is decided by a single draw.
    pub fn stretches_single_faults(&self) -> bool {
        let mut specs = self.factors.keys().map(|name| &self.original[name]);
        specs.any(|spec| !matches!(spec.placement, Placement::Every { .. }))
    }

    /// The same with other factors.
    #[must_use]
    pub fn with(&self, factors: BTreeMap<String, f64>) -> Proposal {
        let mut stretched = self.original.clone();
        for (name, factor) in &factors {
            if let Some(spec) = stretched.get_mut(name) {
                spec.duration_ms = spec.duration_ms.and_then(|it| it.stretched(*factor));
            }
        }
        Proposal {
            stretched,
            factors,
            ..self.clone()
        }
    }

    /// The faults of a run.
    pub fn draw(&self, seed: u64) -> Schedule {
        let is_original = Stream::new(seed, "rare/share").chance(self.share);
        expand(
            match is_original {
                true => &self.original,
                false => &self.stretched,
            },
            seed,
        )
    }

    /// How much more likely these faults are in the scenario than here: the weight of their run.
    pub fn weight(&self, schedule: &Schedule) -> f64 {
        let ratios = self.lengths(schedule).map(|(name, dist, ns)| {
            let long = dist.stretched(self.factors[name]);
            let densities =
                long.and_then(|long| Some((long.log_density(ns)?, dist.log_density(ns)?)));
            densities.map_or(0.0, |(long, original)| long - original)
        });
        let stretched: f64 = ratios.sum();
        1.0 / (self.share + (1.0 - self.share) * stretched.exp())
    }

    /// By how much the durations of each fault exceed those of the scenario, in these weighted runs: the
    /// factors that are likeliest for them (R. Rubinstein, "The cross-entropy method for combinatorial and
    /// continuous optimization", 1999).
    pub(crate) fn fitted(&self, violating: &[(f64, Schedule)]) -> BTreeMap<String, f64> {
        let mut sums: BTreeMap<&str, (f64, f64)> = BTreeMap::new();
        for (weight, schedule) in violating {
            for (name, dist, ns) in self.lengths(schedule) {
                let sum = sums.entry(name).or_default();
                sum.0 += weight;
                sum.1 += weight * dist.sufficient(ns);
            }
        }
        let factor = |(name, before): (&String, &f64)| {
            let dist = self.original[name].duration_ms;
            let fitted = sums.get(&**name).zip(dist);
            let fitted = fitted.map(|((weights, sum), dist)| dist.factor(sum / weights));
            (name.clone(), fitted.unwrap_or(*before))
        };
        self.factors.iter().map(factor).collect()
    }

    /// Of each fault that can be stretched: its name in the scenario, the distribution of its duration
    /// there, and its duration in nanoseconds.
    fn lengths<'s>(&'s self, schedule: &'s Schedule) -> impl Iterator<Item = (&'s str, Dist, u64)> {
        schedule.faults.iter().filter_map(|fault| {
            // A repeated fault is NAME#1, NAME#2, …; no other name has a #.
            let name = fault.name.split('#').next()?;
            let (name, _) = self.factors.get_key_value(name)?;
            Some((
                &**name,
                self.original[name].duration_ms?,
                fault.duration_ns?,
            ))
        })
    }
}

/// What the fit of a factor needs of a duration.
trait Fit {
    /// The statistic whose mean determines the factor.
    fn sufficient(&self, ns: u64) -> f64;
    /// The factor by the statistic's mean.
    fn factor(&self, mean: f64) -> f64;
}

impl Fit for Dist {
    fn sufficient(&self, ns: u64) -> f64 {
        let ms = fractional_ms_from_ns(ns.max(1));
        match *self {
            Dist::LogNormal { median, .. } => (ms / median).ln(),
            Dist::Exponential(mean) => ms / mean,
            Dist::Uniform(..) | Dist::Constant(_) => 1.0,
        }
    }

    fn factor(&self, mean: f64) -> f64 {
        match self {
            Dist::LogNormal { .. } => mean.exp(),
            _ => mean,
        }
    }
}

#[cfg(test)]
mod tests {
    use locklab_evidence::Weighted;
    use locklab_model::scenario::load;

    use super::*;

    /// Two pauses, each of exponential length with a mean of 10 ms.
    fn two_pauses() -> Proposal {
        let gc = "fault.gc.duration_ms.exponential=10".to_owned();
        let other = "fault.other={ kind = \"pause\", on = \"c2\", at_ms = 5, \
                     duration_ms = { exponential = 10 } }";
        let scenario = load("kleppmann/k1-exponential", &[gc, other.to_owned()]);
        Proposal::of(&scenario.expect("a sound scenario")).expect("it has something to stretch")
    }

    /// The durations of the two pauses, in milliseconds.
    fn lengths(schedule: &Schedule) -> [f64; 2] {
        [0, 1].map(|nth| {
            let duration_ns = schedule.faults[nth].duration_ns;
            fractional_ms_from_ns(duration_ns.expect("it has one"))
        })
    }

    /// Draws so many schedules, each from a seed of its own.
    fn weighted(
        proposal: &Proposal,
        seeds: std::ops::Range<u64>,
        is_rare: impl Fn([f64; 2]) -> bool,
    ) -> Weighted {
        let mut weighted = Weighted::default();
        for seed in seeds {
            let schedule = proposal.draw(seed);
            let is_rare = is_rare(lengths(&schedule));
            weighted.add(is_rare.then(|| proposal.weight(&schedule)));
        }
        weighted
    }

    /// Two independent conditions: the rate is the product of e^-3 and e^-2. Of 200 intervals at 95 %
    /// about ten miss.
    #[test]
    fn intervals_contain_a_known_rate_as_often_as_they_say() {
        let factors = [("gc".to_owned(), 4.0), ("other".to_owned(), 3.0)];
        let proposal = two_pauses().with(BTreeMap::from(factors));
        let expected = (-5.0_f64).exp();
        let (mut contain, mut sum) = (0, 0.0);
        for nth in 0..200 {
            let seeds = nth * 6000..(nth + 1) * 6000;
            let of = weighted(&proposal, seeds, |[gc, other]| gc > 30.0 && other > 20.0);
            let interval = of.interval().expect("enough runs");
            sum += of.rate() / expected;
            contain += u32::from(interval.low < expected && expected < interval.high);
        }
        // 200 rates, each with a deviation of about 0.08.
        assert!((sum / 200.0 - 1.0).abs() < 0.025, "{sum}");
        assert!((180..=199).contains(&contain), "{contain}");
    }

    #[test]
    fn no_weight_exceeds_the_inverse_of_the_defensive_share() {
        let factors = [("gc".to_owned(), 1000.0), ("other".to_owned(), 0.001)];
        let proposal = two_pauses().with(BTreeMap::from(factors));
        let weights = (0..1000).map(|seed| proposal.weight(&proposal.draw(seed)));
        let most = weights.fold(0.0, f64::max);
        assert!((1.0..=1.0 / DEFENSIVE).contains(&most), "{most}");
    }

    #[test]
    fn a_fault_that_does_not_matter_is_not_stretched() {
        let both = ["gc", "other"].map(|name| (name.to_owned(), 4.0));
        let proposal = two_pauses().with(BTreeMap::from(both));
        let drawn = (0..4000).map(|seed| proposal.draw(seed));
        let long = drawn.filter(|schedule| lengths(schedule)[0] > 50.0);
        let violating: Vec<_> = long.map(|it| (proposal.weight(&it), it)).collect();
        let fitted = proposal.fitted(&violating);
        // The mean above 50 ms is 60 ms.
        assert!((fitted["gc"] - 6.0).abs() < 0.3, "{fitted:?}");
        assert!((fitted["other"] - 1.0).abs() < 0.3, "{fitted:?}");
    }
}

//! From weighted runs to violations per grant, and their sum over causes.

use locklab_evidence::{Interval, LEAST_EFFECTIVE, Sum, Weighted, of_weights};
use locklab_runner::batch::Part;
use serde::{Deserialize, Serialize};

use crate::risk::model::grant::{Outcome, Says};

/// The 97.5 % quantile of the normal distribution.
const Z: f64 = 1.96;

/// The same for numbers that few violations decide.
const Z_ROUGH: f64 = 3.0;

/// With 95 % confidence, something that did not happen in n runs happens in at most 3/n of them.
///
/// These runs would have the mean weight if weights and violations were independent. Longer faults and
/// earlier requests weigh less, and make a violation likelier if anything, so the two are negatively
/// correlated (Harris's inequality), and the mean weight is enough for a bound. All this also holds among the runs in
/// which the property could have been violated, and no others can violate it.
const NOT_SEEN: f64 = 3.0;

/// From so many runs in which a property could have been violated their mean weight is known. It is taken by weight, which
/// is more than the mean.
const LEAST_CHANCES: u64 = 30;

/// From so many violated runs, counted by [`Weighted::effective`], the heaviest of them says how heavy others may be.
/// `tests/risk.rs` measures how many intervals miss.
const LEAST_VIOLATIONS: f64 = 10.0;

/// The runs of one cause.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Runs {
    /// By the properties of [`PROPERTIES`](crate::risk::model::PROPERTIES).
    pub weighted: [Weighted; 2],
    /// The same of the runs in which these could have been violated, or were.
    pub chances: [Weighted; 2],
    /// The greatest weight of those that violate them.
    heaviest: [f64; 2],
    /// The sum of the weights of all runs.
    all: Sum,
}

impl Runs {
    pub(crate) fn add(&mut self, outcome: Outcome) {
        let weighted = self.weighted.iter_mut().zip(&mut self.heaviest);
        for ((weighted, heaviest), says) in weighted.zip(outcome.says) {
            let weight = (says == Says::Violated).then_some(outcome.weight);
            weighted.add(weight);
            *heaviest = heaviest.max(weight.unwrap_or(0.0));
        }
        for (chances, says) in self.chances.iter_mut().zip(outcome.says) {
            chances.add((says != Says::Nothing).then_some(outcome.weight));
        }
        self.all.add(outcome.weight);
    }

    /// Whether a run violates one of the properties.
    pub fn has_violation(&self) -> bool {
        self.weighted.iter().any(|it| it.violated > 0)
    }

    /// The mean weight: 1 without a cause, and else the mean exposure to its strikes, in milliseconds.
    pub(crate) fn exposure_ms(&self) -> f64 {
        self.all.value() / self.weighted[0].runs.max(1) as f64
    }

    /// How often a property is violated per grant, if the cause strikes at this rate: strikes per
    /// millisecond, or 1 if runs stand for grants.
    pub fn per_grant(&self, property: usize, rate: f64) -> Number {
        let weighted = &self.weighted[property];
        let one_more = rate * self.one_more(property);
        let (one_more, first) = match weighted.violated {
            0 => (0.0, one_more),
            _ => (one_more, 0.0),
        };
        Number {
            mean: rate * weighted.rate(),
            squares: (rate / weighted.runs.max(1) as f64).powi(2) * weighted.squares(),
            one_more,
            first,
            is_rough: weighted.violated > 0 && weighted.effective() < LEAST_EFFECTIVE,
            violated: weighted.violated,
        }
    }
}

impl Runs {
    /// What one more violation adds to the mean weight of violations: a run of the mean weight, or of that of the runs
    /// that could have been violated, by their weight; where enough were, at most two of the heaviest.
    fn one_more(&self, property: usize) -> f64 {
        let (weighted, chances) = (&self.weighted[property], &self.chances[property]);
        let runs = weighted.runs.max(1) as f64;
        let mut weight = self.exposure_ms();
        if chances.violated >= LEAST_CHANCES {
            weight = weight.min(runs * chances.rate() / chances.effective());
        }
        if weighted.effective() >= LEAST_VIOLATIONS {
            weight = weight.min(2.0 * self.heaviest[property]);
        }
        weight / runs
    }
}

impl Part for Runs {
    fn join(&mut self, other: Self) {
        for (weighted, others) in self.weighted.iter_mut().zip(&other.weighted) {
            weighted.join(others);
        }
        for (chances, others) in self.chances.iter_mut().zip(&other.chances) {
            chances.join(others);
        }
        for (heaviest, others) in self.heaviest.iter_mut().zip(other.heaviest) {
            *heaviest = heaviest.max(others);
        }
        self.all.join(&other.all);
    }

    fn why_not(&self, runs: u64) -> Option<String> {
        let all = self.weighted.iter().chain(&self.chances);
        let mut wrong = all.filter_map(|it| it.why_not(runs));
        let pairs = self.weighted.iter().zip(&self.chances);
        let more = { pairs }.any(|(weighted, chances)| weighted.violated > chances.violated);
        wrong
            .next()
            .or_else(|| more.then(|| "it has more violations than chances".into()))
    }
}

/// A number of violations, with its error.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Number {
    /// The estimate: the sum of what each violated run adds.
    pub mean: f64,
    /// The sum of the squares of these.
    pub squares: f64,
    /// What one more violated run of a cause that has some would add.
    pub one_more: f64,
    /// What the first violated run of a cause that has none would add.
    pub first: f64,
    /// Whether few violations decide it.
    pub is_rough: bool,
    /// The violated runs behind it.
    pub violated: u64,
}

impl Number {
    /// The sum of independent numbers. It is rough if those that are rough make up a tenth of it.
    ///
    /// What several causes without a violation may add together is the most that one of them may: if n runs of the
    /// one and m of the other violate nothing, the expected numbers of violations in both are at most 3 together.
    pub fn sum(numbers: impl Iterator<Item = Number>) -> Number {
        let (mut sum, mut rough) = (Number::default(), 0.0);
        for number in numbers {
            sum.mean += number.mean;
            sum.squares += number.squares;
            sum.one_more = sum.one_more.max(number.one_more);
            sum.first = sum.first.max(number.first);
            sum.violated += number.violated;
            rough += if number.is_rough { number.mean } else { 0.0 };
        }
        sum.is_rough = rough > 0.1 * sum.mean;
        sum
    }

    /// So many times the number.
    #[must_use]
    pub fn times(self, factor: f64) -> Number {
        Number {
            mean: self.mean * factor,
            squares: self.squares * factor * factor,
            one_more: self.one_more * factor,
            first: self.first * factor,
            ..self
        }
    }

    /// What the causes without a violation may add, at 95 %.
    pub fn not_excluded(&self) -> f64 {
        NOT_SEEN * self.first
    }

    /// The 95 % interval, with what the causes without a violation may add; none if no run was violated.
    pub fn interval(&self) -> Option<Interval> {
        self.with_room_for(self.one_more.max(self.first))
    }

    /// The same of the causes with violations alone.
    pub fn seen(&self) -> Option<Interval> {
        self.with_room_for(self.one_more)
    }

    fn with_room_for(&self, one_more: f64) -> Option<Interval> {
        (self.mean > 0.0).then(|| of_weights(self.mean, self.squares, one_more))
    }

    /// Whether two independent numbers may be the same: whether their difference is within two standard
    /// errors, or three if one is rough, since the error is then uncertain itself.
    pub fn agrees(&self, other: &Number) -> bool {
        let errors = match self.is_rough || other.is_rough {
            true => Z_ROUGH,
            false => Z,
        };
        let margin = errors * (self.squares + other.squares).sqrt();
        (self.mean - other.mean).abs() <= margin
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn said(violated: bool) -> Says {
        match violated {
            true => Says::Violated,
            false => Says::Nothing,
        }
    }

    fn runs(violates: impl Fn(u64) -> bool, weight: f64) -> Runs {
        let mut runs = Runs::default();
        for nth in 0..1000 {
            runs.add(Outcome {
                says: [said(violates(nth)), Says::Nothing],
                weight,
            });
        }
        runs
    }

    #[test]
    fn violations_per_grant_are_the_rate_times_the_mean_weight() {
        let of = runs(|nth| nth % 4 == 0, 8.0);
        let number = of.per_grant(0, 0.5);
        assert!((number.mean - 1.0).abs() < 1e-12);
        assert!(!number.is_rough && number.not_excluded() == 0.0);
        // 250 violated runs, of which each adds 0.004: 1 / 250, and Poisson's interval of 250 violations.
        assert!((number.squares - 0.004).abs() < 1e-12, "{number:?}");
        let interval = number.interval().expect("it has one");
        assert!((interval.low / 0.004 - 219.97).abs() < 0.01, "{interval:?}");
        assert!(
            (interval.high / 0.004 - 282.98).abs() < 0.01,
            "{interval:?}"
        );
        assert!(runs(|nth| nth < 10, 8.0).per_grant(0, 0.5).is_rough);
    }

    /// So many of a thousand runs of weight 1 are violated; a hundred more, of this weight, could have been.
    #[test]
    fn interval_has_room_for_one_more_violation() {
        let high = |violated: u64, weight: f64| {
            let mut runs = runs(|nth| nth < violated, 1.0);
            for _ in 0..100 {
                runs.add(Outcome {
                    says: [Says::Holds; 2],
                    weight,
                });
            }
            runs.per_grant(0, 1.0).interval().expect("it has one").high
        };
        // Of few, one of the mean weight.
        assert!(high(9, 1e-3) < high(9, 1.0) && high(9, 1.0) < high(9, 3.0));
        // Of ten, at most two like these.
        assert!(high(10, 30.0) < high(9, 30.0));
    }

    #[test]
    fn parts_of_runs_join_to_the_whole_in_any_order() {
        let weight = |nth: u64| 1.0 / (nth + 3) as f64;
        let part = |numbers: std::ops::Range<u64>| {
            let mut runs = Runs::default();
            for nth in numbers {
                runs.add(Outcome {
                    says: [said(nth % 3 == 0), said(nth % 5 == 0)],
                    weight: weight(nth),
                });
            }
            runs
        };
        let mut joined = part(600..1000);
        joined.join(part(0..250));
        joined.join(part(250..600));
        assert_eq!(joined, part(0..1000));
        assert_eq!(joined.why_not(1000), None);
        assert!(joined.why_not(999).is_some());
    }

    #[test]
    fn what_was_not_seen_is_not_excluded() {
        let number = runs(|_| false, 8.0).per_grant(0, 0.5);
        assert_eq!((number.mean, number.interval()), (0.0, None));
        // Three runs in a thousand, of weight 8, half of them counted.
        assert!((number.not_excluded() - 0.012).abs() < 1e-12);
    }

    /// Of a thousand runs a hundred weigh 1e-6 and could have been violated; the others weigh 1, and could not.
    #[test]
    fn what_could_not_be_violated_is_excluded() {
        let of = |chances: u64| {
            let mut runs = Runs::default();
            for nth in 0..1000 {
                let (says, weight) = match nth < chances {
                    true => (Says::Holds, 1e-6),
                    false => (Says::Nothing, 1.0),
                };
                runs.add(Outcome {
                    says: [says; 2],
                    weight,
                });
            }
            runs.per_grant(0, 1.0).not_excluded()
        };
        // Three runs in a thousand, of weight 1e-6.
        assert!((of(100) / 3e-9 - 1.0).abs() < 1e-9, "{}", of(100));
        // Too few to say what those weigh: three runs of the mean weight.
        assert!((of(20) / 0.003 - 0.98).abs() < 1e-6, "{}", of(20));
    }

    /// Ten violations that add 1 each, and a cause of which none was seen.
    #[test]
    fn interval_of_a_sum_has_what_a_cause_without_a_violation_leaves_open() {
        let seen = Number {
            mean: 10.0,
            squares: 10.0,
            one_more: 1.0,
            violated: 10,
            ..Number::default()
        };
        let unseen = |not_excluded| Number {
            first: not_excluded / NOT_SEEN,
            ..Number::default()
        };
        let high = |numbers: &[Number]| {
            let sum = Number::sum(numbers.iter().copied());
            sum.interval().expect("violations").high
        };
        assert!((high(&[seen]) - 18.3904).abs() < 1e-3);
        assert_eq!(high(&[seen, unseen(3.0)]), high(&[seen]));
        let more = high(&[seen, unseen(300.0)]);
        assert!((370.0..400.0).contains(&more), "{more}");
        let sum = Number::sum([seen, unseen(300.0)].into_iter());
        assert_eq!(sum.seen(), seen.interval());
        let both = Number::sum([unseen(3.0), unseen(2.0)].into_iter());
        assert_eq!((both.not_excluded(), both.interval()), (3.0, None));
        assert_eq!(
            seen.times(2.0).interval().map(|it| it.high),
            Some(2.0 * high(&[seen]))
        );
    }

    #[test]
    fn sum_is_rough_if_a_tenth_of_it_is() {
        let of = |mean, is_rough| Number {
            mean,
            is_rough,
            ..Number::default()
        };
        let is_rough =
            |rough: f64| Number::sum([of(10.0, false), of(rough, true)].into_iter()).is_rough;
        assert!(is_rough(2.0) && !is_rough(1.0));
    }

    #[test]
    fn numbers_agree_within_their_error() {
        let of = |mean| Number {
            mean,
            squares: 2.0,
            ..Number::default()
        };
        assert!(of(10.0).agrees(&of(13.0)) && !of(10.0).agrees(&of(14.5)));
        let rough = Number {
            is_rough: true,
            ..of(14.5)
        };
        assert!(of(10.0).agrees(&rough) && !of(8.0).agrees(&rough));
    }
}

//! Draws rare values as often as common ones, and says by how much too often.
//!
//! Every value of a distribution is exceeded with some probability, its *tail*; for values that are drawn
//! from the distribution, the tail is uniform on (0, 1]. Here it is drawn from a mixture: from the uniform
//! distribution, or with a probability that is called the share from the log-uniform one on
//! [10⁻¹², 1], whose density is 1 / (s L) with L = ln 10¹². So a tail of about one in a million is drawn
//! as often as one of about one in ten. The weight of a draw is the ratio of the uniform density to that of
//! the mixture, 1 / (1 − share + share / (s L)). Where rarer tails do not matter, the range may begin
//! above 10⁻¹², and L is smaller.
//!
//! For the event "the tail is below t" the mean square of the weights, over the square of the
//! probability, is about L / (2 share) for every t from 1 down to 10⁻¹²: nothing has to be tuned. No
//! weight exceeds 1 / (1 − share) (a defensive mixture: T. Hesterberg, "Weighted average importance
//! sampling and defensive mixture distributions", Technometrics 37, 1995).

use locklab_values::random::Stream;

/// The least tail that is drawn more often than by chance.
const LEAST: f64 = 1e-12;

/// How often tails are drawn from the log-uniform distribution, and down to which.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Tail {
    share: f64,
    least: f64,
}

/// A tail, and the weight of its draw.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Drawn {
    /// The probability, in (0, 1].
    pub tail: f64,
    /// How much likelier it is in the uniform distribution than here.
    pub weight: f64,
}

impl Tail {
    /// For one value alone: the best share lies near 1, but leaves common values too heavy.
    pub const ALONE: Tail = Tail {
        share: 0.8,
        least: LEAST,
    };

    /// Draws from the log-uniform distribution with this probability, from 0 to below 1.
    pub fn with_share(share: f64) -> Tail {
        Tail {
            share,
            least: LEAST,
        }
    }

    /// The same, but tails below this one are drawn by chance alone; from 10⁻³⁰⁰ to below 1.
    #[must_use]
    pub fn down_to(self, least: f64) -> Tail {
        Tail { least, ..self }
    }

    /// For one of the values of a run, of which on average at most one is then drawn from the tail:
    /// `quantities` are random, and this one is drawn `times` times.
    ///
    /// If a run has n weights, their product has a mean square that grows with n; with shares of 1/n it
    /// stays below e.
    pub fn of_several(quantities: usize, times: usize) -> Tail {
        let budget = (1.0 / quantities.max(1) as f64).min(Tail::ALONE.share);
        Tail::with_share(budget / times.max(1) as f64)
    }

    /// Draws a tail. Takes two numbers from the stream.
    pub fn draw(self, stream: &mut Stream) -> Drawn {
        let is_rare = stream.chance(self.share);
        let uniform = 1.0 - stream.uniform_f64();
        let tail = match is_rare {
            true => libm::exp(self.logarithm() * (uniform - 1.0)),
            false => uniform,
        };
        Drawn {
            tail,
            weight: self.weight(tail),
        }
    }

    fn weight(self, tail: f64) -> f64 {
        let log_uniform = match tail >= self.least {
            true => 1.0 / (tail * self.logarithm()),
            false => 0.0,
        };
        1.0 / ((1.0 - self.share) + self.share * log_uniform)
    }

    /// L, the length of the range of the tails' logarithms.
    fn logarithm(self) -> f64 {
        -libm::log(self.least)
    }
}

#[cfg(test)]
mod tests {
    use locklab_evidence::Weighted;

    use super::*;

    /// So many draws, each a run that violates if its tails are as given.
    fn weighted<const N: usize>(
        seed: u64,
        draws: u64,
        tail: Tail,
        is_rare: impl Fn([f64; N]) -> bool,
    ) -> Weighted {
        let mut stream = Stream::new(seed, "tails");
        let mut weighted = Weighted::default();
        for _ in 0..draws {
            let drawn: [Drawn; N] = std::array::from_fn(|_| tail.draw(&mut stream));
            let weight = drawn.iter().map(|it| it.weight).product();
            weighted.add(is_rare(drawn.map(|it| it.tail)).then_some(weight));
        }
        weighted
    }

    /// Of 40 intervals at 95 %, about two miss; and their rates have the mean that was calculated.
    #[track_caller]
    fn check<const N: usize>(
        draws: u64,
        tail: Tail,
        expected: f64,
        is_rare: impl Fn([f64; N]) -> bool,
    ) {
        let (mut contain, mut sum, mut squares) = (0, 0.0, 0.0);
        for nth in 0..40 {
            let of = weighted(nth, draws, tail, &is_rare);
            let interval = of.interval().expect("enough draws");
            let ratio = of.rate() / expected;
            sum += ratio;
            squares += (ratio - 1.0) * (ratio - 1.0);
            contain += u32::from(interval.low < expected && expected < interval.high);
        }
        let deviation = (squares / 40.0).sqrt();
        let off = (sum / 40.0 - 1.0).abs();
        assert!(off < 0.5 * deviation, "{expected:e}: {sum}, {deviation}");
        assert!((34..=40).contains(&contain), "{expected:e}: {contain}");
        assert!(deviation < 0.12, "{expected:e}: {deviation}");
    }

    #[test]
    fn intervals_contain_known_rates_as_often_as_they_say() {
        for exponent in 2..=9 {
            let expected = libm::pow(10.0, f64::from(-exponent));
            check(4000, Tail::ALONE, expected, |[tail]: [f64; 1]| {
                tail < expected
            });
        }
    }

    #[test]
    fn one_of_many_values_has_its_rate() {
        let expected = 1.0 - (1.0 - 1e-6_f64).powi(10);
        let any = |tails: [f64; 10]| tails.iter().any(|tail| *tail < 1e-6);
        check(8000, Tail::of_several(1, 10), expected, any);
    }

    #[test]
    fn two_values_together_have_the_product_of_their_rates() {
        let both = |tails: [f64; 2]| tails[0] < 1e-4 && tails[1] < 1e-3;
        check(130_000, Tail::of_several(2, 1), 1e-7, both);
    }

    #[test]
    fn mean_weight_is_one_and_none_exceeds_its_bound() {
        let short = Tail::ALONE.down_to(1e-3);
        for tail in [
            Tail::ALONE,
            Tail::of_several(3, 5),
            Tail::with_share(0.0),
            short,
        ] {
            let all = weighted(7, 100_000, tail, |_: [f64; 1]| true);
            assert!((all.rate() - 1.0).abs() < 0.01, "{tail:?}: {}", all.rate());
            let mut stream = Stream::new(7, "bound");
            let most = (0..10_000).map(|_| tail.draw(&mut stream).weight);
            let most = most.fold(0.0, f64::max);
            assert!(most <= 1.0 / (1.0 - tail.share), "{tail:?}: {most}");
        }
        // Below the least tail there is no log-uniform part.
        let below = Tail::ALONE.weight(LEAST / 2.0);
        assert!((below - 5.0).abs() < 1e-12, "{below}");
    }
}

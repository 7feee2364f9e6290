//! The random durations and delays of a scenario's faults, drawn by their tails.

use locklab_history::{Effect, Fault, LinkFault, Schedule};
use locklab_model::fault::{FaultSpec, expand};
use locklab_model::scenario::Scenario;
use locklab_values::dist::Dist;
use locklab_values::random::Stream;
use locklab_vecmap::VecMap;

use crate::rare::estimators::tail::Tail;

/// What is drawn by its tail in the runs of a scenario: how long faults last, and how much later packets
/// arrive on slow links. Everything else, when faults begin above all, is drawn as in any other run.
#[derive(Debug, Clone, Copy)]
pub struct Lengths<'s> {
    faults: &'s VecMap<String, FaultSpec>,
    /// How many of these numbers are random.
    random: usize,
}

impl<'s> Lengths<'s> {
    /// The random lengths of a scenario; `None` if it has none.
    pub fn of(scenario: &'s Scenario) -> Option<Lengths<'s>> {
        let faults = &scenario.fault;
        let random = faults.values().flat_map(lengths).flatten().count();
        (random > 0).then_some(Lengths { faults, random })
    }

    /// Whether one of them may be far longer than usual.
    pub fn have_tails(&self) -> bool {
        let mut all = self.faults.values().flat_map(lengths).flatten();
        all.any(Dist::has_tail)
    }

    /// The names of the faults that have some.
    pub fn names(&self) -> Vec<&'s str> {
        let has_some =
            |(_, spec): &(&String, &FaultSpec)| lengths(spec).iter().any(Option::is_some);
        let faults = self.faults.iter().filter(has_some);
        faults.map(|(name, _)| &**name).collect()
    }

    /// The faults of a run, and its weight: how much likelier they are in the scenario.
    pub fn draw(&self, seed: u64) -> (Schedule, f64) {
        let mut schedule = expand(self.faults, seed);
        let mut times: VecMap<String, usize> = VecMap::new();
        for fault in &schedule.faults {
            *times.entry(spec_name(fault).to_owned()).or_default() += 1;
        }
        let mut weight = 1.0;
        for fault in &mut schedule.faults {
            let name = spec_name(fault);
            let tail = Tail::of_several(self.random, times[name]);
            let [duration, extra] = lengths(&self.faults[name]);
            let mut stream = Stream::new(seed, &format!("rare/lengths/{}", fault.name));
            let mut length_ns = |dist: &Dist| {
                let drawn = tail.draw(&mut stream);
                weight *= drawn.weight;
                dist.at_tail_ns(drawn.tail)
            };
            if let Some(dist) = duration {
                fault.duration_ns = Some(length_ns(dist));
            }
            if let Some(dist) = extra
                && let Effect::Links { fault, .. } = &mut fault.effect
            {
                let extra = length_ns(dist);
                *fault = LinkFault::SlowLink { extra };
            }
        }
        (schedule, weight)
    }
}

/// The name in the scenario: a repeated fault is NAME#1, NAME#2, …; no other name has a #.
fn spec_name(fault: &Fault) -> &str {
    let name = &*fault.name;
    name.split_once('#').map_or(name, |(name, _)| name)
}

/// The duration and the delay of a fault, where they are random.
fn lengths(spec: &FaultSpec) -> [Option<&Dist>; 2] {
    let extra = match &spec.effect {
        Effect::Links {
            fault: LinkFault::SlowLink { extra },
            ..
        } => Some(extra),
        _ => None,
    };
    [spec.duration_ms.as_ref(), extra].map(|dist| dist.filter(|it| it.is_random()))
}

#[cfg(test)]
mod tests {
    use locklab_evidence::Weighted;
    use locklab_model::scenario;
    use locklab_values::units::NS_PER_MS;

    use super::*;

    const FAULTS: &str = r#"
        title = "Three faults"
        [topology]
        nodes = 1
        clients = 1
        [lock]
        name = "set-nx-px"
        ttl_ms = 1000
        [fault.gc]
        kind = "pause"
        on = "c1"
        every_ms = { uniform = [100, 300] }
        until_ms = 1000
        duration_ms = { exponential = 10 }
        [fault.slow]
        kind = "slow-link"
        from = "c1"
        to = "n1"
        at_ms = { uniform = [0, 1000] }
        extra_ms = { log_normal = { median = 2, sigma = 1 } }
        duration_ms = 50
        [fault.cut]
        kind = "partition"
        from = "c1"
        to = "n1"
        at_ms = 5
        duration_ms = 5
    "#;

    fn scenario() -> Scenario {
        scenario::parse("test.toml", FAULTS, &[]).expect("a sound scenario")
    }

    #[test]
    fn only_random_lengths_are_drawn_anew() {
        let scenario = scenario();
        let lengths = Lengths::of(&scenario).expect("two are random");
        assert_eq!(lengths.names(), ["gc", "slow"]);
        assert_eq!(lengths.random, 2);
        let (drawn, plain) = (lengths.draw(3).0, expand(&scenario.fault, 3));
        let starts = |schedule: &Schedule| -> Vec<_> {
            let faults = schedule.faults.iter();
            faults
                .map(|it| (it.name.clone(), it.start.clone()))
                .collect()
        };
        assert_eq!(starts(&drawn), starts(&plain));
        for (drawn, plain) in drawn.faults.iter().zip(&plain.faults) {
            let is_pause = spec_name(plain) == "gc";
            assert_eq!(
                drawn.duration_ns != plain.duration_ns,
                is_pause,
                "{drawn:?}"
            );
            let is_slow = spec_name(plain) == "slow";
            assert_eq!(drawn.effect != plain.effect, is_slow, "{drawn:?}");
        }
    }

    /// A pause of more than 120 ms, in any of the four to nine pauses of a run: the rate is the mean
    /// number of pauses times e^-12. Of 30 intervals at 95 %, one or two miss; without `LOCKLAB_LONG=1` there are ten.
    #[test]
    fn rare_lengths_of_repeated_faults_have_their_rate() {
        let times: u64 = match std::env::var_os("LOCKLAB_LONG") {
            Some(_) => 30,
            None => 10,
        };
        let scenario = scenario();
        let lengths = Lengths::of(&scenario).expect("two are random");
        let is_long = |fault: &Fault| {
            spec_name(fault) == "gc" && fault.duration_ns.is_some_and(|it| it > 120 * NS_PER_MS)
        };
        let (mut pauses, mut contain, mut sum) = (0, 0, 0.0);
        for nth in 0..times {
            let mut weighted = Weighted::default();
            for seed in nth * 16_000..(nth + 1) * 16_000 {
                let (schedule, weight) = lengths.draw(seed);
                pauses += schedule.faults.len() - 2;
                weighted.add(schedule.faults.iter().any(is_long).then_some(weight));
            }
            let expected = 4.5 * (-12.0_f64).exp();
            let interval = weighted.interval().expect("enough runs");
            sum += weighted.rate() / expected;
            contain += u32::from(interval.low < expected && expected < interval.high);
        }
        // A mean interval of 200 ms, in the last of which the time ends.
        let mean = pauses as f64 / (times as f64 * 16_000.0);
        assert!((mean - 4.54).abs() < 0.05, "{mean}");
        let times = times as f64;
        let error = 0.22 / times.sqrt();
        assert!((sum / times - mean / 4.5).abs() < error, "{sum}");
        assert!(f64::from(contain) > 0.8 * times, "{contain}");
    }
}

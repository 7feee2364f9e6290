//! From the schedule of a run to another one that is the same until some time: what had not begun by
//! then is drawn anew.

use locklab_history::{Fault, Schedule, Start};
use locklab_values::dist::Dist;
use locklab_values::random::Stream;
use locklab_values::units::ns_from_fractional_ms;
use locklab_vecmap::VecMap;

use super::expand::{MIN_INTERVAL_NS, expand_spec, settle};
use super::spec::{FaultSpec, Placement};

/// How often a start is drawn until one is not in the past.
const TRIES: u32 = 10_000;

/// A run so far.
#[derive(Debug, Clone, Copy)]
pub struct SoFar<'a> {
    /// Its faults.
    pub schedule: &'a Schedule,
    /// True time, in nanoseconds since the run began.
    pub now_ns: u64,
    /// When each fault of the run began, by its name, in the same unit; also those that begin later.
    pub began_ns: &'a VecMap<&'a str, u64>,
}

/// Draws the faults that had not begun, given that they had not: each from its distribution, under the
/// condition that it begins now or later. A fault that had begun stays as it was, with its duration.
///
/// A fault that follows a point or a step counts from there, if the run had reached it (known from a
/// fault that began later), and is drawn freely if not. If no start is in the future in ten thousand
/// tries, the fault stays as it was.
pub fn redraw(specs: &VecMap<String, FaultSpec>, so_far: SoFar<'_>, seed: u64) -> Schedule {
    let of_spec = |(name, spec): (&String, &FaultSpec)| {
        let mut stream = Stream::new(seed, &format!("faults/{name}"));
        match &spec.placement {
            Placement::Every {
                every_ms, until_ms, ..
            } => {
                let until_ns = ns_from_fractional_ms(*until_ms) as u64;
                so_far.repeated(name, spec, (every_ms, until_ns), &mut stream)
            }
            _ => {
                let fault = so_far.schedule.faults.iter().find(|it| *it.name == **name);
                let fault = fault.map(|fault| so_far.single(fault, spec, &mut stream));
                fault.into_iter().collect()
            }
        }
    };
    Schedule {
        faults: specs.iter().flat_map(of_spec).collect(),
    }
}

impl SoFar<'_> {
    fn single(&self, fault: &Fault, spec: &FaultSpec, stream: &mut Stream) -> Fault {
        let began_ns = self.began_ns.get(&*fault.name).copied();
        let begins_ns = match fault.start {
            Start::At { at_ns } => Some(at_ns),
            Start::After { .. } | Start::AtStep { .. } => began_ns,
        };
        if begins_ns.is_some_and(|at_ns| at_ns < self.now_ns) {
            return fault.clone();
        }
        // When the run reached what the fault follows.
        let origin_ns = match (&fault.start, began_ns) {
            (Start::At { .. }, _) => Some(0),
            (_, None) => None,
            (start, Some(began_ns)) => Some(began_ns.saturating_sub(delay_ns(start))),
        };
        let origin_ns = origin_ns.filter(|at_ns| *at_ns < self.now_ns);
        let draws = (0..TRIES).filter_map(|_| expand_spec(&fault.name, spec, stream).pop());
        let mut possible = draws.filter(|drawn| match origin_ns {
            None => true,
            Some(origin_ns) => origin_ns + delay_ns(&drawn.start) >= self.now_ns,
        });
        possible.next().unwrap_or_else(|| fault.clone())
    }

    fn repeated(
        &self,
        name: &str,
        spec: &FaultSpec,
        (every_ms, until_ns): (&Dist, u64),
        stream: &mut Stream,
    ) -> Vec<Fault> {
        let of_name = |fault: &&Fault| {
            let split = fault.name.rsplit_once('#');
            split.is_some_and(|(of, _)| of == name)
        };
        let begun = self.schedule.faults.iter().filter(of_name);
        let begun = begun.take_while(|fault| delay_ns(&fault.start) < self.now_ns);
        let mut faults: Vec<Fault> = begun.cloned().collect();
        loop {
            let last_ns = faults.last().map(|fault| delay_ns(&fault.start));
            let next_ns = match (last_ns, &spec.placement) {
                (Some(last_ns), _) => self.next(last_ns, every_ms, stream),
                (
                    None,
                    Placement::Every {
                        at_ms: Some(first_ms),
                        ..
                    },
                ) => self.next(0, first_ms, stream),
                (None, _) => self.next(0, every_ms, stream),
            };
            if next_ns >= until_ns {
                return faults;
            }
            let name = format!("{name}#{}", faults.len() + 1);
            faults.push(settle(
                name.into(),
                spec,
                Start::At { at_ns: next_ns },
                stream,
            ));
        }
    }

    /// The next start of a repeated fault, now or later; now if none is found.
    fn next(&self, last_ns: u64, interval_ms: &Dist, stream: &mut Stream) -> u64 {
        let least_ns = if last_ns == 0 { 0 } else { MIN_INTERVAL_NS };
        let mut starts =
            (0..TRIES).map(|_| last_ns.saturating_add(interval_ms.sample_ns(stream).max(least_ns)));
        starts
            .find(|at_ns| *at_ns >= self.now_ns)
            .unwrap_or(self.now_ns.max(last_ns + MIN_INTERVAL_NS))
    }
}

/// How long a fault begins after what it follows, or after the run's beginning.
fn delay_ns(start: &Start) -> u64 {
    match start {
        Start::At { at_ns } => *at_ns,
        Start::After { delay_ns, .. } | Start::AtStep { delay_ns, .. } => *delay_ns,
    }
}

#[cfg(test)]
mod tests {
    use locklab_values::units::NS_PER_MS;

    use super::super::expand;
    use super::*;

    const FAULTS: &str = r#"
        [once]
        kind = "pause"
        on = "c1"
        at_ms = { uniform = [0, 1000] }
        duration_ms = { uniform = [1, 2] }

        [gc]
        kind = "pause"
        on = "c1"
        after = "c1 acquired"
        delay_ms = { uniform = [0, 1000] }
        duration_ms = 5

        [often]
        kind = "pause"
        on = "n1"
        every_ms = { uniform = [50, 150] }
        until_ms = 1000
        duration_ms = { uniform = [1, 2] }
    "#;

    fn specs() -> VecMap<String, FaultSpec> {
        toml::from_str(FAULTS).expect("faults")
    }

    /// The starts of the faults of this name, in milliseconds.
    fn starts(schedule: &Schedule, name: &str) -> Vec<f64> {
        let of_name = schedule.faults.iter();
        let of_name = of_name.filter(|it| it.name.split('#').next() == Some(name));
        let start = |fault: &Fault| delay_ns(&fault.start) as f64 / NS_PER_MS as f64;
        of_name.map(start).collect()
    }

    /// Redraws at 500 ms. c1 acquired the lock at 100 ms, so `gc` began that much after its delay.
    fn redrawn(original: &Schedule, seed: u64) -> Schedule {
        let gc = original.faults.iter().find(|it| *it.name == *"gc");
        let began_ns = delay_ns(&gc.expect("it is there").start) + 100 * NS_PER_MS;
        let so_far = SoFar {
            schedule: original,
            now_ns: 500 * NS_PER_MS,
            began_ns: &VecMap::from([("gc", began_ns)]),
        };
        redraw(&specs(), so_far, seed)
    }

    #[test]
    fn what_had_begun_stays_and_the_rest_begins_later() {
        let mut kept = [0; 2];
        for seed in 0..200 {
            let original = expand(&specs(), seed);
            let other = redrawn(&original, seed + 1000);
            for (kept, (name, now)) in kept.iter_mut().zip([("once", 500.0), ("gc", 400.0)]) {
                let (before, after) = (starts(&original, name)[0], starts(&other, name)[0]);
                if before < now {
                    assert_eq!(after, before, "{name}");
                    *kept += 1;
                } else {
                    assert!(after >= now && after != before, "{name}");
                }
            }
            let [before, after] = [&original, &other].map(|it| starts(it, "often"));
            let begun = before.iter().filter(|at| **at < 500.0).count();
            assert_eq!(before[..begun], after[..begun]);
            assert!(after[begun..].iter().all(|at| (500.0..1000.0).contains(at)));
            assert_ne!(before[begun..], after[begun..]);
            let gaps = after.windows(2).map(|pair| pair[1] - pair[0]);
            assert!(gaps.into_iter().all(|gap| (49.9..150.1).contains(&gap)));
        }
        // Half of the starts of one, and two fifths of the other, are in the past.
        assert!((70..130).contains(&kept[0]), "{kept:?}");
        assert!((50..110).contains(&kept[1]), "{kept:?}");
    }

    /// A fault that begins now has not begun before.
    #[test]
    fn a_fault_that_begins_now_is_drawn_anew() {
        let original = expand(&specs(), 0);
        let once = original.faults.iter().find(|it| *it.name == *"once");
        let began_ns = VecMap::new();
        let so_far = |now_ns| SoFar {
            schedule: &original,
            now_ns,
            began_ns: &began_ns,
        };
        let now_ns = delay_ns(&once.expect("it is there").start);
        let drawn = |now_ns| starts(&redraw(&specs(), so_far(now_ns), 1), "once");
        assert_ne!(drawn(now_ns), starts(&original, "once"));
        assert_eq!(drawn(now_ns + 1), starts(&original, "once"));
    }

    /// A start that is drawn from 0 to 1000 ms, and is not in the first 500, is uniform in the others.
    #[test]
    fn a_start_has_its_distribution_under_the_condition() {
        let original = (0..).map(|seed| expand(&specs(), seed));
        let original = original
            .into_iter()
            .find(|it| starts(it, "once")[0] > 500.0);
        let original = original.expect("half of them");
        let later: Vec<f64> = (0..2000)
            .map(|seed| starts(&redrawn(&original, seed), "once")[0])
            .collect();
        let mean = later.iter().sum::<f64>() / later.len() as f64;
        // The standard error is 144 / √2000 = 3.2 ms.
        assert!((735.0..765.0).contains(&mean), "{mean}");
    }

    #[test]
    fn a_fault_whose_point_was_not_reached_is_drawn_freely() {
        let original = expand(&specs(), 0);
        let so_far = SoFar {
            schedule: &original,
            now_ns: 5000 * NS_PER_MS,
            began_ns: &VecMap::new(),
        };
        let other = redraw(&specs(), so_far, 1);
        assert_ne!(starts(&other, "gc"), starts(&original, "gc"));
    }
}

//! From the faults of a scenario to the schedule of a run: every number is drawn.

use std::convert::Infallible;

use locklab_values::dist::{Dist, Signed};
use locklab_values::random::Stream;
use locklab_values::units::{NS_PER_MS, ns_from_fractional_ms};
use locklab_vecmap::VecMap;

use super::spec::{Described, FaultSpec, Placement};
use locklab_history::{Effect, Fault, Name, Schedule, Start};

/// Two starts of a repeated fault are at least a millisecond apart, so that a schedule stays finite
/// for every draw.
pub(super) const MIN_INTERVAL_NS: u64 = NS_PER_MS;

/// Draws every number of a scenario's faults for the run of this seed.
///
/// Each fault draws from a stream of its own, `faults/NAME`, so that adding a fault to a
/// scenario, or drawing less often for one, never changes another. A fault that is placed by
/// `every_ms` becomes several, `NAME#1`, `NAME#2`, and so on.
pub fn expand(specs: &VecMap<String, FaultSpec>, seed: u64) -> Schedule {
    let expand_one = |(name, spec): (&String, &FaultSpec)| {
        let mut stream = Stream::new(seed, &format!("faults/{name}"));
        expand_spec(name, spec, &mut stream)
    };
    Schedule {
        faults: specs.iter().flat_map(expand_one).collect(),
    }
}

pub(super) fn expand_spec(name: &str, spec: &FaultSpec, stream: &mut Stream) -> Vec<Fault> {
    let start = match &spec.placement {
        Placement::At(at_ms) => Start::At {
            at_ns: at_ms.sample_ns(stream),
        },
        Placement::After { moment, delay_ms } => Start::After {
            client: moment.client.clone(),
            point: moment.point,
            nth: moment.nth,
            delay_ns: delay_ms.sample_ns(stream),
        },
        Placement::AtStep { step, delay_ms } => {
            Start::at_step(step.clone(), delay_ms.sample_ns(stream))
        }
        Placement::Between { first, .. } => Start::After {
            client: first.client.clone(),
            point: first.point,
            nth: first.nth,
            delay_ns: 0,
        },
        Placement::Every {
            every_ms,
            at_ms,
            until_ms,
        } => {
            let until_ns = ns_from_fractional_ms(*until_ms) as u64;
            return repeat(
                name,
                spec,
                [every_ms, at_ms.as_ref().unwrap_or(every_ms)],
                until_ns,
                stream,
            );
        }
    };
    vec![settle(name.into(), spec, start, stream)]
}

fn repeat(
    name: &str,
    spec: &FaultSpec,
    [every_ms, first_ms]: [&Dist; 2],
    until_ns: u64,
    stream: &mut Stream,
) -> Vec<Fault> {
    let mut faults = Vec::new();
    let mut at_ns = first_ms.sample_ns(stream);
    while at_ns < until_ns {
        let name = format!("{name}#{}", faults.len() + 1);
        faults.push(settle(name.into(), spec, Start::At { at_ns }, stream));
        let interval_ns = every_ms.sample_ns(stream).max(MIN_INTERVAL_NS);
        at_ns = at_ns.saturating_add(interval_ns);
    }
    faults
}

/// Draws the rest of a fault whose start is settled: the duration first, then the kind's
/// amounts.
pub(super) fn settle(name: Name, spec: &FaultSpec, start: Start, stream: &mut Stream) -> Fault {
    let duration_ns = (spec.duration_ms.as_ref()).map(|duration| duration.sample_ns(stream));
    Fault {
        name,
        start,
        duration_ns,
        effect: effect(&spec.effect, stream),
    }
}

/// Draws the amount of a fault.
fn effect(described: &Described, stream: &mut Stream) -> Effect {
    let mut draw = Draw(stream);
    match described {
        Effect::Hosts { fault, hosts } => {
            let Ok(fault) = fault
                .clone()
                .convert(&mut draw, Draw::step, Draw::rate, |_, line| Ok(line));
            let hosts = hosts.clone();
            Effect::Hosts { fault, hosts }
        }
        Effect::Links { fault, links } => {
            let Ok(fault) = fault.clone().convert(&mut draw, Draw::delay, Draw::share);
            let links = links.clone();
            Effect::Links { fault, links }
        }
    }
}

/// Draws the amounts, in the units of the fault injector.
struct Draw<'s>(&'s mut Stream);

impl Draw<'_> {
    fn delay(&mut self, extra_ms: Dist) -> Result<u64, Infallible> {
        Ok(extra_ms.sample_ns(self.0))
    }

    fn share(&mut self, probability: f64) -> Result<f64, Infallible> {
        Ok(probability)
    }

    fn step(&mut self, step_ms: Signed) -> Result<i64, Infallible> {
        Ok(ns_from_fractional_ms(step_ms.sample(self.0)) as i64)
    }

    /// To the nearest part per million.
    fn rate(&mut self, drift_ppm: Signed) -> Result<i64, Infallible> {
        Ok(drift_ppm.sample(self.0).round() as i64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use locklab_history::{Failpoint, HostFault, LinkFault, Links};

    /// The schedule of some `[fault.NAME]` tables.
    fn schedule(faults: &str, seed: u64) -> Schedule {
        let specs: VecMap<String, FaultSpec> = toml::from_str(faults).expect("faults");
        expand(&specs, seed)
    }

    fn only(faults: &str) -> Fault {
        let mut schedule = schedule(faults, 0);
        assert_eq!(schedule.faults.len(), 1);
        schedule.faults.remove(0)
    }

    const GC: &str = r#"
        [gc]
        kind = "pause"
        on = "c1"
        after = "c1 acquired #2"
        delay_ms = { uniform = [0, 10] }
        duration_ms = { exponential = 1000 }
    "#;

    const CUTS: &str = r#"
        [cut]
        kind = "partition"
        from = "c1"
        to = ["n1", "n2"]
        direction = "one-way"
        every_ms = { uniform = [50, 150] }
        until_ms = 1000
        duration_ms = 20
    "#;

    #[test]
    fn every_number_is_settled() {
        let constant = GC
            .replace("{ uniform = [0, 10] }", "0.5")
            .replace("{ exponential = 1000 }", "1500");
        let expected = Fault {
            name: "gc".into(),
            start: Start::After {
                client: "c1".into(),
                point: Failpoint::Acquired,
                nth: 2,
                delay_ns: 500_000,
            },
            duration_ns: Some(1_500_000_000),
            effect: Effect::Hosts {
                fault: HostFault::Pause,
                hosts: vec!["c1".into()],
            },
        };
        assert_eq!(only(&constant), expected);
    }

    #[test]
    fn a_fault_between_two_points_begins_at_the_first() {
        let fault = only(
            r#"
            [stop]
            kind = "kill"
            on = ["c1", "n1"]
            between = ["c1 checked", "c1 wrote"]
            "#,
        );
        let expected = Start::After {
            client: "c1".into(),
            point: Failpoint::Checked,
            nth: 1,
            delay_ns: 0,
        };
        assert_eq!(fault.start, expected);
        assert_eq!(fault.duration_ns, None);
    }

    #[test]
    fn the_kinds_keep_their_numbers_and_signs() {
        let of_n1 = |fault| Effect::Hosts {
            fault,
            hosts: vec!["n1".into()],
        };
        let of_c1_and_n1 = |fault| Effect::Links {
            fault,
            links: Links {
                from: vec!["c1".into()],
                to: vec!["n1".into()],
                both_ways: true,
            },
        };
        let step = only("[s]\nkind = \"clock-step\"\non = \"n1\"\nstep_ms = -1.5\nat_ms = 2");
        assert_eq!(step.start, Start::At { at_ns: 2_000_000 });
        let expected = HostFault::ClockStep { step: -1_500_000 };
        assert_eq!(step.effect, of_n1(expected));
        let slow =
            only("[s]\nkind = \"slow-link\"\nfrom = \"c1\"\nto = \"n1\"\nextra_ms = 3\nat_ms = 0");
        let expected = LinkFault::SlowLink { extra: 3_000_000 };
        assert_eq!(slow.effect, of_c1_and_n1(expected));
        let loss =
            only("[l]\nkind = \"loss\"\nfrom = \"c1\"\nto = \"n1\"\nprobability = 0.25\nat_ms = 0");
        let expected = LinkFault::Loss { probability: 0.25 };
        assert_eq!(loss.effect, of_c1_and_n1(expected));
        let rate = only("[r]\nkind = \"clock-rate\"\non = \"n1\"\ndrift_ppm = -7\nat_ms = 0");
        assert_eq!(rate.effect, of_n1(HostFault::ClockRate { drift_ppm: -7 }));
    }

    /// The amounts are drawn after the duration, from the stream of the fault; a constant draws nothing.
    #[test]
    fn steps_and_rates_are_drawn_like_other_amounts() {
        const STEP: &str = "kind = \"clock-step\"\non = \"n1\"\nat_ms = { uniform = [0, 9] }";
        const RATE: &str = "kind = \"clock-rate\"\non = \"n1\"\nat_ms = { uniform = [0, 9] }\n\
                            duration_ms = { uniform = [1, 9] }";
        let (mut backwards, mut slow) = (0, 0);
        for seed in 0..200 {
            let faults = format!(
                "[a]\n{STEP}\nstep_ms = {{ uniform = [-300, 100] }}\n\
                 [b]\n{RATE}\ndrift_ppm = {{ uniform = [-500, 500] }}\n"
            );
            let faults = schedule(&faults, seed).faults;
            let constant = format!("[a]\n{STEP}\nstep_ms = -7\n[b]\n{RATE}\ndrift_ppm = -7\n");
            for (fault, constant) in faults.iter().zip(schedule(&constant, seed).faults) {
                assert_eq!(
                    (&fault.start, fault.duration_ns),
                    (&constant.start, constant.duration_ns)
                );
            }
            let [a, b] = &faults[..] else {
                panic!("{faults:?}")
            };
            let (Effect::Hosts { fault: step, .. }, Effect::Hosts { fault: rate, .. }) =
                (&a.effect, &b.effect)
            else {
                panic!("{faults:?}")
            };
            match (step, rate) {
                (HostFault::ClockStep { step }, HostFault::ClockRate { drift_ppm }) => {
                    assert!((-300_000_000..=100_000_000).contains(step), "{step}");
                    assert!((-500..=500).contains(drift_ppm), "{drift_ppm}");
                    backwards += u32::from(*step < 0);
                    slow += u32::from(*drift_ppm < 0);
                }
                other => panic!("{other:?}"),
            }
        }
        assert!((125..175).contains(&backwards), "{backwards}");
        assert!((70..130).contains(&slow), "{slow}");
    }

    #[test]
    fn each_time_of_a_repeated_fault_has_its_own_step() {
        let faults = "[s]\nkind = \"clock-step\"\non = \"n1\"\nevery_ms = 10\nuntil_ms = 100\n\
                      step_ms = { values = [-3, 8] }";
        let effects: Vec<Effect> = { schedule(faults, 1).faults.into_iter() }
            .map(|fault| fault.effect)
            .collect();
        assert_eq!(effects.len(), 9);
        assert!(effects.iter().any(|effect| *effect != effects[0]));
    }

    #[test]
    fn a_schedule_is_a_function_of_its_faults_and_the_seed() {
        assert_eq!(schedule(CUTS, 1), schedule(CUTS, 1));
        assert_ne!(schedule(CUTS, 1), schedule(CUTS, 2));
    }

    #[test]
    fn added_fault_does_not_change_the_others() {
        let alone = schedule(GC, 3).faults;
        let both = schedule(&format!("{CUTS}{GC}"), 3).faults;
        assert_eq!(both.last(), alone.last());
        assert!(both.len() > alone.len());
    }

    #[test]
    fn faults_of_equal_description_draw_different_numbers() {
        let two = schedule(&format!("{GC}{}", GC.replace("[gc]", "[gd]")), 3).faults;
        assert_ne!(two[0].duration_ns, two[1].duration_ns);
        assert_ne!(two[0].start, two[1].start);
    }

    #[test]
    fn a_repeated_fault_starts_once_per_interval_until_its_end() {
        let faults = schedule(CUTS, 0).faults;
        let starts: Vec<u64> = faults
            .iter()
            .map(|fault| match fault.start {
                Start::At { at_ns } => at_ns,
                _ => panic!("placed by time: {fault:?}"),
            })
            .collect();
        let ms = NS_PER_MS;
        assert!((50 * ms..=150 * ms).contains(&starts[0]));
        for pair in starts.windows(2) {
            assert!(
                (50 * ms..=150 * ms).contains(&(pair[1] - pair[0])),
                "{starts:?}"
            );
        }
        let last = starts[starts.len() - 1];
        assert!((850 * ms..1000 * ms).contains(&last), "{starts:?}");
        let names: Vec<&str> = faults.iter().map(|fault| &*fault.name).collect();
        assert_eq!(names[..2], ["cut#1", "cut#2"]);
    }

    #[test]
    fn a_repeated_fault_does_not_start_at_its_end() {
        let regular = CUTS.replace("{ uniform = [50, 150] }", "250");
        let faults = schedule(&regular, 0).faults;
        let starts: Vec<Start> = faults.into_iter().map(|fault| fault.start).collect();
        let at = |ms| Start::At {
            at_ns: ms * NS_PER_MS,
        };
        assert_eq!(starts, [at(250), at(500), at(750)]);
    }

    #[test]
    fn two_starts_are_a_millisecond_apart_at_least() {
        let dense = CUTS.replace("{ uniform = [50, 150] }", "{ uniform = [0, 0.1] }");
        let faults = schedule(&dense.replace("1000", "10"), 0).faults;
        assert_eq!(faults.len(), 10);
    }

    #[test]
    fn repeated_fault_may_begin_immediately() {
        let at_once = CUTS.replace("every_ms", "at_ms = 0\nevery_ms");
        let first = schedule(&at_once, 0).faults.remove(0);
        assert_eq!(first.start, Start::At { at_ns: 0 });
    }
}

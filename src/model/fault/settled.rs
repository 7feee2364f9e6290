//! A fault of a schedule as a scenario writes it: the reverse of [`expand`](super::expand()).

use std::convert::Infallible;

use locklab_history::{Effect, Fault, Moment, Start};
use locklab_values::dist::{Dist, Signed};
use locklab_values::units::{NS_PER_MS, fractional_ms_from_ns};

use super::spec::{Described, FaultSpec, Placement};

impl From<&Fault> for FaultSpec {
    fn from(fault: &Fault) -> FaultSpec {
        FaultSpec {
            effect: described(&fault.effect),
            placement: placement(&fault.start),
            duration_ms: fault.duration_ns.map(constant),
        }
    }
}

fn placement(start: &Start) -> Placement {
    match start {
        Start::At { at_ns } => Placement::At(constant(*at_ns)),
        Start::After {
            client,
            point,
            nth,
            delay_ns,
        } => Placement::After {
            moment: Moment {
                client: client.clone(),
                point: *point,
                nth: *nth,
            },
            delay_ms: constant(*delay_ns),
        },
        Start::AtStep { step, delay_ns } => Placement::AtStep {
            step: step.clone(),
            delay_ms: constant(*delay_ns),
        },
    }
}

fn described(effect: &Effect) -> Described {
    match effect {
        Effect::Hosts { fault, hosts } => {
            let step = |(): &mut (), ns: i64| Ok(Signed::constant(ns as f64 / NS_PER_MS as f64));
            let rate = |(): &mut (), ppm: i64| Ok::<_, Infallible>(Signed::constant(ppm as f64));
            let line = |(): &mut (), line| Ok(line);
            let Ok(fault) = fault.clone().convert(&mut (), step, rate, line);
            let hosts = hosts.clone();
            Effect::Hosts { fault, hosts }
        }
        Effect::Links { fault, links } => {
            let delay = |(): &mut (), ns: u64| Ok(constant(ns));
            let Ok(fault) = fault.convert(&mut (), delay, |(), share| Ok::<_, Infallible>(share));
            let links = links.clone();
            Effect::Links { fault, links }
        }
    }
}

fn constant(ns: u64) -> Dist {
    Dist::Constant(fractional_ms_from_ns(ns))
}

#[cfg(test)]
mod tests {

    use locklab_vecmap::VecMap;

    use crate::fault::{FaultSpec, expand};

    #[test]
    fn a_settled_fault_is_drawn_as_it_was() {
        let text = r#"
            a = { kind = "pause", on = "c1", at_ms = 5.000001, duration_ms = 7.5 }
            b = { kind = "clock-step", on = "n1", after = "c1 read #2", step_ms = -5.5 }
            c = { kind = "slow-link", from = "c1", to = ["n1", "n2"], extra_ms = 1500, \
                  at_step = "c1 SET #2 leaves for n1", duration_ms = 0, direction = "one-way" }
            d = { kind = "clock-rate", on = "n1", at_ms = 0, drift_ppm = -500, delay_ms = 0 }
            e = { kind = "loss", from = "c1", to = "n1", at_ms = 1, probability = 0.25 }
        "#;
        let text = text.replace("\\\n", "").replace(", delay_ms = 0 }", " }");
        let specs: VecMap<String, FaultSpec> = toml::from_str(&text).expect("faults");
        let schedule = expand(&specs, 3);
        let settled = schedule.faults.iter();
        let settled = settled.map(|fault| (fault.name.to_string(), FaultSpec::from(fault)));
        assert_eq!(expand(&settled.collect(), 4), schedule);
    }
}

//! Faults placed after what a client does, "after c1 read", or at another step of the run, "c1 SET #2
//! arrives at n3", in place of a time; and moments that come earlier. Another way of placing a fault
//! adds its candidates to [`alternatives`].

use crate::edit::faults::with;
use crate::trial::{Best, violation};
use locklab_check::Property;
use locklab_history::{Event, Moment, Name, Phase, Step};
use locklab_model::fault::{FaultSpec, Placement};
use locklab_model::scenario::Scenario;
use locklab_runner::judged;
use locklab_runner::simulate::Keep;
use locklab_runner::steps::SeenStep;
use locklab_values::dist::Dist;
use locklab_values::units::fractional_ms_from_ns;

/// How many of the last points before a fault are tried for each client, and of the last other steps.
const POINTS: usize = 5;

/// With one fault placed in a way that reads better.
pub(crate) fn by_moment(best: &Best, property: Property) -> Vec<Scenario> {
    let steps = steps(best);
    let clients = violation(&best.run, property).map_or(&[][..], |found| &found.clients);
    let mut candidates = Vec::new();
    for (name, fault) in &best.scenario.fault {
        for placement in alternatives(best, name, fault, &steps, clients) {
            let mut fault = fault.clone();
            fault.placement = placement;
            candidates.push(with(&best.scenario, name, fault));
        }
    }
    candidates
}

const AT_ONCE: Dist = Dist::Constant(0.0);

/// Other placements of a fault, those that read best first.
fn alternatives(
    best: &Best,
    name: &str,
    fault: &FaultSpec,
    steps: &[SeenStep],
    clients: &[Name],
) -> Vec<Placement> {
    let mut found = vec![Placement::At(AT_ONCE)];
    if let Placement::After { moment, delay_ms } = &fault.placement {
        for nth in 1..=moment.nth {
            for delay_ms in [AT_ONCE, delay_ms.clone()] {
                let moment = Moment {
                    nth,
                    ..moment.clone()
                };
                found.push(Placement::After { moment, delay_ms });
            }
        }
    }
    let Some(at_ns) = began_ns(best, name) else {
        return found;
    };
    let before = || steps.iter().rev().filter(|seen| seen.at_ns <= at_ns);
    for client in clients {
        let moments = before().filter_map(|seen| Some((seen, moment(seen, client)?)));
        for (seen, moment) in moments.take(POINTS) {
            let later = Dist::Constant(fractional_ms_from_ns(at_ns - seen.at_ns));
            for delay_ms in [AT_ONCE, later] {
                let moment = moment.clone();
                found.push(Placement::After { moment, delay_ms });
            }
        }
    }
    let hosts: Vec<&Name> = fault.effect.hosts().chain(clients).collect();
    let is_near = |seen: &&SeenStep| {
        let is_moment = matches!(seen.step, Step::Failpoint(_));
        !is_moment && seen.step.hosts().iter().any(|host| hosts.contains(host))
    };
    found.extend(
        before()
            .filter(is_near)
            .take(POINTS)
            .map(|seen| Placement::AtStep {
                step: seen.step.clone(),
                delay_ms: AT_ONCE,
            }),
    );
    found
}

/// When a fault took effect, in nanoseconds; `None` if it never did.
pub(crate) fn began_ns(best: &Best, name: &str) -> Option<u64> {
    let mut records = best.run.history.records.iter();
    let began = records.find(|record| {
        matches!(&record.event, Event::Fault { fault, phase: Phase::Begins, .. } if **fault == *name)
    });
    began.map(|record| record.at_ns)
}

/// The steps of the best run, in order.
pub(crate) fn steps(best: &Best) -> Vec<SeenStep> {
    let run = judged::run(&best.scenario, best.seed, Keep::STEPS);
    let log = run.ok().and_then(|run| run.steps);
    log.map(|log| log.steps).unwrap_or_default()
}

/// The moment that this step is, of this client, if it comes once in a round.
pub(crate) fn moment<'s>(seen: &'s SeenStep, client: &str) -> Option<&'s Moment> {
    match &seen.step {
        Step::Failpoint(moment) if *moment.client == *client && !moment.point.repeats() => {
            Some(moment)
        }
        _ => None,
    }
}

//! Fewer rounds of each client. A fault that struck in a late round has to strike in an early one: so
//! it is placed after the point that its client had reached, and counted from fewer rounds; or all
//! faults are moved towards the beginning of the run.

use crate::edit::placement::{moment, steps};
use crate::trial::{Best, violation};
use locklab_check::Property;
use locklab_history::{Moment, Name};
use locklab_model::fault::Placement;
use locklab_model::scenario::Scenario;
use locklab_values::dist::Dist;
use locklab_values::units::{fractional_ms_from_ns, ns_from_fractional_ms};

/// How often each client may take the lock, the fewest first.
const LADDER: [u32; 12] = [1, 2, 3, 4, 5, 7, 10, 15, 20, 30, 50, 100];

/// When the first fault strikes, in milliseconds, where all faults are moved towards the beginning.
const FIRST_FAULT_MS: [f64; 4] = [0.0, 10.0, 100.0, 1000.0];

/// With fewer rounds, the fewest first.
pub(crate) fn fewer(best: &Best, property: Property) -> Vec<Scenario> {
    let workload = &best.scenario.workload;
    let own = workload.client.values().filter_map(|client| client.rounds);
    let most = own.chain([workload.rounds]).max().unwrap_or(1);
    let mut candidates = Vec::new();
    for rounds in LADDER.into_iter().filter(|rounds| *rounds < most) {
        let mut scenario = best.scenario.clone();
        scenario.workload.rounds = rounds;
        for client in scenario.workload.client.values_mut() {
            client.rounds = client.rounds.filter(|own| *own < rounds);
        }
        candidates.push(counted_within(scenario.clone(), rounds));
        candidates.extend(anchored(best, property, &scenario, rounds));
        candidates.extend(
            FIRST_FAULT_MS
                .iter()
                .filter_map(|ms| moved(&scenario, rounds, *ms)),
        );
    }
    candidates
}

/// With every moment counted from later on, so that the last one is within these rounds.
fn counted_within(mut scenario: Scenario, rounds: u32) -> Scenario {
    let moments = || {
        scenario
            .fault
            .values()
            .filter_map(|fault| placed_after(&fault.placement))
    };
    let once = moments().filter(|moment| !moment.point.repeats());
    let last: Vec<(Name, u32)> = once
        .map(|moment| (moment.client.clone(), moment.nth))
        .collect();
    for fault in scenario.fault.values_mut() {
        if let Placement::After { moment, .. } = &mut fault.placement {
            let of_client = last.iter().filter(|(client, _)| *client == moment.client);
            let last = of_client.map(|(_, nth)| *nth).max().unwrap_or(1);
            moment.nth = moment
                .nth
                .saturating_sub(last.saturating_sub(rounds))
                .max(1);
        }
    }
    scenario
}

fn placed_after(placement: &Placement) -> Option<&Moment> {
    match placement {
        Placement::After { moment, .. } => Some(moment),
        Placement::At(_)
        | Placement::AtStep { .. }
        | Placement::Between { .. }
        | Placement::Every { .. } => None,
    }
}

/// With every fault that strikes at a time placed after what one client had last done by then. There
/// is a candidate for each client that the violation is about, and for each way of counting.
fn anchored(best: &Best, property: Property, scenario: &Scenario, rounds: u32) -> Vec<Scenario> {
    let clients = violation(&best.run, property).map_or(&[][..], |found| &found.clients);
    let steps = steps(best);
    let by_one = clients.iter().filter_map(|client| {
        let mut anchored = scenario.clone();
        for fault in anchored.fault.values_mut() {
            if let Some(at_ns) = time(&fault.placement) {
                let before = steps.iter().rev().filter(|seen| seen.at_ns <= at_ns);
                let mut moments = before.filter_map(|seen| Some((seen, moment(seen, client)?)));
                let (seen, moment) = moments.next()?;
                let delay_ms = Dist::Constant(fractional_ms_from_ns(at_ns - seen.at_ns));
                let moment = moment.clone();
                fault.placement = Placement::After { moment, delay_ms };
            }
        }
        Some(counted_within(anchored, rounds))
    });
    by_one.collect()
}

/// When a fault strikes, in nanoseconds, if it is placed at a time after the beginning.
fn time(placement: &Placement) -> Option<u64> {
    match placement {
        Placement::At(Dist::Constant(ms)) if *ms > 0.0 => Some(ns_from_fractional_ms(*ms) as u64),
        _ => None,
    }
}

/// With all faults moved so that the first one strikes at this time.
fn moved(scenario: &Scenario, rounds: u32, first_ms: f64) -> Option<Scenario> {
    let times = scenario
        .fault
        .values()
        .filter_map(|fault| time(&fault.placement));
    let earlier_ms = fractional_ms_from_ns(times.min()?) - first_ms;
    if earlier_ms <= 0.0 {
        return None;
    }
    let mut moved = counted_within(scenario.clone(), rounds);
    for fault in moved.fault.values_mut() {
        if let Placement::At(Dist::Constant(ms)) = &mut fault.placement
            && *ms > 0.0
        {
            *ms -= earlier_ms;
        }
    }
    Some(moved)
}

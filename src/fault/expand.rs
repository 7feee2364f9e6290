//! From the faults of a scenario to the schedule of a run: every number is drawn.

use std::collections::BTreeMap;

use locklab_sim::world::random::Stream;

use super::spec::{Direction, Effect, FaultSpec, Link, Placement};
use super::{Fault, FaultKind, Schedule, Start};
use crate::history::Name;
use crate::scenario::Dist;

/// No two starts of a repeated fault are closer than a millisecond, so that a
/// schedule stays finite whatever was drawn.
const SHORTEST_INTERVAL_NS: u64 = 1_000_000;

/// Settles every number of a scenario's faults for the run of this seed.
///
/// Each fault draws from a stream of its own, `faults/NAME`, so that one more fault
/// in a scenario, or one drawn less often, never changes another. A fault that is
/// placed by `every_ms` becomes many, `NAME#1`, `NAME#2`, and so on.
pub fn expand(specs: &BTreeMap<String, FaultSpec>, seed: u64) -> Schedule {
    let expand_one = |(name, spec): (&String, &FaultSpec)| {
        let mut stream = Stream::new(seed, &format!("faults/{name}"));
        expand_spec(name, spec, &mut stream)
    };
    Schedule {
        faults: specs.iter().flat_map(expand_one).collect(),
    }
}

fn expand_spec(name: &str, spec: &FaultSpec, stream: &mut Stream) -> Vec<Fault> {
    let start = match &spec.placement {
        Placement::At(at_ms) => Start::At {
            at_ns: at_ms.sample_ns(stream),
        },
        Placement::After { moment, delay_ms } => Start::After {
            client: moment.client.clone(),
            point: moment.point.clone(),
            nth: moment.nth,
            delay_ns: delay_ms.sample_ns(stream),
        },
        Placement::Between { first, .. } => Start::After {
            client: first.client.clone(),
            point: first.point.clone(),
            nth: first.nth,
            delay_ns: 0,
        },
        Placement::Every {
            every_ms,
            at_ms,
            until_ms,
        } => {
            let until_ns = (until_ms * 1e6).round() as u64;
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
        let interval_ns = every_ms.sample_ns(stream).max(SHORTEST_INTERVAL_NS);
        at_ns = at_ns.saturating_add(interval_ns);
    }
    faults
}

/// The start is settled; now the duration, then what else the kind has.
fn settle(name: Name, spec: &FaultSpec, start: Start, stream: &mut Stream) -> Fault {
    Fault {
        name,
        start,
        duration_ns: spec.duration_ms.map(|duration| duration.sample_ns(stream)),
        kind: settle_kind(&spec.effect, stream),
    }
}

fn settle_kind(effect: &Effect, stream: &mut Stream) -> FaultKind {
    let both_ways = |link: &Link| link.direction == Direction::Both;
    match effect.clone() {
        Effect::Pause { on } => FaultKind::Pause { hosts: on },
        Effect::Suspend { on } => FaultKind::Suspend { hosts: on },
        Effect::Kill { on } => FaultKind::Kill { hosts: on },
        Effect::Crash { on } => FaultKind::Crash { hosts: on },
        Effect::Partition { link } => FaultKind::Partition {
            both_ways: both_ways(&link),
            from: link.from,
            to: link.to,
        },
        Effect::SlowLink { link, extra_ms } => FaultKind::SlowLink {
            both_ways: both_ways(&link),
            from: link.from,
            to: link.to,
            extra_ns: extra_ms.sample_ns(stream),
        },
        Effect::Loss { link, probability } => FaultKind::Loss {
            both_ways: both_ways(&link),
            from: link.from,
            to: link.to,
            probability,
        },
        Effect::ClockStep { on, step_ms } => FaultKind::ClockStep {
            hosts: on,
            step_ns: (step_ms * 1e6).round() as i64,
        },
        Effect::ClockRate { on, drift_ppm } => FaultKind::ClockRate {
            hosts: on,
            drift_ppm,
        },
    }
}

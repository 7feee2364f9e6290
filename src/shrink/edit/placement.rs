//! Faults placed after what a client does, "after c1 read", in place of a time; and moments that come
//! earlier. Another way of placing a fault adds its candidates to [`alternatives`].

use std::collections::{BTreeMap, BTreeSet};

use crate::edit::faults::with;
use crate::trial::{Best, violation};
use locklab_check::Property;
use locklab_history::{Event, Failpoint, History, Moment, Name, Op, Phase, Point};
use locklab_model::fault::Placement;
use locklab_model::scenario::Scenario;
use locklab_values::dist::Dist;
use locklab_values::units::fractional_ms_from_ns;

/// How many of its last points before a fault are tried for each client.
const POINTS: usize = 5;

/// With one fault placed in a way that reads better.
pub(crate) fn by_moment(best: &Best, property: Property) -> Vec<Scenario> {
    let reached = reached(&best.run.history);
    let clients = violation(&best.run, property).map_or(&[][..], |found| &found.clients);
    let mut candidates = Vec::new();
    for (name, fault) in &best.scenario.fault {
        for placement in alternatives(best, name, &fault.placement, &reached, clients) {
            let mut fault = fault.clone();
            fault.placement = placement;
            candidates.push(with(&best.scenario, name, fault));
        }
    }
    candidates
}

/// Other placements of a fault, those that read best first.
fn alternatives(
    best: &Best,
    name: &str,
    placement: &Placement,
    reached: &[Reached],
    clients: &[Name],
) -> Vec<Placement> {
    let mut found = vec![Placement::At(Dist::Constant(0.0))];
    if let Placement::After { moment, delay_ms } = placement {
        let none = Dist::Constant(0.0);
        for nth in (1..=moment.nth).rev().skip(1).chain([moment.nth]) {
            for delay_ms in [none, *delay_ms] {
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
    for client in clients {
        let before = reached.iter().rev();
        let before = before.filter(|it| it.moment.client == *client && it.at_ns <= at_ns);
        for last in before.take(POINTS) {
            let delay_ms = fractional_ms_from_ns(at_ns - last.at_ns);
            for delay_ms in [0.0, delay_ms] {
                found.push(Placement::After {
                    moment: last.moment.clone(),
                    delay_ms: Dist::Constant(delay_ms),
                });
            }
        }
    }
    found
}

/// When a fault took effect, in nanoseconds; `None` if it never did.
fn began_ns(best: &Best, name: &str) -> Option<u64> {
    let mut records = best.run.history.records.iter();
    let began = records.find(|record| {
        matches!(&record.event, Event::Fault { fault, phase: Phase::Begins, .. } if **fault == *name)
    });
    began.map(|record| record.at_ns)
}

/// A client's arrival at a failpoint.
pub(crate) struct Reached {
    /// The moment, as a scenario writes it.
    pub moment: Moment,
    /// Nanoseconds since the run began.
    pub at_ns: u64,
}

/// All arrivals at points that a client reaches once in a round, in order.
pub(crate) fn reached(history: &History) -> Vec<Reached> {
    let mut counts: BTreeMap<(&Name, Failpoint), u32> = BTreeMap::new();
    let mut grants: BTreeSet<(&Name, u32)> = BTreeSet::new();
    let mut all = Vec::new();
    for record in &history.records {
        // A grant that is extended begins again.
        let is_repeated = matches!(&record.event, Event::BeliefBegins { grant, .. }
            if !grants.insert((&record.host, *grant)));
        let Some(point) = point(&record.event).filter(|_| !is_repeated) else {
            continue;
        };
        let nth = counts.entry((&record.host, point)).or_default();
        *nth += 1;
        all.push(Reached {
            moment: Moment {
                client: record.host.clone(),
                point,
                nth: *nth,
            },
            at_ns: record.at_ns,
        });
    }
    all
}

/// The point that a client has reached with this event: most are not recorded, but follow from what
/// is.
fn point(event: &Event) -> Option<Failpoint> {
    match event {
        Event::BeliefBegins { .. } => Some(Failpoint::Acquired),
        Event::Complete { op: Op::Read, .. } => Some(Failpoint::Read),
        Event::Complete { op: Op::Write, .. } => Some(Failpoint::Wrote),
        Event::BeliefEnds { .. } => Some(Failpoint::Releasing),
        Event::Complete {
            op: Op::Release, ..
        } => Some(Failpoint::Released),
        Event::Reached {
            point: Point::Failpoint(point),
        } => Some(*point).filter(|point| !point.repeats()),
        _ => None,
    }
}

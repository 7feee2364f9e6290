//! Faults whose amount is nothing.

use locklab_history::timeline::Timeline;
use locklab_history::{Event, FaultKind, PacketFault, Record};

/// Whether the fault that begins with this record changes nothing.
pub(super) fn has_no_effect(timeline: &Timeline, index: usize) -> bool {
    let record = &timeline.all_records()[index];
    let Event::Fault { kind, links, .. } = &record.event else {
        return false;
    };
    match (kind, links.as_ref().map(|links| links.packets)) {
        (_, Some(PacketFault::Slow { extra_ns })) => extra_ns == 0,
        (_, Some(PacketFault::Lossy { probability })) => probability <= 0.0,
        (_, Some(PacketFault::Cut)) => false,
        (FaultKind::ClockStep, None) => {
            let before = before(timeline, index).next();
            before.is_some_and(|before| {
                before.at_ns == record.at_ns && before.wall_ns == record.wall_ns
            })
        }
        (FaultKind::ClockRate, None) => {
            let mut before = before(timeline, index).filter(|it| it.at_ns < record.at_ns);
            let mut after = after(timeline, index).filter(|it| it.at_ns > record.at_ns);
            // A host without earlier records had a right clock.
            let was = before.next().map_or(1.0, |before| course(before, record));
            // The readings are rounded to nanoseconds.
            let is_same = |after| (course(record, after) - was).abs() < 1e-7;
            after.next().is_some_and(is_same)
        }
        _ => false,
    }
}

/// How fast the monotonic clock of a host ran between two of its records.
fn course(from: &Record, to: &Record) -> f64 {
    let elapsed_ns = to.at_ns.saturating_sub(from.at_ns);
    to.mono_ns.saturating_sub(from.mono_ns) as f64 / elapsed_ns as f64
}

/// The records of a host before this one, the latest first.
fn before<'h>(timeline: &Timeline<'h>, index: usize) -> impl Iterator<Item = &'h Record> {
    let records = timeline.all_records()[..index].iter().rev();
    let name = &timeline.all_records()[index].host;
    records.filter(move |record| record.host == *name)
}

/// The records of a host after this one.
fn after<'h>(timeline: &Timeline<'h>, index: usize) -> impl Iterator<Item = &'h Record> {
    let records = timeline.all_records()[index + 1..].iter();
    let name = &timeline.all_records()[index].host;
    records.filter(move |record| record.host == *name)
}

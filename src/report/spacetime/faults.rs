//! The faults of a run as spans on their hosts' lines.

use super::duration;
use locklab_history::{Event, Family, FaultKind, FaultyLinks, History, Phase, Record, Span};

/// A fault on one host.
#[derive(Debug, Clone, PartialEq)]
pub struct FaultSpan<'a> {
    /// The host that the fault affects.
    pub host: &'a str,
    /// True time of its beginning, in nanoseconds.
    pub from_ns: u64,
    /// Equal to `from_ns` if the fault was instantaneous, such as a clock step.
    pub until_ns: u64,
    /// Its colour in pictures.
    pub family: Family,
    /// Its name, kind and amount.
    pub label: String,
    /// The affected links, if it affects links.
    pub links: Option<&'a FaultyLinks>,
}

/// All faults that took effect, in that order.
pub fn faults(history: &History) -> Vec<FaultSpan<'_>> {
    let begins = history.records.iter().enumerate();
    let spans = begins.filter_map(|(index, record)| match &record.event {
        Event::Fault {
            fault,
            kind,
            phase: Phase::Begins,
            links,
        } => {
            let ends = history.records[index..].iter().find(|end| {
                end.host == record.host
                    && matches!(&end.event, Event::Fault { fault: name, phase: Phase::Ends, .. } if name == fault)
            });
            let ends_ns = ends.map(|end| end.at_ns);
            let until_ns = match kind.span() {
                Span::Momentary => record.at_ns,
                // An end at the same instant means that the process never restarts.
                Span::Down => ends_ns
                    .filter(|&at_ns| at_ns > record.at_ns)
                    .unwrap_or(history.end_ns),
                Span::Lasting => ends_ns.unwrap_or(history.end_ns),
            };
            let amount = match (kind, ends_ns) {
                (FaultKind::ClockStep, _) => step(&history.records[..index], record),
                (_, Some(at_ns)) if at_ns > record.at_ns => duration(at_ns - record.at_ns),
                _ => String::new(),
            };
            let name = match (&**fault, kind.name()) {
                (fault, kind) if fault == kind => kind.to_owned(),
                (fault, kind) => format!("{fault}: {kind}"),
            };
            Some(FaultSpan {
                host: &record.host,
                from_ns: record.at_ns,
                until_ns: until_ns.max(record.at_ns),
                family: kind.family(),
                label: format!("{name} {amount}").trim_end().to_owned(),
                links: links.as_deref(),
            })
        }
        _ => None,
    });
    spans.collect()
}

/// How far the wall clock was stepped, from the record before the step to the one at the step.
fn step(earlier: &[Record], begins: &Record) -> String {
    let before = earlier.iter().rev().find(|record| {
        let before = matches!(
            &record.event,
            Event::Fault {
                phase: Phase::Before,
                ..
            }
        );
        before && record.host == begins.host
    });
    let Some(before) = before else {
        return String::new();
    };
    let expected = i128::from(before.wall_ns) + i128::from(begins.at_ns) - i128::from(before.at_ns);
    let step = i128::from(begins.wall_ns) - expected;
    let sign = if step < 0 { "−" } else { "+" };
    let size = u64::try_from(step.unsigned_abs()).unwrap_or(u64::MAX);
    format!("{sign}{}", duration(size))
}

//! Fewer faults, and faults of fewer hosts.

use std::ops::Range;

use crate::trial::Best;
use locklab_check::Property;
use locklab_history::{Effect, Name};
use locklab_model::fault::FaultSpec;
use locklab_model::scenario::Scenario;
use locklab_vecmap::VecMap;

/// Up to this many faults, each is left out by itself; above, halves, quarters, … first
/// (Zeller and Hildebrandt's ddmin).
const FEW: usize = 10;

/// Without some of the faults, the most first.
pub(crate) fn fewer(best: &Best, _: Property) -> Vec<Scenario> {
    let names: Vec<&String> = best.scenario.fault.keys().collect();
    let without = |left_out: Range<usize>| {
        let mut scenario = best.scenario.clone();
        for name in &names[left_out] {
            scenario.fault.remove(*name);
        }
        scenario
    };
    deletions(names.len()).into_iter().map(without).collect()
}

/// Which parts of a list of this length are left out.
fn deletions(length: usize) -> Vec<Range<usize>> {
    let mut parts = Vec::new();
    let mut size = match length > FEW {
        true => length.div_ceil(2),
        false => 1,
    };
    if length == 0 {
        return parts;
    }
    loop {
        let begins = (0..length).step_by(size);
        parts.extend(begins.map(|begin| begin..(begin + size).min(length)));
        if size == 1 {
            return parts;
        }
        size = size.div_ceil(2);
    }
}

/// With a host less in one of the faults, or with both directions of a link in place of one.
pub(crate) fn with_fewer_targets(best: &Best, _: Property) -> Vec<Scenario> {
    let mut candidates = Vec::new();
    for (name, fault) in &best.scenario.fault {
        let hosts: Vec<Name> = fault.effect.hosts().cloned().collect();
        for host in hosts {
            let mut fewer = fault.clone();
            if fewer.effect.keep_hosts(|other| other != &*host) {
                candidates.push(with(&best.scenario, name, fewer));
            }
        }
        let mut both = fault.clone();
        if let Effect::Links { links, .. } = &mut both.effect
            && !links.both_ways
        {
            links.both_ways = true;
            candidates.push(with(&best.scenario, name, both));
        }
    }
    candidates
}

/// The scenario with this fault in place of the one of the same name.
pub(crate) fn with(scenario: &Scenario, name: &str, fault: FaultSpec) -> Scenario {
    let mut scenario = scenario.clone();
    scenario.fault.insert(name.into(), fault);
    scenario
}

/// With faults that are named after their kinds: `pause`, or `pause-1` and `pause-2`.
pub(crate) fn named(scenario: &Scenario) -> Vec<Scenario> {
    let mut of_kind: VecMap<&str, usize> = VecMap::new();
    for fault in scenario.fault.values() {
        *of_kind.entry(fault.kind().name()).or_default() += 1;
    }
    let mut nth: VecMap<&str, usize> = VecMap::new();
    let mut named = VecMap::new();
    for fault in scenario.fault.values() {
        let kind = fault.kind().name();
        let place = nth.entry(kind).or_default();
        *place += 1;
        let name = match of_kind[kind] {
            1 => kind.to_owned(),
            _ => format!("{kind}-{place}"),
        };
        named.insert(name, fault.clone());
    }
    match named.keys().eq(scenario.fault.keys()) {
        true => vec![],
        false => vec![Scenario {
            fault: named,
            ..scenario.clone()
        }],
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn few_faults_are_left_out_one_by_one() {
        assert_eq!(deletions(0), []);
        assert_eq!(deletions(1), std::slice::from_ref(&(0..1)));
        assert_eq!(deletions(3), [0..1, 1..2, 2..3]);
    }

    #[test]
    fn of_many_faults_halves_are_left_out_first_and_each_at_last() {
        let parts = deletions(12);
        assert_eq!(parts[..2], [0..6, 6..12]);
        assert_eq!(parts[2..6], [0..3, 3..6, 6..9, 9..12]);
        let singles: Vec<Range<usize>> = (0..12).map(|place| place..place + 1).collect();
        assert_eq!(parts[parts.len() - 12..], singles);
    }
}

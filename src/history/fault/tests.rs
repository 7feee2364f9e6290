//! The traits of the kinds of fault, and their names.

use locklab_vecmap::VecSet;

use super::*;

/// The names of the kinds that satisfy a predicate.
fn names_where(is_one: impl Fn(&FaultKind) -> bool) -> Vec<&'static str> {
    let all = FaultKind::ALL.iter().filter(|kind| is_one(kind));
    all.map(FaultKind::name).collect()
}

#[test]
fn kind_name_round_trips_and_matches_the_file_format() {
    for &kind in FaultKind::ALL {
        assert_eq!(FaultKind::of_name(kind.name()), Some(kind));
        let json = serde_json::to_value(kind).unwrap();
        assert_eq!(json, kind.name());
        assert_eq!(serde_json::from_value::<FaultKind>(json).unwrap(), kind);
    }
    assert_eq!(FaultKind::of_name("Pause"), None);
    let unknown = serde_json::from_str::<FaultKind>("\"freeze\"").unwrap_err();
    let unknown = unknown.to_string();
    assert!(unknown.starts_with("unknown variant `freeze`"), "{unknown}");
    assert!(unknown.contains("`clock-rate`"), "{unknown}");
}

#[test]
fn a_kind_aims_with_its_own_fault() {
    for kind in FaultKind::ALL {
        let aims_with = match kind.aim() {
            Aim::Processes(fault) | Aim::Machines(fault) | Aim::Servers(fault) => fault.kind(),
            Aim::Links(fault) => fault.kind(),
        };
        assert_eq!(aims_with, *kind);
    }
}

#[test]
fn every_kind_has_its_own_description() {
    let all = || FaultKind::ALL.iter();
    let nouns: VecSet<&str> = all().map(FaultKind::noun).collect();
    let meanings: VecSet<&str> = all().map(FaultKind::meaning).collect();
    assert_eq!(nouns.len(), FaultKind::ALL.len());
    assert_eq!(meanings.len(), FaultKind::ALL.len());
}

#[test]
fn a_process_ends_with_a_kill_or_a_crash() {
    assert_eq!(names_where(FaultKind::ends_process), ["kill", "crash"]);
}

#[test]
fn a_suspension_a_step_and_a_rate_bend_clocks() {
    assert_eq!(
        names_where(FaultKind::bends_clocks),
        ["suspend", "clock-step", "clock-rate"]
    );
}

#[test]
fn kinds_of_link_faults_have_the_symptom_of_links_and_a_reset_is_of_their_family() {
    let links = ["partition", "slow-link", "loss"];
    let aims_at_links = |kind: &FaultKind| matches!(kind.aim(), Aim::Links(_));
    assert_eq!(names_where(aims_at_links), links);
    assert_eq!(names_where(|kind| kind.symptom() == Symptom::Links), links);
    assert_eq!(
        names_where(|kind| kind.family() == Family::Network),
        [&links[..], &["reset"]].concat()
    );
}

#[test]
fn a_reset_a_step_a_failover_and_a_command_have_no_duration() {
    assert_eq!(
        names_where(|kind| kind.span() == Span::Momentary),
        ["reset", "clock-step", "failover", "command"]
    );
}

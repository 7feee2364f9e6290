//! Scenarios for programs of others: those that are made for them, and all others, of which only the hosts,
//! the network and the faults count.

use std::ops::Range;

use anyhow::{bail, ensure};
use locklab_check::Property;
use locklab_evidence::Prediction;
use locklab_model::scenario::{self, Scenario};
use locklab_real::Program;
#[cfg(target_os = "linux")]
use locklab_real::why_untranslated;

pub(crate) mod options;

use crate::run::foreign::unshown::is_set;
use locklab_lab::scenarios::{Scenarios, blame};

/// The scenarios that are made for programs, by their names.
pub const OWN: [(&str, &str); 5] = [
    (PAUSE, include_str!("attack/pause.toml")),
    (DRAWN, include_str!("attack/drawn.toml")),
    (
        "attack/cluster-behind",
        include_str!("attack/cluster-behind.toml"),
    ),
    (
        "attack/cluster-moves",
        include_str!("attack/cluster-moves.toml"),
    ),
    (
        "attack/cluster-minority",
        include_str!("attack/cluster-minority.toml"),
    ),
];

/// A pause longer than the lease.
pub const PAUSE: &str = "attack/pause";

/// Faults drawn at random.
pub const DRAWN: &str = "attack/drawn";

/// What makes the servers of a scenario a cluster, unless it is set otherwise.
const CLUSTER: [(&str, u32); 3] = [
    ("topology.nodes", 3),
    ("topology.replicas", 1),
    ("cluster.node_timeout_ms", 1000),
];

/// What a lock has to keep, unless the user predicts something else: its lease, and what it protects.
const KEPT: [Property; 2] = [Property::Lease, Property::Resource];

/// How long a client may wait for a free lock in a scenario that does not say it: this many leases. The bound
/// that follows from the lock of the scenario says nothing about the lock of the program.
const LEASES: u64 = 3;

/// Reads scenarios for a program: of [`OWN`], shipped ones, or files.
///
/// # Errors
///
/// If one cannot be read, or is given twice.
pub fn load(names: &[String], sets: &[String], seeds: Range<u64>) -> anyhow::Result<Scenarios> {
    let mut scenarios: Vec<Scenario> = Vec::new();
    let sets = &[fitting(sets), sets.to_vec()].concat()[..];
    for name in names {
        let own = OWN.iter().find(|(own, _)| own == name);
        let read = match own {
            Some((own, text)) => {
                scenario::parse_for_programs(&format!("scenarios/{own}.toml"), text, sets)
            }
            None => scenario::load_for_programs(name, sets),
        };
        let scenario = aimed(read.map_err(|error| blame(error, name, names))?, sets);
        ensure!(
            scenarios.iter().all(|other| other.name != scenario.name),
            "{name} is given twice"
        );
        scenarios.push(scenario);
    }
    Ok(Scenarios {
        names: names.to_vec(),
        sets: sets.to_vec(),
        seeds: scenarios.iter().map(|_| seeds.clone()).collect(),
        scenarios,
    })
}

/// What gives a scenario a lock that fits the number of its nodes, if that is set and the lock is not: the
/// lock of the scenario is not run, but has to be possible.
fn fitting(sets: &[String]) -> Vec<String> {
    let has_several = value_of(sets, "topology.nodes").is_some_and(|nodes| nodes != "1");
    let has_lock = ["lock", "lock.name"].map(|path| value_of(sets, path).is_some());
    match has_several && has_lock == [false; 2] {
        true => vec!["lock.name=redlock".to_owned()],
        false => vec![],
    }
}

/// The value to which overrides set a path; it can be set once only.
fn value_of<'s>(sets: &'s [String], path: &str) -> Option<&'s str> {
    let mut values = sets.iter().filter_map(|set| set.split_once('='));
    let found = values.find(|(own, _)| own.trim() == path);
    found.map(|(_, value)| value.trim())
}

/// These overrides, and those that make the servers a cluster.
pub(crate) fn in_cluster(sets: Vec<String>) -> Vec<String> {
    let missing = { CLUSTER.iter() }.filter(|(path, _)| value_of(&sets, path).is_none());
    let missing: Vec<String> = missing
        .map(|(path, value)| format!("{path}={value}"))
        .collect();
    [missing, sets].concat()
}

/// The scenario with predictions for a program whose lock is not that of the scenario.
fn aimed(mut scenario: Scenario, sets: &[String]) -> Scenario {
    (scenario.expect).retain(|property, _| is_set(*property, sets));
    for property in KEPT {
        scenario.expect.entry(property).or_insert(Prediction::HOLDS);
    }
    let of_leases = || Some(LEASES * scenario.lock.facts().lease_ms?);
    scenario.bound_ms = scenario.bound_ms.or_else(of_leases);
    scenario
}

/// Checks that the faults of all scenarios can strike a program, as far as its file shows that.
///
/// # Errors
///
/// The first that cannot, with what to write.
#[cfg(target_os = "linux")]
pub fn check(program: &Program, scenarios: &Scenarios) -> anyhow::Result<()> {
    for (scenario, seeds) in scenarios.scenarios.iter().zip(&scenarios.seeds) {
        if let Some(error) = why_untranslated(program, scenario, seeds.clone()) {
            return Err(anyhow::Error::new(error).context(scenario.name.clone()));
        }
    }
    Ok(())
}

/// Checks nothing: elsewhere than on Linux no program is attacked.
///
/// # Errors
///
/// None.
#[cfg(not(target_os = "linux"))]
pub fn check(_program: &Program, _scenarios: &Scenarios) -> anyhow::Result<()> {
    Ok(())
}

/// Checks that a program can be started.
///
/// # Errors
///
/// If there is none of this name, with what to write.
pub fn find(program: &str) -> anyhow::Result<()> {
    if program.contains('/') {
        ensure!(
            std::path::Path::new(program).is_file(),
            "there is no program {program}"
        );
        return Ok(());
    }
    let path = std::env::var_os("PATH").unwrap_or_default();
    if !std::env::split_paths(&path).any(|folder| folder.join(program).is_file()) {
        bail!(
            "there is no program `{program}` on the PATH; for one in this folder write ./{program}"
        );
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn loaded(names: &[&str], sets: &[&str]) -> anyhow::Result<Scenarios> {
        let owned = |texts: &[&str]| {
            texts
                .iter()
                .map(|text| (*text).to_owned())
                .collect::<Vec<_>>()
        };
        load(&owned(names), &owned(sets), 0..1)
    }

    #[test]
    fn own_scenarios_are_valid_and_have_the_given_hosts() {
        let sets = ["topology.clients=3", "lock.ttl_ms=500"];
        let all = loaded(&[PAUSE, DRAWN], &sets).expect("they are valid");
        for scenario in &all.scenarios {
            for seed in 0..20 {
                let drawn = scenario.drawn(seed);
                assert_eq!(drawn.scenario.topology, scenario.topology);
                assert!(!drawn.schedule.faults.is_empty());
            }
        }
    }

    #[test]
    fn every_lock_with_a_lease_gives_a_bound() {
        for (name, bound_ms) in [("redisson/crash", 90_000), ("kleppmann/k1", 3000)] {
            let all = loaded(&[name], &[]).expect("it is valid");
            let lock = all.scenarios[0].lock.facts().lease_ms;
            assert_eq!(lock.map(|ms| LEASES * ms), Some(bound_ms), "{name}");
            assert_eq!(all.scenarios[0].bound_ms, Some(bound_ms), "{name}");
        }
    }

    #[test]
    fn a_scenario_of_one_node_may_have_several() {
        let three = ["topology.nodes=3"];
        let all = loaded(&[PAUSE, DRAWN, "kleppmann/k1"], &three).expect("they are valid");
        for scenario in &all.scenarios {
            assert_eq!(scenario.topology.nodes, 3);
            assert_eq!(scenario.bound_ms, Some(3000));
        }
        // As in the command that repeats such a run.
        let again = loaded(&[PAUSE], &["lock.name=redlock", three[0]]).expect("it is valid");
        assert_eq!(again.scenarios[0].lock, all.scenarios[0].lock);
    }

    #[test]
    fn predictions_of_a_scenario_are_those_of_its_lock_and_do_not_count() {
        let sets = ["expect.lost-update=violated", "expect.lease=violated"];
        let k1 = loaded(&["kleppmann/k1"], &sets).expect("it ships");
        let expected = [
            (Property::Lease, Prediction::VIOLATED),
            (Property::Resource, Prediction::HOLDS),
            (Property::LostUpdate, Prediction::VIOLATED),
        ];
        assert_eq!(k1.scenarios[0].expect, expected.into());
        assert_eq!(k1.scenarios[0].bound_ms, Some(3000));
    }

    #[test]
    fn how_often_a_program_takes_the_lock_is_not_for_the_scenario_to_say() {
        let after = ["fault.gc.after=c1 acquired #30"];
        assert!(scenario::load("kleppmann/k1", &after.map(String::from)).is_err());
        assert!(loaded(&["kleppmann/k1"], &after).is_ok());
    }

    #[test]
    fn whether_a_program_has_tokens_is_not_for_the_scenario_to_say() {
        let compares = ["resource.fencing=writes"];
        assert!(scenario::load("kleppmann/k1", &compares.map(String::from)).is_err());
        assert!(loaded(&[PAUSE, DRAWN, "kleppmann/k1"], &compares).is_ok());
    }

    #[test]
    fn a_cluster_has_a_majority_and_no_sentinels() {
        let of = |set: &str| {
            let sets = in_cluster(vec![set.to_owned()]);
            load(&[PAUSE.to_owned()], &sets, 0..1).map(drop)
        };
        let failover = |on| format!("fault.f={{ kind = \"failover\", on = {on:?}, at_ms = 0 }}");
        for set in [
            "topology.nodes=5",
            "cluster.node_timeout_ms=50",
            &failover("n1r1"),
        ] {
            of(set).expect("it is possible");
        }
        for (set, why) in [
            ("topology.nodes=2", "has no majority"),
            ("topology.sentinels=3", "a cluster has no sentinels"),
            ("cluster.node_timeout_ms=0", "positive number"),
            (&failover("n1"), "only a replica can be asked"),
        ] {
            let error = of(set).unwrap_err().to_string();
            assert!(error.contains(why), "{set}: {error}");
        }
    }

    #[test]
    fn a_scenario_that_is_given_twice_is_named() {
        let error = loaded(&["k1", "kleppmann/k1"], &[]).map(drop).unwrap_err();
        assert_eq!(error.to_string(), "kleppmann/k1 is given twice");
    }

    #[test]
    fn a_program_that_is_not_there_is_named() {
        assert!(find("sh").is_ok() && find("/bin/sh").is_ok());
        for program in ["no-such-program", "./no-such-program"] {
            let error = find(program).unwrap_err().to_string();
            assert!(error.contains(program), "{error}");
        }
    }
}

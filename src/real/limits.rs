//! Features of a scenario that real Redis does not support.

use super::ConfirmError;
#[cfg(target_os = "linux")]
use locklab_history::{Fault, RESOURCE};
use locklab_history::{Leg, Schedule, Start, Step};
use locklab_locks::Servers;
use locklab_model::scenario::{NodeClock, Scenario};
use locklab_redis::Imitated;
use locklab_results::recording::server_name;

/// Refuses a scenario that a real run cannot execute.
pub(super) fn check(scenario: &Scenario, schedule: &Schedule) -> Result<(), ConfirmError> {
    let hosts = scenario.topology.hosts();
    for fault in &schedule.faults {
        if let Start::AtStep { step, .. } = &fault.start
            && !is_seen(step)
        {
            return Err(ConfirmError::Step {
                fault: fault.name.clone(),
                step: step.to_string(),
            });
        }
        for host in fault.effect.hosts() {
            if !hosts.iter().any(|name| **name == **host) {
                return Err(ConfirmError::UnknownHost {
                    fault: fault.name.clone(),
                    host: host.clone(),
                });
            }
        }
    }
    if scenario.node.clock == NodeClock::Monotonic {
        return Err(ConfirmError::NodeClock);
    }
    Ok(())
}

/// Whether a run on real servers sees this step.
fn is_seen(step: &Step) -> bool {
    match step {
        // The proxy does not know whether a message that it held arrives again, or arrives at last.
        Step::Message { leg, .. } => matches!(
            leg,
            Leg::Arrives { nth: 1 } | Leg::ReplyArrives { nth: 1, .. }
        ),
        Step::Holds { .. } => true,
        Step::Timer { .. } | Step::Failpoint(_) | Step::Sync { .. } | Step::Notice { .. } => false,
    }
}

/// Refuses a scenario that programs of others cannot execute: their resource does not survive the end of its
/// process, and they speak Redis.
#[cfg(target_os = "linux")]
pub(super) fn check_foreign(scenario: &Scenario, schedule: &Schedule) -> Result<(), ConfirmError> {
    if scenario.lock.servers() != Servers::Redis {
        return Err(ConfirmError::NoServersOfRedis);
    }
    let ends = |fault: &&Fault| {
        fault.kind().ends_process() && fault.effect.hosts().any(|host| **host == *RESOURCE)
    };
    match schedule.faults.iter().find(ends) {
        None => Ok(()),
        Some(fault) => Err(ConfirmError::ResourceEnds {
            fault: fault.name.clone(),
        }),
    }
}

/// Refuses a scenario that needs other servers than those of this version.
pub(super) fn check_version(scenario: &Scenario, version: &str) -> Result<(), ConfirmError> {
    let wanted = scenario.node.imitate.into();
    match is_like(version, wanted) {
        true => Ok(()),
        false => Err(ConfirmError::Version {
            wanted,
            version: server_name(version),
        }),
    }
}

/// Whether a server of this version has what is imitated: any server what all have, and a later one
/// of the same product what its earlier ones have.
fn is_like(version: &str, wanted: Imitated) -> bool {
    if wanted == Imitated::default() {
        return true;
    }
    let server = server_name(version);
    let (product, version) = server.rsplit_once(' ').unwrap_or(("", &server));
    let numbers = |version: &str| {
        let mut numbers = version.split('.').map(|number| number.parse::<u32>().ok());
        Some([numbers.next()??, numbers.next()??])
    };
    product.eq_ignore_ascii_case(wanted.product())
        && numbers(version).is_some_and(|version| Some(version) >= numbers(wanted.version()))
}

#[cfg(test)]
mod tests {
    use locklab_model::scenario::load;

    use super::*;

    #[test]
    fn programs_of_others_need_servers_of_redis_and_a_resource_that_lives() {
        let refused = |name: &str, sets: &[&str]| {
            let sets: Vec<String> = sets.iter().map(|set| (*set).to_owned()).collect();
            let scenario = load(name, &sets).expect("it ships");
            let drawn = scenario.drawn(0);
            check_foreign(&drawn.scenario, &drawn.schedule).err()
        };
        let on = |host| format!("fault.gc={{ kind = \"kill\", on = \"{host}\", at_ms = 5 }}");
        assert!(refused("kleppmann/k1", &[]).is_none());
        assert!(refused("kleppmann/k1", &[&on("n1")]).is_none());
        assert!(matches!(
            refused("kleppmann/k1", &[&on("resource")]),
            Some(ConfirmError::ResourceEnds { fault }) if *fault == *"gc"
        ));
        assert!(matches!(
            refused("kleppmann/k18", &[]),
            Some(ConfirmError::NoServersOfRedis)
        ));
    }

    #[test]
    fn a_server_is_like_an_earlier_one_of_the_same_product() {
        let check = |version, like: &[Imitated]| {
            let is_like = |wanted: &Imitated| is_like(version, *wanted);
            let found = Imitated::ALL.into_iter().filter(is_like);
            assert_eq!(found.collect::<Vec<_>>(), like, "{version}");
        };
        let any = Imitated::Redis7_0;
        for version in [
            "7.0.15",
            "8.2.3",
            "8.3.9",
            "Valkey 8.1.4",
            "KeyDB 9.9.9",
            "x",
            "8",
        ] {
            check(version, &[any]);
        }
        for version in ["8.4.0", "8.10.1", "9.0.0"] {
            check(version, &[any, Imitated::Redis8_4]);
        }
        for version in ["Valkey 9.0.0", "Valkey 9.1.0", "Valkey 10.0.0-rc1"] {
            check(version, &[any, Imitated::Valkey9_0]);
        }
    }

    #[test]
    fn only_arrivals_and_grants_are_seen() {
        let seen = |text: &str| is_seen(&text.parse().expect("a step"));
        assert!(seen("c1 SET #1 arrives at n1"));
        assert!(seen("c1 SET #1 reply arrives from n1"));
        assert!(seen("c1 holds"));
        for text in [
            "c1 SET #1 leaves for n1",
            "c1 SET #1 reply leaves n1",
            "c1 timer #1",
            "n1 sync #1",
        ] {
            assert!(!seen(text), "{text}");
        }
    }
}

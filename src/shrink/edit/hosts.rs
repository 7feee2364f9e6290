//! Fewer clients, nodes, replicas and sentinels. The hosts that remain are numbered without gaps, so
//! the names of those behind the one that is left out change, with everything that refers to them.

use crate::edit::placement::began_ns;
use crate::trial::{Best, violation};
use locklab_check::Property;
use locklab_history::{Effect, Name, RESOURCE, Role, Step, Topology};
use locklab_model::fault::Placement;
use locklab_model::scenario::{Scenario, SentinelOptions};
use locklab_values::dist::Dist;
use locklab_values::units::fractional_ms_from_ns;
use locklab_vecmap::{VecMap, VecSet};

/// Without some hosts, the most first.
pub(crate) fn fewer(best: &Best, property: Property) -> Vec<Scenario> {
    let hosts = best.scenario.topology.hosts();
    let violation = violation(&best.run, property);
    let involved =
        |host: &String| violation.is_some_and(|it| it.clients.iter().any(|c| **c == **host));
    let of = |letter: char| -> Vec<&String> {
        let is_of = |host: &&String| host.starts_with(letter) && host.as_str() != RESOURCE;
        hosts.iter().filter(is_of).collect()
    };
    let is_replica = |host: &&String| host.contains('r');
    let (clients, sentinels) = (of('c'), of('s'));
    let (replicas, nodes): (Vec<&String>, Vec<&String>) = of('n').into_iter().partition(is_replica);
    let mut left_out: Vec<VecSet<&str>> = Vec::new();
    let bystanders = clients.iter().filter(|client| !involved(client));
    left_out.push(bystanders.map(|client| client.as_str()).collect());
    left_out.extend(clients.iter().map(|client| [client.as_str()].into()));
    left_out.push(
        sentinels
            .iter()
            .chain(&replicas)
            .map(|host| host.as_str())
            .collect(),
    );
    left_out.push(sentinels.iter().map(|host| host.as_str()).collect());
    // A majority of an even number is no safer than of one less.
    for (place, node) in nodes.iter().enumerate() {
        left_out.extend(
            nodes[..place]
                .iter()
                .map(|other| [node.as_str(), other.as_str()].into()),
        );
    }
    left_out.extend(nodes.iter().map(|node| [node.as_str()].into()));
    left_out.extend(nth_replicas(&replicas));
    left_out.extend(sentinels.iter().map(|sentinel| [sentinel.as_str()].into()));
    left_out.retain(|hosts| !hosts.is_empty());
    { left_out.iter() }
        .filter_map(|hosts| without(best, hosts))
        .collect()
}

/// The replicas that one setting adds: the first of every node, the second of every node, …
fn nth_replicas<'h>(replicas: &[&'h String]) -> Vec<VecSet<&'h str>> {
    let mut by_number: VecMap<&str, VecSet<&str>> = VecMap::new();
    for replica in replicas {
        let number = replica.split_once('r').map_or("", |(_, number)| number);
        by_number.entry(number).or_default().insert(replica);
    }
    by_number.into_values().collect()
}

/// A lock on several nodes stays one: on two a majority is all of them, and on one there is none.
const FEWEST_OF_A_QUORUM: u32 = 3;

/// The scenario without these hosts. `None` if no client or too few nodes would be left.
fn without(best: &Best, left_out: &VecSet<&str>) -> Option<Scenario> {
    let before = &best.scenario.topology;
    let counts = |letter: char| {
        left_out
            .iter()
            .filter(|host| host.starts_with(letter))
            .count() as u32
    };
    let of_first_node = |host: &&&str| host.starts_with("n1r");
    let is_node = |host: &&&str| before.role(host) == Some(Role::Node);
    let topology = Topology {
        clients: before.clients - counts('c'),
        nodes: before.nodes - left_out.iter().filter(is_node).count() as u32,
        replicas: before.replicas - left_out.iter().filter(of_first_node).count() as u32,
        sentinels: before.sentinels - counts('s'),
    };
    let fewest = before.nodes.min(FEWEST_OF_A_QUORUM);
    if topology.clients == 0 || topology.nodes < fewest {
        return None;
    }
    let renamed = renamed(before, left_out);
    let rename = |host: &str| renamed.get(host).cloned();
    let mut scenario = best.scenario.clone();
    scenario.topology = topology;
    if scenario.topology.sentinels == 0 {
        scenario.sentinel = SentinelOptions::default();
    }
    scenario.fault = VecMap::new();
    for (name, fault) in &best.scenario.fault {
        let mut fault = fault.clone();
        if !rename_in(&mut fault.placement, &rename) {
            // What sets it off is gone; it takes effect when it did.
            let began_ns = began_ns(best, name)?;
            fault.placement = Placement::At(Dist::Constant(fractional_ms_from_ns(began_ns)));
        }
        if fault.effect.keep_hosts(|host| renamed.contains_key(host)) {
            let rename_all = |hosts: &mut Vec<Name>| {
                for host in hosts {
                    if let Some(new) = renamed.get(&**host) {
                        *host = new.as_str().into();
                    }
                }
            };
            match &mut fault.effect {
                Effect::Hosts { hosts, .. } => rename_all(hosts),
                Effect::Links { links, .. } => {
                    rename_all(&mut links.from);
                    rename_all(&mut links.to);
                }
            }
            scenario.fault.insert(name.clone(), fault);
        }
    }
    scenario.workload.client = kept(&best.scenario.workload.client, rename);
    scenario.clocks.host = kept(&best.scenario.clocks.host, rename);
    Some(scenario)
}

/// The names of the remaining hosts, by their names before.
fn renamed(before: &Topology, left_out: &VecSet<&str>) -> VecMap<String, String> {
    let mut renamed = VecMap::from([(RESOURCE.to_owned(), RESOURCE.to_owned())]);
    let number = |letter: char, count: u32, renamed: &mut VecMap<String, String>| {
        let all = (1..=count).map(|i| format!("{letter}{i}"));
        let kept = all.filter(|host| !left_out.contains(host.as_str()));
        let pairs: Vec<(String, String)> = { kept.zip(1..) }
            .map(|(host, i)| (host, format!("{letter}{i}")))
            .collect();
        renamed.extend(pairs);
    };
    number('c', before.clients, &mut renamed);
    number('s', before.sentinels, &mut renamed);
    number('n', before.nodes, &mut renamed);
    for i in 1..=before.nodes {
        let Some(node) = renamed.get(&format!("n{i}")).cloned() else {
            continue;
        };
        let replicas = (1..=before.replicas).map(|j| format!("n{i}r{j}"));
        let kept = replicas.filter(|host| !left_out.contains(host.as_str()));
        let pairs: Vec<(String, String)> = { kept.zip(1..) }
            .map(|(host, j)| (host, format!("{node}r{j}")))
            .collect();
        renamed.extend(pairs);
    }
    renamed
}

fn kept<T: Clone>(
    tables: &VecMap<String, T>,
    rename: impl Fn(&str) -> Option<String>,
) -> VecMap<String, T> {
    let keep = |(host, table): (&String, &T)| Some((rename(host)?, table.clone()));
    tables.iter().filter_map(keep).collect()
}

/// Renames the hosts by which a fault is placed; returns whether all of them are left.
fn rename_in(placement: &mut Placement, rename: &impl Fn(&str) -> Option<String>) -> bool {
    let set = |host: &mut Name| match rename(host) {
        Some(new) => {
            *host = new.into();
            true
        }
        None => false,
    };
    match placement {
        Placement::At(_) | Placement::Every { .. } => true,
        Placement::After { moment, .. } => set(&mut moment.client),
        Placement::Between { first, second } => set(&mut first.client) && set(&mut second.client),
        Placement::AtStep { step, .. } => match step {
            Step::Failpoint(moment) => set(&mut moment.client),
            Step::Holds { client, .. } => set(client),
            Step::Message { request, .. } => set(&mut request.from) && set(&mut request.to),
            Step::Timer { host, .. } | Step::Sync { host, .. } | Step::Notice { host, .. } => {
                set(host)
            }
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use locklab_model::scenario::{check, load};
    use locklab_runner::judged;
    use locklab_runner::simulate::Keep;

    fn best(name: &str) -> Best {
        let scenario = load(name, &[]).expect("it ships");
        let run = judged::run(&scenario, 0, Keep::default()).expect("it ends");
        Best {
            scenario,
            seed: 0,
            run,
        }
    }

    #[test]
    fn hosts_behind_the_one_left_out_are_renamed_everywhere() {
        let best = best("kleppmann/k10");
        let smaller = without(&best, &["n1", "n4"].into()).expect("three nodes are left");
        assert_eq!(check(&smaller), Ok(()));
        assert_eq!(smaller.topology.nodes, 3);
        let hosts = |fault: &str| -> Vec<String> {
            let hosts = smaller.fault[fault].effect.hosts();
            hosts.map(|host| host.to_string()).collect()
        };
        assert_eq!(hosts("cut-c1"), ["c1", "n3"]);
        assert_eq!(hosts("cut-c2"), ["c2", "n1"]);
        assert_eq!(hosts("jump"), ["n2"]);
    }

    #[test]
    fn fault_set_off_by_a_client_that_is_left_out_begins_when_it_did() {
        let best = best("kleppmann/k10");
        let smaller = without(&best, &["c1"].into()).expect("a client is left");
        assert_eq!(check(&smaller), Ok(()));
        assert!(!smaller.fault.contains_key("cut-c1"));
        assert!(matches!(smaller.fault["jump"].placement, Placement::At(_)));
        // What was c2's is c1's now.
        assert!(smaller.workload.client.contains_key("c1"));
    }

    #[test]
    fn every_candidate_is_smaller_and_most_are_valid() {
        let best = best("jepsen/j2");
        let candidates = fewer(&best, Property::Lease);
        assert!(candidates.len() > 5);
        let before = best.scenario.topology.hosts().len();
        for candidate in &candidates {
            assert!(candidate.topology.hosts().len() < before);
        }
        assert!(candidates.iter().filter(|it| check(it).is_ok()).count() > 3);
    }
}

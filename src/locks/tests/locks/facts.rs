//! What each lock says about itself, held to what it does.

use locklab_history::{Failpoint, Schedule, Topology};
use locklab_locks::{LockSpec, Need};
use locklab_model::scenario::parse;
use locklab_runner::simulate::{Keep, simulate};

use crate::parameters::forms;

#[test]
fn refused_clients_listen_where_the_lock_says_so() {
    let mut listening = 0;
    for (lock, nodes) in forms() {
        let text = format!(
            "title = \"t\"\ntopology = {{ nodes = {nodes}, clients = 2 }}\n[lock]\n{lock}\n\
             [workload]\nhold_ms = 300\n[workload.client.c2]\nstart_ms = 100\n"
        );
        let scenario = parse("t.toml", &text, &[]).unwrap_or_else(|it| panic!("{lock}: {it}"));
        let run = simulate(&scenario, 0, &Schedule::default(), Keep::default());
        let history = run.unwrap_or_else(|it| panic!("{lock}: {it}")).history;
        let mut events = history.records.iter().map(|record| &record.event);
        let waited = events.any(|event| event.is_reached(Failpoint::Waiting));
        let spec: LockSpec = toml::from_str(&lock).expect("it was read before");
        assert_eq!(spec.facts().listens, waited, "{lock}");
        listening += usize::from(waited);
    }
    assert!(listening > 5, "{listening}");
}

#[test]
fn two_majorities_have_a_node_in_common_and_none_is_larger_than_it_must_be() {
    for nodes in 1..=7 {
        let topology = Topology {
            nodes,
            ..Topology::default()
        };
        let need = Need::Majority.of(&topology);
        assert!(2 * need > nodes as usize && 2 * (need - 1) <= nodes as usize);
        assert_eq!(Need::All.of(&topology), nodes as usize);
        assert_eq!(Need::Nodes(1).of(&topology), 1);
    }
}

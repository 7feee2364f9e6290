//! Records the keys of the lock on each node of a simulated run whenever they change.

use std::cell::RefCell;
use std::rc::Rc;

use locklab_redis::Node;
use locklab_services::serve::Watch;
use locklab_world::Host;

use crate::key_log::{KeyLog, Moment};
use crate::simulated_env::Directory;
use locklab_history::{ClockKind, Deadline, KeySnapshot, Name, Visit};
use locklab_model::scenario::NodeClock;

/// Records the keys of the nodes of a run, and who sends them requests.
#[derive(Default)]
pub(super) struct KeyWatcher {
    log: RefCell<KeyLog>,
    visits: RefCell<Vec<Visit>>,
}

impl KeyWatcher {
    /// Returns a watch for a new process of the node `name`, whose keys expire by this clock of its
    /// host. The directory has the names of the hosts that send requests.
    pub(super) fn of(
        self: &Rc<Self>,
        name: &Name,
        host: &Host,
        clock: NodeClock,
        directory: &Directory,
    ) -> Watch {
        let (watcher, name, host) = (self.clone(), name.clone(), host.clone());
        let directory = directory.clone();
        self.log.borrow_mut().begin(&name);
        Rc::new(move |node: &Node, peer| {
            let known = |peer| directory.iter().find(|(_, id)| **id == peer);
            let by = peer.and_then(known).map(|(name, _)| name);
            let deadline = |ms| deadline(ms, clock, &host);
            let now = now(&host);
            if let Some(by) = by {
                watcher.visits.borrow_mut().push(Visit {
                    at_ns: now.at_ns,
                    node: name.clone(),
                    by: by.clone(),
                });
            }
            let mut log = watcher.log.borrow_mut();
            log.update(&name, now, node, by, deadline);
        })
    }

    /// Returns all snapshots of the run, with a final one of each node for its clocks.
    pub(super) fn finish(&self, host: impl Fn(&Name) -> Host) -> Vec<KeySnapshot> {
        self.log.borrow_mut().finish(|name| now(&host(name)))
    }

    /// Returns the requests of the run.
    pub(super) fn visits(&self) -> Vec<Visit> {
        self.visits.take()
    }
}

fn now(host: &Host) -> Moment {
    Moment {
        at_ns: host.now_ns(),
        wall_ns: host.wall_ns(),
        mono_ns: host.mono_ns(),
    }
}

/// The first reading of the node's clock at which a key has expired.
fn deadline(expires_at_ms: i64, clock: NodeClock, host: &Host) -> Deadline {
    let by_wall = Deadline::of_key(expires_at_ms);
    match clock {
        NodeClock::Wall => by_wall,
        // The node's clock shows the time of day at which the run began, plus this one.
        NodeClock::Monotonic => Deadline {
            clock: ClockKind::Monotonic,
            at_ns: by_wall.at_ns.saturating_sub(host.epoch_ns()),
        },
    }
}

#[cfg(test)]
mod tests {
    use locklab_values::units::NS_PER_MS;

    use crate::judged;
    use crate::simulate::Keep;
    use locklab_history::{Contents, History};
    use locklab_model::scenario;

    /// The run with its contents, after checking that keeping them changes nothing.
    fn watched(scenario: &str) -> (History, Contents) {
        let scenario = scenario::load(scenario, &[]).expect("it ships");
        let run = |keep| judged::run(&scenario, 3, keep).expect("it ends");
        let (unseen, seen) = (run(Keep::MESSAGES), run(Keep::CONTENTS));
        assert_eq!(unseen.trace_hash, seen.trace_hash);
        assert_eq!(unseen.history, seen.history);
        assert_eq!(unseen.contents, None);
        (seen.history, seen.contents.expect("they were kept"))
    }

    /// The changes of the key `lock`, node by node.
    fn changes(contents: &Contents) -> Vec<String> {
        let looks = contents.snapshots.iter();
        let changes = looks.flat_map(|look| look.changed.iter().map(move |change| (look, change)));
        let of_lock = changes.filter(|(_, change)| change.key == "lock");
        let told = of_lock.map(|(look, change)| match &change.now {
            None => format!("{} gone", look.host),
            Some(state) => {
                let over = state.expires.expect("the lock has a lease");
                let left_ms = (over.at_ns - look.wall_ns) / NS_PER_MS;
                format!("{} has it for {left_ms} ms", look.host)
            }
        });
        told.collect()
    }

    #[test]
    fn snapshots_show_grants_and_release_of_the_lock() {
        let (history, contents) = watched("kleppmann/k1");
        assert_eq!(contents.payloads.len(), history.messages.len());
        // c1's lease expires and c2's replaces it; c2 releases the lock.
        let expected = ["n1 has it for 1000 ms", "n1 has it for 1000 ms", "n1 gone"];
        assert_eq!(changes(&contents), expected);
        let changed = contents
            .snapshots
            .iter()
            .filter(|it| !it.changed.is_empty());
        let by: Vec<&str> = changed.filter_map(|it| it.by.as_deref()).collect();
        assert_eq!(by, ["c1", "c2", "c2"]);
        let last = contents.snapshots.last().expect("one per node");
        assert_eq!((last.at_ns, last.changed.len()), (history.end_ns, 0));
    }

    /// K10: the clock of n3 jumps over c1's lease, so n3 alone grants the lock twice.
    #[test]
    fn the_node_whose_clock_jumps_grants_the_lock_twice() {
        let (_, contents) = watched("kleppmann/k10");
        let grants = |node: &str| {
            let of_node = format!("{node} has it for 1000 ms");
            changes(&contents)
                .iter()
                .filter(|told| **told == of_node)
                .count()
        };
        assert_eq!(["n1", "n2", "n3", "n4", "n5"].map(grants), [1, 1, 2, 1, 1]);
    }
}

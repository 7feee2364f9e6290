//! Who holds the lock by the servers, as it changes.

use locklab_history::{Name, Role, Topology};
use locklab_truth::{Holding, Holdings, Rule};
use locklab_vecmap::VecMap;

/// The holdings of a run in the order of time.
pub(super) struct Holders<'h, 'a> {
    all: &'h Holdings<'a>,
    /// Each beginning and end of a holding: its time, and the index of the holding.
    changes: Vec<(u64, Change, usize)>,
    /// The node of a replica.
    node_of: VecMap<String, String>,
}

/// At one time entries end before others begin.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Change {
    Ends,
    Begins,
}

/// The clients that hold any node, each with the number of servers of each node.
type Held<'a, 'n> = VecMap<&'a Name, VecMap<&'n str, u32>>;

impl<'h, 'a> Holders<'h, 'a> {
    pub(super) fn of(all: &'h Holdings<'a>, topology: &Topology) -> Self {
        let of_holding = |(place, it): (usize, &Holding)| {
            [
                (it.from_ns, Change::Begins, place),
                (it.until_ns, Change::Ends, place),
            ]
        };
        let mut changes: Vec<_> = all.all.iter().enumerate().flat_map(of_holding).collect();
        changes.sort_unstable();
        let replicas = topology.servers().into_iter();
        let replicas = replicas.filter_map(|server| match server.role {
            Role::Replica { of } => Some((server.name, of)),
            Role::Node | Role::Sentinel => None,
        });
        Self {
            all,
            changes,
            node_of: replicas.collect(),
        }
    }

    /// How the nodes hold the lock.
    pub(super) fn rule(&self) -> Rule {
        self.all.rule
    }

    /// The holdings in the order of their beginnings.
    pub(super) fn holdings(&self) -> &'h [Holding<'a>] {
        &self.all.all
    }

    /// Calls this with every holding that ends, and whether its client still holds the lock by the other
    /// nodes.
    pub(super) fn each_end(&self, tell: &mut dyn FnMut(&Holding<'a>, bool)) {
        self.sweep(&mut |change, holding, held| {
            if change == Change::Ends {
                let nodes = held.get(holding.client).map_or(0, VecMap::len);
                tell(holding, nodes >= self.all.rule.need);
            }
        });
    }

    /// Calls this with every holding with which its client begins to hold the lock by the nodes.
    pub(super) fn each_grant(&self, tell: &mut dyn FnMut(&Holding<'a>)) {
        let mut granted: VecMap<&Name, bool> = VecMap::new();
        self.sweep(&mut |_, holding, held| {
            let nodes = held.get(holding.client).map_or(0, VecMap::len);
            let is_held = nodes >= self.all.rule.need;
            let before = granted.insert(holding.client, is_held);
            if is_held && before != Some(true) {
                tell(holding);
            }
        });
    }

    /// Whether two clients ever held nodes at once, whatever they lack.
    pub(super) fn are_split(&self) -> bool {
        let mut are_split = false;
        self.sweep(&mut |change, _, held| are_split |= change == Change::Begins && held.len() > 1);
        are_split
    }

    /// Calls this after each change.
    fn sweep(&self, tell: &mut dyn FnMut(Change, &Holding<'a>, &Held)) {
        let mut held = Held::new();
        for &(_, change, place) in &self.changes {
            let holding = &self.all.all[place];
            let server: &str = holding.node;
            let node = self.node_of.get(server).map_or(server, String::as_str);
            match change {
                Change::Begins => {
                    let of_client = held.entry(holding.client).or_default();
                    *of_client.entry(node).or_default() += 1;
                }
                Change::Ends => {
                    let of_client = held.entry(holding.client).or_default();
                    match of_client.get_mut(node) {
                        Some(servers) if *servers > 1 => *servers -= 1,
                        _ => {
                            of_client.remove(node);
                        }
                    }
                    if of_client.is_empty() {
                        held.remove(holding.client);
                    }
                }
            }
            tell(change, holding, &held);
        }
    }
}

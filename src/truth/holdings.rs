//! The periods in which nodes held the lock for clients.

use std::collections::{BTreeMap, BTreeSet};

use locklab_history::leases::{self, End, Lease};
use locklab_history::{Contents, History, Name, Topology};
use locklab_locks::KEY;

use crate::coverage::Rule;
use locklab_locks::Shape;

/// A period in which a node held the lock for a client.
#[derive(Debug, Clone, PartialEq)]
pub struct Holding<'a> {
    /// The node.
    pub node: &'a Name,
    /// The client whose request made the node hold the lock.
    pub client: &'a Name,
    /// True time of that request, in nanoseconds since the run began.
    pub from_ns: u64,
    /// True time at which the node no longer held it.
    pub until_ns: u64,
    /// Why it no longer did.
    pub end: End,
    /// The host whose request ended it, if one did.
    pub ended_by: Option<&'a Name>,
}

impl Holding<'_> {
    fn is_at(&self, at_ns: u64) -> bool {
        self.from_ns <= at_ns && at_ns < self.until_ns
    }
}

/// All holdings of a run.
pub struct Holdings<'a> {
    /// In the order of their beginnings.
    pub all: Vec<Holding<'a>>,
    /// How the nodes hold the lock.
    pub rule: Rule,
}

impl<'a> Holdings<'a> {
    /// The holdings of a run.
    pub fn of(
        history: &'a History,
        contents: &'a Contents,
        topology: &Topology,
        rule: Rule,
    ) -> Holdings<'a> {
        let leases = leases::leases(history, contents, topology);
        let mut of_node: BTreeMap<&Name, Vec<&Lease>> = BTreeMap::new();
        for lease in leases.iter().filter(|lease| lease.key == KEY) {
            of_node.entry(lease.node).or_default().push(lease);
        }
        let mut holders = Holders::default();
        let mut all = Vec::new();
        for leases in of_node.values() {
            all.extend(joined(leases, rule.shape, &mut holders));
        }
        all.sort_by_key(|holding: &Holding| holding.from_ns);
        Holdings { all, rule }
    }

    /// The number of nodes that hold the lock for this client at this true time.
    pub fn count(&self, client: &Name, at_ns: u64) -> usize {
        self.at(client, at_ns).count()
    }

    /// The holdings for this client at this true time, at most one of each node.
    pub fn at(&self, client: &Name, at_ns: u64) -> impl Iterator<Item = &Holding<'a>> {
        let of_client = self.all.iter().filter(move |it| it.client == client);
        of_client.filter(move |it| it.is_at(at_ns))
    }

    /// Whether the client holds the lock by the nodes at this true time.
    pub fn is_held(&self, client: &Name, at_ns: u64) -> bool {
        self.count(client, at_ns) >= self.rule.need
    }

    /// Whether at some time from `from_ns` to `to_ns`, both included, each of enough nodes held the
    /// lock for this client, though not all at the same time.
    pub fn is_granted_within(&self, client: &Name, from_ns: u64, to_ns: u64) -> bool {
        let of_client = self.all.iter().filter(|it| it.client == client);
        let meeting = of_client.filter(|it| it.from_ns <= to_ns && it.until_ns >= from_ns);
        let nodes: BTreeSet<_> = meeting.map(|it| it.node).collect();
        nodes.len() >= self.rule.need
    }

    /// The times at which it may change who holds the lock, in order.
    pub fn changes_ns(&self) -> BTreeSet<u64> {
        let both = self.all.iter().flat_map(|it| [it.from_ns, it.until_ns]);
        both.collect()
    }
}

/// Joins the successive values of a node's key to holdings: a client that stays in the hash while
/// others come and go, or whose count of holds changes, has one.
fn joined<'a>(leases: &[&Lease<'a>], shape: Shape, holders: &mut Holders<'a>) -> Vec<Holding<'a>> {
    let mut open: Vec<Holding> = Vec::new();
    let mut closed = Vec::new();
    for lease in leases {
        let clients = holders.of(lease, shape);
        let (stay, gone): (Vec<_>, Vec<_>) = (open.into_iter())
            .partition(|it| it.until_ns == lease.from_ns && clients.contains(&it.client));
        closed.extend(gone);
        open = clients
            .into_iter()
            .map(|client| {
                let before = stay.iter().find(|it| it.client == client);
                let end = match (shape, lease.end) {
                    // Another value of the hash; if the client is not in it, its field is deleted.
                    (Shape::Hash, End::Replaced) => End::Deleted,
                    (_, end) => end,
                };
                Holding {
                    node: lease.node,
                    client,
                    from_ns: before.map_or(lease.from_ns, |before| before.from_ns),
                    until_ns: lease.until_ns,
                    end,
                    ended_by: lease.ended_by,
                }
            })
            .collect();
    }
    closed.extend(open);
    closed
}

/// The clients of the fields of hashes.
#[derive(Default)]
struct Holders<'a>(BTreeMap<&'a str, &'a Name>);

impl<'a> Holders<'a> {
    /// The clients for whom a node has this value. A field belongs to the client that added it.
    fn of(&mut self, lease: &Lease<'a>, shape: Shape) -> BTreeSet<&'a Name> {
        match shape {
            Shape::Text => lease.owner.into_iter().collect(),
            Shape::Hash => {
                let fields = lease.value.split(", ").filter_map(|field| {
                    let (name, _) = field.rsplit_once(": ")?;
                    (name != "mode").then_some(name)
                });
                let clients = fields.filter_map(|field| match self.0.get(field) {
                    Some(client) => Some(*client),
                    None => {
                        let client = lease.owner?;
                        self.0.insert(field, client);
                        Some(client)
                    }
                });
                clients.collect()
            }
        }
    }
}

/// Whether this host is a client: `c1`, `c2`, ….
pub(super) fn is_client(host: &Name) -> bool {
    let number = host.strip_prefix('c');
    number.is_some_and(|number| number.parse::<u32>().is_ok())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A value of a hash: who wrote it, from when on and until when it was there.
    type Value = (&'static str, &'static str, u64, u64);

    /// The holdings of a hash that had these values, and was deleted by a client.
    #[track_caller]
    fn check(values: &[Value], deleted_by: &str, expected: &[&str]) {
        let node = Name::from("n1");
        let writers = values.iter().map(|value| Name::from(value.1));
        let names: Vec<Name> = writers.chain([deleted_by.into()]).collect();
        let last = values.len() - 1;
        let leases: Vec<Lease> = { values.iter().enumerate() }
            .map(|(place, &(value, _, from_ns, until_ns))| Lease {
                node: &node,
                key: KEY,
                value,
                owner: Some(&names[place]),
                from_ns,
                until_ns,
                end: match place == last {
                    true => End::Deleted,
                    false => End::Replaced,
                },
                ended_by: Some(&names[place + 1]),
                lives: None,
            })
            .collect();
        let leases: Vec<&Lease> = leases.iter().collect();
        let found = joined(&leases, Shape::Hash, &mut Holders::default());
        let words = |it: &Holding| {
            let by = it.ended_by.map_or("nobody", |by| by);
            let (client, from_ns, until_ns) = (it.client, it.from_ns, it.until_ns);
            format!("{client} {from_ns}-{until_ns} {:?} by {by}", it.end)
        };
        assert_eq!(found.iter().map(words).collect::<Vec<_>>(), expected);
    }

    #[test]
    fn a_client_that_stays_while_others_come_and_go_has_one_holding() {
        let values = [
            ("a: 1, mode: read", "c1", 0, 10),
            ("a: 1, b: 1, mode: read", "c2", 10, 20),
            ("a: 2, b: 1, mode: read", "c1", 20, 30),
            ("b: 1, mode: read", "c1", 30, 40),
        ];
        let expected = ["c1 0-30 Deleted by c1", "c2 10-40 Deleted by c2"];
        check(&values, "c2", &expected);
    }

    #[test]
    fn a_client_that_was_gone_for_a_while_has_two_holdings() {
        let values = [("a: 1", "c1", 0, 10), ("a: 1", "c1", 15, 30)];
        let expected = ["c1 0-10 Deleted by c1", "c1 15-30 Deleted by c2"];
        check(&values, "c2", &expected);
    }
}

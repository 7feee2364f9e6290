//! When a client could not reach the lock's servers, so that no request of it could have been granted.

use locklab_history::timeline::Timeline;
use locklab_history::{Event, FaultKind, Name, Phase, RESOURCE};

use super::{are_clients, is_cut};
use crate::Bounds;

/// When faults kept clients from the servers.
pub(crate) struct Reach<'t, 'h> {
    timeline: &'t Timeline<'h>,
    bounds: &'t Bounds,
    outages: Vec<Outage<'h>>,
}

/// A time in which a server does not answer a client, or a client is stopped.
struct Outage<'h> {
    fault: &'h Name,
    /// The client; `None`: all of them.
    client: Option<usize>,
    /// The server; `None`: the client itself is stopped.
    server: Option<&'h Name>,
    from_ns: u64,
    to_ns: u64,
}

impl<'t, 'h> Reach<'t, 'h> {
    pub(crate) fn of(timeline: &'t Timeline<'h>, bounds: &'t Bounds) -> Self {
        let mut reach = Reach {
            timeline,
            bounds,
            outages: Vec::new(),
        };
        let mut faults = timeline
            .records()
            .filter(|(.., record)| record.event.is_fault_beginning());
        if faults.next().is_some() {
            reach.collect();
        }
        reach
    }

    fn collect(&mut self) {
        let timeline = self.timeline;
        let are_clients = are_clients(timeline);
        let client = |name: &Name| timeline.host(name).filter(|&host| are_clients[host]);
        let is_server = |name: &&Name| ***name != *RESOURCE && client(name).is_none();
        for (_, host, record) in timeline.records() {
            let Event::Fault {
                fault,
                kind,
                phase,
                links,
            } = &record.event
            else {
                continue;
            };
            let mut outage = |client, server| {
                self.outages.push(Outage {
                    fault,
                    client,
                    server,
                    from_ns: record.at_ns,
                    to_ns: u64::MAX,
                });
            };
            match (phase, links) {
                (Phase::Begins, Some(links)) => {
                    let is_cut = is_cut(links);
                    // Every host of both sides has a record.
                    let is_first = links.from.first() == Some(&record.host);
                    for (from, to) in [(&links.from, &links.to), (&links.to, &links.from)] {
                        for client in from
                            .iter()
                            .filter_map(client)
                            .filter(|_| is_cut && is_first)
                        {
                            let servers = to.iter().filter(is_server);
                            servers.for_each(|server| outage(Some(client), Some(server)));
                        }
                    }
                }
                (Phase::Begins, None) if stops(*kind) => match are_clients[host] {
                    true => outage(Some(host), None),
                    false if is_server(&&record.host) => outage(None, Some(&record.host)),
                    false => {}
                },
                (Phase::Ends, _) => {
                    let is_it = |outage: &&mut Outage| {
                        let is_of_host = match links {
                            Some(_) => true,
                            None => outage.server.map_or(outage.client == Some(host), |server| {
                                *server == record.host
                            }),
                        };
                        outage.fault == fault && is_of_host && outage.to_ns == u64::MAX
                    };
                    for outage in self.outages.iter_mut().filter(is_it) {
                        outage.to_ns = record.at_ns;
                    }
                }
                _ => {}
            }
        }
    }

    /// Whether no server could answer this client at any time of an attempt.
    pub(crate) fn is_cut_off(&self, client: usize, (from_ns, to_ns): (u64, u64)) -> bool {
        if self.outages.is_empty() {
            return false;
        }
        let mut times = vec![from_ns];
        let changes = (self.outages.iter()).flat_map(|outage| [outage.from_ns, outage.to_ns]);
        times.extend(changes.filter(|&at_ns| from_ns < at_ns && at_ns < to_ns));
        let out = |at_ns: &u64| self.missing(client, *at_ns, |_| true) >= self.bounds.nodes;
        times.iter().all(out)
    }

    /// Whether an attempt that was never answered could not have been, when it ended: the client was stopped, or
    /// no server that the lock is requested from could answer it.
    pub(crate) fn is_left_alone(&self, client: usize, at_ns: u64) -> bool {
        let is_stopped = |outage: &Outage| {
            outage.server.is_none() && outage.client == Some(client) && outage.covers(at_ns)
        };
        let is_master = |name: &Name| !name.contains('r');
        self.outages.iter().any(is_stopped)
            || (!self.outages.is_empty()
                && self.missing(client, at_ns, is_master) >= self.bounds.masters)
    }

    /// How many of these servers could not answer the client at a time.
    fn missing(&self, client: usize, at_ns: u64, counts: impl Fn(&Name) -> bool) -> u32 {
        let of_client = self
            .outages
            .iter()
            .filter(|outage| outage.covers(at_ns) && outage.client.is_none_or(|of| of == client));
        let mut servers: Vec<&Name> = of_client
            .filter_map(|outage| outage.server)
            // Sentinels hold no lock.
            .filter(|name| !name.starts_with('s') && counts(name))
            .collect();
        servers.sort_unstable();
        servers.dedup();
        servers.len() as u32
    }
}

impl Outage<'_> {
    fn covers(&self, at_ns: u64) -> bool {
        // What never ends lasts beyond the end of the run.
        self.from_ns <= at_ns && (at_ns < self.to_ns || self.to_ns == u64::MAX)
    }
}

/// Whether a process that such a fault strikes answers nobody.
fn stops(kind: FaultKind) -> bool {
    kind.ends_process() || kind.stands_still()
}

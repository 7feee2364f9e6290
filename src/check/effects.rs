//! When the faults of a run could have had an effect on what its clients did with the lock.
//!
//! A property that holds although there were faults shows something only if a fault could have broken it. So a
//! fault counts from the time at which it *meets* a client that requests, holds or releases the lock:
//!
//! - *A fault of a client's host* meets that client, if it is active in this sense while the fault is in
//!   effect. A client that thinks, or is done, is a bystander. A pause meets a client that is in no call (it works, or
//!   waits before its next attempt) only if the client was just doing something, or does something as soon as the
//!   pause ends: otherwise it slept before, and sleeps on.
//! - *A fault of a server*: a pause, a suspension or a reset meets clients that are in a call to the servers. A
//!   kill, a crash, a failover or a wrong clock changes what the server remembers, or when that expires, so it
//!   meets every active client.
//! - *A fault of the resource* meets clients that access it; where it only pauses, whose access it has
//!   not served yet. Nobody reads the clock of the resource. Where the lock's tokens come from it, it is a server
//!   too.
//! - *A fault of links* meets a client that is in a call which crosses one of them: to a server, or to the
//!   resource. A link between two servers carries what they tell each other about every active client. Nothing
//!   crosses a link between two clients.
//! - *A fault of no effect* meets nobody: a loss of probability 0, an extra delay of 0, a step of a clock by 0, a
//!   rate that leaves the clock's course as it was.
//!
//! A client is in a call to the servers during `acquire`, `release` and `extend`, while it adds to a set, and
//! while it listens for its turn; and while it holds the lock without a deadline, since a history does not show
//! what keeps such a lock alive.
//!
//! From then on the fault matters: to the bound of the lock after its end, by when every lease and attempt
//! is over that was under way at its end, and for clients that were active until then, to the end of that
//! request or hold. A fault that ends a process, or has no end, matters to the end of the run: what the process
//! remembered is gone. Each [`Opportunity`](super::opportunity::Opportunity) must lie within that time.
//!
//! [`Reach`] says when faults kept a client from all servers, so that no request of it was an opportunity.

mod amount;
mod reach;

use locklab_history::timeline::Timeline;
use locklab_history::{
    Event, Failpoint, Family, FaultKind, FaultyLinks, Name, Op, Outcome, PacketFault, Phase,
    RESOURCE, Record, Span, Symptom,
};

use self::amount::has_no_effect;
pub(super) use self::reach::Reach;
use super::{Bounds, ResourceRole};

/// When the faults of a run could have had an effect.
pub(super) struct Effects {
    /// `None`: the run has no faults.
    met: Option<Vec<Met>>,
}

/// A fault that met a client.
struct Met {
    /// The index of the record at which it did.
    index: usize,
    /// The true time of that record.
    from_ns: u64,
    /// Until when it mattered.
    until_ns: u64,
    /// When the fault ended.
    ended_ns: u64,
    /// Whether servers, or links to them, were struck: not only a client.
    of_servers: bool,
}

impl Effects {
    pub(super) fn of(timeline: &Timeline, bounds: &Bounds) -> Effects {
        let has_faults = (timeline.all_records().iter()).any(|it| it.event.is_fault_beginning());
        Effects {
            met: has_faults.then(|| Pass::over(timeline, bounds)),
        }
    }

    /// Whether there were faults, none of which met a client that used the lock.
    pub(super) fn is_idle(&self) -> bool {
        self.met.as_ref().is_some_and(Vec::is_empty)
    }

    /// Whether a fault mattered at this record; true without faults.
    pub(super) fn matter_at(&self, index: usize, at_ns: u64) -> bool {
        self.met.as_ref().is_none_or(|met| {
            met.iter()
                .any(|met| met.index <= index && at_ns <= met.until_ns)
        })
    }

    /// The times in which faults mattered, from and until; without faults, all the time.
    pub(super) fn times(&self) -> impl Iterator<Item = (u64, u64)> {
        let always = self.met.is_none().then_some((0, u64::MAX));
        let met = self.met.iter().flatten();
        met.map(|met| (met.from_ns, met.until_ns)).chain(always)
    }

    /// The first time at which a fault mattered: 0 without faults, `None` if none met a client.
    pub(super) fn first_ns(&self) -> Option<u64> {
        self.times().map(|(from_ns, _)| from_ns).min()
    }

    /// The end of the last fault that struck a server or a link to one while clients used it.
    pub(super) fn last_of_servers_ns(&self) -> Option<u64> {
        let Some(met) = &self.met else {
            return Some(u64::MAX);
        };
        let of_servers = met.iter().filter(|met| met.of_servers);
        of_servers.map(|met| met.ended_ns).max()
    }
}

/// What a fault strikes.
enum Target {
    Client(usize),
    Server,
    Resource,
    Links {
        /// The clients with a faulty link to a server.
        to_servers: Vec<usize>,
        /// The clients with a faulty link to the resource.
        to_resource: Vec<usize>,
        between_servers: bool,
    },
}

impl Target {
    fn is_between_servers(&self) -> bool {
        matches!(
            self,
            Target::Links {
                between_servers: true,
                ..
            }
        )
    }
}

/// A fault that has begun.
struct Struck<'h> {
    name: &'h Name,
    host: Option<usize>,
    kind: FaultKind,
    target: Target,
    /// The index of the record at which it met a client, and the time of that record.
    met: Option<(usize, u64)>,
    /// The call that it met, of a client, if it was under way when the fault began.
    met_call_of: Option<usize>,
    /// Whether nothing gets through while it lasts.
    is_cut: bool,
    /// When it ended.
    ended_ns: u64,
    /// Whether its effect outlasts it.
    persists: bool,
}

impl Struck<'_> {
    fn is_over(&self) -> bool {
        self.has_ended() && !self.persists
    }

    fn has_ended(&self) -> bool {
        self.ended_ns < u64::MAX
    }
}

/// What a client does.
#[derive(Default, Clone)]
struct Client {
    /// Whether it requests the lock.
    wants: bool,
    /// Whether it is in a call to the servers.
    calls: bool,
    /// Whether it listens for its turn.
    listens: bool,
    /// Whether it is in an access to the resource.
    accesses: bool,
    /// Whether the resource has not served that access yet.
    is_unserved: bool,
    /// Whether it holds the lock.
    has: bool,
    /// Whether it holds a lock that something may keep alive.
    is_kept: bool,
    /// Since when it is active.
    since_ns: Option<u64>,
    /// When it last did something.
    acted_ns: u64,
    /// The fault that paused it while it was in no call: only what it does next shows whether the pause kept it
    /// from anything.
    paused: Option<usize>,
}

impl Client {
    fn is_active(&self) -> bool {
        self.wants || self.calls || self.has || self.accesses
    }

    fn asks_servers(&self) -> bool {
        self.calls || self.listens || self.is_kept
    }
}

struct Pass<'t, 'h> {
    timeline: &'t Timeline<'h>,
    bounds: &'t Bounds,
    /// Per host, whether it is a client's.
    is_client: Vec<bool>,
    clients: Vec<Client>,
    /// The active times of all clients.
    active: Vec<(u64, u64)>,
    struck: Vec<Struck<'h>>,
}

impl<'t, 'h> Pass<'t, 'h> {
    fn over(timeline: &'t Timeline<'h>, bounds: &'t Bounds) -> Vec<Met> {
        let mut pass = Pass {
            timeline,
            bounds,
            is_client: are_clients(timeline),
            clients: vec![Client::default(); timeline.hosts],
            active: Vec::new(),
            struck: Vec::new(),
        };
        for (index, host, record) in timeline.records() {
            pass.take(index, host, record);
        }
        for client in &pass.clients {
            pass.active
                .extend(client.since_ns.map(|from_ns| (from_ns, u64::MAX)));
        }
        pass.finish()
    }

    fn take(&mut self, index: usize, host: usize, record: &'h Record) {
        match &record.event {
            Event::Fault {
                fault,
                kind,
                phase: Phase::Begins,
                links,
            } => self.begin(index, host, (fault, *kind, links.as_deref()), record),
            Event::Fault {
                fault,
                phase: Phase::Ends,
                ..
            } => self.end(fault, host, record.at_ns),
            Event::Fault { .. } => {}
            Event::Access { client, .. } => {
                if let Some(client) = self.timeline.host(client) {
                    self.clients[client].is_unserved = false;
                }
            }
            _ if self.is_client[host] => {
                self.change(index, host, record);
                self.meet_client(index, host, record.at_ns);
            }
            _ => {}
        }
    }

    /// What the client does from this record on.
    fn change(&mut self, index: usize, host: usize, record: &'h Record) {
        let timeline = self.timeline;
        if let Some(fault) = self.clients[host].paused.take() {
            let struck = &mut self.struck[fault];
            let soon_ns = struck.ended_ns.saturating_add(self.bounds.acts_within_ns);
            let acts_at_once = record.at_ns <= soon_ns;
            if !acts_at_once {
                struck.met = None;
            }
        }
        if is_answer(&record.event) {
            self.unmeet(host);
        }
        let client = &mut self.clients[host];
        client.acted_ns = record.at_ns;
        match &record.event {
            Event::Invoke { op, .. } => {
                client.listens = false;
                client.wants |= *op == Op::Acquire;
                match op {
                    Op::Read | Op::Write => (client.accesses, client.is_unserved) = (true, true),
                    _ => client.calls = true,
                }
            }
            Event::Complete { op, outcome, .. } => {
                (client.accesses, client.calls) = (false, false);
                if *op == Op::Acquire {
                    // It holds the lock from its next record on.
                    client.wants = *outcome == Outcome::Ok || timeline.asks_again(index);
                }
            }
            Event::BeliefBegins { deadline, .. } => {
                client.wants = false;
                client.is_kept = deadline.is_none();
            }
            // It calls release next.
            Event::BeliefEnds { .. } => client.calls = true,
            event if event.is_reached(Failpoint::Waiting) => {
                (client.wants, client.listens) = (true, true);
            }
            event if event.is_reached(Failpoint::GivingUp) => {
                (client.wants, client.listens) = (false, false);
            }
            _ => {}
        }
        client.has = timeline.believed(host, index + 1).next().is_some();
        client.is_kept &= client.has;
        match (client.since_ns, client.is_active()) {
            (None, true) => client.since_ns = Some(record.at_ns),
            (Some(from_ns), false) => {
                client.since_ns = None;
                self.active.push((from_ns, record.at_ns));
            }
            _ => {}
        }
    }

    fn begin(
        &mut self,
        index: usize,
        host: usize,
        (name, kind, links): (&'h Name, FaultKind, Option<&'h FaultyLinks>),
        record: &'h Record,
    ) {
        let target = self.target(host, kind, links, record);
        let is_known = |struck: &Struck| struck.host.is_none() && struck.name == name;
        if links.is_some() && self.struck.iter().any(|it| is_known(it) && !it.has_ended()) {
            return;
        }
        // A client that starts again remembers nothing either, but the lock is not on it.
        let persists = kind.persists() && !(self.is_client[host] && kind.ends_process());
        let is_felt = !has_no_effect(self.timeline, index);
        if let Some(target) = target.filter(|_| is_felt) {
            self.struck.push(Struck {
                name,
                host: links.is_none().then_some(host),
                kind,
                target,
                met: None,
                met_call_of: None,
                is_cut: links.is_some_and(is_cut),
                ended_ns: u64::MAX,
                persists,
            });
            let clients = (0..self.clients.len()).filter(|&client| self.is_client[client]);
            for client in clients.collect::<Vec<_>>() {
                self.meet_client(index, client, record.at_ns);
            }
            if kind.span() == Span::Momentary {
                self.end(name, host, record.at_ns);
            }
        }
        if record.event.is_death() {
            // What it requested or held outlives it.
            let client = std::mem::take(&mut self.clients[host]);
            self.active
                .extend(client.since_ns.map(|from_ns| (from_ns, u64::MAX)));
        }
    }

    fn end(&mut self, name: &Name, host: usize, at_ns: u64) {
        let is_it = |struck: &&mut Struck| {
            struck.name == name
                && struck.host.is_none_or(|struck| struck == host)
                && !struck.has_ended()
        };
        if let Some(struck) = self.struck.iter_mut().find(is_it) {
            struck.ended_ns = at_ns;
        }
    }

    /// What the fault strikes; `None` if it is nothing that a client uses.
    fn target(
        &self,
        host: usize,
        kind: FaultKind,
        links: Option<&FaultyLinks>,
        record: &Record,
    ) -> Option<Target> {
        let is_resource = |name: &Name| **name == *RESOURCE;
        let is_server = |name: &Name| match is_resource(name) {
            true => self.bounds.resource == ResourceRole::GivesTokens,
            false => !self.is_client_named(name),
        };
        let Some(links) = links else {
            let is_of_links = kind.symptom() == Symptom::Links;
            return match is_of_links {
                // An old history does not say which links.
                true if self.is_client[host] => Some(Target::Links {
                    to_servers: vec![host],
                    to_resource: vec![host],
                    between_servers: false,
                }),
                true => Some(Target::Server),
                false if self.is_client[host] => Some(Target::Client(host)),
                false if is_server(&record.host) => Some(Target::Server),
                false if kind.family() == Family::Clock => None,
                false => Some(Target::Resource),
            };
        };
        let joins = |one: &dyn Fn(&Name) -> bool, other: &dyn Fn(&Name) -> bool| {
            let between = |from: &[Name], to: &[Name]| from.iter().any(one) && to.iter().any(other);
            between(&links.from, &links.to) || between(&links.to, &links.from)
        };
        let with = |other: &dyn Fn(&Name) -> bool| -> Vec<usize> {
            let clients = (0..self.clients.len()).filter(|&client| self.is_client[client]);
            let is_beside = |&client: &usize| joins(&|name| self.is_host(client, name), other);
            clients.filter(is_beside).collect()
        };
        let (to_servers, to_resource) = (with(&is_server), with(&is_resource));
        let between_servers = joins(&is_server, &is_server);
        let is_used = between_servers || !to_servers.is_empty() || !to_resource.is_empty();
        is_used.then_some(Target::Links {
            to_servers,
            to_resource,
            between_servers,
        })
    }

    fn is_client_named(&self, name: &Name) -> bool {
        let host = self.timeline.host(name);
        host.is_some_and(|host| self.is_client[host])
    }

    fn is_host(&self, host: usize, name: &Name) -> bool {
        self.timeline.host(name) == Some(host)
    }

    /// Lets every fault in effect meet this client, if it does.
    fn meet_client(&mut self, index: usize, host: usize, at_ns: u64) {
        let client = &mut self.clients[host];
        if !client.is_active() {
            return;
        }
        for (place, struck) in self.struck.iter_mut().enumerate() {
            if struck.is_over() || struck.met.is_some() {
                continue;
            }
            let meets = match &struck.target {
                Target::Client(of) if *of != host => false,
                Target::Client(_) => {
                    let soon_ns = client.acted_ns.saturating_add(self.bounds.acts_within_ns);
                    let is_running = at_ns <= soon_ns;
                    let waits = client.calls || client.listens || client.accesses;
                    let is_idle = !is_running && !waits;
                    if struck.kind == FaultKind::Pause && is_idle {
                        client.paused = Some(place);
                    }
                    true
                }
                Target::Server => {
                    let waits = matches!(struck.kind, FaultKind::Pause | FaultKind::Reset);
                    !waits || client.asks_servers()
                }
                Target::Resource => {
                    let is_lost = struck.persists || struck.kind == FaultKind::Reset;
                    (client.accesses && client.is_unserved) || (is_lost && client.has)
                }
                Target::Links {
                    to_servers,
                    to_resource,
                    between_servers,
                } => {
                    *between_servers
                        || (client.asks_servers() && to_servers.contains(&host))
                        || (client.accesses && to_resource.contains(&host))
                }
            };
            if meets {
                struck.met = Some((index, at_ns));
                let is_only_link = self.bounds.masters == 1 && !struck.target.is_between_servers();
                struck.met_call_of = (struck.is_cut && is_only_link).then_some(host);
            }
        }
    }

    /// A call is answered whose only link a fault has cut: request and answer were under way when it began.
    fn unmeet(&mut self, host: usize) {
        for struck in &mut self.struck {
            if struck.met_call_of == Some(host) {
                struck.met_call_of = None;
                if !struck.has_ended() {
                    // Other clients whose calls it met are met again by what they do next.
                    struck.met = None;
                }
            }
        }
    }

    fn finish(self) -> Vec<Met> {
        let bound_ns = self.bounds.deadlock_ns;
        let met = self.struck.iter().filter_map(|struck| {
            let (index, from_ns) = struck.met?;
            let to_ns = match struck.kind.span() {
                Span::Lasting => struck.ended_ns.saturating_add(bound_ns),
                Span::Momentary | Span::Down => u64::MAX,
            };
            let during =
                |&&(began_ns, over_ns): &&(u64, u64)| began_ns <= to_ns && over_ns >= from_ns;
            let longest = self
                .active
                .iter()
                .filter(during)
                .map(|&(_, over_ns)| over_ns);
            Some(Met {
                index,
                from_ns,
                until_ns: longest.max().unwrap_or(0).max(to_ns),
                ended_ns: struck.ended_ns,
                of_servers: match &struck.target {
                    Target::Client(_) | Target::Resource => false,
                    Target::Server => true,
                    Target::Links {
                        to_servers,
                        between_servers,
                        ..
                    } => *between_servers || !to_servers.is_empty(),
                },
            })
        });
        met.collect()
    }
}

/// Whether nothing gets through these links.
fn is_cut(links: &FaultyLinks) -> bool {
    match links.packets {
        PacketFault::Cut => true,
        PacketFault::Lossy { probability } => probability >= 1.0,
        PacketFault::Slow { .. } => false,
    }
}

/// Whether a call returned with an answer.
fn is_answer(event: &Event) -> bool {
    let Event::Complete { outcome, .. } = event else {
        return false;
    };
    matches!(outcome, Outcome::Ok | Outcome::Failed)
}

/// The hosts that are clients'.
pub(super) fn are_clients(timeline: &Timeline) -> Vec<bool> {
    let mut are_clients = vec![false; timeline.hosts];
    for (_, host, record) in timeline.records() {
        are_clients[host] |= matches!(
            record.event,
            Event::Invoke { .. } | Event::BeliefBegins { .. } | Event::RunEnds
        );
    }
    are_clients
}

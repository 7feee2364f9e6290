//! Campaigns: scenarios in which each seed draws its own hosts, network and faults.
//!
//! A campaign has three parts. Faults take effect from `begins_ms` to `heals_ms`, some families of
//! them in each run; within a family one fault follows another, with a quiet time between, and
//! faults of different families overlap. Then everything is healed, and the lock has the scenario's
//! `settle_ms` to recover. The rest of the run shows whether it has.
//!
//! [`Scenario::drawn`] settles every choice before the run. It returns an ordinary scenario, with
//! one `[fault.NAME]` for each fault. Hosts, network and each family of faults have random streams
//! of their own, so two locks with the same hosts meet the same faults.

use std::borrow::Cow;
use std::convert::Infallible;

use locklab_values::dist::{Dist, Signed};
use locklab_values::random::Stream;
use locklab_values::units::{NS_PER_MS, ns_from_ms};
use locklab_vecmap::VecMap;
use serde::{Deserialize, Serialize};

use super::{Persistence, Scenario};
use crate::fault::{Described, FaultSpec, Placement, expand};
use locklab_history::{Aim, Effect, Family, FaultKind, Links, Name, RESOURCE, Schedule, Span};
use locklab_locks::Servers;

/// The `[campaign]` table. The scenario's `[topology]` is then the largest that is drawn, unless
/// `hosts = "given"`, and its network, persistence and faults are drawn as well.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Campaign {
    /// The kinds of fault that may occur.
    pub faults: Vec<FaultKind>,
    /// Whether the numbers of hosts are drawn.
    #[serde(skip_serializing_if = "Numbers::are_drawn")]
    pub hosts: Numbers,
    /// The beginning of the faults, in milliseconds since the run began.
    pub begins_ms: u64,
    /// The end of all faults, in milliseconds since the run began.
    pub heals_ms: u64,
    /// How long a fault lasts, in milliseconds.
    pub duration_ms: Dist,
    /// The time between two faults of one family, in milliseconds.
    pub quiet_ms: Dist,
    /// The distance of a jump of a host's wall clock, forwards or backwards, in milliseconds.
    pub step_ms: Dist,
    /// The extra delay of a slow link, in milliseconds.
    pub extra_ms: Dist,
    /// The largest drift of a clock, in parts per million.
    pub drift_ppm: u32,
    /// The largest share of packets that a lossy link loses, 0 to 1.
    pub loss: f64,
    /// The medians to draw the network's delay from, in milliseconds; its distribution is constant,
    /// uniform or log-normal.
    pub latency_ms: Vec<f64>,
}

/// Where the numbers of a campaign's hosts come from.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Numbers {
    /// Each seed draws them, up to those of the scenario.
    #[default]
    Drawn,
    /// They are those of the scenario.
    Given,
}

impl Numbers {
    fn are_drawn(&self) -> bool {
        *self == Numbers::Drawn
    }
}

impl Default for Campaign {
    /// Faults of 0.1 to 3 s, for leases of about a second.
    fn default() -> Self {
        Campaign {
            faults: { FaultKind::ALL.iter().copied() }
                .filter(FaultKind::is_usual)
                .collect(),
            hosts: Numbers::Drawn,
            begins_ms: 5_000,
            heals_ms: 20_000,
            duration_ms: Dist::Uniform(100.0, 3000.0),
            quiet_ms: Dist::Uniform(500.0, 4000.0),
            step_ms: Dist::Uniform(100.0, 3000.0),
            extra_ms: Dist::Uniform(10.0, 1500.0),
            drift_ppm: 200_000,
            loss: 0.5,
            latency_ms: vec![0.2, 0.5, 1.0, 2.0, 5.0],
        }
    }
}

/// Why a campaign cannot draw a fault of this kind.
pub(super) fn why_not_drawn(kind: FaultKind) -> Option<&'static str> {
    match kind {
        FaultKind::Failover => {
            Some("a server may refuse it; with sentinels, they fail over by themselves")
        }
        FaultKind::DiskFull => Some(
            "it needs a node with an append-only file and without replicas, and a campaign draws these; write a table \
             [fault.NAME]",
        ),
        _ => None,
    }
}

/// The commands that a campaign draws: no lock is lost by them, but clients are disturbed.
const COMMANDS: [&str; 3] = [
    "SCRIPT FLUSH",
    "CLIENT KILL TYPE normal",
    "CLIENT KILL TYPE pubsub",
];

/// A scenario as drawn from a seed.
#[derive(Debug, Clone)]
pub struct Drawn<'s> {
    /// The scenario, with the choices of a campaign made.
    pub scenario: Cow<'s, Scenario>,
    /// Its faults, with all numbers drawn.
    pub schedule: Schedule,
}

impl Scenario {
    /// Draws everything random before a run: the choices of a campaign, and the numbers of the
    /// faults.
    pub fn drawn(&self, seed: u64) -> Drawn<'_> {
        let scenario = match &self.campaign {
            Some(campaign) => Cow::Owned(campaign.draw(self, seed)),
            None => Cow::Borrowed(self),
        };
        Drawn {
            schedule: expand(&scenario.fault, seed),
            scenario,
        }
    }
}

impl Campaign {
    fn draw(&self, scenario: &Scenario, seed: u64) -> Scenario {
        let mut drawn = scenario.clone();
        drawn.campaign = None;
        topology(&mut drawn, &mut Stream::new(seed, "campaign/topology"));
        if self.hosts == Numbers::Given {
            drawn.topology = scenario.topology.clone();
        }
        drawn.network.latency_ms = self.latency(&mut Stream::new(seed, "campaign/network"));
        drawn.fault = self.faults(&drawn, seed);
        drawn
    }

    fn latency(&self, stream: &mut Stream) -> Dist {
        let median = self.latency_ms[stream.below(self.latency_ms.len() as u64) as usize];
        match stream.below(3) {
            0 => Dist::Constant(median),
            1 => Dist::Uniform(median / 2.0, median * 1.5),
            _ => Dist::LogNormal { median, sigma: 0.5 },
        }
    }

    fn faults(&self, scenario: &Scenario, seed: u64) -> VecMap<String, FaultSpec> {
        let hosts = Hosts::of(scenario);
        let mut stream = Stream::new(seed, "campaign/families");
        let mut families: Vec<Family> = self.faults.iter().map(FaultKind::family).collect();
        families.sort();
        families.dedup();
        // At least one family occurs.
        let certain = stream.below(families.len() as u64);
        let strikes = |place: u64| stream.chance(0.5) || place == certain;
        let strikes: Vec<bool> = (0..families.len() as u64).map(strikes).collect();
        let struck = families
            .into_iter()
            .zip(strikes)
            .filter(|(_, strikes)| *strikes);
        let of_family = |(family, _)| {
            let mut stream = Stream::new(seed, &format!("campaign/faults/{family:?}"));
            self.of_family(family, &hosts, &mut stream)
        };
        struck.flat_map(of_family).collect()
    }

    /// The faults of one family, one after the other.
    fn of_family(
        &self,
        family: Family,
        hosts: &Hosts,
        stream: &mut Stream,
    ) -> Vec<(String, FaultSpec)> {
        let kinds = self.faults.iter().filter(|kind| kind.family() == family);
        let kinds: Vec<&FaultKind> = kinds.collect();
        let heals_ns = ns_from_ms(self.heals_ms);
        let mut faults = Vec::new();
        let mut at_ns = ns_from_ms(self.begins_ms);
        loop {
            at_ns += self.quiet_ms.sample_ns(stream).max(MIN_QUIET_NS);
            let kind = kinds[stream.below(kinds.len() as u64) as usize];
            let lasts_ns = self.duration_ms.sample_ns(stream);
            let spec = FaultSpec {
                effect: self.effect(*kind, hosts, stream),
                placement: Placement::At(whole_ms(at_ns)),
                duration_ms: (kind.span() != Span::Momentary).then(|| whole_ms(lasts_ns)),
            };
            at_ns += lasts_ns;
            if at_ns > heals_ns {
                return faults;
            }
            faults.push((
                format!("{}-{:02}", spec.kind().name(), faults.len() + 1),
                spec,
            ));
        }
    }

    /// Draws the amount of a fault, and then its target.
    fn effect(&self, kind: FaultKind, hosts: &Hosts, stream: &mut Stream) -> Described {
        let mut draw = Draw(self, stream);
        match kind.aim() {
            Aim::Servers(fault) => {
                let Ok(fault) = fault.convert(&mut draw, Draw::step, Draw::rate, Draw::line);
                let server =
                    hosts.servers[stream.below(hosts.servers.len() as u64) as usize].clone();
                Effect::Hosts {
                    fault,
                    hosts: vec![server],
                }
            }
            Aim::Processes(fault) | Aim::Machines(fault) => {
                let Ok(fault) = fault.convert(&mut draw, Draw::step, Draw::rate, Draw::line);
                let hosts = hosts.some(stream);
                Effect::Hosts { fault, hosts }
            }
            Aim::Links(fault) => {
                let Ok(fault) = fault.convert(&mut draw, Draw::delay, Draw::share);
                let links = hosts.links(stream);
                Effect::Links { fault, links }
            }
        }
    }
}

/// The shortest quiet time, in nanoseconds: without one, the faults of a family might never end.
const MIN_QUIET_NS: u64 = NS_PER_MS;

/// A constant duration in whole milliseconds, as a person would write it.
fn whole_ms(ns: u64) -> Dist {
    Dist::Constant((ns / NS_PER_MS) as f64)
}

/// Draws the numbers of clients, nodes and replicas, up to those of the scenario, and what the
/// nodes keep on disk.
fn topology(scenario: &mut Scenario, stream: &mut Stream) {
    let topology = &mut scenario.topology;
    let mut up_to = |least: u32, most: u32| {
        let choices = u64::from(most.saturating_sub(least)) + 1;
        least.min(most) + stream.below(choices) as u32
    };
    topology.clients = up_to(2, topology.clients);
    // A majority of an even number is no safer than of one less.
    topology.nodes = match topology.nodes {
        1 | 2 => topology.nodes,
        most => 3 + 2 * up_to(0, (most - 3) / 2),
    };
    topology.replicas = up_to(0, topology.replicas);
    let kept = [
        Persistence::None,
        Persistence::Snapshot,
        Persistence::AofEverysec,
        Persistence::AofAlways,
    ];
    let kept = kept[up_to(0, kept.len() as u32 - 1) as usize];
    if topology.replicas == 0 {
        topology.sentinels = 0;
    }
    if scenario.lock.servers() == Servers::Redis {
        scenario.node.persistence = kept;
    }
}

/// The hosts that faults may affect.
struct Hosts {
    clients: Vec<Name>,
    servers: Vec<Name>,
}

impl Hosts {
    fn of(scenario: &Scenario) -> Hosts {
        let topology = &scenario.topology;
        let is_client = |host: &String| topology.role(host).is_none() && host != RESOURCE;
        let clients = topology.hosts().into_iter().filter(is_client);
        let servers = topology.servers().into_iter();
        Hosts {
            clients: clients.map(Name::from).collect(),
            servers: servers.map(|server| Name::from(server.name)).collect(),
        }
    }

    /// One client or server; in a quarter of all cases several of the same kind.
    fn some(&self, stream: &mut Stream) -> Vec<Name> {
        let mut hosts = match stream.chance(0.5) {
            true => self.clients.clone(),
            false => self.servers.clone(),
        };
        shuffle(&mut hosts, stream);
        let several = 1 + stream.below(hosts.len() as u64) as usize;
        let is_one = stream.chance(0.75);
        hosts.truncate(if is_one { 1 } else { several });
        hosts.sort();
        hosts
    }

    /// The links between two parts of all hosts. One part may be a single host. In a quarter of all
    /// cases the fault affects one direction only.
    fn links(&self, stream: &mut Stream) -> Links {
        let resource = [RESOURCE.into()];
        let all = self.clients.iter().chain(&self.servers).chain(&resource);
        let mut all: Vec<Name> = all.cloned().collect();
        shuffle(&mut all, stream);
        let part = 1 + stream.below(all.len() as u64 - 1) as usize;
        let is_one = stream.chance(0.5);
        let mut to = all.split_off(if is_one { 1 } else { part });
        all.sort();
        to.sort();
        Links {
            from: all,
            to,
            both_ways: stream.chance(0.75),
        }
    }
}

/// Fisher and Yates's shuffle.
fn shuffle(hosts: &mut [Name], stream: &mut Stream) {
    for last in (1..hosts.len()).rev() {
        hosts.swap(last, stream.below(last as u64 + 1) as usize);
    }
}

/// Draws the amount of a fault.
struct Draw<'c>(&'c Campaign, &'c mut Stream);

impl Draw<'_> {
    fn delay(&mut self, (): ()) -> Result<Dist, Infallible> {
        Ok(whole_ms(self.0.extra_ms.sample_ns(self.1)))
    }

    fn share(&mut self, (): ()) -> Result<f64, Infallible> {
        Ok((self.0.loss * self.1.uniform_f64() * 100.0).round() / 100.0)
    }

    fn step(&mut self, (): ()) -> Result<Signed, Infallible> {
        let step_ms = (self.0.step_ms.sample_ns(self.1) / NS_PER_MS) as f64;
        Ok(Signed::constant(if self.1.chance(0.5) {
            step_ms
        } else {
            -step_ms
        }))
    }

    fn rate(&mut self, (): ()) -> Result<Signed, Infallible> {
        let most = i64::from(self.0.drift_ppm);
        let drift_ppm = self.1.below(2 * most as u64 + 1) as i64 - most;
        Ok(Signed::constant(drift_ppm as f64))
    }

    fn line(&mut self, (): ()) -> Result<String, Infallible> {
        Ok(COMMANDS[self.1.below(COMMANDS.len() as u64) as usize].into())
    }
}

#[cfg(test)]
mod tests {

    use locklab_vecmap::VecSet;

    use super::*;
    use crate::scenario::load;
    use locklab_history::Start;

    fn redlock() -> Scenario {
        load("kleppmann/k16", &[]).expect("it ships")
    }

    /// Another list would change what every seed of a published campaign draws.
    #[test]
    fn kinds_that_were_added_later_are_drawn_on_request() {
        let usual = Campaign::default().faults;
        let usual: Vec<&str> = usual.iter().map(FaultKind::name).collect();
        let always = [
            "pause",
            "suspend",
            "kill",
            "crash",
            "partition",
            "slow-link",
            "loss",
            "clock-step",
            "clock-rate",
        ];
        assert_eq!(usual, always);
        let never: Vec<&FaultKind> = { FaultKind::ALL.iter() }
            .filter(|kind| why_not_drawn(**kind).is_some())
            .collect();
        assert_eq!(never, [&FaultKind::DiskFull, &FaultKind::Failover]);
    }

    #[test]
    fn commands_are_entered_at_one_server_each() {
        let only = load("kleppmann/k16", &["campaign.faults=[\"command\"]".into()]);
        let only = only.expect("it is valid");
        let mut drawn: VecSet<String> = VecSet::new();
        for seed in 0..50 {
            for fault in only.drawn(seed).schedule.faults {
                let Effect::Hosts { fault, hosts } = fault.effect else {
                    panic!("it strikes hosts");
                };
                assert!(
                    matches!(&hosts[..], [host] if host.starts_with('n')),
                    "{hosts:?}"
                );
                drawn.extend(match fault {
                    locklab_history::HostFault::Command { line } => Some(line),
                    _ => None,
                });
            }
        }
        assert_eq!(drawn, COMMANDS.map(String::from).into());
        assert!(drawn.iter().all(|line| locklab_history::is_harmless(line)));
    }

    #[test]
    fn campaign_faults_lie_between_their_beginning_and_the_healed_phase() {
        let scenario = redlock();
        for seed in 0..200 {
            let schedule = scenario.drawn(seed).schedule;
            assert!(!schedule.faults.is_empty(), "seed {seed}");
            for fault in &schedule.faults {
                let Start::At { at_ns } = fault.start else {
                    panic!("placed by time: {fault:?}");
                };
                let over_ns = at_ns + fault.duration_ns.unwrap_or(0);
                assert!(at_ns >= ns_from_ms(5_000), "seed {seed}: {fault:?}");
                assert!(over_ns <= ns_from_ms(20_000), "seed {seed}: {fault:?}");
            }
        }
    }

    #[test]
    fn within_a_family_one_fault_follows_another_after_a_quiet_time() {
        let scenario = redlock();
        for seed in 0..200 {
            let mut over_ns: VecMap<Family, u64> = VecMap::new();
            let mut faults = scenario.drawn(seed).schedule.faults;
            let begins_ns = |fault: &locklab_history::Fault| match fault.start {
                Start::At { at_ns } => at_ns,
                Start::After { .. } | Start::AtStep { .. } => panic!("placed by time: {fault:?}"),
            };
            faults.sort_by_key(begins_ns);
            for fault in &faults {
                let last_ns = over_ns.entry(fault.kind().family()).or_default();
                let quiet_ns = begins_ns(fault) - *last_ns;
                // Both times were cut to whole milliseconds.
                assert!(quiet_ns >= ns_from_ms(499), "seed {seed}: {fault:?}");
                *last_ns = begins_ns(fault) + fault.duration_ns.unwrap_or(0);
            }
        }
    }

    #[test]
    fn every_kind_host_and_size_is_drawn() {
        let scenario = redlock();
        let (mut kinds, mut hosts) = (VecSet::new(), VecSet::new());
        let (mut nodes, mut clients) = (VecSet::new(), VecSet::new());
        for seed in 0..200 {
            let Drawn { scenario, schedule } = scenario.drawn(seed);
            nodes.insert(scenario.topology.nodes);
            clients.insert(scenario.topology.clients);
            for fault in &schedule.faults {
                kinds.insert(fault.kind().name());
                hosts.extend(fault.effect.hosts().map(|host| host.to_string()));
            }
        }
        let usual = FaultKind::ALL.iter().filter(|kind| kind.is_usual());
        assert_eq!(kinds, usual.map(FaultKind::name).collect());
        assert_eq!(hosts, scenario.topology.hosts().into_iter().collect());
        assert_eq!(nodes, [3, 5].into());
        assert_eq!(clients, [2, 3, 4, 5].into());
    }

    #[test]
    fn a_family_of_faults_is_the_same_without_the_others() {
        let clocks = "campaign.faults=[\"clock-step\", \"clock-rate\"]";
        let only = load("kleppmann/k16", &[clocks.into()]).expect("it is valid");
        let of_clocks = |scenario: &Scenario, seed| {
            let mut faults = scenario.drawn(seed).schedule.faults;
            faults.retain(|fault| fault.kind().family() == Family::Clock);
            faults
        };
        let all = redlock();
        let mut compared = 0;
        for seed in 0..50 {
            let expected = of_clocks(&all, seed);
            if !expected.is_empty() {
                assert_eq!(of_clocks(&only, seed), expected, "seed {seed}");
                compared += 1;
            }
        }
        assert!(compared > 10, "{compared}");
    }

    #[test]
    fn scenarios_without_campaign_are_not_changed_by_a_draw() {
        let scenario = load("kleppmann/k1", &[]).expect("it ships");
        assert_eq!(*scenario.drawn(3).scenario, scenario);
    }
}

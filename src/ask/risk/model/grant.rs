//! One run: a client takes the lock and works, another asks for it, and perhaps something goes wrong.

use std::convert::Infallible;

use crate::rare::estimators::tail::Tail;
use locklab_check::Property;
use locklab_history::{
    Aim, Effect, Fault, FaultKind, HostFault, LinkFault, Links, Name, RESOURCE, Role as ServerRole,
    Schedule, Span, Start,
};
use locklab_model::scenario::Scenario;
use locklab_model::workload::ClientOverride;
use locklab_runner::RunError;
use locklab_runner::judged::run_schedule;
use locklab_runner::simulate::Keep;
use locklab_values::dist::Dist;
use locklab_values::random::Stream;
use locklab_values::units::ns_from_fractional_ms;
use serde::Serialize;

use crate::risk::model::attempts::Attempts;
use crate::risk::model::environment::{Cause, Direction, Role};
use crate::risk::model::setup::Setup;
use crate::risk::model::strike::{
    FAILOVER_RUN_IN_MS, HOST_UNDER_WAY, LINK_UNDER_WAY, RUN_IN_MS, Window, strike,
};

/// What is judged of each run.
pub const PROPERTIES: [Property; 2] = [Property::Lease, Property::Resource];

/// A fault that lasts longer is cut to this: whatever it does to a lock, it has done by then.
const LONGEST_MS: f64 = 3_600_000.0;

/// In a run a fault lasts at most this much longer: a connection that is cut off is dead after 15.4 minutes
/// (Linux, `tcp_retries2`), and every lease is over. Servers that talk to each other all the time would take
/// long to simulate.
const LONGEST_IN_RUN_MS: f64 = 1_200_000.0;

/// The clients connect before anything strikes.
const CONNECTING_MS: f64 = 200.0;

/// With sentinels: these have learned of the replica and of each other by then.
const MEETING_MS: f64 = 5000.0;

/// With sentinels: a master that is gone has been replaced after this long.
const REPLACED_MS: f64 = 15_000.0;

/// The run goes on for this long after all has ended, and for three leases.
const AFTERWARDS_MS: f64 = 10_000.0;

/// What was lost is sent again within the time that the loss lasted, or within this (Linux, `TCP_RTO_MAX`).
const LATEST_AGAIN_MS: f64 = 120_000.0;

/// One run of a cause, and what it stands for.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Outcome {
    /// What it says of each of [`PROPERTIES`].
    pub says: [Says; 2],
    /// Its weight, times the exposure of each fault.
    pub weight: f64,
}

/// What a run says of a property.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Says {
    /// Nothing could have violated it.
    Nothing,
    /// It could have been violated, and was not; or it is violated without the cause too.
    Holds,
    /// It is violated through the cause: the same run without it does not violate it.
    Violated,
}

/// Runs of grants in one setup.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub(crate) struct Grants {
    pub setup: Setup,
    /// Of the setup.
    pub scenario: Scenario,
    /// The lock with longer times between two attempts.
    #[serde(skip_serializing_if = "Attempts::is_empty")]
    pub attempts: Attempts,
    /// Tails of lengths below this are not drawn more often than they happen.
    pub until: f64,
}

/// A grant before its run: everything is drawn.
struct Drawn {
    work_ms: f64,
    arrival_ms: f64,
    faults: Vec<Struck>,
    weight: f64,
}

/// A fault of a run, by times after the request.
struct Struck {
    at_ms: f64,
    duration_ms: Option<f64>,
    effect: Effect,
}

impl Grants {
    /// A run without any cause.
    pub fn undisturbed(&self, seed: u64) -> Result<Outcome, RunError> {
        self.together(&[], seed)
    }

    /// A run with these causes, each of which strikes once; a cause may be given several times.
    pub fn struck(&self, causes: &[&Cause], seed: u64) -> Result<Outcome, RunError> {
        let drawn = self.draw(causes, seed);
        let mut says = self.says(&drawn, &drawn.faults, seed)?;
        if says.contains(&Says::Violated) {
            let anyway = self.says(&drawn, &[], seed)?;
            for (says, anyway) in says.iter_mut().zip(anyway) {
                if anyway == Says::Violated && *says == Says::Violated {
                    *says = Says::Holds;
                }
            }
        }
        Ok(Outcome {
            says,
            weight: drawn.weight,
        })
    }

    /// The same, but a violation counts whatever brought it about.
    pub fn together(&self, causes: &[&Cause], seed: u64) -> Result<Outcome, RunError> {
        let drawn = self.draw(causes, seed);
        Ok(Outcome {
            says: self.says(&drawn, &drawn.faults, seed)?,
            weight: drawn.weight,
        })
    }

    /// How many hosts, or groups of hosts, a cause may strike: as many groups as there are hosts of its
    /// scarcest role.
    pub fn groups(&self, cause: &Cause) -> usize {
        let hosts = cause.on.iter().map(|role| self.hosts(*role).len());
        hosts.min().unwrap_or(0)
    }

    fn draw(&self, causes: &[&Cause], seed: u64) -> Drawn {
        let mut weight = 1.0;
        let mut stream = Stream::new(seed, "risk/work");
        let work = &self.setup.work_ms;
        let work_ms = match work.is_random() {
            true => {
                let drawn = Tail::with_share(0.5).down_to(self.until).draw(&mut stream);
                weight *= drawn.weight;
                work.at_tail_ms(drawn.tail)
            }
            false => work.at_tail_ms(1.0),
        };
        let mut stream = Stream::new(seed, "risk/arrival");
        let arrival = self.setup.demand.draw(work_ms, &mut stream);
        weight *= arrival.weight;
        let mut faults = Vec::new();
        for (nth, cause) in causes.iter().enumerate() {
            let mut stream = Stream::new(seed, &format!("risk/cause/{nth}"));
            let (fault, of_fault) = self.strike(cause, work_ms, &mut stream);
            weight *= of_fault;
            faults.push(fault);
        }
        Drawn {
            work_ms,
            arrival_ms: arrival.at_ms,
            faults,
            weight,
        }
    }

    /// One strike of a cause, with its weight.
    fn strike(&self, cause: &Cause, work_ms: f64, stream: &mut Stream) -> (Struck, f64) {
        let mut weight = 1.0;
        let mut length_ms = |dist: &Dist, share: f64, stream: &mut Stream| {
            if !dist.is_random() {
                return dist.at_tail_ms(1.0);
            }
            let tail = Tail::with_share(share).down_to(self.until);
            let drawn = tail.draw(stream);
            weight *= drawn.weight;
            dist.at_tail_ms(drawn.tail)
        };
        let duration_ms = cause.duration_ms.as_ref();
        let duration_ms = duration_ms.map(|dist| length_ms(dist, 0.8, stream).min(LONGEST_MS));
        let extra_ms = cause.extra_ms.as_ref();
        let extra_ms = extra_ms.map_or(0.0, |dist| length_ms(dist, 0.5, stream));
        let step_ms = cause.step_ms.as_ref();
        let step_ms = step_ms.map_or(0.0, |dist| length_ms(dist, 0.8, stream));
        let is_back = match cause.direction {
            Direction::Forwards => false,
            Direction::Backwards => true,
            Direction::Either => stream.chance(0.5),
        };
        let step_ms = if is_back { -step_ms } else { step_ms };
        let replaced_ms = match self.sentinel() {
            Some(_) => REPLACED_MS,
            None => 0.0,
        };
        let window = Window {
            work_ms,
            run_in_ms: match (cause.fault, self.sentinel()) {
                (FaultKind::Failover, Some(_)) => FAILOVER_RUN_IN_MS,
                _ => RUN_IN_MS,
            },
            earliest_ms: RUN_IN_MS + self.lease_ms() + 1000.0 + replaced_ms,
            under_way: match cause.fault.aim() {
                Aim::Links(_) => LINK_UNDER_WAY,
                Aim::Processes(_) | Aim::Machines(_) | Aim::Servers(_) => HOST_UNDER_WAY,
            },
        };
        let strike = strike(window, duration_ms, stream);
        weight *= strike.exposure_ms;
        let mut hosts: Vec<Name> = Vec::new();
        for role in &cause.on {
            let (host, of_host) = choose(self.hosts(*role), stream);
            weight *= of_host;
            hosts.extend(host);
        }
        if let (FaultKind::Failover, Some(sentinel)) = (cause.fault, self.sentinel()) {
            // Where there are sentinels, an operator asks them. They would turn a replica back that is
            // promoted without them.
            hosts = vec![sentinel];
        }
        let amounts = Amounts {
            step_ns: ns_from_fractional_ms(step_ms) as i64,
            extra_ns: ns_from_fractional_ms(extra_ms) as u64,
            drift_ppm: cause.drift_ppm.unwrap_or_default(),
            probability: cause.probability.unwrap_or_default(),
        };
        let lasts = cause.fault.span() != Span::Momentary;
        let struck = Struck {
            at_ms: strike.at_ms,
            duration_ms: { strike.duration_ms }
                .filter(|_| lasts)
                .map(|lasts_ms| lasts_ms.min(LONGEST_IN_RUN_MS)),
            effect: self.effect(cause, hosts, amounts),
        };
        (struck, weight)
    }

    fn effect(&self, cause: &Cause, hosts: Vec<Name>, mut amounts: Amounts) -> Effect {
        match cause.fault.aim() {
            Aim::Processes(fault) | Aim::Machines(fault) | Aim::Servers(fault) => {
                let Ok(fault): Result<HostFault, Infallible> = fault.convert(
                    &mut amounts,
                    |it, ()| Ok(it.step_ns),
                    |it, ()| Ok(it.drift_ppm),
                    |_, ()| unreachable!("an environment has no commands"),
                );
                Effect::Hosts { fault, hosts }
            }
            Aim::Links(fault) => {
                let Ok(fault): Result<LinkFault, Infallible> = fault.convert(
                    &mut amounts,
                    |it, ()| Ok(it.extra_ns),
                    |it, ()| Ok(it.probability),
                );
                let all = self.scenario.topology.hosts().into_iter().map(Name::from);
                let others = all.filter(|host| !hosts.contains(host)).collect();
                let links = Links {
                    from: hosts,
                    to: others,
                    both_ways: true,
                };
                Effect::Links { fault, links }
            }
        }
    }

    /// The hosts of a role.
    fn hosts(&self, role: Role) -> Vec<Name> {
        let topology = &self.scenario.topology;
        let servers = |is_one: fn(&ServerRole) -> bool| {
            let servers = topology.servers().into_iter();
            let servers = servers.filter(|server| is_one(&server.role));
            servers.map(|server| server.name.into()).collect()
        };
        match role {
            Role::Client => ["c1", "c2"].map(Name::from).into(),
            Role::Node => servers(|role| *role == ServerRole::Node),
            Role::Replica => servers(|role| matches!(role, ServerRole::Replica { .. })),
            Role::Resource => vec![RESOURCE.into()],
        }
    }

    /// The sentinel that an operator asks for a failover, if there are any.
    fn sentinel(&self) -> Option<Name> {
        let servers = self.scenario.topology.servers().into_iter();
        let mut sentinels = servers.filter(|server| server.role == ServerRole::Sentinel);
        sentinels.next().map(|server| server.name.into())
    }

    fn lease_ms(&self) -> f64 {
        self.scenario.lock.facts().lease_ms.unwrap_or(0) as f64
    }

    /// Makes a run with these faults, and tells what it says of each property.
    fn says(&self, drawn: &Drawn, faults: &[Struck], seed: u64) -> Result<[Says; 2], RunError> {
        let first_ms = faults.iter().map(|fault| -fault.at_ms);
        let longest_ms = faults.iter().filter_map(|fault| fault.duration_ms);
        let times = Times {
            request_ms: self.request_ms(first_ms.fold(RUN_IN_MS, f64::max)),
            work_ms: drawn.work_ms,
            arrival_ms: drawn.arrival_ms,
            longest_ms: longest_ms.fold(0.0, f64::max),
            gap_ms: self.gap_ms(drawn, faults),
        };
        let scenario = self.timed(&times, seed);
        let fault = |(nth, fault): (usize, &Struck)| Fault {
            name: format!("cause-{nth}").into(),
            start: Start::At {
                at_ns: ns_from_fractional_ms(times.request_ms + fault.at_ms) as u64,
            },
            duration_ns: fault.duration_ms.map(|ms| ns_from_fractional_ms(ms) as u64),
            effect: fault.effect.clone(),
        };
        let schedule = Schedule {
            faults: faults.iter().enumerate().map(fault).collect(),
        };
        let run = run_schedule(&scenario, seed, schedule, Keep::default())?;
        Ok(PROPERTIES.map(|property| match run.violates(property) {
            true => Says::Violated,
            false if run.decides(property) => Says::Holds,
            false => Says::Nothing,
        }))
    }

    /// The shortest time between a moment at which the lock may become free and one at which its holder may write, in
    /// milliseconds.
    fn gap_ms(&self, drawn: &Drawn, faults: &[Struck]) -> f64 {
        let lease_ms = self.lease_ms();
        let (mut frees_ms, mut writes_ms) = (vec![lease_ms], vec![drawn.work_ms]);
        // At the end of a fault a node is back, or a client goes on.
        let mut ends_ms = vec![];
        for fault in faults {
            frees_ms.push(fault.at_ms);
            if self.scenario.workload.extend_every_ms.is_some() {
                frees_ms.extend([fault.at_ms + lease_ms, fault.at_ms + lease_ms / 1.5]);
            }
            if let Some(lasts_ms) = fault.duration_ms {
                ends_ms.push(fault.at_ms + lasts_ms);
                // A client that is suspended works for so much longer.
                writes_ms.push(drawn.work_ms + lasts_ms);
            }
        }
        let between = |some_ms: &[f64], others_ms: &[f64]| {
            let gaps = some_ms
                .iter()
                .flat_map(|one| others_ms.iter().map(move |it| (one - it).abs()));
            gaps.fold(f64::INFINITY, f64::min)
        };
        ends_ms.sort_by(f64::total_cmp);
        let between_ends = ends_ms.windows(2).map(|pair| pair[1] - pair[0]);
        between(&frees_ms, &writes_ms)
            .min(between(&ends_ms, &writes_ms))
            .min(between(&ends_ms, &frees_ms))
            .min(between_ends.fold(f64::INFINITY, f64::min))
    }

    /// When the first client asks for the lock, if the first fault begins so long before.
    pub fn request_ms(&self, first_ms: f64) -> f64 {
        let meeting_ms = match self.sentinel() {
            Some(_) => MEETING_MS,
            None => 0.0,
        };
        CONNECTING_MS + meeting_ms + first_ms
    }

    /// The scenario with these times.
    pub fn timed(&self, times: &Times, seed: u64) -> Scenario {
        let Times {
            request_ms,
            work_ms,
            arrival_ms,
            longest_ms,
            gap_ms,
        } = *times;
        let horizon_ms = request_ms
            + work_ms
            + longest_ms
            + longest_ms.min(LATEST_AGAIN_MS)
            + 3.0 * self.lease_ms()
            + AFTERWARDS_MS;
        let mut scenario = self.scenario.clone();
        if let Some(lock) = self.attempts.lock(gap_ms) {
            scenario.lock = lock.clone();
        }
        scenario.horizon_ms = horizon_ms.ceil() as u64;
        let mut other = Stream::new(seed, "risk/other-work");
        let other_work_ms = self.setup.work_ms.at_tail_ms(1.0 - other.uniform_f64());
        let clients = [
            ("c1", request_ms, work_ms),
            ("c2", request_ms + arrival_ms, other_work_ms),
        ];
        for (client, start_ms, work_ms) in clients {
            let own = scenario.workload.client.entry(client.to_owned());
            let own: &mut ClientOverride = own.or_default();
            own.start_ms = Some(Dist::Constant(start_ms));
            own.hold_ms = Some(Dist::Constant(work_ms));
        }
        scenario
    }
}

/// The times of a grant, in milliseconds.
pub(crate) struct Times {
    /// When the first client asks for the lock.
    pub request_ms: f64,
    /// How long its work takes.
    pub work_ms: f64,
    /// How long after the first client the second asks.
    pub arrival_ms: f64,
    /// How long the longest fault lasts.
    pub longest_ms: f64,
    /// The shortest time between a moment at which the lock may become free and a write.
    pub gap_ms: f64,
}

/// One of these hosts, and how much likelier it is in the environment, where all are equally likely. The
/// first of several, which of the clients is the one that holds the lock, is chosen half as often again.
fn choose(hosts: Vec<Name>, stream: &mut Stream) -> (Option<Name>, f64) {
    let count = hosts.len() as f64;
    let of_first = (1.5 / count).min(1.0);
    let (is_first, other) = (
        stream.chance(of_first),
        stream.below(hosts.len().saturating_sub(1) as u64),
    );
    let (place, share) = match is_first {
        true => (0, of_first),
        false => (1 + other, (1.0 - of_first) / (count - 1.0)),
    };
    let host = hosts.into_iter().nth(place as usize);
    (host, 1.0 / (count * share))
}

/// The amounts of a fault, in the units of a schedule.
struct Amounts {
    step_ns: i64,
    extra_ns: u64,
    drift_ppm: i64,
    probability: f64,
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::risk::model::series::grants;
    use crate::risk::model::{Demand, Environment, Sampling, Time};

    /// A pause from second 3 to 12 of a lease of 10 s, with work of 2 s: the lease ends 2 s before the pause.
    #[test]
    fn attempts_have_the_time_between_the_end_of_a_lease_and_the_next_write() {
        let setup = Setup {
            lock: "set-nx-px".into(),
            lease: Time(10_000.0),
            work_ms: Dist::Constant(2000.0),
            demand: Demand::Contended,
            sets: vec![],
            environment: Environment::load("jvm-on-vms", &[]).expect("it ships"),
        };
        let sampling = Sampling {
            runs: 1,
            until: 1e-9,
            seed: 0,
        };
        let grants = grants(&setup, sampling).expect("it can be set up");
        let drawn = Drawn {
            work_ms: 2000.0,
            arrival_ms: 100.0,
            faults: vec![],
            weight: 1.0,
        };
        let pause = |at_ms: f64, duration_ms: f64| Struck {
            at_ms,
            duration_ms: Some(duration_ms),
            effect: Effect::Hosts {
                fault: HostFault::Pause,
                hosts: vec!["c1".into()],
            },
        };
        assert_eq!(grants.gap_ms(&drawn, &[]), 8000.0);
        // It strikes 1 s before the end of the work, and the next least is 2 s.
        assert_eq!(grants.gap_ms(&drawn, &[pause(1000.0, 11_000.0)]), 1000.0);
        assert_eq!(grants.gap_ms(&drawn, &[pause(-4000.0, 13_500.0)]), 500.0);
        // The end of the lease and the write at the same time are a race.
        let as_long = Drawn {
            work_ms: 10_000.0,
            ..drawn
        };
        assert_eq!(grants.gap_ms(&as_long, &[]), 0.0);
    }

    #[test]
    fn every_host_is_struck_as_often_as_the_others() {
        for all in [&["c1", "c2"][..], &["n1"], &["n1", "n2", "n3", "n4", "n5"]] {
            let mut stream = Stream::new(0, "hosts");
            let hosts: Vec<Name> = all.iter().map(|host| Name::from(*host)).collect();
            let drawn: Vec<_> = (0..20_000)
                .map(|_| choose(hosts.clone(), &mut stream))
                .collect();
            for host in &hosts {
                let of_host = drawn
                    .iter()
                    .filter(|(found, _)| found.as_ref() == Some(host));
                let share = of_host.map(|(_, weight)| weight).sum::<f64>() / 20_000.0;
                let ratio = share * hosts.len() as f64;
                assert!((ratio - 1.0).abs() < 0.05, "{host} of {all:?}: {ratio}");
            }
        }
    }
}

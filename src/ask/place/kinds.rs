//! The kinds of fault that are placed, with lengths that follow from the lock's lease.

use locklab_history::{Effect, FaultKind, HostFault, LinkFault, Links, Name, Role, Topology};
use locklab_locks::LockSpec;
use locklab_values::units::{NS_PER_MS, ns_from_ms};

/// The lease of a lock that has none: what most scenarios use.
const NO_LEASE_MS: u64 = 1000;

/// A process that is restarted at once is back after this time, in nanoseconds.
const AT_ONCE_NS: u64 = NS_PER_MS;

/// A kind of fault.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Kind {
    /// Its name in tables and files.
    pub(crate) name: &'static str,
    strikes: Strikes,
    /// What makes two placements of it the same.
    pub(crate) same: Same,
    effect: Made,
    lasts: Lasts,
}

/// What a fault of a kind strikes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Strikes {
    /// Every host, whichever host acts at the step: a fault may begin at any time.
    Hosts,
    /// The message that leaves at the step.
    Message,
    /// A sentinel, or a master that has a replica.
    Operated,
}

/// What makes two placements of a fault on one host the same run; `classes` has the argument.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Same {
    /// No task of the host runs between them.
    Runs,
    /// No packet from or to the host is sent between them.
    Transmissions,
    /// Nothing happens between them.
    Moves,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Made {
    Host(HostFault<Sign, i64, &'static str>),
    /// The host is cut off from all others.
    Isolated,
    /// The message is lost once.
    Lost,
    /// The message arrives later, by the length of a long fault.
    Late,
}

/// The direction of a step of a clock, which goes as far as the lease is long.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Sign {
    Forwards,
    Backwards,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Lasts {
    /// It has no duration.
    Momentary,
    /// For the segment that leaves now.
    OneMessage,
    /// The process is back at once.
    AtOnce,
    /// For longer than the lease.
    PastLease,
}

/// All kinds, in the order of tables and pictures.
pub(crate) const KINDS: [Kind; 15] = {
    const fn kind(
        name: &'static str,
        strikes: Strikes,
        same: Same,
        effect: Made,
        lasts: Lasts,
    ) -> Kind {
        Kind {
            name,
            strikes,
            same,
            effect,
            lasts,
        }
    }
    const fn step(step: Sign) -> Made {
        Made::Host(HostFault::ClockStep { step })
    }
    const fn rate(drift_ppm: i64) -> Made {
        Made::Host(HostFault::ClockRate { drift_ppm })
    }
    const KILL: Made = Made::Host(HostFault::Kill);
    const CRASH: Made = Made::Host(HostFault::Crash);
    use Lasts::{AtOnce, Momentary, OneMessage, PastLease};
    use Same::{Moves, Runs, Transmissions};
    use Strikes::{Hosts, Message, Operated};
    const PAUSE: Made = Made::Host(HostFault::Pause);
    const SUSPEND: Made = Made::Host(HostFault::Suspend);
    const RESET: Made = Made::Host(HostFault::Reset);
    const FAILOVER: Made = Made::Host(HostFault::Failover);
    let kill_after_lease = "kill, restart after the lease";
    let crash_after_lease = "power loss, restart after the lease";
    [
        kind("pause", Hosts, Runs, PAUSE, PastLease),
        kind("suspension", Hosts, Moves, SUSPEND, PastLease),
        kind("kill, restart at once", Hosts, Moves, KILL, AtOnce),
        kind(kill_after_lease, Hosts, Moves, KILL, PastLease),
        kind("power loss, restart at once", Hosts, Moves, CRASH, AtOnce),
        kind(crash_after_lease, Hosts, Moves, CRASH, PastLease),
        kind("message lost once", Message, Moves, Made::Lost, OneMessage),
        kind("message late", Message, Moves, Made::Late, OneMessage),
        kind("partition", Hosts, Transmissions, Made::Isolated, PastLease),
        kind("connections reset", Hosts, Moves, RESET, Momentary),
        kind(
            "clock forwards",
            Hosts,
            Runs,
            step(Sign::Forwards),
            Momentary,
        ),
        kind(
            "clock backwards",
            Hosts,
            Runs,
            step(Sign::Backwards),
            Momentary,
        ),
        // Twice, and half, as fast: so that a lease is over at half its time, or at twice.
        kind("clock fast", Hosts, Moves, rate(1_000_000), PastLease),
        kind("clock slow", Hosts, Moves, rate(-500_000), PastLease),
        kind("failover", Operated, Moves, FAILOVER, Momentary),
    ]
};

/// The lengths of faults for a lock.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Lengths {
    /// The lease, in nanoseconds.
    pub(crate) lease_ns: u64,
}

impl Lengths {
    /// Those for this lock.
    pub(crate) fn of(lock: &LockSpec) -> Self {
        Self {
            lease_ns: ns_from_ms(lock.facts().lease_ms.unwrap_or(NO_LEASE_MS)),
        }
    }

    /// The length of a fault that outlasts a lease, whenever in the lease it began: one and a half
    /// leases, so that another client has half a lease to take the lock and to use it.
    pub(crate) fn past_lease_ns(self) -> u64 {
        self.lease_ns.saturating_mul(3) / 2
    }
}

/// The hosts of a run, as far as faults strike them.
#[derive(Debug, Clone)]
pub(crate) struct Hosts {
    all: Vec<Name>,
    operated: Vec<Name>,
}

impl Hosts {
    pub(crate) fn of(topology: &Topology) -> Self {
        let names = |is: &dyn Fn(&Role) -> bool| -> Vec<Name> {
            let servers = topology.servers().into_iter();
            let servers = servers.filter(|server| is(&server.role));
            servers.map(|server| server.name.into()).collect()
        };
        let operated = match (topology.replicas, topology.sentinels) {
            (0, _) => vec![],
            (_, 0) => names(&|role| *role == Role::Node),
            _ => names(&|role| *role == Role::Sentinel),
        };
        Self {
            all: topology.hosts().into_iter().map(Name::from).collect(),
            operated: operated.into_iter().take(1).collect(),
        }
    }
}

impl Kind {
    /// The kind of its fault in scenarios.
    pub(crate) fn fault_kind(&self) -> FaultKind {
        match self.effect {
            Made::Host(fault) => fault.kind(),
            Made::Isolated | Made::Lost => FaultKind::Partition,
            Made::Late => FaultKind::SlowLink,
        }
    }

    /// The targets of this kind at a step at which this message leaves.
    pub(crate) fn targets(&self, hosts: &Hosts, message: Option<(&Name, &Name)>) -> Vec<Target> {
        let at = |hosts: &[Name]| hosts.iter().cloned().map(Target::Host).collect();
        match self.strikes {
            Strikes::Hosts => at(&hosts.all),
            Strikes::Message => {
                let message = message.map(|(from, to)| Target::Message(from.clone(), to.clone()));
                message.into_iter().collect()
            }
            Strikes::Operated => at(&hosts.operated),
        }
    }

    /// The duration of the fault, in nanoseconds.
    pub(crate) fn duration_ns(&self, lengths: Lengths) -> Option<u64> {
        match self.lasts {
            Lasts::Momentary => None,
            Lasts::OneMessage => Some(0),
            Lasts::AtOnce => Some(AT_ONCE_NS),
            Lasts::PastLease => Some(lengths.past_lease_ns()),
        }
    }

    /// What the fault does.
    pub(crate) fn effect(&self, target: &Target, hosts: &Hosts, lengths: Lengths) -> Effect {
        match (self.effect, target) {
            (Made::Host(fault), Target::Host(host)) => Effect::Hosts {
                fault: at_length(fault, lengths),
                hosts: vec![host.clone()],
            },
            (Made::Isolated, Target::Host(host)) => Effect::Links {
                fault: LinkFault::Partition,
                links: Links {
                    from: vec![host.clone()],
                    to: { hosts.all.iter() }
                        .filter(|it| *it != host)
                        .cloned()
                        .collect(),
                    both_ways: true,
                },
            },
            (made, Target::Message(from, to)) => Effect::Links {
                fault: match made {
                    Made::Late => LinkFault::SlowLink {
                        extra: lengths.past_lease_ns(),
                    },
                    _ => LinkFault::Partition,
                },
                links: Links {
                    from: vec![from.clone()],
                    to: vec![to.clone()],
                    both_ways: false,
                },
            },
            (Made::Lost | Made::Late, Target::Host(_)) => {
                unreachable!("a message is struck by its own kinds only")
            }
        }
    }
}

fn at_length(fault: HostFault<Sign, i64, &'static str>, lengths: Lengths) -> HostFault {
    let lease_ns = i64::try_from(lengths.lease_ns).unwrap_or(i64::MAX);
    let step = |lease_ns: &mut i64, sign: Sign| {
        Ok::<_, std::convert::Infallible>(match sign {
            Sign::Forwards => *lease_ns,
            Sign::Backwards => -*lease_ns,
        })
    };
    let Ok(fault) = fault.convert(
        &mut { lease_ns },
        step,
        |_, rate| Ok(rate),
        |_, line| Ok(line.into()),
    );
    fault
}

/// What a fault is placed on.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Target {
    /// A host.
    Host(Name),
    /// What leaves one host for another at this instant.
    Message(Name, Name),
}

impl std::fmt::Display for Target {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Target::Host(host) => f.pad(host),
            Target::Message(from, to) => f.pad(&format!("{from} to {to}")),
        }
    }
}

/// The place of a target in a picture: its host, or the sender of its message.
pub(crate) fn lane(target: &Target) -> &Name {
    match target {
        Target::Host(host) | Target::Message(host, _) => host,
    }
}

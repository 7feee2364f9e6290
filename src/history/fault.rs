//! The kinds of fault, and the traits of each.
//!
//! A kind is one entry of the table below. Code that reads schedules, recordings and histories
//! calls its methods; only a fault injector matches on the kinds themselves.

use std::fmt;

use serde::de::{Deserialize, Deserializer, Error as _};
use serde::{Serialize, Serializer};

/// The form of a fault's amounts: a scenario may give distributions, a schedule has fixed
/// values, and a history names only the kind.
pub trait Amounts: fmt::Debug + Copy + PartialEq {
    /// An extra delay for each packet.
    type Delay: fmt::Debug + Copy + PartialEq;
    /// A share of all packets.
    type Share: fmt::Debug + Copy + PartialEq;
    /// The distance of a clock step.
    type Step: fmt::Debug + Copy + PartialEq;
    /// The rate error of a clock.
    type Rate: fmt::Debug + Copy + PartialEq;
}

/// All amounts are fixed values.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Settled;

impl Amounts for Settled {
    /// Nanoseconds.
    type Delay = u64;
    /// 0 to 1.
    type Share = f64;
    /// Nanoseconds; negative means backwards.
    type Step = i64;
    /// Parts per million; 100 000 is 10 % fast.
    type Rate = i64;
}

/// No amounts, only the kind.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Bare;

impl Amounts for Bare {
    type Delay = ();
    type Share = ();
    type Step = ();
    type Rate = ();
}

/// Converts the amounts of a fault from one form to another.
pub trait Convert<A: Amounts, B: Amounts> {
    /// Why an amount cannot be converted.
    type Error;

    /// Converts an extra delay.
    ///
    /// # Errors
    /// If the amount is missing or impossible. The same holds for the other methods.
    fn delay(&mut self, delay: A::Delay) -> Result<B::Delay, Self::Error>;
    /// Converts a share.
    ///
    /// # Errors
    /// See [`Convert::delay`].
    fn share(&mut self, share: A::Share) -> Result<B::Share, Self::Error>;
    /// Converts a step.
    ///
    /// # Errors
    /// See [`Convert::delay`].
    fn step(&mut self, step: A::Step) -> Result<B::Step, Self::Error>;
    /// Converts a rate.
    ///
    /// # Errors
    /// See [`Convert::delay`].
    fn rate(&mut self, rate: A::Rate) -> Result<B::Rate, Self::Error>;
}

/// What a fault targets.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Aim {
    /// Processes; a fault cannot strike a process that has ended.
    Processes,
    /// Whole machines, with everything that runs on them.
    Machines,
    /// Servers, to which an operator sends a command.
    Servers,
    /// Links between hosts.
    Links,
}

/// Faults that belong together, in pictures and when a campaign draws faults.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Family {
    /// Processes and machines stop.
    Process,
    /// Packets are late or lost.
    Network,
    /// Clocks are wrong.
    Clock,
}

/// How long a fault lasts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Span {
    /// The fault is instantaneous and has no duration.
    Momentary,
    /// The fault lasts for its duration; without one, to the end of the run.
    Lasting,
    /// The fault ends the process, which restarts after the duration; without one, never.
    Down,
}

/// What a peer notices while it waits for an answer from a struck host.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Symptom {
    /// Nothing.
    Nothing,
    /// The host does not answer, but packets sent to it arrive.
    Silence,
    /// Packets sent to the host are lost and retransmitted.
    Loss,
    /// The effect of the faulty links on packets.
    Links,
}

/// The traits that all faults of one kind share.
struct Traits {
    noun: &'static str,
    meaning: &'static str,
    aim: Aim,
    family: Family,
    span: Span,
    symptom: Symptom,
    /// Whether it changes the course of a clock.
    bends_clocks: bool,
}

/// Turns each entry into a variant of [`FaultKind`] and its [`Traits`]. An amount is written
/// `field: Form by method`, with an associated type of [`Amounts`] and a method of [`Convert`].
macro_rules! fault_kinds {
    ($($(#[$doc:meta])* $Kind:ident
        $({ $(#[$amount_doc:meta])* $amount:ident: $Form:ident by $convert:ident })?
        = $name:literal => $traits:expr,)*) => {
        /// What a fault does.
        #[derive(Debug, Clone, Copy, PartialEq)]
        pub enum FaultKind<A: Amounts = Settled> {
            $($(#[$doc])* $Kind $({ $(#[$amount_doc])* $amount: A::$Form })?,)*
        }

        impl FaultKind<Bare> {
            /// Every kind.
            pub const ALL: &'static [FaultKind<Bare>] =
                &[$(FaultKind::$Kind $({ $amount: () })?),*];
            const NAMES: &'static [&'static str] = &[$($name),*];
        }

        impl<A: Amounts> FaultKind<A> {
            /// The name that scenarios use.
            pub fn name(&self) -> &'static str {
                match self {
                    $(FaultKind::$Kind { .. } => $name,)*
                }
            }

            /// The same kind with its amounts in another form.
            ///
            /// # Errors
            /// The error of the first amount that cannot be converted.
            pub fn convert<B: Amounts, C: Convert<A, B>>(
                self,
                by: &mut C,
            ) -> Result<FaultKind<B>, C::Error> {
                Ok(match self {
                    $(FaultKind::$Kind $({ $amount })? => {
                        FaultKind::$Kind $({ $amount: by.$convert($amount)? })?
                    })*
                })
            }

            /// The kind without its amounts.
            pub fn bare(&self) -> FaultKind<Bare> {
                match self {
                    $(FaultKind::$Kind { .. } => FaultKind::$Kind $({ $amount: () })?,)*
                }
            }

            fn traits(&self) -> &'static Traits {
                match self {
                    $(FaultKind::$Kind { .. } => &$traits,)*
                }
            }
        }
    };
}

fault_kinds! {
    /// The host's process stands still; its kernel and both its clocks go on, as
    /// under SIGSTOP or a stop-the-world garbage collection.
    Pause = "pause" => Traits {
        noun: "pause",
        meaning: "the process stands still; its clocks run (SIGSTOP, a garbage collection)",
        aim: Aim::Processes,
        family: Family::Process,
        span: Span::Lasting,
        symptom: Symptom::Silence,
        bends_clocks: false,
    },
    /// The whole machine stands still, its monotonic clock too; the wall clock has
    /// moved on when it resumes, as with a suspended virtual machine.
    Suspend = "suspend" => Traits {
        noun: "suspension",
        meaning: "the machine stands still, its monotonic clock too (a virtual machine)",
        aim: Aim::Machines,
        family: Family::Process,
        span: Span::Lasting,
        symptom: Symptom::Silence,
        bends_clocks: true,
    },
    /// The process ends, the kernel closes its sockets; it starts again after the
    /// fault's duration, if it has one.
    Kill = "kill" => Traits {
        noun: "kill",
        meaning: "the process ends; it starts again after duration_ms, if there is one",
        aim: Aim::Processes,
        family: Family::Process,
        span: Span::Down,
        symptom: Symptom::Silence,
        bends_clocks: false,
    },
    /// Power loss: silence first, no FIN; memory is gone. Starts again after the
    /// fault's duration, if it has one.
    Crash = "crash" => Traits {
        noun: "power loss",
        meaning: "power loss: silence, then memory is gone; starts again after duration_ms",
        aim: Aim::Machines,
        family: Family::Process,
        span: Span::Down,
        symptom: Symptom::Loss,
        bends_clocks: false,
    },
    /// No packet gets through.
    Partition = "partition" => Traits {
        noun: "partition",
        meaning: "no packet gets through",
        aim: Aim::Links,
        family: Family::Network,
        span: Span::Lasting,
        symptom: Symptom::Links,
        bends_clocks: false,
    },
    /// Every packet takes longer.
    SlowLink {
        /// The extra one-way delay.
        extra: Delay by delay
    } = "slow-link" => Traits {
        noun: "slow link",
        meaning: "every packet takes longer",
        aim: Aim::Links,
        family: Family::Network,
        span: Span::Lasting,
        symptom: Symptom::Links,
        bends_clocks: false,
    },
    /// Each transmission is lost with some probability; a lost one is repeated after the
    /// retransmission timeout.
    Loss {
        /// The share that is lost.
        probability: Share by share
    } = "loss" => Traits {
        noun: "packet loss",
        meaning: "packets are lost, and retransmitted",
        aim: Aim::Links,
        family: Family::Network,
        span: Span::Lasting,
        symptom: Symptom::Links,
        bends_clocks: false,
    },
    /// The wall clocks jump.
    ClockStep {
        /// How far.
        step: Step by step
    } = "clock-step" => Traits {
        noun: "clock step",
        meaning: "the wall clock jumps, back if negative",
        aim: Aim::Machines,
        family: Family::Clock,
        span: Span::Momentary,
        symptom: Symptom::Nothing,
        bends_clocks: true,
    },
    /// Both clocks of the hosts run wrong while the fault lasts.
    ClockRate {
        /// By how much.
        drift_ppm: Rate by rate
    } = "clock-rate" => Traits {
        noun: "clock drift",
        meaning: "both clocks run fast or slow by this rate",
        aim: Aim::Machines,
        family: Family::Clock,
        span: Span::Lasting,
        symptom: Symptom::Nothing,
        bends_clocks: true,
    },
    /// An operator asks for a failover, on these hosts: sentinels, masters, or replicas that
    /// are to be masters. It takes effect when the server says OK, and never if it does not.
    Failover = "failover" => Traits {
        noun: "failover",
        meaning: "an operator asks a sentinel, a master or a replica for a failover; ends at once",
        aim: Aim::Servers,
        family: Family::Process,
        span: Span::Momentary,
        symptom: Symptom::Nothing,
        bends_clocks: false,
    },
}

impl<A: Amounts> FaultKind<A> {
    /// The fault as a noun, for the axes of charts: `pause`.
    pub fn noun(&self) -> &'static str {
        self.traits().noun
    }

    /// The effect of the fault, described in one line.
    pub fn meaning(&self) -> &'static str {
        self.traits().meaning
    }

    /// What the fault targets.
    pub fn aim(&self) -> Aim {
        self.traits().aim
    }

    /// The family of the fault.
    pub fn family(&self) -> Family {
        self.traits().family
    }

    /// How long the fault lasts, and how it is drawn.
    pub fn span(&self) -> Span {
        self.traits().span
    }

    /// Whether the fault ends a process and with it that process's belief.
    pub fn ends_process(&self) -> bool {
        self.span() == Span::Down
    }

    /// What a peer notices while it waits for a struck host.
    pub fn symptom(&self) -> Symptom {
        self.traits().symptom
    }

    /// Whether the fault changes the course of a clock when it begins and when it ends.
    pub fn bends_clocks(&self) -> bool {
        self.traits().bends_clocks
    }
}

impl FaultKind<Bare> {
    /// The kind with this name in scenarios.
    pub fn of_name(name: &str) -> Option<Self> {
        let mut all = FaultKind::ALL.iter();
        all.find(|kind| kind.name() == name).copied()
    }
}

impl Eq for FaultKind<Bare> {}

impl Serialize for FaultKind<Bare> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.name())
    }
}

impl<'de> Deserialize<'de> for FaultKind<Bare> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let name = String::deserialize(deserializer)?;
        FaultKind::of_name(&name).ok_or_else(|| D::Error::unknown_variant(&name, FaultKind::NAMES))
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    /// The names of the kinds of which something is true.
    fn those(is_one: impl Fn(&FaultKind<Bare>) -> bool) -> Vec<&'static str> {
        let all = FaultKind::ALL.iter().filter(|kind| is_one(kind));
        all.map(FaultKind::name).collect()
    }

    #[test]
    fn a_name_leads_back_to_its_kind_and_is_the_one_in_files() {
        for &kind in FaultKind::ALL {
            assert_eq!(FaultKind::of_name(kind.name()), Some(kind));
            let json = serde_json::to_value(kind).unwrap();
            assert_eq!(json, kind.name());
            assert_eq!(
                serde_json::from_value::<FaultKind<Bare>>(json).unwrap(),
                kind
            );
        }
        assert_eq!(FaultKind::of_name("Pause"), None);
        let unknown = serde_json::from_str::<FaultKind<Bare>>("\"freeze\"").unwrap_err();
        let unknown = unknown.to_string();
        assert!(unknown.starts_with("unknown variant `freeze`"), "{unknown}");
        assert!(unknown.contains("`clock-rate`"), "{unknown}");
    }

    #[test]
    fn people_read_of_each_kind_something_of_its_own() {
        let all = || FaultKind::ALL.iter();
        let nouns: BTreeSet<&str> = all().map(FaultKind::noun).collect();
        let meanings: BTreeSet<&str> = all().map(FaultKind::meaning).collect();
        assert_eq!(nouns.len(), FaultKind::ALL.len());
        assert_eq!(meanings.len(), FaultKind::ALL.len());
    }

    #[test]
    fn a_process_ends_with_a_kill_or_a_crash() {
        assert_eq!(those(FaultKind::ends_process), ["kill", "crash"]);
    }

    #[test]
    fn a_suspension_a_step_and_a_rate_bend_clocks() {
        assert_eq!(
            those(FaultKind::bends_clocks),
            ["suspend", "clock-step", "clock-rate"]
        );
    }

    #[test]
    fn links_are_struck_by_what_peers_notice_on_links() {
        let links = ["partition", "slow-link", "loss"];
        assert_eq!(those(|kind| kind.aim() == Aim::Links), links);
        assert_eq!(those(|kind| kind.symptom() == Symptom::Links), links);
        assert_eq!(those(|kind| kind.family() == Family::Network), links);
    }

    #[test]
    fn a_step_and_a_failover_have_no_duration() {
        assert_eq!(
            those(|kind| kind.span() == Span::Momentary),
            ["clock-step", "failover"]
        );
    }
}

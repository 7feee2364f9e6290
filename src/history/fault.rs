//! The effects of faults, and the traits of each kind.
//!
//! A fault affects hosts or links, never both: [`HostFault`] and [`LinkFault`] are two types. Code
//! that reads schedules, recordings and histories asks a [`FaultKind`] for its traits; who matches on the
//! faults themselves injects them, bounds their amounts, or tells them.
//!
//! # A new kind of fault
//!
//! It is a variant of [`HostFault`] or of [`LinkFault`]; a fault with a target of the other sort does not
//! compile. Its kind is one entry of the table below: its name in scenarios, and its [`Traits`].
//!
//! Scenarios, recordings, campaigns, `list faults`, validation, checks and pictures then know the kind.
//! The compiler points out the rest: arms in the same file, and where each injector begins and ends faults
//! (`src/runner/injector.rs` for the simulator, `src/real/conductor.rs` for real processes). What it does not point
//! out: whether `place` places it (`src/ask/place/kinds.rs`), whether it excuses a lock (`src/ask/meaning/excuse.rs`),
//! and its section in `docs/faults.md`. An amount is a
//! field, as in `ClockStep { step: Step }`, and `convert` turns it from the form of a scenario or a file
//! into that of a schedule; a new form of amount is one more type parameter, and an argument of
//! `convert`.
//!
//! `src/runner/nemesis/executor.rs` executes every schedule: it decides when which fault strikes which
//! hosts, and when that is recorded. `tests/injectors.rs` requires the same outcome of the world and of
//! real processes.

use locklab_values::shell;
use serde::de::{Deserialize, Deserializer, Error as _};
use serde::{Serialize, Serializer};

/// The effect of a fault on hosts.
///
/// The amounts are those of a schedule: a step in nanoseconds (negative: backwards), a rate in parts per million
/// (100 000 is 10 % fast), a command as it is entered. A scenario writes them in another form.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum HostFault<Step = i64, Rate = i64, Line = String> {
    /// The host's process stops; its kernel and both its clocks continue, as under SIGSTOP or a
    /// stop-the-world garbage collection.
    Pause,
    /// One thread of the process stops, the one that uses the lock; its others continue, such as one that renews
    /// the lock. Of a server, which has one thread, the process.
    Stall,
    /// The whole machine stops, with its monotonic clock; the wall clock has advanced when it
    /// resumes, as with a suspended virtual machine.
    Suspend,
    /// The process ends, the kernel closes its sockets; it starts again after the
    /// fault's duration, if it has one.
    Kill,
    /// Power loss: silence first, no FIN; memory is gone. Starts again after the
    /// fault's duration, if it has one.
    Crash,
    /// Every connection of the host is reset at both ends, as by a firewall or an administrator; what is
    /// under way on it is lost. New ones can be made at once.
    Reset,
    /// The wall clocks jump.
    ClockStep {
        /// How far.
        step: Step,
    },
    /// Both clocks of the hosts run wrong while the fault lasts.
    ClockRate {
        /// By how much.
        drift_ppm: Rate,
    },
    /// The disk of a server is full while the fault lasts: what the server writes to a file is refused.
    DiskFull,
    /// An operator asks for a failover, on these hosts: sentinels, masters, or replicas that
    /// are to be masters. It takes effect when the server says OK, and never if it does not.
    Failover,
    /// An operator enters a command at these servers, from the server's own machine. It takes effect when
    /// the server has answered, or ends, or is busy with it; and never if the answer is an error.
    Command {
        /// What is entered, in the words of a shell: `SCRIPT FLUSH`.
        line: Line,
    },
}

/// The effect of a fault on links.
///
/// The amounts are those of a schedule: a delay in nanoseconds, a share from 0 to 1.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LinkFault<Delay = u64, Share = f64> {
    /// No packet gets through.
    Partition,
    /// Every packet takes longer.
    SlowLink {
        /// The extra one-way delay.
        extra: Delay,
    },
    /// Each transmission is lost with some probability; a lost one is repeated after the
    /// retransmission timeout.
    Loss {
        /// The share that is lost.
        probability: Share,
    },
}

impl<Step, Rate, Line> HostFault<Step, Rate, Line> {
    /// The kind of the fault.
    pub fn kind(&self) -> FaultKind {
        match self {
            HostFault::Pause => FaultKind::Pause,
            HostFault::Stall => FaultKind::Stall,
            HostFault::Suspend => FaultKind::Suspend,
            HostFault::Kill => FaultKind::Kill,
            HostFault::Crash => FaultKind::Crash,
            HostFault::Reset => FaultKind::Reset,
            HostFault::ClockStep { .. } => FaultKind::ClockStep,
            HostFault::ClockRate { .. } => FaultKind::ClockRate,
            HostFault::DiskFull => FaultKind::DiskFull,
            HostFault::Failover => FaultKind::Failover,
            HostFault::Command { .. } => FaultKind::Command,
        }
    }

    /// The same fault with its amount in another form, converted with the help of `by`.
    ///
    /// # Errors
    /// If the amount cannot be converted.
    pub fn convert<By, S, R, L, E>(
        self,
        by: &mut By,
        step: fn(&mut By, Step) -> Result<S, E>,
        rate: fn(&mut By, Rate) -> Result<R, E>,
        line: fn(&mut By, Line) -> Result<L, E>,
    ) -> Result<HostFault<S, R, L>, E> {
        Ok(match self {
            HostFault::Pause => HostFault::Pause,
            HostFault::Stall => HostFault::Stall,
            HostFault::Suspend => HostFault::Suspend,
            HostFault::Kill => HostFault::Kill,
            HostFault::Crash => HostFault::Crash,
            HostFault::Reset => HostFault::Reset,
            HostFault::ClockStep { step: from } => HostFault::ClockStep {
                step: step(by, from)?,
            },
            HostFault::ClockRate { drift_ppm } => HostFault::ClockRate {
                drift_ppm: rate(by, drift_ppm)?,
            },
            HostFault::DiskFull => HostFault::DiskFull,
            HostFault::Failover => HostFault::Failover,
            HostFault::Command { line: entered } => HostFault::Command {
                line: line(by, entered)?,
            },
        })
    }
}

impl<Delay, Share> LinkFault<Delay, Share> {
    /// The kind of the fault.
    pub fn kind(&self) -> FaultKind {
        match self {
            LinkFault::Partition => FaultKind::Partition,
            LinkFault::SlowLink { .. } => FaultKind::SlowLink,
            LinkFault::Loss { .. } => FaultKind::Loss,
        }
    }

    /// The same fault with its amount in another form, converted with the help of `by`.
    ///
    /// # Errors
    /// If the amount cannot be converted.
    pub fn convert<By, D, S, E>(
        self,
        by: &mut By,
        delay: fn(&mut By, Delay) -> Result<D, E>,
        share: fn(&mut By, Share) -> Result<S, E>,
    ) -> Result<LinkFault<D, S>, E> {
        Ok(match self {
            LinkFault::Partition => LinkFault::Partition,
            LinkFault::SlowLink { extra } => LinkFault::SlowLink {
                extra: delay(by, extra)?,
            },
            LinkFault::Loss { probability } => LinkFault::Loss {
                probability: share(by, probability)?,
            },
        })
    }
}

/// The first words of commands after which every lock is as it was. A lock has to withstand them.
pub const HARMLESS_COMMANDS: [&str; 8] = [
    "ACL", "CLIENT", "INFO", "LATENCY", "MEMORY", "PING", "SCRIPT", "SLOWLOG",
];

/// What an operator may enter, in words; a server is not ended so, since a real run would end with it.
///
/// # Errors
///
/// If it is no command, with the reason.
pub fn command_words(line: &str) -> Result<Vec<String>, &'static str> {
    let words = shell::words(line)?;
    match words[0].eq_ignore_ascii_case("shutdown") {
        true => Err("to end a server, write kind = \"kill\""),
        false => Ok(words),
    }
}

/// Whether a command leaves every lock as it is.
pub fn is_harmless(line: &str) -> bool {
    let words = command_words(line).unwrap_or_default();
    let is_first = |word: &&str| words[0].eq_ignore_ascii_case(word);
    !words.is_empty() && HARMLESS_COMMANDS.iter().any(is_first)
}

/// The targets of a kind of fault, with its faults without amounts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Aim {
    /// Processes; a fault cannot affect a process that has ended.
    Processes(HostFault<(), (), ()>),
    /// Whole machines, with everything that runs on them.
    Machines(HostFault<(), (), ()>),
    /// Servers alone.
    Servers(HostFault<(), (), ()>),
    /// Links between hosts.
    Links(LinkFault<(), ()>),
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

/// The symptom for a peer that waits for an answer from an affected host.
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
    /// Requests on connections of the host that were not answered never are; later ones are.
    Broken,
    /// The host answers, and refuses what it is asked to change.
    Refusals,
}

/// The traits that all faults of one kind share.
struct Traits {
    noun: &'static str,
    story: &'static str,
    meaning: &'static str,
    aim: Aim,
    family: Family,
    span: Span,
    symptom: Symptom,
    /// Whether the process does nothing meanwhile, and goes on afterwards.
    stands_still: bool,
    /// Whether its effect on a server remains when the fault is over: what it remembered is gone, or its clock shows
    /// another time.
    persists: bool,
    /// Whether it changes the course of a clock.
    bends_clocks: bool,
    /// Whether a campaign draws it unless it names its kinds. A kind that is added later would change what a seed
    /// draws.
    is_usual: bool,
}

/// Turns each entry into a variant of [`FaultKind`] with its name in scenarios and its [`Traits`].
macro_rules! fault_kinds {
    ($($Kind:ident = $name:literal => $traits:expr,)*) => {
        /// A kind of fault.
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        pub enum FaultKind {
            $(#[doc = concat!("`", $name, "`.")] $Kind,)*
        }

        impl FaultKind {
            /// Every kind.
            pub const ALL: &'static [FaultKind] = &[$(FaultKind::$Kind),*];
            const NAMES: &'static [&'static str] = &[$($name),*];

            /// The name that scenarios use.
            pub fn name(&self) -> &'static str {
                match self {
                    $(FaultKind::$Kind => $name,)*
                }
            }

            fn traits(&self) -> &'static Traits {
                match self {
                    $(FaultKind::$Kind => &$traits,)*
                }
            }
        }
    };
}

fault_kinds! {
    Pause = "pause" => Traits {
        noun: "pause",
        story: "the process{|es} of {where} stand{s|} still{lasts}",
        meaning: "the process stands still; its clocks run (SIGSTOP, a garbage collection)",
        aim: Aim::Processes(HostFault::Pause),
        family: Family::Process,
        span: Span::Lasting,
        symptom: Symptom::Silence,
        stands_still: true,
        persists: false,
        bends_clocks: false,
        is_usual: true,
    },
    Stall = "stall" => Traits {
        noun: "stall",
        story: "one thread of {where} stands still{lasts}, and the others run",
        meaning: "one thread of the process stands still, the others run (a blocked event loop)",
        aim: Aim::Processes(HostFault::Stall),
        family: Family::Process,
        span: Span::Lasting,
        symptom: Symptom::Silence,
        stands_still: true,
        persists: false,
        bends_clocks: false,
        is_usual: false,
    },
    Suspend = "suspend" => Traits {
        noun: "suspension",
        story: "the machine{|s} of {where} stand{s|} still{lasts}, with {its|their} monotonic clock{|s}",
        meaning: "the machine stands still, its monotonic clock too (a virtual machine)",
        aim: Aim::Machines(HostFault::Suspend),
        family: Family::Process,
        span: Span::Lasting,
        symptom: Symptom::Silence,
        stands_still: true,
        persists: false,
        bends_clocks: true,
        is_usual: true,
    },
    Kill = "kill" => Traits {
        noun: "kill",
        story: "the process{|es} of {where} {is|are} killed{restarts}",
        meaning: "the process ends; it starts again after duration_ms, if there is one",
        aim: Aim::Processes(HostFault::Kill),
        family: Family::Process,
        span: Span::Down,
        symptom: Symptom::Silence,
        stands_still: false,
        persists: true,
        bends_clocks: false,
        is_usual: true,
    },
    Crash = "crash" => Traits {
        noun: "power loss",
        story: "{where} lose{s|} power{restarts}",
        meaning: "power loss: silence, then memory is gone; starts again after duration_ms",
        aim: Aim::Machines(HostFault::Crash),
        family: Family::Process,
        span: Span::Down,
        symptom: Symptom::Loss,
        stands_still: false,
        persists: true,
        bends_clocks: false,
        is_usual: true,
    },
    Partition = "partition" => Traits {
        noun: "partition",
        story: "no message gets through {where}{lasts}",
        meaning: "no packet gets through",
        aim: Aim::Links(LinkFault::Partition),
        family: Family::Network,
        span: Span::Lasting,
        symptom: Symptom::Links,
        stands_still: false,
        persists: false,
        bends_clocks: false,
        is_usual: true,
    },
    SlowLink = "slow-link" => Traits {
        noun: "slow link",
        story: "every message {where} takes {amount} longer{lasts}",
        meaning: "every packet takes longer",
        aim: Aim::Links(LinkFault::SlowLink { extra: () }),
        family: Family::Network,
        span: Span::Lasting,
        symptom: Symptom::Links,
        stands_still: false,
        persists: false,
        bends_clocks: false,
        is_usual: true,
    },
    Loss = "loss" => Traits {
        noun: "packet loss",
        story: "{amount} of all packets {where} are lost{lasts}",
        meaning: "packets are lost, and retransmitted",
        aim: Aim::Links(LinkFault::Loss { probability: () }),
        family: Family::Network,
        span: Span::Lasting,
        symptom: Symptom::Links,
        stands_still: false,
        persists: false,
        bends_clocks: false,
        is_usual: true,
    },
    Reset = "reset" => Traits {
        noun: "reset",
        story: "every connection of {where} is reset",
        meaning: "every connection of the host is reset at both ends; new ones can be made at once",
        aim: Aim::Machines(HostFault::Reset),
        family: Family::Network,
        span: Span::Momentary,
        symptom: Symptom::Broken,
        stands_still: false,
        persists: false,
        bends_clocks: false,
        is_usual: false,
    },
    ClockStep = "clock-step" => Traits {
        noun: "clock step",
        story: "the wall clock{|s} of {where} jump{s|} {amount}",
        meaning: "the wall clock jumps, back if negative",
        aim: Aim::Machines(HostFault::ClockStep { step: () }),
        family: Family::Clock,
        span: Span::Momentary,
        symptom: Symptom::Nothing,
        stands_still: false,
        persists: true,
        bends_clocks: true,
        is_usual: true,
    },
    ClockRate = "clock-rate" => Traits {
        noun: "clock drift",
        story: "both clocks of {where} run {amount}{lasts}",
        meaning: "both clocks run fast or slow by this rate",
        aim: Aim::Machines(HostFault::ClockRate { drift_ppm: () }),
        family: Family::Clock,
        span: Span::Lasting,
        symptom: Symptom::Nothing,
        stands_still: false,
        persists: false,
        bends_clocks: true,
        is_usual: true,
    },
    DiskFull = "disk-full" => Traits {
        noun: "full disk",
        story: "the disk of {where} is full{lasts}",
        meaning: "the server cannot write to its disk, and refuses writes (MISCONF)",
        aim: Aim::Servers(HostFault::DiskFull),
        family: Family::Process,
        span: Span::Lasting,
        symptom: Symptom::Refusals,
        stands_still: false,
        persists: false,
        bends_clocks: false,
        is_usual: false,
    },
    Failover = "failover" => Traits {
        noun: "failover",
        story: "an operator orders a failover on {where}",
        meaning: "an operator asks a sentinel, a master or a replica for a failover; ends at once",
        aim: Aim::Servers(HostFault::Failover),
        family: Family::Process,
        span: Span::Momentary,
        symptom: Symptom::Nothing,
        stands_still: false,
        persists: true,
        bends_clocks: false,
        is_usual: false,
    },
    Command = "command" => Traits {
        noun: "command",
        story: "an operator enters {amount} on {where}",
        meaning: "an operator enters a command (SCRIPT FLUSH, CLIENT KILL, DEL); ends at once",
        aim: Aim::Servers(HostFault::Command { line: () }),
        family: Family::Process,
        span: Span::Momentary,
        symptom: Symptom::Nothing,
        stands_still: false,
        persists: false, // what a command leaves behind, nobody knows
        bends_clocks: false,
        is_usual: false,
    },
}

impl FaultKind {
    /// The fault as a noun, for the axes of charts: `pause`.
    pub fn noun(&self) -> &'static str {
        self.traits().noun
    }

    /// The sentence that tells that such a fault begins. `{where}` is its hosts or links, `{amount}` how large
    /// it is, `{lasts}` for how long, `{restarts}` when the process starts again; the latter two begin with a
    /// space or a comma, or are empty. `{s|}` is what stands before the bar for one host, and what stands behind it
    /// for several.
    pub fn story(&self) -> &'static str {
        self.traits().story
    }

    /// The effect of the fault, described in one line.
    pub fn meaning(&self) -> &'static str {
        self.traits().meaning
    }

    /// The target of the fault.
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

    /// Whether a process that it strikes does nothing meanwhile, and goes on afterwards.
    pub fn stands_still(&self) -> bool {
        self.traits().stands_still
    }

    /// Whether its effect on a server remains when the fault is over: what it remembered is gone, or its clock shows
    /// another time.
    pub fn persists(&self) -> bool {
        self.traits().persists
    }

    /// The symptom for a peer that waits for an affected host.
    pub fn symptom(&self) -> Symptom {
        self.traits().symptom
    }

    /// Whether the fault changes the course of a clock when it begins and when it ends.
    pub fn bends_clocks(&self) -> bool {
        self.traits().bends_clocks
    }

    /// Whether a real process suffers it only with the preloaded library.
    pub fn is_preloaded(&self) -> bool {
        self.bends_clocks() || matches!(self, FaultKind::Stall | FaultKind::DiskFull)
    }

    /// Whether a campaign draws faults of this kind unless it names its kinds.
    pub fn is_usual(&self) -> bool {
        self.traits().is_usual
    }

    /// The kind with this name in scenarios.
    pub fn of_name(name: &str) -> Option<Self> {
        let mut all = FaultKind::ALL.iter();
        all.find(|kind| kind.name() == name).copied()
    }
}

impl Serialize for FaultKind {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.name())
    }
}

impl<'de> Deserialize<'de> for FaultKind {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let name = String::deserialize(deserializer)?;
        FaultKind::of_name(&name).ok_or_else(|| D::Error::unknown_variant(&name, FaultKind::NAMES))
    }
}

#[cfg(test)]
mod tests;

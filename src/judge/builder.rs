//! Builds a history from the lines of a file: numbers names, and orders lines by time.

mod pairing;

use std::collections::{BTreeMap, BTreeSet};

use locklab_history::{Name, Told};
use locklab_values::units::ns_from_ms;

use self::pairing::Pairing;
use crate::amount::{Amount, Unit};
use crate::history::{Clock, Deadline, LockHistory, Shown};
use crate::models::ModelName;
use crate::raw::{Bad, F, Header, RawEvent, Type};

/// The bytes of a short event: `{:process 0 :type :ok :f :lost}`.
const SHORTEST: usize = 32;

/// Collects the lines of a history.
pub(crate) struct Builder {
    header: Header,
    names: Numbered,
    keys: Numbered,
    lines: Vec<Line>,
    /// Per process: on which clocks its deadlines are.
    clocks: Vec<[bool; 3]>,
    pub(crate) skipped: usize,
    pub(crate) notes: Vec<String>,
}

/// A line with its names numbered.
struct Line {
    line: u32,
    process: u32,
    /// `None` where the line names none: that of the call, or the only one.
    key: Option<u32>,
    kind: Type,
    f: F,
    at_ns: u64,
    deadline: Option<Deadline>,
    shared: bool,
    rank: Rank,
    /// Boxed, since a history may have a million lines.
    rare: Option<Box<Rare>>,
}

/// What few lines say.
#[derive(Default, PartialEq)]
struct Rare {
    owner: Option<u32>,
    token: Option<u64>,
    permits: Option<u32>,
    shown: Shown,
    version: Option<u64>,
    based_on: Option<u64>,
}

impl Line {
    fn rare(&self) -> &Rare {
        static NOTHING: Rare = Rare {
            owner: None,
            token: None,
            permits: None,
            shown: Shown {
                wall_ns: None,
                mono_ns: None,
            },
            version: None,
            based_on: None,
        };
        self.rare.as_deref().unwrap_or(&NOTHING)
    }
}

#[derive(Default)]
struct Numbered {
    numbers: BTreeMap<Name, u32>,
    names: Vec<Name>,
}

impl Numbered {
    fn of(&mut self, name: &str) -> u32 {
        if let Some(&number) = self.numbers.get(name) {
            return number;
        }
        let number = self.names.len() as u32;
        let name: Name = name.into();
        self.names.push(name.clone());
        self.numbers.insert(name, number);
        number
    }
}

impl Builder {
    /// Has room for all events of a file of so many bytes: a list that grows is there twice while it is moved, and room
    /// that is not used takes no memory.
    pub(crate) fn new(header: Header, bytes: usize) -> Builder {
        Builder {
            header,
            names: Numbered::default(),
            keys: Numbered::default(),
            lines: Vec::with_capacity(bytes / SHORTEST),
            clocks: Vec::new(),
            skipped: 0,
            notes: Vec::new(),
        }
    }

    /// Adds a line of the file.
    pub(crate) fn push(&mut self, line: u32, raw: &RawEvent) -> Result<(), Bad> {
        let unit = self.header.unit;
        let ns = |amount: Option<Amount>, name: &str| in_ns(amount, unit, line, name);
        let time_ns = ns(raw.time, "time")?;
        if let Some(first) = self.lines.first()
            && (first.at_ns == UNTIMED) != time_ns.is_none()
        {
            return Err(Bad::at(
                line,
                format!(
                    "\"time\" is on some lines only (line {} {}); write it on every line, or on none",
                    first.line,
                    if time_ns.is_none() {
                        "has it"
                    } else {
                        "has none"
                    }
                ),
            ));
        }
        let deadline = match (ns(raw.deadline, "deadline")?, ns(raw.validity, "validity")?) {
            (Some(_), Some(_)) => {
                let what = "\"deadline\" and \"validity\" say the same; write one of them";
                return Err(Bad::at(line, what));
            }
            (Some(at_ns), None) => Some(Deadline {
                clock: raw.clock.unwrap_or(Clock::Time),
                at_ns,
            }),
            (None, Some(validity_ns)) => Some(Deadline {
                clock: Clock::Time,
                at_ns: time_ns.unwrap_or(0).saturating_add(validity_ns),
            }),
            (None, None) => None,
        };
        let (wall_ns, mono_ns) = (ns(raw.wall, "wall")?, ns(raw.mono, "mono")?);
        if let Some(deadline) = deadline {
            let missing = match deadline.clock {
                Clock::Time if time_ns.is_none() => Some("time"),
                Clock::Wall if wall_ns.is_none() => Some("wall"),
                Clock::Mono if mono_ns.is_none() => Some("mono"),
                _ => None,
            };
            if let Some(missing) = missing {
                return Err(Bad::at(
                    line,
                    format!(
                        "a deadline needs its clock; write \"{missing}\" on every line of this process"
                    ),
                ));
            }
        }
        if raw.f == F::Extend && self.header.model == ModelName::Lease {
            let what = "the model \"lease\" has no extend; use \"renewal\"";
            return Err(Bad::at(line, what));
        }
        let process = self.names.of(&raw.process.0);
        if let Some(deadline) = deadline {
            self.clocks.resize(self.names.names.len(), [false; 3]);
            let clocks = &mut self.clocks[process as usize];
            clocks[deadline.clock as usize] = true;
            if *clocks == [true; 3] {
                let what = "the deadlines of a process are on two clocks at most; leave one out";
                return Err(Bad::at(line, what));
            }
        }
        let rare = Rare {
            owner: raw.owner.as_ref().map(|owner| self.names.of(&owner.0)),
            token: raw.token,
            permits: raw.permits,
            shown: Shown { wall_ns, mono_ns },
            version: raw.version,
            based_on: raw.based_on,
        };
        let line = Line {
            line,
            process,
            key: raw.key.as_ref().map(|key| self.keys.of(&key.0)),
            kind: raw.kind,
            f: raw.f,
            at_ns: time_ns.unwrap_or(UNTIMED),
            deadline,
            shared: raw.shared,
            rank: Rank::default(),
            rare: (rare != Rare::default()).then(|| Box::new(rare)),
        };
        self.lines.push(line);
        Ok(())
    }

    /// Pairs calls with returns.
    pub(crate) fn finish(mut self) -> Result<LockHistory, Bad> {
        let told = self.set_times();
        let mut pairing = Pairing::new(self.names.names, self.keys, self.lines.len());
        for line in &self.lines {
            pairing.take(line)?;
        }
        Ok(LockHistory {
            header: self.header,
            keys: pairing.finish(),
            skipped: self.skipped,
            notes: self.notes,
            told,
        })
    }

    /// Counts time from the first event, and sorts by it; without times the nth line is
    /// at n ms. Returns how times are told.
    fn set_times(&mut self) -> Told {
        if self.lines.first().is_some_and(|line| line.at_ns == UNTIMED) {
            for (number, line) in (1..).zip(&mut self.lines) {
                line.at_ns = ns_from_ms(number);
            }
            return Told::default();
        }
        let origin_ns = self.lines.iter().map(|line| line.at_ns).min().unwrap_or(0);
        for line in &mut self.lines {
            line.at_ns -= origin_ns;
            if let Some(deadline) = &mut line.deadline
                && deadline.clock == Clock::Time
            {
                deadline.at_ns = deadline.at_ns.saturating_sub(origin_ns);
            }
        }
        self.lines.sort_by_key(|line| line.at_ns);
        let names = &self.names.names;
        for tied in self.lines.chunk_by_mut(|one, next| one.at_ns == next.at_ns) {
            if tied.len() > 1 {
                calls_first(tied, names);
            }
        }
        let unit = self.header.unit;
        Told::InFile {
            origin_ns,
            unit: unit.symbol(),
            power: unit.power(),
        }
    }
}

/// Nobody knows the order of lines at one instant but of those of one process: calls come first, so that
/// nothing returned before a call that may have been earlier. For the same reason a return after which its process
/// calls comes before other returns. Where neither decides, names do, since lines of two processes may stand anywhere
/// in the file; but accesses keep their order, which is that of the resource.
fn calls_first(tied: &mut [Line], names: &[Name]) {
    // Per process, from its last line on: whether none of its lines after this one is a call.
    let mut calls_after: BTreeSet<u32> = BTreeSet::new();
    for line in tied.iter_mut().rev() {
        line.rank.is_last = !calls_after.contains(&line.process);
        if line.kind == Type::Invoke {
            calls_after.insert(line.process);
        }
    }
    let mut last: BTreeMap<u32, Rank> = BTreeMap::new();
    for line in tied.iter_mut() {
        let kind = match (line.kind, line.f) {
            (Type::Invoke, _) => LineKind::Call,
            (_, F::Read | F::Write) => LineKind::Access,
            _ => LineKind::Return,
        };
        let last = last.entry(line.process).or_default();
        last.round += u32::from(kind < last.kind);
        last.kind = kind;
        line.rank = Rank {
            is_last: line.rank.is_last && kind != LineKind::Call,
            ..*last
        };
    }
    tied.sort_by(|one, other| {
        let name = |line: &Line| &names[line.process as usize];
        let by_rank = one.rank.cmp(&other.rank);
        match one.rank.kind {
            LineKind::Access => by_rank,
            _ => by_rank.then_with(|| name(one).cmp(name(other))),
        }
    });
}

/// The place of a line among those of its instant.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord)]
struct Rank {
    /// Whether its process calls nothing more at this instant, and this is no call.
    is_last: bool,
    /// How often its process has begun again with a call, or with a return after an access.
    round: u32,
    kind: LineKind,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord)]
enum LineKind {
    #[default]
    Call,
    Return,
    Access,
}

/// The time of a line without one, until the order of lines gives it one.
const UNTIMED: u64 = u64::MAX;

fn in_ns(amount: Option<Amount>, unit: Unit, line: u32, name: &str) -> Result<Option<u64>, Bad> {
    let Some(amount) = amount else {
        return Ok(None);
    };
    let ns = amount.ns(unit).filter(|&ns| ns < UNTIMED);
    ns.map(Some).ok_or_else(|| {
        let what = format!("\"{name}\" is too large; is it in the unit of the header (\"unit\")?");
        Bad::at(line, what)
    })
}

#[cfg(test)]
mod tests;

//! Builds a history from the lines of a file: numbers names, and orders lines by time.

mod pairing;

use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap};

use locklab_history::{Name, Told};
use locklab_values::units::ns_from_ms;

use self::pairing::Pairing;
use crate::amount::{Amount, Unit};
use crate::history::{Clock, Deadline, LockHistory, Shown};
use crate::models::ModelName;
use crate::raw::{Bad, F, Header, RawEvent, Type, permits_without_semaphore};

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
    /// How many lines have a field that says nothing of their operation.
    idle: BTreeMap<(&'static str, &'static str), u64>,
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
    /// Its place among the lines of its instant.
    nth: u32,
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
            idle: BTreeMap::new(),
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
        fits(raw, self.header.model).map_err(|what| Bad::at(line, what))?;
        for field in idle_fields(raw) {
            *self.idle.entry((field, raw.f.name())).or_default() += 1;
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
            nth: 0,
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
        let idle = self.idle.iter().map(|((field, f), lines)| {
            format!("{field} of {f} ({})", locklab_values::count::times(*lines))
        });
        let idle = idle.collect::<Vec<_>>().join(", ");
        if !idle.is_empty() {
            self.notes.push(format!("passed over: {idle}"));
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

/// Whether a line says nothing that only other models know.
///
/// # Errors
///
/// What it says, and which models know it.
fn fits(raw: &RawEvent, model: ModelName) -> Result<(), String> {
    if raw.shared && !model.has_readers() {
        return Err(format!(
            "\"shared\" is a reader's, and the model {model} has none; use read-write or reentrant-read-write"
        ));
    }
    match raw.permits {
        Some(0) => Err("\"permits\" are at least 1".into()),
        Some(2..) if model != ModelName::Semaphore => Err(permits_without_semaphore(model)),
        _ => Ok(()),
    }
}

/// The fields of a line that say nothing of its operation.
fn idle_fields(raw: &RawEvent) -> impl Iterator<Item = &'static str> {
    let grants = matches!(raw.f, F::Acquire | F::Extend);
    let accesses = matches!(raw.f, F::Read | F::Write);
    let fields = [
        ("validity", raw.validity.is_some() && !grants),
        ("deadline", raw.deadline.is_some() && !grants),
        ("clock", raw.clock.is_some() && raw.deadline.is_none()),
        (
            "token",
            raw.token.is_some() && !accesses && raw.f != F::Acquire,
        ),
        ("version", raw.version.is_some() && !accesses),
        ("based_on", raw.based_on.is_some() && raw.f != F::Write),
    ];
    fields
        .into_iter()
        .filter_map(|(name, is_idle)| is_idle.then_some(name))
}

/// Nobody knows the order of lines at one instant but of those of one process. So they come in the order that is best
/// for the lock: again and again the line that harms it least, of those before which no other line has to come. Where
/// that does not decide names do, since lines of two processes may stand anywhere in the file; but accesses keep their
/// order, which is that of the resource.
fn calls_first(tied: &mut [Line], names: &[Name]) {
    let harms = harms(tied);
    // Per line: how many have to come before it and have not, and those before which it has to come.
    let mut before = vec![0_u8; tied.len()];
    let mut after = vec![[None; 2]; tied.len()];
    let mut of_process: BTreeMap<u32, usize> = BTreeMap::new();
    let mut access = None;
    for (place, line) in tied.iter().enumerate() {
        let of_resource = is_access(line).then(|| access.replace(place)).flatten();
        let earlier = [of_process.insert(line.process, place), of_resource];
        for (earlier, nth) in earlier.into_iter().zip(0..) {
            if let Some(earlier) = earlier {
                after[earlier][nth] = Some(place);
                before[place] += 1;
            }
        }
    }
    let entry = |place: usize| Reverse((harms[place], &names[tied[place].process as usize], place));
    let free = (0..tied.len()).filter(|&place| before[place] == 0);
    let mut free: BinaryHeap<_> = free.map(entry).collect();
    let mut order = Vec::with_capacity(tied.len());
    while let Some(Reverse((.., place))) = free.pop() {
        order.push(place);
        for later in after[place].into_iter().flatten() {
            before[later] -= 1;
            if before[later] == 0 {
                free.push(entry(later));
            }
        }
    }
    drop(free);
    for (nth, place) in (0..).zip(order) {
        tied[place].nth = nth;
    }
    tied.sort_unstable_by_key(|line| line.nth);
}

/// What a line does to the lock if it comes before the others of its instant, from the least harm on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Harm {
    /// A call: nothing returned before it.
    Call,
    /// A return without a grant, or the end of one.
    Ends,
    /// A grant that its holder releases at this instant.
    Passes,
    /// A grant or an access, after which its process calls something else.
    Leads,
    /// A grant that stays.
    Grants,
    /// An access, which is served when all have what they have.
    Accesses,
}

fn harms(tied: &[Line]) -> Vec<Harm> {
    // Per process: what it calls next, of the lines behind this one.
    let mut next_call: BTreeMap<u32, F> = BTreeMap::new();
    let harm = |line: &Line| match (line.kind, line.f) {
        (_, F::Lost | F::Crash) => Harm::Ends,
        (Type::Invoke, _) => {
            next_call.insert(line.process, line.f);
            Harm::Call
        }
        (Type::Ok, F::Acquire | F::Extend) | (_, F::Read | F::Write) => {
            match next_call.get(&line.process) {
                Some(F::Release) if !is_access(line) => Harm::Passes,
                Some(_) => Harm::Leads,
                None if is_access(line) => Harm::Accesses,
                None => Harm::Grants,
            }
        }
        _ => Harm::Ends,
    };
    let mut harms: Vec<Harm> = tied.iter().rev().map(harm).collect();
    harms.reverse();
    harms
}

/// Whether it is an access when it was served.
fn is_access(line: &Line) -> bool {
    line.kind != Type::Invoke && matches!(line.f, F::Read | F::Write)
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

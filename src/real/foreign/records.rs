//! Makes records of what foreign programs told.
//!
//! A belief is recorded as far as it is certain: from the latest time at which the program may have
//! told `acquired`, to the earliest time at which it may have told its end. So a pipe that is slow
//! makes a belief shorter, and never makes a violation.
//!
//! Where the program says by its own clock when something happened, and this is plausible, the time is
//! exact. Calls are recorded with exact times only, and so is the grant under which a program accesses
//! the resource: without them liveness, the order of grants and foreign releases are not judged.

use locklab_history::{Access, ClockKind, Deadline, Event, Failpoint, Name, Op, Outcome, Record};
use locklab_shim::Readings;
use locklab_values::units::ns_from_fractional_ms;
use locklab_vecmap::{VecMap, VecSet};

use super::answers::Answers;
use super::told::{Line, News, Text, Told, Word};

/// The clocks of the hosts of a run.
pub(crate) trait HostReadings {
    /// What the clocks of a host showed when the machine's monotonic clock showed this.
    fn at(&self, host: &Name, mono_ns: u64) -> Readings;

    /// Whether they may differ from the machine's.
    fn may_be_wrong(&self, host: &Name) -> bool;
}

/// What came of what was told.
#[derive(Debug, Default, PartialEq)]
pub(crate) struct Converted {
    /// By the name of the lock; that of a program that names none is empty.
    pub(crate) locks: VecMap<Name, OfLock>,
    /// What makes no sense of it, in words.
    pub(crate) notes: Vec<String>,
    /// How much more makes no sense.
    unsaid: u64,
}

/// What was told of one lock.
#[derive(Debug, Default, PartialEq)]
pub(crate) struct OfLock {
    /// The records of the clients. Their `at_ns` is the machine's monotonic clock.
    pub(crate) records: Vec<Record>,
    /// Every grant.
    pub(crate) grants: Vec<Granted>,
    /// How many may have it at once.
    pub(crate) permits: u32,
}

/// The most notes of a run about what makes no sense.
const MOST_NOTES: usize = 50;

/// A grant that a program told.
#[derive(Debug, PartialEq)]
pub(crate) struct Granted {
    /// The program, or its task: see [`holder`].
    holder: Name,
    at_ns: u64,
    number: u32,
    is_exact: bool,
}

/// The name by which a history knows a task of a program; a program without tasks is its own holder.
fn holder(program: &Name, task: Option<&Text>) -> Name {
    match task {
        None => program.clone(),
        Some(task) => format!("{program}/{}", task.name()).into(),
    }
}

/// The program of a holder.
pub(crate) fn program_of(holder: &str) -> &str {
    holder.split('/').next().unwrap_or(holder)
}

/// Converts everything that was told, in the order in which it was read.
pub(crate) fn convert(told: &[Told], wire: &Answers, clocks: &dyn HostReadings) -> Converted {
    let mut converted = Converted::default();
    let hosts: VecSet<&Name> = told.iter().map(|told| &told.host).collect();
    for host in hosts {
        let own = told.iter().filter(|told| told.host == *host);
        let own = in_order(own.collect(), clocks.may_be_wrong(host));
        let clock = clock_of(host, &own, clocks);
        // Each of its tasks knows each lock for itself.
        let mut held: VecMap<(Name, Name), Program<'_>> = VecMap::new();
        let mut began_ns = 0;
        // Whoever names one lock, or one task, in some lines means it in all.
        let only_lock = only(&own, |line| line.lock.as_ref());
        let only_task = only(&own, |line| line.task.as_ref());
        // The lock that each task was refused last.
        let mut refused: VecMap<Name, Name> = VecMap::new();
        for told in own {
            match &told.news {
                News::Line(line) => {
                    let lock = { line.lock.as_ref() }
                        .or(only_lock)
                        .map_or_else(|| "".into(), Text::name);
                    let holder = holder(host, line.task.as_ref().or(only_task));
                    // Who asks for another lock has given up on the one that it was refused.
                    if line.word == Word::Acquiring
                        && let Some(before) = refused.remove(&holder)
                        && before != lock
                        && let Some(program) = held.get_mut(&(holder.clone(), before))
                    {
                        let gives_up = Event::reached(Failpoint::GivingUp);
                        program.push(program.now_ns, gives_up, &mut converted);
                    }
                    if line.word == Word::Refused {
                        refused.insert(holder.clone(), lock.clone());
                    }
                    let program = held.entry((holder.clone(), lock.clone()));
                    let program = program.or_insert_with(|| Program {
                        host,
                        holder,
                        lock,
                        wire,
                        clocks,
                        clock,
                        now_ns: 0,
                        floor_ns: began_ns,
                        calls: 0,
                        grants: 0,
                        process: Processes::default(),
                        acquires: None,
                        holds: None,
                        has_lost: false,
                        releases: None,
                    });
                    program.take(told, &mut converted);
                }
                News::Garbled(why) => {
                    let what = format!("told what is not in the protocol: {why}");
                    converted.note(host, &what);
                }
                News::Began | News::Ended | News::Gone(_) => {
                    if told.news == News::Began {
                        began_ns = told.after_ns;
                    }
                    for program in held.values_mut() {
                        program.take(told, &mut converted);
                    }
                }
            }
        }
    }
    if converted.unsaid > 0 {
        let more = format!("{} more lines make no sense", converted.unsaid);
        converted.notes.push(more);
    }
    converted
}

/// Puts lines in the order of what they say, where each says when it was, and none says a time after it was read. A
/// program may collect lines, and write them later, in any order.
fn in_order(mut told: Vec<&Told>, may_be_wrong: bool) -> Vec<&Told> {
    let stamp = |told: &&Told| match told.news {
        News::Line(Line { ns, .. }) => ns.filter(|ns| *ns <= told.by_ns),
        _ => None,
    };
    let is_line = |told: &&Told| matches!(told.news, News::Line(_));
    for lines in told.split_mut(|told| !is_line(told)) {
        if !may_be_wrong && lines.iter().all(|line| stamp(line).is_some()) {
            lines.sort_by_key(|line| stamp(line));
        }
    }
    told
}

/// What these lines name, if they name one thing only.
fn only<'t>(told: &[&'t Told], of: fn(&'t Line) -> Option<&'t Text>) -> Option<&'t Text> {
    let mut named = told.iter().filter_map(|told| match &told.news {
        News::Line(line) => of(line),
        _ => None,
    });
    let first = named.next()?;
    named.all(|other| other == first).then_some(first)
}

impl Converted {
    /// Notes something once, and counts what comes after many notes.
    fn note(&mut self, host: &Name, what: &str) {
        let note = format!("{host} {what}");
        match self.notes.len() < MOST_NOTES {
            _ if self.notes.contains(&note) => {}
            true => self.notes.push(note),
            false => self.unsaid += 1,
        }
    }
}

/// Finds the grant of each access that is under none yet: the last one that its client told before, if it
/// is known exactly when that was. Which of its tasks has used the resource is not known, unless it has one.
pub(crate) fn assign_grants(records: &mut [Record], grants: &[Granted]) {
    let mut of_hosts: VecMap<&str, Vec<&Granted>> = VecMap::new();
    for granted in grants {
        let host = program_of(&granted.holder);
        of_hosts.entry(host).or_default().push(granted);
    }
    of_hosts.retain(|_, grants| grants.iter().all(|it| it.holder == grants[0].holder));
    for record in records {
        let at_ns = record.at_ns;
        if let Event::Access { client, grant, .. } = &mut record.event
            && *grant == 0
            && let Some(granted) = of_hosts.get(&**client)
        {
            let before = granted.partition_point(|granted| granted.at_ns <= at_ns);
            let last = granted[..before].last();
            *grant = last.map_or(0, |last| if last.is_exact { last.number } else { 0 });
            if let Some(last) = last {
                *client = last.holder.clone();
            }
        }
    }
}

/// A write under a later grant than the client's last read is not computed from that, as far as anybody knows: it
/// overwrites nothing unseen, like a write without a read before it.
pub(crate) fn forget_reads_of_earlier_grants(records: &mut [Record]) {
    let mut current = 0;
    let mut read_under: VecMap<Name, u32> = VecMap::new();
    for record in records {
        let Event::Access {
            client,
            grant,
            access,
            accepted: true,
            ..
        } = &mut record.event
        else {
            continue;
        };
        match access {
            Access::Read { .. } => {
                read_under.insert(client.clone(), *grant);
            }
            Access::Write { based_on, version } => {
                let read = read_under.get(client).copied().unwrap_or(0);
                if read != 0 && *grant > read {
                    *based_on = current;
                }
                current = *version;
            }
        }
    }
}

/// The clock that a program goes by.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Clock {
    /// Its host's, which may be wrong.
    Host,
    /// The machine's: a program into which no library can be loaded sees nothing of its host's.
    Machine,
}

/// The clock by which more of what the program told was told when it can have been.
fn clock_of(host: &Name, told: &[&Told], clocks: &dyn HostReadings) -> Clock {
    if !clocks.may_be_wrong(host) {
        return Clock::Machine;
    }
    let stamped = |told: &&&Told| matches!(&told.news, News::Line(Line { ns: Some(_), .. }));
    let fits = |clock| {
        let stamped = told.iter().filter(stamped);
        { stamped }.filter(move |told| within(told, clock, host, clocks).is_some())
    };
    match fits(Clock::Host).count() >= fits(Clock::Machine).count() {
        true => Clock::Host,
        false => Clock::Machine,
    }
}

/// When a line was told by its own word, if the pipe does not contradict it.
fn within(told: &Told, clock: Clock, host: &Name, clocks: &dyn HostReadings) -> Option<u64> {
    let News::Line(Line { ns: Some(ns), .. }) = told.news else {
        return None;
    };
    let (after_ns, by_ns) = (told.after_ns, told.by_ns);
    match clock {
        Clock::Machine => (after_ns..=by_ns).contains(&ns).then_some(ns),
        Clock::Host => {
            let reading = |at_ns| clocks.at(host, at_ns).mono_ns;
            if !(reading(after_ns)..=reading(by_ns)).contains(&ns) {
                return None;
            }
            // The last time at which the clock showed no more than this.
            let (mut low, mut high) = (after_ns, by_ns);
            while low < high {
                let middle = low + (high - low).div_ceil(2);
                match reading(middle) <= ns {
                    true => low = middle,
                    false => high = middle - 1,
                }
            }
            Some(low)
        }
    }
}

/// When something was told, in nanoseconds of the machine's monotonic clock.
#[derive(Debug, Clone, Copy)]
struct Time {
    /// At this time or later.
    after_ns: u64,
    /// At this time or earlier.
    by_ns: u64,
}

impl Time {
    fn is_exact(self) -> bool {
        self.after_ns == self.by_ns
    }
}

/// The processes of a holder.
#[derive(Default)]
struct Processes {
    asks: Option<u32>,
    holds: Option<u32>,
}

/// A program, or one of its tasks, of which the words about one lock are converted.
struct Program<'a> {
    host: &'a Name,
    holder: Name,
    lock: Name,
    wire: &'a Answers<'a>,
    clocks: &'a dyn HostReadings,
    clock: Clock,
    /// The time of its last record.
    now_ns: u64,
    /// Before this nothing can have happened that is told next.
    floor_ns: u64,
    calls: u32,
    grants: u32,
    /// The process that it told when it asked last, and when it was granted the lock last.
    process: Processes,
    /// The call of acquire under way.
    acquires: Option<u32>,
    /// The grant that it has.
    holds: Option<u32>,
    /// Whether it has told that it has lost its last grant.
    has_lost: bool,
    /// The grant that it releases, and the call.
    releases: Option<(u32, Option<u32>)>,
}

impl Program<'_> {
    fn take(&mut self, told: &Told, converted: &mut Converted) {
        let ends = Time {
            after_ns: told.after_ns,
            by_ns: told.by_ns,
        };
        match &told.news {
            News::Began => {
                (self.acquires, self.holds, self.releases) = (None, None, None);
                self.has_lost = false;
                self.floor_ns = told.after_ns;
            }
            News::Garbled(_) => {}
            News::Ended => {
                self.end_belief(ends, converted);
            }
            News::Gone(process) => {
                if self.process.asks == Some(*process) {
                    self.acquires = None;
                }
                if self.process.holds == Some(*process) {
                    self.end_belief(ends, converted);
                    self.releases = None;
                }
            }
            News::Line(line) => {
                let time = self.time(told, line);
                self.floor_ns = time.after_ns.max(self.floor_ns);
                match line.word {
                    Word::Acquiring => self.process.asks = line.pid,
                    Word::Acquired => self.process.holds = line.pid,
                    _ => {}
                }
                self.hear(line, time, told.by_ns, converted);
            }
        }
    }

    /// When a line was told. A program that was paused before it wrote the line tells an earlier time than
    /// the pipe; one whose clock may be wrong is not believed that.
    fn time(&self, told: &Told, line: &Line) -> Time {
        let own_ns = match self.clocks.may_be_wrong(self.host) {
            true => within(told, self.clock, self.host, self.clocks),
            false => line
                .ns
                .filter(|ns| (self.floor_ns..=told.by_ns).contains(ns)),
        };
        let (after_ns, by_ns) = own_ns.map_or((told.after_ns, told.by_ns), |ns| (ns, ns));
        Time { after_ns, by_ns }
    }

    fn hear(&mut self, line: &Line, time: Time, read_ns: u64, to: &mut Converted) {
        match line.word {
            Word::Acquiring => self.asks(time, to),
            Word::Refused => self.completes(Outcome::Failed, time.by_ns, to),
            Word::Acquired => self.gets(line, time, read_ns, to),
            Word::Extended => match self.holds {
                Some(grant) => self.believes(grant, line, (time, time.by_ns), to),
                None => to.note(self.host, "told \"extended\" without a lock"),
            },
            Word::Lost => {
                if self.holds.is_some() {
                    self.push(time.after_ns, Event::reached(Failpoint::Stopped), to);
                }
                self.end_belief(time, to);
                self.has_lost = true;
            }
            Word::Releasing => self.releases(time, to),
            Word::Released => self.has_released(line, time, to),
        }
    }

    fn asks(&mut self, time: Time, to: &mut Converted) {
        // A second line belongs to the same wait.
        if time.is_exact() && self.acquires.is_none() {
            let call = self.next_call();
            self.acquires = Some(call);
            let op = Op::Acquire;
            self.push(time.by_ns, Event::Invoke { call, op }, to);
        }
    }

    fn completes(&mut self, outcome: Outcome, at_ns: u64, to: &mut Converted) {
        if let Some(call) = self.acquires.take() {
            let event = Event::Complete {
                call,
                op: Op::Acquire,
                outcome,
                detail: String::new(),
            };
            self.push(at_ns, event, to);
        }
    }

    /// `read_ns`: when the line was read.
    fn gets(&mut self, line: &Line, time: Time, read_ns: u64, to: &mut Converted) {
        if self.holds.is_some() {
            to.note(self.host, "told \"acquired\" while it had the lock");
            self.end_belief(time, to);
        }
        // Its lease may count from before the request, and it had the lock when it was answered.
        let answered_ns = self.wire.after(self.host, time.by_ns, read_ns);
        let had_ns = answered_ns.unwrap_or(time.by_ns);
        self.completes(Outcome::Ok, had_ns, to);
        self.has_lost = false;
        self.grants += 1;
        self.holds = Some(self.grants);
        self.believes(self.grants, line, (time, had_ns), to);
        let lock = to.locks.entry(self.lock.clone()).or_default();
        lock.permits = lock.permits.max(line.permits.unwrap_or(1));
        lock.grants.push(Granted {
            holder: self.holder.clone(),
            at_ns: time.by_ns,
            number: self.grants,
            is_exact: time.is_exact(),
        });
    }

    /// It may rely on the lock from `from_ns` on, and for as long as it tells from the earliest time.
    fn believes(
        &mut self,
        grant: u32,
        line: &Line,
        (time, from_ns): (Time, u64),
        to: &mut Converted,
    ) {
        // The cast saturates: a grant that came after its lease has a time below 0, and gives nothing.
        let ttl_ns = line.ttl_ms.map(|ms| ns_from_fractional_ms(ms) as u64);
        let event = Event::BeliefBegins {
            grant,
            deadline: ttl_ns.map(|ttl_ns| self.deadline(time, ttl_ns)),
            token: line.token,
            shared: line.shared.unwrap_or(false),
        };
        self.push(from_ns, event, to);
    }

    /// When a lease ends by the clock that the program goes by. Where no stamp tells which one that is, the
    /// earlier end is certain.
    fn deadline(&self, time: Time, ttl_ns: u64) -> Deadline {
        let reading = |at_ns| self.clocks.at(self.host, at_ns).mono_ns;
        let by_host = reading(time.after_ns).saturating_add(ttl_ns);
        let by_machine = reading(time.after_ns.saturating_add(ttl_ns));
        Deadline {
            clock: ClockKind::Monotonic,
            at_ns: match self.clock {
                Clock::Host if time.is_exact() => by_host,
                Clock::Host => by_host.min(by_machine),
                Clock::Machine => by_machine,
            },
        }
    }

    fn end_belief(&mut self, time: Time, to: &mut Converted) -> Option<u32> {
        let grant = self.holds.take()?;
        self.push(time.after_ns, Event::BeliefEnds { grant }, to);
        Some(grant)
    }

    fn releases(&mut self, time: Time, to: &mut Converted) {
        let Some(grant) = self.end_belief(time, to) else {
            // A release of what was lost is a matter of form.
            if self.has_lost {
                return;
            }
            return to.note(self.host, "told \"releasing\" without a lock");
        };
        let call = time.is_exact().then(|| self.next_call());
        if let Some(call) = call {
            let op = Op::Release;
            self.push(time.after_ns, Event::Invoke { call, op }, to);
        }
        self.releases = Some((grant, call));
    }

    fn has_released(&mut self, line: &Line, time: Time, to: &mut Converted) {
        if self.holds.is_some() {
            // When it called release it did not tell: perhaps at once.
            to.note(self.host, "told \"released\" without \"releasing\"");
            let after_ns = self.now_ns;
            self.end_belief(Time { after_ns, ..time }, to);
            return;
        }
        let Some((grant, call)) = self.releases.take() else {
            if std::mem::take(&mut self.has_lost) {
                return;
            }
            return to.note(self.host, "told \"released\" without a lock");
        };
        if let Some(call) = call {
            let event = Event::Complete {
                call,
                op: Op::Release,
                outcome: Outcome::Ok,
                detail: String::new(),
            };
            self.push(time.by_ns, event, to);
            if let Some(removed) = line.removed {
                self.push(time.by_ns, Event::Released { grant, removed }, to);
            }
        }
    }

    fn next_call(&mut self) -> u32 {
        self.calls += 1;
        self.calls
    }

    /// Records an event; in the order in which it was told, so not before the last one.
    fn push(&mut self, at_ns: u64, event: Event, to: &mut Converted) {
        self.now_ns = self.now_ns.max(at_ns);
        let Readings { wall_ns, mono_ns } = self.clocks.at(self.host, self.now_ns);
        let lock = to.locks.entry(self.lock.clone()).or_default();
        lock.records.push(Record {
            at_ns: self.now_ns,
            host: self.holder.clone(),
            wall_ns,
            mono_ns,
            event,
        });
    }
}

#[cfg(test)]
mod tests;

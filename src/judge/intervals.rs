//! A lock's history as a history of Locklab's own, whose checks judge it by intervals: a process
//! surely holds the lock from the return of `acquire` to its call of `release`, or to its deadline.
//!
//! Where anybody may release the lock, a process that holds nothing surely may release any grant that was
//! asked for before its release returned: that grant is not surely held.
//!
//! A process that asks again when the deadline of its grant is over holds nothing by that grant any
//! more. `release` ends the newest grant of its holder, `lost` and `crash` end all, and so does a new grant of a lock
//! that cannot be held twice.

use locklab_check::Violation;
use locklab_history::timeline::{Grant, Timeline};
use locklab_history::{
    Access as Accessed, ClockKind, Deadline as Until, Event, History, Name, Op, Outcome as Told,
    RESOURCE, Record,
};
use locklab_vecmap::VecMap;

use crate::clocks::{readings, shown};
use crate::evidence::Evidence;
use crate::history::{Access, Call, Clock, Deadline, KeyHistory, Outcome, Point, What};
use crate::models::{Act, ModelName};

/// A lock's history in the form that `locklab-check` judges.
pub struct Intervals {
    /// That history.
    pub history: History,
    /// Per record, its line in the file.
    lines: Vec<u32>,
    /// The permits of the grants that begin with these records; of any other, one.
    permits: VecMap<usize, u32>,
}

impl Intervals {
    /// The history of a lock.
    pub fn of(key: &KeyHistory, model: ModelName) -> Intervals {
        let mut pass = Pass::new(key, model);
        for (point, clocks) in key.points.iter().zip(readings(key)) {
            pass.take(point, clocks);
        }
        let records = &pass.intervals.history.records;
        pass.intervals.history.end_ns = records.last().map_or(0, |last| last.at_ns + 1);
        pass.intervals
    }

    /// The permits of a grant.
    pub fn permits(&self, grant: &Grant) -> u32 {
        self.permits.get(&grant.began).copied().unwrap_or(1)
    }

    /// The lines of the call that led to a grant, and of the grant.
    pub fn lines_of<'t>(&'t self, grant: &Grant<'t>) -> impl Iterator<Item = u32> + use<'t> {
        let records = [grant.asked, Some(grant.began)];
        records
            .into_iter()
            .flatten()
            .map(|record| self.lines[record])
    }

    /// The part of the history around a violation, for a picture: from the first of its lines on, and
    /// a little more than the last.
    pub fn around(&self, evidence: &Evidence) -> History {
        let is_evidence = |line: &u32| evidence.lines.contains(line);
        let from = self.lines.iter().position(&is_evidence).unwrap_or(0);
        let last = self.lines.iter().rposition(is_evidence).unwrap_or(from);
        let end = (last + 20).min(from + 400).min(self.lines.len());
        let records = self.history.records[from..end].to_vec();
        History {
            end_ns: records.last().map_or(0, |last| last.at_ns + 1),
            records,
            messages: Vec::new(),
        }
    }

    /// A violation with its lines: those of the grants that its clients had then, of the end of the
    /// earlier holder's, and of what they did at that instant.
    pub fn evidence(&self, timeline: &Timeline, violation: &Violation) -> Evidence {
        let at_ns = violation.at_ns;
        let mut lines = Vec::new();
        for (place, client) in violation.clients.iter().enumerate() {
            let theirs = timeline
                .grants
                .iter()
                .filter(|grant| grant.client == client);
            let so_far = theirs.take_while(|grant| grant.begins_ns <= at_ns);
            let then = so_far.max_by_key(|grant| (grant.ends_ns > at_ns, grant.began));
            if let Some(grant) = then {
                lines.extend(self.lines_of(grant));
                let ended = grant.ended.filter(|_| place == 0);
                lines.extend(ended.map(|record| self.lines[record]));
            }
        }
        let records = &self.history.records;
        let from = records.partition_point(|record| record.at_ns < at_ns);
        let now = records[from..].iter().zip(&self.lines[from..]);
        let now = now.take_while(|(record, _)| record.at_ns == at_ns);
        lines.extend(
            now.filter(|(record, _)| involves(record, violation))
                .map(|(_, line)| *line),
        );
        Evidence::new(violation.clone(), lines)
    }
}

fn involves(record: &Record, violation: &Violation) -> bool {
    let name = match &record.event {
        Event::Access { client, .. } => client,
        _ => &record.host,
    };
    violation.clients.contains(name)
}

struct Pass<'k> {
    key: &'k KeyHistory,
    model: ModelName,
    intervals: Intervals,
    resource: Name,
    holders: Vec<Holder>,
    /// Per call of release that has not returned: the grant that it ends.
    releases: VecMap<usize, u32>,
    /// Until when a release is under way that may release anybody's grant.
    loose_until_ns: Option<u64>,
    /// Until when the releases so far were under way.
    released_ns: Option<u64>,
    /// The version of the resource.
    version: u64,
}

#[derive(Default, Clone)]
struct Holder {
    grants: u32,
    open: Vec<Open>,
}

/// A grant that has not ended.
#[derive(Clone, Copy)]
struct Open {
    number: u32,
    deadline: Option<Deadline>,
    token: Option<u64>,
    shared: bool,
    permits: u32,
}

impl<'k> Pass<'k> {
    fn new(key: &'k KeyHistory, model: ModelName) -> Self {
        let history = History {
            records: Vec::with_capacity(key.points.len() * 2),
            ..History::default()
        };
        Pass {
            key,
            model,
            intervals: Intervals {
                history,
                lines: Vec::with_capacity(key.points.len() * 2),
                permits: VecMap::new(),
            },
            resource: RESOURCE.into(),
            holders: vec![Holder::default(); key.names.len()],
            releases: VecMap::new(),
            loose_until_ns: None,
            released_ns: None,
            version: 0,
        }
    }

    fn record(&mut self, point: &Point, clocks: (u64, u64), event: Event) {
        let host = match event {
            Event::Access { .. } => self.resource.clone(),
            _ => self.key.names[point.holder as usize].clone(),
        };
        self.intervals.lines.push(point.line);
        self.intervals.history.records.push(Record {
            at_ns: point.at_ns,
            host,
            wall_ns: clocks.0,
            mono_ns: clocks.1,
            event,
        });
    }

    fn take(&mut self, point: &Point, clocks: (u64, u64)) {
        match point.what {
            What::Invoked(index) => self.invoke(point, clocks, index as usize),
            What::Returned(index) => self.complete(point, clocks, index as usize),
            What::Lost => self.end_grants(point, clocks),
            What::Access(index) => self.access(point, clocks, self.key.accesses[index as usize]),
            What::Clocks => {}
        }
    }

    fn invoke(&mut self, point: &Point, clocks: (u64, u64), index: usize) {
        let call = &self.key.calls[index];
        let holder = point.holder as usize;
        if call.act == Act::Release && call.outcome != Outcome::Failed {
            let until_ns = call.returned.map_or(u64::MAX, |(at_ns, _)| at_ns);
            self.released_ns = self.released_ns.max(Some(until_ns));
        }
        match call.act {
            Act::Acquire => {
                let is_over = |open: &Open| {
                    let deadline = open.deadline.as_ref();
                    deadline.is_some_and(|deadline| {
                        shown(deadline.clock, point.at_ns, clocks) >= deadline.at_ns
                    })
                };
                let open = std::mem::take(&mut self.holders[holder].open);
                let (over, open): (Vec<Open>, _) = open.into_iter().partition(is_over);
                self.holders[holder].open = open;
                for Open { number: grant, .. } in over {
                    self.record(point, clocks, Event::BeliefEnds { grant });
                }
            }
            Act::Release if self.is_loose(point, clocks, call) => {
                // It may release what another release that is under way was for, which then releases a later grant.
                self.loose_until_ns = self.loose_until_ns.max(self.released_ns);
                self.end_all(point, clocks);
            }
            Act::Release => {
                self.bring_forward(call);
                self.end(point, clocks, index, call.permits);
            }
            Act::Extend => self.shorten(point, clocks, call),
        }
        let op = op(call.act);
        let call = index as u32;
        self.record(point, clocks, Event::Invoke { call, op });
    }

    /// A call that may make the lease shorter may do so at once.
    fn shorten(&mut self, point: &Point, clocks: (u64, u64), call: &Call) {
        let left_ns = |deadline: Deadline| {
            let now_ns = shown(deadline.clock, point.at_ns, clocks);
            deadline.at_ns.saturating_sub(now_ns)
        };
        let open = self.holders[point.holder as usize].open.last_mut();
        if let (Some(open), Some(deadline)) = (open, call.deadline)
            && call.outcome != Outcome::Failed
            && { open.deadline }.is_none_or(|longer| left_ns(deadline) < left_ns(longer))
        {
            open.deadline = Some(deadline);
            let open = *open;
            self.believe(point, clocks, open);
        }
    }

    /// Whether it may release the grant of anybody: its holder has none, or one that may be over when it takes effect.
    fn is_loose(&self, point: &Point, clocks: (u64, u64), call: &Call) -> bool {
        let returned_ns = call.returned.map_or(u64::MAX, |(at_ns, _)| at_ns);
        let may_be_over = |open: &Open| {
            let left_ns = |deadline: Deadline| {
                let now_ns = shown(deadline.clock, point.at_ns, clocks);
                deadline.at_ns.saturating_sub(now_ns)
            };
            { open.deadline }.is_some_and(|it| left_ns(it) <= returned_ns - point.at_ns)
        };
        let mut open = self.holders[call.holder as usize].open.iter();
        !self.model.knows_owners() && call.outcome != Outcome::Failed && open.all(may_be_over)
    }

    /// Ends the grants of all, of which one may have been released by somebody else.
    fn end_all(&mut self, point: &Point, clocks: (u64, u64)) {
        for holder in 0..self.holders.len() {
            let theirs = Point {
                holder: holder as u32,
                ..*point
            };
            self.end_grants(&theirs, clocks);
        }
    }

    /// Ends all grants of a holder.
    fn end_grants(&mut self, point: &Point, clocks: (u64, u64)) {
        for open in std::mem::take(&mut self.holders[point.holder as usize].open) {
            self.record(point, clocks, Event::BeliefEnds { grant: open.number });
        }
    }

    /// A writer that reads as well releases one of the two: makes the newest grant of that kind the newest.
    fn bring_forward(&mut self, call: &Call) {
        let open = &mut self.holders[call.holder as usize].open;
        if let Some(place) = open.iter().rposition(|open| open.shared == call.shared) {
            let released = open.remove(place);
            open.push(released);
        }
    }

    /// Ends the newest grants of a holder, up to as many permits as it returns.
    fn end(&mut self, point: &Point, clocks: (u64, u64), release: usize, mut permits: u32) {
        while permits > 0
            && let Some(open) = self.holders[point.holder as usize].open.pop()
        {
            self.record(point, clocks, Event::BeliefEnds { grant: open.number });
            self.releases.insert(release, open.number);
            let left = open.permits.saturating_sub(permits);
            permits = permits.saturating_sub(open.permits);
            if left > 0 {
                let rest = Open {
                    permits: left,
                    ..open
                };
                self.begin(point, clocks, rest);
            }
        }
    }

    /// Begins a new grant.
    fn begin(&mut self, point: &Point, clocks: (u64, u64), open: Open) {
        let holder = &mut self.holders[point.holder as usize];
        holder.grants += 1;
        let open = Open {
            number: holder.grants,
            ..open
        };
        holder.open.push(open);
        if open.permits != 1 {
            let began = self.intervals.history.records.len();
            self.intervals.permits.insert(began, open.permits);
        }
        self.believe(point, clocks, open);
    }

    fn believe(&mut self, point: &Point, clocks: (u64, u64), open: Open) {
        let uses_mono = self.key.uses(point.holder, Clock::Mono);
        let deadline = open.deadline.map(|deadline| Until {
            clock: match deadline.clock {
                Clock::Wall => ClockKind::Wall,
                Clock::Mono => ClockKind::Monotonic,
                // The clock that this holder's deadlines do not use shows true time.
                Clock::Time if uses_mono => ClockKind::Wall,
                Clock::Time => ClockKind::Monotonic,
            },
            at_ns: deadline.at_ns,
        });
        let event = Event::BeliefBegins {
            grant: open.number,
            deadline,
            token: open.token,
            shared: open.shared,
        };
        self.record(point, clocks, event);
    }

    fn complete(&mut self, point: &Point, clocks: (u64, u64), index: usize) {
        let call = &self.key.calls[index];
        let outcome = match call.outcome {
            Outcome::Ok => Told::Ok,
            Outcome::Failed => Told::Failed,
            Outcome::Unknown => Told::Unknown,
        };
        let complete = Event::Complete {
            call: index as u32,
            op: op(call.act),
            outcome,
            detail: String::new(),
        };
        self.record(point, clocks, complete);
        match (call.act, call.outcome) {
            (Act::Acquire, Outcome::Ok) if self.loose_until_ns < Some(call.invoked_ns) => {
                // Who is granted a lock that it cannot hold twice has lost it before.
                if !self.model.is_held_again(call.shared) {
                    self.end_grants(point, clocks);
                }
                let open = Open {
                    number: 0,
                    deadline: call.deadline,
                    token: call.token,
                    shared: call.shared,
                    permits: call.permits,
                };
                self.begin(point, clocks, open);
            }
            (Act::Extend, Outcome::Ok) => {
                if let Some(open) = self.holders[point.holder as usize].open.last_mut() {
                    open.deadline = call.deadline.or(open.deadline);
                    let open = *open;
                    self.believe(point, clocks, open);
                }
            }
            (Act::Release, Outcome::Ok | Outcome::Failed) => {
                let grant = self.releases.remove(&index).unwrap_or(0);
                let removed = u32::from(call.outcome == Outcome::Ok);
                self.record(point, clocks, Event::Released { grant, removed });
            }
            _ => {}
        }
    }

    fn access(&mut self, point: &Point, clocks: (u64, u64), access: Access) {
        let holder = &self.holders[point.holder as usize];
        let shown = holder
            .open
            .iter()
            .find(|open| access.token.is_some() && open.token == access.token);
        let grant = shown.map_or(holder.grants, |open| open.number);
        let version = match (access.version, access.writes && access.accepted) {
            (Some(version), _) => version,
            (None, true) => self.version + 1,
            (None, false) => self.version,
        };
        let accessed = match access.writes {
            true => Accessed::Write {
                based_on: access.based_on.unwrap_or(self.version),
                version,
            },
            false => Accessed::Read { version },
        };
        if access.writes && access.accepted {
            self.version = version;
        }
        if self.key.uses(point.holder, Clock::Wall) || self.key.uses(point.holder, Clock::Mono) {
            // A record of the holder, with its clocks.
            let call = 0;
            let op = if access.writes { Op::Write } else { Op::Read };
            self.record(point, clocks, Event::Invoke { call, op });
        }
        let event = Event::Access {
            client: self.key.names[point.holder as usize].clone(),
            grant,
            access: accessed,
            token: access.token,
            accepted: access.accepted,
        };
        self.record(point, clocks, event);
    }
}

fn op(act: Act) -> Op {
    match act {
        Act::Acquire => Op::Acquire,
        Act::Release => Op::Release,
        Act::Extend => Op::Extend,
    }
}

//! Which client believed when, computed in one pass over a history. Checks, metrics and pictures
//! all read this result, so they cannot contradict one another.
//!
//! The pass also numbers the hosts, so that a check compares numbers, not names. A history may
//! come from a file, so nothing here assumes that it is well formed.

mod requests;

use std::cell::OnceCell;

use locklab_vecmap::VecMap;

use super::{At, ClockKind, Deadline, Event, Failpoint, History, Name, Op, Record, Told};

/// A history with its hosts numbered and its grants collected.
pub struct Timeline<'h> {
    /// Every grant of the lock, in the order in which the clients received them.
    pub grants: Vec<Grant<'h>>,
    /// The number of hosts; hosts are numbered from 0.
    pub hosts: usize,
    /// True time at the end, never earlier than the last record.
    pub end_ns: u64,
    /// How its times are told.
    pub told: Told,
    records: &'h [Record],
    /// Per record, the number of its host.
    host_of: Vec<u32>,
    numbers: VecMap<&'h str, usize>,
    /// Per host, the numbers of its grants and their indices in `grants`, in that order.
    grants_of: Vec<Vec<(u32, usize)>>,
    /// Per host, for each entry of `grants_of`: the last record up to which this or an earlier
    /// grant is believed, and the first record from which this or a later one is. Both increase
    /// from entry to entry, so a binary search finds the few grants that may be believed at a
    /// record.
    spans_of: Vec<Vec<(usize, usize)>>,
    asks_again: OnceCell<Vec<bool>>,
}

/// One stretch of a client's belief that it holds the lock.
///
/// A grant that is extended before its deadline remains one stretch. If it is extended after
/// its deadline, the client's belief has a gap, and the grant has two stretches. So it has if the
/// client's clock was set back, and the client looked at it again before its write and found the
/// deadline ahead (it reached `checked`).
pub struct Grant<'h> {
    /// The client that believes.
    pub client: &'h Name,
    /// The client's host number.
    pub host: usize,
    /// The number of this grant among its client's.
    pub number: u32,
    /// The fencing token that came with it.
    pub token: Option<u64>,
    /// Whether it is a reader's grant, which other readers can share.
    pub shared: bool,
    /// Index in the history of the call of `acquire`, if there is one.
    pub asked: Option<usize>,
    /// Index in the history of the beginning of the belief.
    pub began: usize,
    /// True time at which belief begins.
    pub begins_ns: u64,
    /// Index in the history of the end of the belief: the release or the client's death.
    /// `None`: the belief lasts to the end.
    pub ended: Option<usize>,
    /// True time of the release, of the client's death, or of the history's end.
    pub ends_ns: u64,
    /// `ends_ns`, or the true time at which the client's own clock reached the
    /// deadline, if that is earlier.
    pub lapses_ns: u64,
}

impl Grant<'_> {
    /// Whether the lock admits only one of the two: they belong to different clients, and they
    /// are not both readers' grants.
    pub fn excludes(&self, other: &Grant) -> bool {
        self.host != other.host && !(self.shared && other.shared)
    }

    /// Whether its client believes in it just before the record at this index.
    fn is_believed_at(&self, index: usize) -> bool {
        self.began < index && self.ended.is_none_or(|ended| ended >= index)
    }
}

impl<'h> Timeline<'h> {
    /// The timeline of a history.
    pub fn of(history: &'h History) -> Timeline<'h> {
        let mut pass = Builder::new(history);
        for (index, record) in history.records.iter().enumerate() {
            pass.take(index, record);
        }
        pass.finish()
    }

    /// The records in order: index, number of the host, record.
    pub fn records(&self) -> impl Iterator<Item = (usize, usize, &'h Record)> {
        let numbered = self.host_of.iter().zip(self.records).enumerate();
        numbered.map(|(index, (&host, record))| (index, host as usize, record))
    }

    /// All records in order.
    pub fn all_records(&self) -> &'h [Record] {
        self.records
    }

    /// The number of the host with this name, if it has a record.
    pub fn host(&self, name: &str) -> Option<usize> {
        self.numbers.get(name).copied()
    }

    /// The index in [`Timeline::grants`] of the grant with this number of this client. If it
    /// has several stretches, the first.
    pub fn grant(&self, host: usize, number: u32) -> Option<usize> {
        let grants = &self.grants_of[host];
        let first = grants.partition_point(|&(earlier, _)| earlier < number);
        let &(found, place) = grants.get(first)?;
        (found == number).then_some(place)
    }

    /// The grant that the resource identifies this way; see [`Timeline::grant`].
    pub fn grant_of(&self, (client, number): Holder) -> Option<usize> {
        self.grant(self.host(client)?, number)
    }

    /// The stretches of the grant that the resource identifies this way, in order.
    pub fn stretches(&self, (client, number): Holder) -> impl Iterator<Item = &Grant<'h>> {
        let host = self.host(client);
        let grants = host.map_or(&[][..], |host| &self.grants_of[host]);
        let stretches = grants.iter().filter(move |(other, _)| *other == number);
        stretches.map(|&(_, place)| &self.grants[place])
    }

    /// The grant that begins with the record at this index; `None` if the record extends a
    /// grant or gives none.
    pub fn granted(&self, index: usize) -> Option<&Grant<'h>> {
        let place = self
            .grants
            .binary_search_by_key(&index, |grant| grant.began);
        let place = place.ok()?;
        let grant = &self.grants[place];
        (self.grant(grant.host, grant.number) == Some(place)).then_some(grant)
    }

    /// The grants in which a client believes just before the record at this index takes effect.
    pub fn believed(&self, host: usize, index: usize) -> impl Iterator<Item = &Grant<'h>> {
        let spans = &self.spans_of[host];
        let first = spans.partition_point(|&(last, _)| last < index);
        let end = spans.partition_point(|&(_, first)| first < index);
        let grants = self.grants_of[host].get(first..end).unwrap_or_default();
        { grants.iter() }
            .map(|&(_, place)| &self.grants[place])
            .filter(move |grant| grant.is_believed_at(index))
    }

    /// A time, as it is told.
    pub fn at(&self, at_ns: u64) -> At {
        self.told.at(at_ns)
    }

    /// Whether the record at this index is a failed attempt after which its client goes on requesting the
    /// lock: it tries again, or waits for its turn, and has neither given up nor died by then.
    pub fn asks_again(&self, index: usize) -> bool {
        let find = || requests::asks_again(self.records, &self.host_of, self.hosts);
        self.asks_again.get_or_init(find)[index]
    }

    /// The clients of two grants, the earlier holder first; only one if they are the same.
    pub fn clients(&self, holders: [Holder; 2]) -> Vec<Name> {
        let mut holders = holders;
        holders.sort_by_key(|&holder| self.grant_of(holder));
        let mut clients: Vec<Name> = holders.map(|(client, _)| client.clone()).into();
        clients.dedup();
        clients
    }
}

/// A grant as the resource identifies it: the client, and the number of its grant.
pub type Holder<'h> = (&'h Name, u32);

/// The pass over the records.
struct Builder<'h> {
    timeline: Timeline<'h>,
    states: Vec<HostState>,
}

#[derive(Default)]
struct HostState {
    /// Index of its last record.
    last: Option<usize>,
    /// Index of its last call of `acquire`.
    asked: Option<usize>,
    /// Its stretches that have not ended yet.
    open: Vec<OpenGrant>,
}

struct OpenGrant {
    grant: usize,
    /// `None` if there is none.
    deadline: Option<Deadline>,
    /// Whether the deadline has been reached.
    has_lapsed: bool,
}

impl<'h> Builder<'h> {
    fn new(history: &'h History) -> Builder<'h> {
        let last_ns = history.records.last().map_or(0, |record| record.at_ns);
        Builder {
            timeline: Timeline {
                grants: Vec::new(),
                hosts: 0,
                end_ns: history.end_ns.max(last_ns),
                told: Told::default(),
                records: &history.records,
                host_of: Vec::with_capacity(history.records.len()),
                numbers: VecMap::new(),
                grants_of: Vec::new(),
                spans_of: Vec::new(),
                asks_again: OnceCell::new(),
            },
            states: Vec::new(),
        }
    }

    fn take(&mut self, index: usize, record: &'h Record) {
        let host = self.number(&record.host);
        self.timeline.host_of.push(host as u32);
        self.pass_deadlines(host, record);

        let state = &mut self.states[host];
        state.last = Some(index);
        match &record.event {
            Event::Invoke {
                op: Op::Acquire, ..
            } => state.asked = Some(index),
            Event::BeliefBegins {
                grant,
                deadline,
                token,
                shared,
            } => {
                let new = (*grant, *token, *shared);
                self.begin(index, host, record, new, *deadline);
            }
            Event::BeliefEnds { grant } => self.end(index, host, record.at_ns, Some(*grant)),
            event if event.is_reached(Failpoint::Checked) => self.revive(index, host, record),
            event if event.is_death() => self.end(index, host, record.at_ns, None),
            _ => {}
        }
    }

    fn number(&mut self, name: &'h Name) -> usize {
        let next = self.states.len();
        let number = *self.timeline.numbers.entry(name).or_insert(next);
        if number == next {
            self.states.push(HostState::default());
            self.timeline.grants_of.push(Vec::new());
        }
        number
    }

    /// Ends the beliefs whose deadline the host's clock has reached since its last record.
    ///
    /// If the clock is stepped back afterwards, that alone does not restore them: see
    /// [`Builder::revive`].
    fn pass_deadlines(&mut self, host: usize, now: &Record) {
        let HostState {
            last: Some(last),
            open,
            ..
        } = &mut self.states[host]
        else {
            return;
        };
        let last = &self.timeline.records[*last];
        for open in open.iter_mut().filter(|open| !open.has_lapsed) {
            if let Some(deadline) = open.deadline
                && let Some(at_ns) = reached(
                    deadline.at_ns,
                    (last.at_ns, reading(last, deadline.clock)),
                    (now.at_ns, reading(now, deadline.clock)),
                )
            {
                self.timeline.grants[open.grant].lapses_ns = at_ns;
                open.has_lapsed = true;
            }
        }
    }

    /// The client has looked at its clock and found its deadline ahead: if the deadline had been
    /// reached before, it believes again.
    fn revive(&mut self, index: usize, host: usize, record: &'h Record) {
        let is_ahead = |deadline: &Deadline| reading(record, deadline.clock) < deadline.at_ns;
        let open = &mut self.states[host].open;
        for place in 0..open.len() {
            let before = &mut open[place];
            if !before.has_lapsed || !before.deadline.as_ref().is_some_and(is_ahead) {
                continue;
            }
            // The next look goes on from the new stretch.
            let deadline = before.deadline.take();
            let stretch = Grant {
                began: index,
                begins_ns: record.at_ns,
                lapses_ns: u64::MAX,
                ..self.timeline.grants[before.grant]
            };
            let grant = self.timeline.grants.len();
            self.timeline.grants_of[host].push((stretch.number, grant));
            self.timeline.grants.push(stretch);
            open.push(OpenGrant {
                grant,
                deadline,
                has_lapsed: false,
            });
        }
    }

    fn begin(
        &mut self,
        index: usize,
        host: usize,
        record: &'h Record,
        (number, token, shared): (u32, Option<u64>, bool),
        deadline: Option<Deadline>,
    ) {
        let state = &mut self.states[host];
        let over = |deadline: &Deadline| reading(record, deadline.clock) >= deadline.at_ns;
        let grants = &mut self.timeline.grants;

        let renewed = state.open.iter_mut().rev().find(|open| {
            let grant = &grants[open.grant];
            grant.number == number && grant.lapses_ns == u64::MAX
        });
        if let Some(open) = renewed {
            open.deadline = deadline;
            if deadline.as_ref().is_some_and(over) {
                open.has_lapsed = true;
                grants[open.grant].lapses_ns = record.at_ns;
            }
            return;
        }

        let over = deadline.as_ref().is_some_and(over);
        let grant = grants.len();
        grants.push(Grant {
            client: &record.host,
            host,
            number,
            token,
            shared,
            asked: state.asked,
            began: index,
            begins_ns: record.at_ns,
            ended: None,
            ends_ns: u64::MAX,
            lapses_ns: if over { record.at_ns } else { u64::MAX },
        });
        state.open.push(OpenGrant {
            grant,
            deadline,
            has_lapsed: over,
        });
        self.timeline.grants_of[host].push((number, grant));
    }

    /// Ends one grant of a host, or all of them.
    fn end(&mut self, index: usize, host: usize, at_ns: u64, number: Option<u32>) {
        let grants = &mut self.timeline.grants;
        self.states[host].open.retain(|open| {
            let grant = &mut grants[open.grant];
            let ends = number.is_none_or(|number| number == grant.number);
            if ends {
                grant.ended = Some(index);
                grant.ends_ns = at_ns;
                grant.lapses_ns = grant.lapses_ns.min(at_ns);
            }
            !ends
        });
    }

    fn finish(mut self) -> Timeline<'h> {
        let end_ns = self.timeline.end_ns;
        for state in &self.states {
            let Some(last) = state.last.map(|index| &self.timeline.records[index]) else {
                continue;
            };
            for open in &state.open {
                let grant = &mut self.timeline.grants[open.grant];
                // After a host's last record the course of its clocks did not change.
                let ahead = open.deadline.filter(|_| !open.has_lapsed);
                let left_ns = ahead.map_or(u64::MAX, |deadline| {
                    deadline.at_ns.saturating_sub(reading(last, deadline.clock))
                });
                grant.lapses_ns = grant.lapses_ns.min(last.at_ns.saturating_add(left_ns));
                grant.lapses_ns = grant.lapses_ns.min(end_ns);
                grant.ends_ns = end_ns;
            }
        }
        for grants in &mut self.timeline.grants_of {
            grants.sort_unstable();
            let spans = spans(grants, &self.timeline.grants);
            self.timeline.spans_of.push(spans);
        }
        self.timeline.hosts = self.states.len();
        self.timeline
    }
}

/// See [`Timeline::spans_of`].
fn spans(of_host: &[(u32, usize)], grants: &[Grant]) -> Vec<(usize, usize)> {
    let grants = of_host.iter().map(|&(_, place)| &grants[place]);
    let last = grants.clone().scan(0, |last, grant| {
        *last = grant.ended.unwrap_or(usize::MAX).max(*last);
        Some(*last)
    });
    let mut spans: Vec<(usize, usize)> = last.zip(grants.map(|grant| grant.began)).collect();
    let mut first = usize::MAX;
    for (_, began) in spans.iter_mut().rev() {
        first = first.min(*began);
        *began = first;
    }
    spans
}

/// The first nanosecond of true time, after `from` and up to `to`, at which a clock shows the
/// deadline, if it reaches it. `from` and `to` are each a true time with the clock's reading at
/// that time.
///
/// Between two records of a host its clocks are linear, so this is exact apart from the rounding of
/// the readings. A clock that jumps past the deadline reaches it at the instant of the jump; a
/// stopped clock does not approach it.
pub fn reached(deadline_ns: u64, from: (u64, u64), to: (u64, u64)) -> Option<u64> {
    let ((from_ns, start), (to_ns, stop)) = (from, to);
    if stop < deadline_ns {
        return None;
    }
    // A deadline is watched only while the clock is before it: start < deadline <= stop.
    let left = u128::from(deadline_ns.saturating_sub(start));
    let course = u128::from(stop.saturating_sub(start)).max(1);
    let elapsed_ns = to_ns.saturating_sub(from_ns);
    let share_ns = (left * u128::from(elapsed_ns)).div_ceil(course);
    Some(from_ns + u64::try_from(share_ns).unwrap_or(elapsed_ns))
}

/// The reading of this kind of clock in a record, in nanoseconds.
pub fn reading(record: &Record, clock: ClockKind) -> u64 {
    match clock {
        ClockKind::Wall => record.wall_ns,
        ClockKind::Monotonic => record.mono_ns,
    }
}

#[cfg(test)]
mod stepped;

#[cfg(test)]
mod tests {
    use super::*;

    /// A history of events, given as time, host and event. Every clock shows true time.
    pub(super) fn history<const N: usize>(events: [(u64, &str, Event); N]) -> History {
        let record = |(at_ns, host, event): (u64, &str, Event)| Record {
            at_ns,
            host: host.into(),
            wall_ns: at_ns,
            mono_ns: at_ns,
            event,
        };
        History {
            records: events.into_iter().map(record).collect(),
            ..History::default()
        }
    }

    /// The event of a grant, or of its extension, up to this time.
    pub(super) fn begins(grant: u32, until_ns: u64) -> Event {
        Event::BeliefBegins {
            grant,
            deadline: Some(Deadline {
                clock: ClockKind::Wall,
                at_ns: until_ns,
            }),
            token: None,
            shared: false,
        }
    }

    /// The number of each grant, its beginning, its end by the deadline, and its end.
    pub(super) fn believed(history: &History) -> Vec<(u32, u64, u64, u64)> {
        let grants = Timeline::of(history).grants.into_iter();
        let outline = |it: Grant| (it.number, it.begins_ns, it.lapses_ns, it.ends_ns);
        grants.map(outline).collect()
    }

    #[test]
    fn of_several_grants_of_a_client_each_is_prolonged_and_ended_by_its_number() {
        let history = history([
            (10, "c1", begins(1, 50)),
            (20, "c1", begins(2, 60)),
            (30, "c1", begins(1, 90)),
            (70, "c1", Event::BeliefEnds { grant: 2 }),
            (80, "c1", Event::BeliefEnds { grant: 1 }),
        ]);
        assert_eq!(believed(&history), [(1, 10, 80, 80), (2, 20, 60, 70)]);
    }

    #[test]
    fn grant_extended_after_its_expiry_has_two_intervals() {
        let history = history([
            (10, "c1", begins(1, 20)),
            (30, "c1", begins(1, 40)),
            (50, "c1", Event::BeliefEnds { grant: 1 }),
        ]);
        assert_eq!(believed(&history), [(1, 10, 20, 50), (1, 30, 40, 50)]);
    }

    /// One client's grants nest, overlap, last to the end, and are numbered in another order than
    /// they began.
    #[test]
    fn a_client_believes_in_the_grants_that_have_begun_and_not_ended() {
        let ends = |grant| Event::BeliefEnds { grant };
        let history = history([
            (10, "c1", begins(3, 900)),
            (20, "c1", begins(1, 900)),
            (30, "c2", begins(1, 900)),
            (40, "c1", ends(1)),
            (50, "c1", begins(2, 900)),
            (60, "c1", ends(3)),
            (70, "c1", begins(4, 900)),
            (80, "c1", ends(2)),
            (90, "c1", begins(5, 900)),
            (95, "c1", ends(5)),
        ]);
        let timeline = Timeline::of(&history);
        let numbers = |index| -> Vec<u32> {
            let believed = timeline.believed(0, index);
            believed.map(|grant| grant.number).collect()
        };
        let expected: [&[u32]; 11] = [
            &[],
            &[3],
            &[1, 3],
            &[1, 3],
            &[3],
            &[2, 3],
            &[2],
            &[2, 4],
            &[4],
            &[4, 5],
            &[4],
        ];
        for (index, expected) in expected.into_iter().enumerate() {
            assert_eq!(numbers(index), expected, "before record {index}");
        }
    }

    #[test]
    fn only_the_first_record_of_a_grant_gives_it() {
        let history = history([
            (5, "c2", begins(1, 100)),
            (10, "c1", begins(1, 20)),
            (15, "c1", begins(1, 20)),
            (30, "c1", begins(1, 40)),
            (50, "c1", Event::BeliefEnds { grant: 1 }),
        ]);
        let timeline = Timeline::of(&history);
        let granted: Vec<Option<u64>> = (0..history.records.len())
            .map(|index| timeline.granted(index).map(|grant| grant.begins_ns))
            .collect();
        assert_eq!(granted, [Some(5), Some(10), None, None, None]);
    }

    #[test]
    fn of_two_holders_the_one_granted_first_is_named_first_and_one_once() {
        let history = history([(10, "c2", begins(1, 90)), (20, "c1", begins(1, 90))]);
        let timeline = Timeline::of(&history);
        let [one, two] = ["c1", "c2"].map(Name::from);
        let in_order = [two.clone(), one.clone()];
        assert_eq!(timeline.clients([(&one, 1), (&two, 1)]), in_order);
        assert_eq!(timeline.clients([(&two, 1), (&one, 1)]), in_order);
        assert_eq!(timeline.clients([(&one, 1), (&one, 1)]), ["c1".into()]);
    }

    #[test]
    fn a_deadline_is_reached_where_the_clock_shows_it() {
        // A clock at its rate, at its last reading, and beyond it.
        assert_eq!(reached(15, (110, 10), (120, 20)), Some(115));
        assert_eq!(reached(20, (110, 10), (120, 20)), Some(120));
        assert_eq!(reached(21, (110, 10), (120, 20)), None);
        // A clock at half its rate and at three times it; the readings are rounded down.
        assert_eq!(reached(13, (110, 10), (120, 15)), Some(116));
        assert_eq!(reached(20, (110, 10), (120, 40)), Some(114));
        // A jump.
        assert_eq!(reached(50, (110, 10), (110, 90)), Some(110));
    }
}

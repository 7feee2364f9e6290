//! Histories for tests, told event by event: who did what, at which millisecond.

mod bounds;
mod told;

pub use locklab_values::units::NS_PER_MS as MS;
use locklab_values::units::NS_PER_S;
use locklab_vecmap::VecMap;

use super::{Bounds, ResourceRole};
use locklab_history::{
    Access, ClockKind, Deadline, Event, Failpoint, FaultKind, FaultyLinks, History, Name, Op,
    Outcome, PacketFault, Phase, Record,
};

/// Every wall clock shows 2026 when the run begins.
const EPOCH_NS: u64 = 1_767_225_600 * NS_PER_S;

/// Two hosts with a link between them.
pub type Sides<'a> = [&'a str; 2];

/// A history under construction. Events are added in the order in which they happen; by default
/// the run ends a nanosecond after the last.
#[derive(Clone)]
pub struct HistoryBuilder {
    history: History,
    bounds: Bounds,
    hosts: VecMap<Name, Host>,
    /// The resource's version.
    version: u64,
}

#[derive(Clone)]
struct Host {
    /// True time of the last change of clock rate or offset, and the clocks' readings then.
    at_ns: u64,
    wall_ns: u64,
    mono_ns: u64,
    drift_ppm: i64,
    suspended: bool,
    calls: u32,
    /// The token of each grant.
    tokens: Vec<Option<u64>>,
}

impl Host {
    fn new() -> Host {
        Host {
            at_ns: 0,
            wall_ns: EPOCH_NS,
            mono_ns: 0,
            drift_ppm: 0,
            suspended: false,
            calls: 0,
            tokens: Vec::new(),
        }
    }

    /// The wall clock's and the monotonic clock's readings.
    fn clocks(&self, at_ns: u64) -> (u64, u64) {
        let elapsed_ns = (at_ns - self.at_ns) as i64;
        let course_ns = (elapsed_ns + elapsed_ns / 1_000 * self.drift_ppm / 1_000) as u64;
        let mono_ns = if self.suspended { 0 } else { course_ns };
        (self.wall_ns + course_ns, self.mono_ns + mono_ns)
    }
}

/// A history without events.
impl Default for HistoryBuilder {
    fn default() -> Self {
        HistoryBuilder {
            history: History::default(),
            bounds: Bounds {
                deadlock_ns: 1_000_000 * MS,
                time_outs_ns: 0,
                round_trips: 10,
                reply_slack_ns: None,
                resource: ResourceRole::Apart,
                compares_tokens: true,
                masters: 1,
                nodes: 1,
                acts_within_ns: Bounds::ACTS_WITHIN_NS,
                settle_ns: None,
                horizon_ns: u64::MAX,
            },
            hosts: VecMap::new(),
            version: 0,
        }
    }
}

impl HistoryBuilder {
    /// Records that the client calls `acquire`.
    pub fn tries(self, ms: u64, client: &str) -> Self {
        self.invokes(ms, client, Op::Acquire)
    }

    /// Records that the client's `acquire` is refused.
    pub fn fails(self, ms: u64, client: &str) -> Self {
        self.completes(ms, client, Op::Acquire, Outcome::Failed)
    }

    /// Records that the client's `acquire` is granted, and that it does not hold the lock yet.
    pub fn succeeds(self, ms: u64, client: &str) -> Self {
        self.completes(ms, client, Op::Acquire, Outcome::Ok)
    }

    /// Records that the client is granted the lock after having tried.
    pub fn granted(self, ms: u64, client: &str) -> Self {
        self.succeeds(ms, client).begins(ms, client, None, None)
    }

    /// Records that the client is granted the lock in shared mode after having tried.
    pub fn granted_to_read(self, ms: u64, client: &str) -> Self {
        self.completes(ms, client, Op::Acquire, Outcome::Ok)
            .begins_in(ms, client, None, None, true)
    }

    /// Records that the client asks for a longer lease of a lock that cannot give one.
    pub fn cannot_extend(self, ms: u64, client: &str) -> Self {
        let refused = Event::Complete {
            call: 0,
            op: Op::Extend,
            outcome: Outcome::Unsupported,
            detail: "this lock does not support extend".into(),
        };
        self.invokes(ms, client, Op::Extend)
            .record(ms, client, refused)
    }

    /// Records that the client waits for its turn.
    pub fn waits(self, ms: u64, client: &str) -> Self {
        self.record(ms, client, Event::reached(Failpoint::Waiting))
    }

    /// Records that the client gives up.
    pub fn gives_up(self, ms: u64, client: &str) -> Self {
        self.record(ms, client, Event::reached(Failpoint::GivingUp))
    }

    /// Records that the client has looked at its clock and found its deadline ahead.
    pub fn looks(self, ms: u64, client: &str) -> Self {
        self.record(ms, client, Event::reached(Failpoint::Checked))
    }

    /// Records that the client does not write, because its lease is over.
    pub fn stops(self, ms: u64, client: &str) -> Self {
        self.record(ms, client, Event::reached(Failpoint::Stopped))
    }

    /// The same as [`HistoryBuilder::granted`], with a fencing token.
    pub fn granted_with_token(self, ms: u64, client: &str, token: u64) -> Self {
        self.completes(ms, client, Op::Acquire, Outcome::Ok)
            .begins(ms, client, None, Some(token))
    }

    /// The same as [`HistoryBuilder::granted`], for `lease_ms` by one of its clocks.
    pub fn granted_for(self, ms: u64, client: &str, clock: ClockKind, lease_ms: u64) -> Self {
        self.completes(ms, client, Op::Acquire, Outcome::Ok).begins(
            ms,
            client,
            Some((clock, lease_ms)),
            None,
        )
    }

    /// Records that the client begins to believe that it holds the lock, without a call of
    /// `acquire`.
    pub fn holds(self, ms: u64, client: &str) -> Self {
        self.begins(ms, client, None, None)
    }

    /// The same, for `lease_ms` by one of its clocks.
    pub fn holds_for(self, ms: u64, client: &str, clock: ClockKind, lease_ms: u64) -> Self {
        self.begins(ms, client, Some((clock, lease_ms)), None)
    }

    /// Records that the client extends its last grant by `lease_ms` from now.
    pub fn prolongs(mut self, ms: u64, client: &str, clock: ClockKind, lease_ms: u64) -> Self {
        let event = Event::BeliefBegins {
            grant: self.last_grant(client),
            deadline: Some(self.deadline(ms, client, clock, lease_ms)),
            token: None,
            shared: false,
        };
        self.record(ms, client, event)
    }

    /// Records that the client calls `release` for its last grant.
    pub fn releases(mut self, ms: u64, client: &str) -> Self {
        let grant = self.last_grant(client);
        self.releases_grant(ms, client, grant)
    }

    /// Records that the client calls `release` for the grant of this number.
    pub fn releases_grant(self, ms: u64, client: &str, grant: u32) -> Self {
        self.invokes(ms, client, Op::Release)
            .record(ms, client, Event::BeliefEnds { grant })
    }

    /// Records that the client is about to send the command that deletes its lock.
    pub fn deletes(self, ms: u64, client: &str) -> Self {
        self.record(ms, client, Event::reached(Failpoint::Deleting))
    }

    /// Records that the release of the client's last grant returns.
    pub fn released(mut self, ms: u64, client: &str, removed: u32) -> Self {
        let grant = self.last_grant(client);
        self.released_grant(ms, client, grant, removed)
    }

    /// Records that the release of the grant of this number returns.
    pub fn released_grant(self, ms: u64, client: &str, grant: u32, removed: u32) -> Self {
        self.completes(ms, client, Op::Release, Outcome::Ok).record(
            ms,
            client,
            Event::Released { grant, removed },
        )
    }

    /// Records that the client's read of this version, under its last grant, is served.
    pub fn reads(mut self, ms: u64, client: &str, version: u64) -> Self {
        let grant = self.last_grant(client);
        self.accesses(ms, client, grant, Access::Read { version }, true)
    }

    /// Records that the client's write, under its last grant, is accepted and makes the next
    /// version.
    pub fn writes(mut self, ms: u64, client: &str, based_on: u64) -> Self {
        let grant = self.last_grant(client);
        self.writes_under(ms, client, grant, based_on)
    }

    /// Records that the client writes under the grant of this number.
    pub fn writes_under(mut self, ms: u64, client: &str, grant: u32, based_on: u64) -> Self {
        self.version += 1;
        let version = self.version;
        self.accesses(ms, client, grant, Access::Write { based_on, version }, true)
    }

    /// Records that the client's write is refused.
    pub fn refused_writing(mut self, ms: u64, client: &str, based_on: u64) -> Self {
        let grant = self.last_grant(client);
        self.refused_writing_under(ms, client, grant, based_on)
    }

    /// Records that the client's write under the grant of this number is refused.
    pub fn refused_writing_under(self, ms: u64, client: &str, grant: u32, based_on: u64) -> Self {
        let version = self.version;
        self.accesses(
            ms,
            client,
            grant,
            Access::Write { based_on, version },
            false,
        )
    }

    /// Records that the client adds an element to the set, and gets this outcome immediately.
    pub fn adds(self, ms: u64, client: &str, outcome: Outcome) -> Self {
        self.invokes(ms, client, Op::Add)
            .completes(ms, client, Op::Add, outcome)
    }

    /// Records that the client reads the set: these elements, by client and call, in that order.
    pub fn members(self, ms: u64, client: &str, found: &[(&str, u32)]) -> Self {
        let mut members: VecMap<Name, Vec<u32>> = VecMap::new();
        for (client, call) in found {
            members.entry((*client).into()).or_default().push(*call);
        }
        self.record(ms, client, Event::Members { members })
    }

    /// Records that a fault of this name, and of the kind that the name says, takes effect.
    pub fn fault_begins(self, ms: u64, host: &str, name: &str) -> Self {
        self.fault_named(ms, host, (name.into(), fault_kind(name)), Phase::Begins)
    }

    /// Records that the fault of this name ends on the host.
    pub fn fault_ends(self, ms: u64, host: &str, name: &str) -> Self {
        self.fault_named(ms, host, (name.into(), fault_kind(name)), Phase::Ends)
    }

    /// Records that the fault of this name never took effect.
    pub fn fault_missed(self, ms: u64, host: &str, name: &str) -> Self {
        self.fault_named(ms, host, (name.into(), fault_kind(name)), Phase::Missed)
    }

    /// Records that a fault of this name affects the links between two hosts.
    pub fn links_fail(self, ms: u64, name: &str, on: Sides<'_>, packets: PacketFault) -> Self {
        self.links_change(ms, name, on, links(on, packets), Phase::Begins)
    }

    /// Records that a fault of this name affects the packets from the first host to the second.
    pub fn one_way_fails(self, ms: u64, name: &str, on: Sides<'_>, packets: PacketFault) -> Self {
        let links = FaultyLinks {
            both_ways: false,
            ..links(on, packets)
        };
        self.links_change(ms, name, on, links, Phase::Begins)
    }

    /// Records that the fault of the links ends.
    pub fn links_heal(self, ms: u64, name: &str, on: Sides<'_>, packets: PacketFault) -> Self {
        self.links_change(ms, name, on, links(on, packets), Phase::Ends)
    }

    fn links_change(
        mut self,
        ms: u64,
        name: &str,
        sides: Sides<'_>,
        links: FaultyLinks,
        phase: Phase,
    ) -> Self {
        let kind = match links.packets {
            PacketFault::Cut => FaultKind::Partition,
            PacketFault::Slow { .. } => FaultKind::SlowLink,
            PacketFault::Lossy { .. } => FaultKind::Loss,
        };
        for host in sides {
            let event = Event::Fault {
                fault: name.into(),
                kind,
                phase,
                links: Some(Box::new(links.clone())),
            };
            self = self.record(ms, host, event);
        }
        self
    }

    /// Records that the host's wall clock is stepped.
    pub fn steps(self, ms: u64, host: &str, by_ms: i64) -> Self {
        self.turns(ms, host, FaultKind::ClockStep, Phase::Begins, |host| {
            host.wall_ns = host.wall_ns.wrapping_add_signed(by_ms * MS as i64);
        })
    }

    /// Records that both clocks of the host drift from now on, or stop drifting at 0.
    pub fn drifts(self, ms: u64, host: &str, drift_ppm: i64) -> Self {
        let phase = if drift_ppm == 0 {
            Phase::Ends
        } else {
            Phase::Begins
        };
        self.turns(ms, host, FaultKind::ClockRate, phase, |host| {
            host.drift_ppm = drift_ppm
        })
    }

    /// Records that the host is suspended, its monotonic clock too.
    pub fn suspends(self, ms: u64, host: &str) -> Self {
        self.turns(ms, host, FaultKind::Suspend, Phase::Begins, |host| {
            host.suspended = true
        })
    }

    /// Records that the suspended host resumes.
    pub fn resumes(self, ms: u64, host: &str) -> Self {
        self.turns(ms, host, FaultKind::Suspend, Phase::Ends, |host| {
            host.suspended = false
        })
    }

    /// Records that the run ends.
    pub fn ends(mut self, ms: u64) -> Self {
        self.history.end_ns = ms * MS;
        self
    }

    /// Returns the history so far.
    pub fn history(self) -> History {
        self.history
    }

    fn invokes(mut self, ms: u64, client: &str, op: Op) -> Self {
        let host = self.host(client);
        host.calls += 1;
        let call = host.calls;
        self.record(ms, client, Event::Invoke { call, op })
    }

    fn completes(mut self, ms: u64, client: &str, op: Op, outcome: Outcome) -> Self {
        let call = self.host(client).calls;
        let detail = String::new();
        let event = Event::Complete {
            call,
            op,
            outcome,
            detail,
        };
        self.record(ms, client, event)
    }

    fn begins(
        self,
        ms: u64,
        client: &str,
        lease: Option<(ClockKind, u64)>,
        token: Option<u64>,
    ) -> Self {
        self.begins_in(ms, client, lease, token, false)
    }

    fn begins_in(
        mut self,
        ms: u64,
        client: &str,
        lease: Option<(ClockKind, u64)>,
        token: Option<u64>,
        shared: bool,
    ) -> Self {
        let deadline = lease.map(|(clock, lease_ms)| self.deadline(ms, client, clock, lease_ms));
        self.host(client).tokens.push(token);
        let grant = self.last_grant(client);
        self.record(
            ms,
            client,
            Event::BeliefBegins {
                grant,
                deadline,
                token,
                shared,
            },
        )
    }

    fn deadline(&mut self, ms: u64, client: &str, clock: ClockKind, lease_ms: u64) -> Deadline {
        let (wall_ns, mono_ns) = self.host(client).clocks(ms * MS);
        let now_ns = match clock {
            ClockKind::Wall => wall_ns,
            ClockKind::Monotonic => mono_ns,
        };
        Deadline {
            clock,
            at_ns: now_ns + lease_ms * MS,
        }
    }

    fn accesses(
        mut self,
        ms: u64,
        client: &str,
        grant: u32,
        access: Access,
        accepted: bool,
    ) -> Self {
        let tokens = &self.host(client).tokens;
        let token = (grant as usize)
            .checked_sub(1)
            .and_then(|grant| tokens.get(grant).copied().flatten());
        let client = client.into();
        let event = Event::Access {
            client,
            grant,
            access,
            token,
            accepted,
        };
        self.record(ms, "resource", event)
    }

    fn fault(self, ms: u64, host: &str, kind: FaultKind, phase: Phase) -> Self {
        self.fault_named(ms, host, (kind.name().into(), kind), phase)
    }

    fn fault_named(
        self,
        ms: u64,
        host: &str,
        (fault, kind): (Name, FaultKind),
        phase: Phase,
    ) -> Self {
        let links = None;
        let event = Event::Fault {
            fault,
            kind,
            phase,
            links,
        };
        self.record(ms, host, event)
    }

    /// A change of a clock's rate or offset, with a record directly before and after it.
    fn turns(
        self,
        ms: u64,
        host: &str,
        kind: FaultKind,
        phase: Phase,
        change: impl FnOnce(&mut Host),
    ) -> Self {
        let mut builder = self.fault(ms, host, kind, Phase::Before);
        let state = builder.host(host);
        (state.wall_ns, state.mono_ns) = state.clocks(ms * MS);
        state.at_ns = ms * MS;
        change(state);
        builder.fault(ms, host, kind, phase)
    }

    fn host(&mut self, name: &str) -> &mut Host {
        self.hosts.entry(name.into()).or_insert_with(Host::new)
    }

    fn last_grant(&mut self, client: &str) -> u32 {
        self.host(client).tokens.len() as u32
    }

    fn record(mut self, ms: u64, host: &str, event: Event) -> Self {
        let at_ns = ms * MS;
        let last_ns = self.history.records.last().map_or(0, |last| last.at_ns);
        assert!(last_ns <= at_ns, "told out of order: {ms} ms");
        let (wall_ns, mono_ns) = self.host(host).clocks(at_ns);
        let host = host.into();
        self.history.records.push(Record {
            at_ns,
            host,
            wall_ns,
            mono_ns,
            event,
        });
        self.history.end_ns = at_ns + 1;
        self
    }
}

/// The fault kind of this name in a scenario; a fault with any other name is a pause.
fn fault_kind(name: &str) -> FaultKind {
    FaultKind::of_name(name).unwrap_or(FaultKind::Pause)
}

/// The links between two hosts, in both directions.
fn links(on: Sides<'_>, packets: PacketFault) -> FaultyLinks {
    let [from, to] = on.map(|host| vec![Name::from(host)]);
    FaultyLinks {
        from,
        to,
        both_ways: true,
        packets,
    }
}

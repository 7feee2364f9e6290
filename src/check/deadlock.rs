//! A free lock is taken again within its bound while somebody wants it.
//!
//! It is violated by a stretch of true time, longer than the bound, throughout which
//!
//! - nobody held the lock: no client believed in it, each to the deadline of its
//!   lease (so a client that died holds nothing, and one that is cut off holds the
//!   lock no longer than its lease; without deadline, to its release);
//! - some one client wanted it: it called `acquire` again and again, each time sooner
//!   after the last failure than the bound, or is in a call that does not return, or
//!   listens for its turn (it has reached `waiting` and not called again);
//! - no fault stood in that client's way.
//!
//! A fault stands in a client's way only if it can cause the wait:
//!
//! - A client that is paused, suspended or dead wants nothing.
//! - A server of the lock that is paused, suspended or dead answers nobody. The resource is
//!   a server of the lock only if the lock's tokens come from it.
//! - A link on which nothing gets through, in whichever direction, matters if it is between
//!   the client and a server of the lock, or between two servers.
//! - On such a link each packet may also be late: a slow link adds its extra delay to every
//!   round trip that is in the bound, once for each direction that is slow. A lossy one adds
//!   what one transmission in a million is late, [`retransmission_ns`]. The bound is longer
//!   by that for every stretch that such a fault touches. If it is more than the client waits
//!   for an answer, the link is as good as cut.
//! - Other clients may be as faulty as they like; that is what the lock must survive. Nor do
//!   faults of clocks excuse anything: a lock that outlives its lease because a clock was set
//!   back is found here. A failover by hand is over at once: what it takes, the bound has to
//!   cover, as with any other command.
//!
//! A fault is in effect from its beginning to its end, if it has one; a kill or a crash ends
//! with the restart. What it held up comes later: TCP waits ever twice as long before it
//! sends again, so after a silence (a cut, a crash) the next transmission comes no later than
//! as long again, and a second; and a client whose request was lost waits for its own
//! time-outs ([`Bounds::time_outs_ns`]). So long the excuse lasts on. Then the stretch starts
//! afresh, so the bound must cover what a client has to wait for at the worst: the lease of a
//! holder that died, the wait between two attempts, and the attempts. Clients that keep each
//! other from the lock for ever (live-lock) violate this as much as a key that nobody deletes.
//!
//! A wait for longer than the bound that only faults excuse holds if a grant ended it: then
//! the lock was there when they were over. Else it cannot be told what kept the client from
//! the lock, and the verdict is inconclusive.
//!
//! Whoever asks for availability ([`Excuse::OwnHost`]) counts only faults of the client's
//! own host and of its links to the servers. Servers that do not answer cost it time-outs,
//! which its bound covers.

use super::{Bounds, Ms, ResourceRole, Verdict, Violation};
use crate::history::timeline::Timeline;
use crate::history::{Event, FaultyLinks, Name, Op, Outcome, PacketFault, Phase, Record};
use crate::plant;
use crate::workload::resource;

/// Whose faults excuse that a client does not get a free lock.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Excuse {
    /// Those of its own host, of the lock's servers, and of the links among them.
    Servers,
    /// Those of its own host and its links alone.
    OwnHost,
    /// None, but that whoever stands still wants nothing.
    Nothing,
}

pub(super) fn check(timeline: &Timeline, bounds: &Bounds, excuse: Excuse) -> Verdict {
    let bounds = Bounds {
        deadlock_ns: match excuse {
            Excuse::OwnHost => bounds.deadlock_ns + bounds.time_outs_ns,
            Excuse::Servers | Excuse::Nothing => bounds.deadlock_ns,
        },
        ..*bounds
    };
    let excused = Watch::over(timeline, bounds, excuse);
    if let Some(wait) = excused.first(timeline, |_| true) {
        return Verdict::Violated(wait.violation());
    }
    if !excused.has_excused {
        return Verdict::Holds;
    }
    let all = Watch::over(timeline, bounds, Excuse::Nothing);
    let unended = |wait: &Wait| !wait.is_ended_by_grant;
    match all.first(timeline, unended) {
        Some(wait) => Verdict::Inconclusive {
            why: format!("{}; a fault may have kept it from it", wait.what()),
        },
        None => Verdict::Holds,
    }
}

/// What one transmission in a million is late, at the least, on a link that loses this share
/// of them; without end where nothing gets through.
///
/// So many are lost in a row, and before each repetition TCP waits twice as long, beginning
/// with a second (RFC 6298; an established connection begins with less).
pub(crate) fn retransmission_ns(probability: f64) -> u64 {
    const ONE_IN: f64 = 1e6;
    if probability <= 0.0 {
        return 0;
    }
    if probability >= 1.0 {
        return u64::MAX;
    }
    let in_a_row = (ONE_IN.ln() / -probability.ln()).ceil();
    // The cast saturates.
    ((in_a_row.exp2() - 1.0) * FIRST_TIMEOUT_NS as f64) as u64
}

/// TCP's first retransmission timeout (RFC 6298).
const FIRST_TIMEOUT_NS: u64 = 1_000_000_000;

/// TCP's longest (Linux, `TCP_RTO_MAX`).
const LONGEST_TIMEOUT_NS: u64 = 120_000_000_000;

/// A stretch of true time, in nanoseconds.
#[derive(Clone, Copy)]
struct Stretch {
    from_ns: u64,
    to_ns: u64,
}

/// When nobody held the lock.
fn free(timeline: &Timeline) -> Vec<Stretch> {
    let mut free = Vec::new();
    let mut from_ns = 0;
    for grant in &timeline.grants {
        if grant.begins_ns > from_ns {
            free.push(Stretch {
                from_ns,
                to_ns: grant.begins_ns,
            });
        }
        from_ns = from_ns.max(grant.lapses_ns);
    }
    if timeline.end_ns > from_ns {
        free.push(Stretch {
            from_ns,
            to_ns: timeline.end_ns,
        });
    }
    free
}

/// What may stand in the way of those who want the lock.
struct Hindrance<'h> {
    fault: &'h Name,
    /// The host that it strikes; `None`: links.
    host: Option<usize>,
    since_ns: u64,
    /// The hosts of the clients that it concerns.
    clients: Vec<usize>,
    effect: Effect,
}

/// What it does to them.
#[derive(Clone, Copy)]
enum Effect {
    /// They stand still.
    Stops,
    /// Nobody answers them, but what they send arrives.
    Silences,
    /// What they send is lost, and sent again.
    Cuts,
    /// All that the bound counts takes so much longer.
    Delays { by_ns: u64 },
}

/// A client's wait for a free lock.
struct Wait<'h> {
    client: &'h Name,
    stretch: Stretch,
    /// When it had lasted for as long as it may.
    at_ns: u64,
    /// Whether the client or another was granted the lock in the end.
    is_ended_by_grant: bool,
}

impl Wait<'_> {
    fn what(&self) -> String {
        format!(
            "{} tried in vain to take the lock from {} to {} though nobody held it",
            self.client,
            Ms(self.stretch.from_ns),
            Ms(self.stretch.to_ns),
        )
    }

    fn violation(&self) -> Violation {
        Violation {
            at_ns: self.at_ns,
            until_ns: self.stretch.to_ns,
            clients: vec![self.client.clone()],
            what: self.what(),
        }
    }
}

/// A client has wanted the lock, with nothing in its way.
struct Wanted<'h> {
    client: &'h Name,
    stretch: Stretch,
    /// How long it may last in vain.
    bound_ns: u64,
}

struct Watch<'h> {
    bounds: Bounds,
    excuse: Excuse,
    /// Per host.
    wanting: Vec<Wanting<'h>>,
    hindrances: Vec<Hindrance<'h>>,
    /// Whether any fault ever excused anybody who could want the lock.
    has_excused: bool,
    wanted: Vec<Wanted<'h>>,
}

#[derive(Default)]
struct Wanting<'h> {
    /// The host's name, if it is a client's.
    client: Option<&'h Name>,
    /// Since when it has wanted the lock with nothing in its way.
    since_ns: Option<u64>,
    /// Whether it is in a call of `acquire`.
    in_call: bool,
    /// When its last call failed.
    failed_ns: u64,
    /// How many faults are in effect that stand in its way.
    hindered: usize,
    /// Until when those that are over do.
    hindered_until_ns: u64,
    /// What the faults in effect add to its wait.
    delay_ns: u64,
    /// The most that they added since `since_ns`.
    longest_delay_ns: u64,
}

impl<'h> Watch<'h> {
    /// All that was wanted in a history.
    fn over(timeline: &Timeline<'h>, bounds: Bounds, excuse: Excuse) -> Watch<'h> {
        let mut watch = Watch {
            bounds,
            excuse,
            wanting: (0..timeline.hosts).map(|_| Wanting::default()).collect(),
            hindrances: Vec::new(),
            has_excused: false,
            wanted: Vec::new(),
        };
        for (_, host, record) in timeline.records() {
            if let Event::Invoke { .. } | Event::BeliefBegins { .. } | Event::RunEnds = record.event
            {
                watch.wanting[host].client = Some(&record.host);
            }
        }
        for (_, host, record) in timeline.records() {
            watch.take(host, record);
        }
        for host in 0..watch.wanting.len() {
            watch.close(host, timeline.end_ns);
        }
        watch
    }

    fn take(&mut self, host: usize, record: &'h Record) {
        let now_ns = record.at_ns;
        match &record.event {
            Event::Invoke {
                op: Op::Acquire, ..
            } => {
                let wanting = &self.wanting[host];
                let pause_ns = now_ns.saturating_sub(wanting.failed_ns);
                if !wanting.in_call && pause_ns >= self.bounds.deadlock_ns {
                    self.close(host, now_ns);
                }
                self.wanting[host].in_call = true;
                self.open(host, now_ns);
            }
            Event::Complete {
                op: Op::Acquire,
                outcome,
                ..
            } => {
                if *outcome == Outcome::Ok {
                    self.close(host, now_ns);
                }
                self.wanting[host].in_call = false;
                self.wanting[host].failed_ns = now_ns;
            }
            // It listens for its turn rather than to ask again.
            Event::Reached { point } if &**point == "waiting" => {
                self.wanting[host].in_call = true;
                self.open(host, now_ns);
            }
            Event::Fault {
                fault,
                kind,
                phase: Phase::Begins,
                links,
            } => {
                self.begin(fault, host, kind_of(kind, links.as_ref()), record);
                if record.event.is_death() {
                    self.wanting[host].in_call = false;
                }
            }
            Event::Fault {
                fault,
                phase: Phase::Ends,
                ..
            } => self.end(fault, host, now_ns),
            _ => {}
        }
    }

    /// A fault takes effect: those in whose way it stands want nothing until it is over.
    fn begin(&mut self, fault: &'h Name, host: usize, kind: Kind<'h>, record: &'h Record) {
        let is_known = |other: &Hindrance| other.host.is_none() && other.fault == fault;
        let (struck, clients, effect) = match kind {
            Kind::Harmless => return,
            Kind::OfProcess(_) if self.wanting[host].client.is_some() => {
                let own = (!plant("deadlock-own-host-excuses-nobody")).then_some(host);
                (Some(host), Vec::from_iter(own), Effect::Stops)
            }
            Kind::OfProcess(effect) if self.is_server(&record.host) => {
                (Some(host), self.all_if_excused(), effect)
            }
            Kind::OfProcess(effect) if plant("deadlock-anything-excuses-everybody") => {
                (Some(host), self.all_if_excused(), effect)
            }
            Kind::OfProcess(_) => return,
            Kind::OfLinks(_) if self.hindrances.iter().any(is_known) => return,
            Kind::OfLinks(links) => (None, self.beside(links), self.effect(links)),
            Kind::OfUnnamedLinks => (Some(host), self.possibly_beside(host), Effect::Cuts),
        };
        for &client in &clients {
            match effect {
                Effect::Delays { by_ns } => {
                    let wanting = &mut self.wanting[client];
                    wanting.delay_ns = wanting.delay_ns.saturating_add(by_ns);
                    wanting.longest_delay_ns = wanting.longest_delay_ns.max(wanting.delay_ns);
                }
                Effect::Stops | Effect::Silences | Effect::Cuts => {
                    self.close(client, record.at_ns);
                    self.wanting[client].hindered += 1;
                }
            }
        }
        self.has_excused |= !clients.is_empty() && !matches!(effect, Effect::Stops);
        self.hindrances.push(Hindrance {
            fault,
            host: struck,
            since_ns: record.at_ns,
            clients,
            effect,
        });
    }

    /// A fault is over. Those in whose way it stood and who are still in their calls want the
    /// lock again, as soon as what it held up has come.
    fn end(&mut self, fault: &Name, host: usize, now_ns: u64) {
        let over = |hindrance: &Hindrance| {
            hindrance.fault == fault && hindrance.host.is_none_or(|struck| struck == host)
        };
        let Some(place) = self.hindrances.iter().position(over) else {
            return;
        };
        let hindrance = self.hindrances.swap_remove(place);
        let lasted_ns = now_ns - hindrance.since_ns;
        let until_ns = now_ns
            + match hindrance.effect {
                Effect::Stops => 0,
                Effect::Silences | Effect::Delays { .. } => self.bounds.time_outs_ns,
                Effect::Cuts => {
                    let sent_again_ns = lasted_ns.min(LONGEST_TIMEOUT_NS) + FIRST_TIMEOUT_NS;
                    sent_again_ns + self.bounds.time_outs_ns
                }
            };
        for client in hindrance.clients {
            let wanting = &mut self.wanting[client];
            if let Effect::Delays { by_ns } = hindrance.effect {
                wanting.delay_ns = wanting.delay_ns.saturating_sub(by_ns);
                continue;
            }
            wanting.hindered -= 1;
            wanting.hindered_until_ns = wanting.hindered_until_ns.max(until_ns);
            if wanting.in_call {
                self.open(client, now_ns);
            }
        }
    }

    /// All clients, if a fault of the servers is an excuse.
    fn all_if_excused(&self) -> Vec<usize> {
        match self.excuse {
            Excuse::Servers if plant("deadlock-servers-excuse-nobody") => Vec::new(),
            Excuse::Servers => self.clients().collect(),
            _ if plant("availability-excused-by-servers") => self.clients().collect(),
            Excuse::OwnHost | Excuse::Nothing => Vec::new(),
        }
    }

    /// The clients in whose way a fault may stand of which all that is known is that it is on
    /// links of this host.
    fn possibly_beside(&self, host: usize) -> Vec<usize> {
        match self.excuse {
            Excuse::Nothing => Vec::new(),
            _ if self.wanting[host].client.is_some() => vec![host],
            _ => self.all_if_excused(),
        }
    }

    /// The clients in whose way a fault of these links stands.
    fn beside(&self, links: &FaultyLinks) -> Vec<usize> {
        let between = |one: &dyn Fn(&Name) -> bool, other: &dyn Fn(&Name) -> bool| {
            let joins = |from: &[Name], to: &[Name]| from.iter().any(one) && to.iter().any(other);
            joins(&links.from, &links.to) || joins(&links.to, &links.from)
        };
        let is_server = |name: &Name| self.is_server(name);
        match self.excuse {
            Excuse::Nothing => Vec::new(),
            Excuse::Servers if between(&is_server, &is_server) => self.all_if_excused(),
            Excuse::Servers | Excuse::OwnHost => {
                let is_beside = |&host: &usize| {
                    let is_client = |name: &Name| self.wanting[host].client == Some(name);
                    between(&is_client, &is_server)
                };
                let everybody = plant("deadlock-links-excuse-everybody");
                self.clients()
                    .filter(|host| everybody || is_beside(host))
                    .collect()
            }
        }
    }

    /// What a fault of links does to those who are beside them.
    fn effect(&self, links: &FaultyLinks) -> Effect {
        let round_trip_ns = match links.packets {
            PacketFault::Cut => return Effect::Cuts,
            PacketFault::Slow { extra_ns } if links.both_ways => extra_ns.saturating_mul(2),
            PacketFault::Slow { extra_ns } => extra_ns,
            PacketFault::Lossy { probability } => {
                let by_ns = retransmission_ns(probability);
                return match self.is_patient(by_ns) {
                    true => Effect::Delays { by_ns },
                    false => Effect::Cuts,
                };
            }
        };
        match self.is_patient(round_trip_ns) {
            true => Effect::Delays {
                by_ns: round_trip_ns.saturating_mul(u64::from(self.bounds.round_trips)),
            },
            false => Effect::Silences,
        }
    }

    /// Whether a client waits for an answer that is so late.
    fn is_patient(&self, late_ns: u64) -> bool {
        self.bounds
            .reply_slack_ns
            .is_none_or(|slack_ns| late_ns <= slack_ns)
    }

    fn clients(&self) -> impl Iterator<Item = usize> {
        (0..self.wanting.len()).filter(|&host| self.wanting[host].client.is_some())
    }

    /// Whether the host of this name is one of the lock's servers.
    fn is_server(&self, name: &Name) -> bool {
        match &**name {
            resource::HOST => self.bounds.resource == ResourceRole::GivesTokens,
            _ => !self
                .wanting
                .iter()
                .any(|wanting| wanting.client == Some(name)),
        }
    }

    /// Starts a stretch, unless one has started or a fault is in the way.
    fn open(&mut self, host: usize, now_ns: u64) {
        let wanting = &mut self.wanting[host];
        if wanting.hindered == 0 && wanting.since_ns.is_none() {
            wanting.since_ns = Some(now_ns.max(wanting.hindered_until_ns));
            wanting.longest_delay_ns = wanting.delay_ns;
        }
    }

    /// Ends a stretch: now, or with the last failure, after which it did not try again.
    fn close(&mut self, host: usize, now_ns: u64) {
        let wanting = &mut self.wanting[host];
        let (Some(client), Some(from_ns)) = (wanting.client, wanting.since_ns.take()) else {
            return;
        };
        let to_ns = if wanting.in_call {
            now_ns
        } else {
            wanting.failed_ns
        };
        if from_ns < to_ns {
            self.wanted.push(Wanted {
                client,
                stretch: Stretch { from_ns, to_ns },
                bound_ns: (self.bounds.deadlock_ns).saturating_add(wanting.longest_delay_ns),
            });
        }
    }

    /// The first of the waits in vain that lasted for too long and are of the wanted kind.
    fn first(
        &self,
        timeline: &Timeline,
        is_wanted: impl Fn(&Wait<'h>) -> bool,
    ) -> Option<Wait<'h>> {
        let free = free(timeline);
        let waits = self.wanted.iter().flat_map(|wanted| {
            let Stretch { from_ns, to_ns } = wanted.stretch;
            let past = free.partition_point(|free| free.to_ns <= from_ns);
            let of_interest = free[past..]
                .iter()
                .take_while(move |free| free.from_ns < to_ns);
            of_interest.filter_map(move |free| {
                let both = Stretch {
                    from_ns: free.from_ns.max(from_ns),
                    to_ns: free.to_ns.min(to_ns),
                };
                let bound_ns = match plant("deadlock-bound-doubled") {
                    false => wanted.bound_ns,
                    true => wanted.bound_ns * 2,
                };
                (both.to_ns - both.from_ns > bound_ns).then(|| Wait {
                    client: wanted.client,
                    stretch: both,
                    at_ns: both.from_ns + wanted.bound_ns,
                    is_ended_by_grant: free.to_ns <= to_ns && free.to_ns < timeline.end_ns,
                })
            })
        });
        waits.filter(is_wanted).min_by_key(|wait| wait.at_ns)
    }
}

/// What a fault of some kind strikes.
enum Kind<'h> {
    /// Nothing that is waited for.
    Harmless,
    /// The process of its host: this is what those see who wait for its answer.
    OfProcess(Effect),
    /// These links.
    OfLinks(&'h FaultyLinks),
    /// Links of its host; the history, an old one, does not say which.
    OfUnnamedLinks,
}

fn kind_of<'h>(kind: &str, links: Option<&'h FaultyLinks>) -> Kind<'h> {
    match (kind, links) {
        (_, Some(links)) => Kind::OfLinks(links),
        ("partition" | "slow-link" | "loss", None) => Kind::OfUnnamedLinks,
        ("clock-step" | "clock-rate" | "failover", None) => Kind::Harmless,
        ("crash", None) => Kind::OfProcess(Effect::Cuts),
        _ => Kind::OfProcess(Effect::Silences),
    }
}

#[cfg(test)]
mod tests {
    use super::retransmission_ns;
    use crate::check::Property::{Availability, Deadlock};
    use crate::check::story::{MS, Story};
    use crate::history::ClockKind::Wall;
    use crate::history::PacketFault::{self, Cut};

    /// The bound is 1000 ms.
    fn story() -> Story {
        Story::new().deadlock_after(1000)
    }

    /// Two strangers meet now, so that nothing is in doubt.
    fn contended(story: Story) -> Story {
        let asked = story.tries(60, "c8").tries(60, "c9");
        asked.fails(60, "c8").fails(60, "c9")
    }

    /// c2 tries every 200 ms from the first time to the last, each attempt 10 ms long.
    fn tries_on(mut story: Story, from_ms: u64, to_ms: u64) -> Story {
        for at_ms in (from_ms..=to_ms).step_by(200) {
            story = story.tries(at_ms, "c2").fails(at_ms + 10, "c2");
        }
        story
    }

    #[test]
    fn a_failover_by_hand_is_no_excuse() {
        let held = tries_on(story().holds(10, "c1"), 20, 20);
        let failed_over = held.fault_begins(100, "s1", "failover");
        let orphaned = failed_over.fault_begins(200, "c1", "kill");
        tries_on(orphaned, 220, 2_020).ends(9_000).expect_violated(
            Deadlock,
            (1_200, 2_030),
            "c2 tried in vain to take the lock from 200.0 ms to 2030.0 ms though nobody held it",
        );
    }

    #[test]
    fn trying_while_another_holds_the_lock_holds() {
        let story = tries_on(story().holds(10, "c1"), 20, 5_020).releases(5_100, "c1");
        story.expect_holds(Deadlock);
    }

    #[test]
    fn trying_for_longer_than_the_bound_with_no_holder_is_violated() {
        let held = tries_on(story().holds(10, "c1"), 20, 20);
        let orphaned = held.fault_begins(100, "c1", "kill");
        tries_on(orphaned, 220, 2_020).ends(9_000).expect_violated(
            Deadlock,
            (1_100, 2_030),
            "c2 tried in vain to take the lock from 100.0 ms to 2030.0 ms though nobody held it",
        );
    }

    #[test]
    fn the_bound_itself_is_not_exceeded() {
        // c2 tries from 20 ms on and fails for the last time at 1020 or 1021 ms.
        let dead = || story().holds(10, "c1").fault_begins(20, "c1", "kill");
        tries_on(dead(), 20, 820)
            .tries(1_000, "c2")
            .fails(1_020, "c2")
            .expect_holds(Deadlock);
        tries_on(dead(), 20, 820)
            .tries(1_000, "c2")
            .fails(1_021, "c2")
            .expect_violation_at(Deadlock, 1_020);
    }

    #[test]
    fn giving_up_and_coming_back_later_starts_afresh() {
        let story = tries_on(story(), 0, 800);
        tries_on(story, 1_810, 2_610).expect_holds(Deadlock);
    }

    #[test]
    fn a_call_that_does_not_return_is_still_trying() {
        story()
            .holds(10, "c1")
            .tries(20, "c2")
            .releases(50, "c1")
            .ends(1_051)
            .expect_violated(
                Deadlock,
                (1_050, 1_051),
                "c2 tried in vain to take the lock from 50.0 ms to 1051.0 ms though nobody held it",
            );
    }

    #[test]
    fn nobody_wanting_it_holds() {
        story()
            .holds(10, "c1")
            .tries(20, "c2")
            .fails(30, "c2")
            .releases(50, "c1")
            .ends(90_000)
            .expect_holds(Deadlock);
    }

    #[test]
    fn one_that_had_the_lock_wants_it_again_from_its_next_attempt() {
        story()
            .tries(0, "c1")
            .granted(10, "c1")
            .releases(20, "c1")
            .tries(900, "c1")
            .fails(1_100, "c1")
            .expect_holds(Deadlock);
    }

    #[test]
    fn of_two_holders_the_one_that_lasts_longer_counts() {
        let both = story().holds(0, "c1").holds(10, "c3").releases(15, "c3");
        tries_on(both, 20, 1_820)
            .releases(1_900, "c1")
            .expect_holds(Deadlock);
    }

    #[test]
    fn a_dead_client_wants_nothing() {
        story()
            .holds(10, "c1")
            .tries(20, "c2")
            .fault_begins(40, "c2", "crash")
            .releases(50, "c1")
            .ends(90_000)
            .expect_holds(Deadlock);
        // Nor is it in its call when it comes back.
        story()
            .holds(10, "c1")
            .tries(20, "c2")
            .fault_begins(40, "c2", "kill")
            .releases(50, "c1")
            .fault_ends(60, "c2", "kill")
            .ends(90_000)
            .expect_holds(Deadlock);
    }

    #[test]
    fn a_holder_that_is_cut_off_holds_the_lock_to_the_end_of_its_lease() {
        let held = tries_on(story().holds_for(10, "c1", Wall, 500), 20, 20);
        let cut_off = held.fault_begins(100, "c1", "partition");
        tries_on(cut_off, 220, 1_620).expect_violated(
            Deadlock,
            (1_510, 1_630),
            "c2 tried in vain to take the lock from 510.0 ms to 1630.0 ms though nobody held it",
        );
    }

    /// c2 asks at 20 ms and is not answered; c1 gives the lock back at 50 ms. Then comes the
    /// fault.
    fn unanswered() -> Story {
        story().holds(10, "c1").tries(20, "c2").releases(50, "c1")
    }

    /// What is said of c2 if it waits in vain from 50 ms until the run ends.
    fn cannot_be_told(end_ms: u64) -> String {
        format!(
            "c2 tried in vain to take the lock from 50.0 ms to {end_ms}.0 ms though nobody held \
             it; a fault may have kept it from it"
        )
    }

    const SLOW: PacketFault = PacketFault::Slow { extra_ns: MS };

    #[test]
    fn a_client_that_stands_still_wants_nothing_and_starts_afresh() {
        for kind in ["pause", "suspend"] {
            for property in [Deadlock, Availability] {
                let until = |ends_ms| {
                    let stopped = unanswered().fault_begins(60, "c2", kind);
                    stopped.fault_ends(4_000, "c2", kind).ends(ends_ms)
                };
                until(5_000).expect_holds(property);
                until(5_001).expect_violation_at(property, 5_000);
            }
        }
    }

    #[test]
    fn a_silent_server_excuses_until_it_answers_but_the_lock_is_not_available() {
        let until = |ends_ms| {
            let silent = unanswered().fault_begins(60, "n1", "pause");
            silent.fault_ends(4_000, "n1", "pause").ends(ends_ms)
        };
        until(5_001).expect_violation_at(Deadlock, 5_000);
        until(5_000).expect_violation_at(Availability, 1_050);
        // It has answered within the bound; or the run ended before it could.
        let answered = unanswered().fault_begins(60, "n1", "pause");
        answered
            .fault_ends(4_000, "n1", "pause")
            .granted(5_000, "c2")
            .expect_holds(Deadlock);
        let told = cannot_be_told(5_000);
        let silent = contended(unanswered().fault_begins(60, "n1", "pause"));
        let ended = silent.fault_ends(4_000, "n1", "pause").ends(5_000);
        ended.expect_inconclusive(Deadlock, &told);
    }

    #[test]
    fn a_server_that_stays_away_shows_nothing_but_that_the_lock_is_not_available() {
        for kind in ["pause", "kill", "crash"] {
            let away = || contended(unanswered().fault_begins(60, "n1", kind)).ends(9_000);
            away().expect_inconclusive(Deadlock, &cannot_be_told(9_000));
            away().expect_violation_at(Availability, 1_050);
        }
    }

    #[test]
    fn the_resource_excuses_only_if_tokens_come_from_it() {
        let away =
            |story: Story| contended(story.fault_begins(60, "resource", "crash")).ends(9_000);
        away(unanswered()).expect_violation_at(Deadlock, 1_050);
        away(unanswered().with_tokens_of_the_resource())
            .expect_inconclusive(Deadlock, &cannot_be_told(9_000));
    }

    #[test]
    fn a_slow_link_adds_what_it_adds_where_it_is_in_the_way() {
        // Ten round trips, each 2 ms longer.
        for (sides, deadlock_ms, availability_ms) in [
            (["c2", "n1"], 1_070, 1_070),
            (["n1", "c2"], 1_070, 1_070),
            (["n1", "n1r1"], 1_070, 1_050),
            (["c1", "n1"], 1_050, 1_050),
            (["resource", "n1"], 1_050, 1_050),
            (["resource", "c2"], 1_050, 1_050),
        ] {
            let slow = unanswered().links_fail(60, "slow", sides, SLOW).ends(9_000);
            slow.expect_violation_at(Deadlock, deadlock_ms);
            slow.expect_violation_at(Availability, availability_ms);
        }
        let lifted = unanswered().links_fail(60, "slow", ["c2", "n1"], SLOW);
        let lifted = lifted.links_recover(70, "slow", ["c2", "n1"], SLOW);
        lifted
            .clone()
            .ends(9_000)
            .expect_violation_at(Deadlock, 1_070);
        // What c2 asks for after that is not late.
        let asks_anew = lifted.fails(80, "c2").tries(1_080, "c2").ends(9_000);
        asks_anew.expect_violation_at(Deadlock, 2_080);
    }

    #[test]
    fn a_link_too_slow_for_a_client_is_as_good_as_cut() {
        let slow = |slack_ms| {
            let patient = unanswered().patient_for(slack_ms);
            contended(patient.links_fail(60, "slow", ["c2", "n1"], SLOW)).ends(9_000)
        };
        slow(2).expect_violation_at(Deadlock, 1_070);
        slow(1).expect_inconclusive(Deadlock, &cannot_be_told(9_000));
    }

    #[test]
    fn a_cut_link_excuses_whom_it_cuts_off() {
        let cut = |sides| contended(unanswered().links_fail(60, "cut", sides, Cut)).ends(9_000);
        let told = cannot_be_told(9_000);
        cut(["c2", "n1"]).expect_inconclusive(Deadlock, &told);
        cut(["c2", "n1"]).expect_inconclusive(Availability, &told);
        cut(["n1", "n1r1"]).expect_inconclusive(Deadlock, &told);
        cut(["n1", "n1r1"]).expect_violation_at(Availability, 1_050);
        for sides in [
            ["c1", "n1"],
            ["c2", "c1"],
            ["c2", "resource"],
            ["n1", "resource"],
        ] {
            cut(sides).expect_violation_at(Deadlock, 1_050);
        }
    }

    #[test]
    fn a_cut_of_which_nobody_knows_where_it_is_may_be_anywhere() {
        let cut = |host| contended(unanswered().fault_begins(60, host, "partition")).ends(9_000);
        cut("c2").expect_inconclusive(Deadlock, &cannot_be_told(9_000));
        cut("n1").expect_inconclusive(Deadlock, &cannot_be_told(9_000));
        cut("c1").expect_violation_at(Deadlock, 1_050);
    }

    #[test]
    fn what_was_lost_comes_as_much_later_again_and_a_second() {
        // Lost from 100 to 600 ms, sent again by 2100 ms.
        let lost = |end: fn(Story) -> Story| {
            let story = story().holds(10, "c1").releases(50, "c1").tries(100, "c2");
            end(story).ends(9_000)
        };
        let cut = |story: Story| {
            let story = story.links_fail(100, "cut", ["c2", "n1"], Cut);
            story.links_recover(600, "cut", ["c2", "n1"], Cut)
        };
        lost(cut).expect_violation_at(Deadlock, 3_100);
        let crash = |story: Story| {
            let story = story.fault_begins(100, "n1", "crash");
            story.fault_ends(600, "n1", "crash")
        };
        lost(crash).expect_violation_at(Deadlock, 3_100);
        // A process that was paused or killed has a kernel that answers.
        let pause = |story: Story| {
            let story = story.fault_begins(100, "n1", "pause");
            story.fault_ends(600, "n1", "pause")
        };
        lost(pause).expect_violation_at(Deadlock, 1_600);
    }

    #[test]
    fn who_waits_for_an_answer_in_vain_does_so_for_its_time_outs() {
        let silent = unanswered()
            .times_out_after(300)
            .fault_begins(60, "n1", "pause");
        let silent = silent.fault_ends(600, "n1", "pause").ends(9_000);
        silent.expect_violation_at(Deadlock, 1_900);
        silent.expect_violation_at(Availability, 1_350);
    }

    #[test]
    fn a_lossy_link_adds_what_one_transmission_in_a_million_is_late() {
        for (probability, expected_s) in [(0.0, 0), (1e-6, 1), (0.001, 3), (0.01, 7), (0.1, 63)] {
            assert_eq!(
                retransmission_ns(probability),
                expected_s * 1_000 * MS,
                "{probability}"
            );
        }
        assert_eq!(retransmission_ns(1.0), u64::MAX);
        let lossy = |probability| {
            let lossy = PacketFault::Lossy { probability };
            contended(unanswered().links_fail(60, "loss", ["c2", "n1"], lossy)).ends(20_000)
        };
        lossy(0.01).expect_violation_at(Deadlock, 8_050);
        lossy(0.5).expect_inconclusive(Deadlock, &cannot_be_told(20_000));
    }

    #[test]
    fn a_fault_of_another_client_or_of_clocks_is_no_excuse() {
        for (host, kind) in [("c1", "pause"), ("n1", "clock-step"), ("c2", "clock-rate")] {
            story()
                .holds(10, "c1")
                .tries(20, "c2")
                .releases(50, "c1")
                .fault_begins(60, host, kind)
                .ends(1_100)
                .expect_violation_at(Deadlock, 1_050);
        }
    }

    #[test]
    fn two_that_take_turns_at_failing_are_each_in_vain() {
        let mut story = story();
        for at_ms in (0..1_300).step_by(100) {
            let client = if at_ms % 200 == 0 { "c1" } else { "c2" };
            story = story.tries(at_ms, client).fails(at_ms + 50, client);
        }
        story.expect_violated(
            Deadlock,
            (1_000, 1_250),
            "c1 tried in vain to take the lock from 0.0 ms to 1250.0 ms though nobody held it",
        );
    }

    #[test]
    fn a_stretch_ends_when_the_lock_is_taken() {
        story()
            .tries(0, "c1")
            .tries(0, "c2")
            .granted(600, "c2")
            .releases(700, "c2")
            .granted(1_500, "c1")
            .expect_holds(Deadlock);
    }
}

//! One direction of a connection: segments in order, and the times of retransmissions.
//!
//! A segment that does not get through is retransmitted after a timeout, which doubles each time
//! ([`Phase`]). All later segments of the flow wait behind it, since TCP delivers in order. After
//! the last timeout its sender gives up and resets the connection.
//!
//! A segment counts as acknowledged when it arrives. Then the timeouts start again for the segments
//! behind it, as in Linux (`tcp_ack` sets `icsk_retransmits` to 0, and the measured round trip
//! `icsk_backoff`).

use std::collections::VecDeque;

use locklab_values::tcp::Phase;

use super::links::{Hop, Links};

/// The kind of a segment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// It belongs to the opening handshake.
    Opening,
    /// It carries data, or the end of the stream.
    Data,
    /// It resets the connection. It is sent once, and its flow ends with it.
    Reset,
}

/// A segment that has left its sender, or waits to do so again.
#[derive(Debug)]
pub struct Transit<S> {
    /// The user's data.
    pub segment: S,
    kind: Kind,
    /// Its place in its flow.
    number: u64,
    /// How many of its transmissions in a row did not get through.
    failures: u32,
    /// The first transmission of these, in nanoseconds.
    since_ns: u64,
}

/// The outcome of sending a segment.
#[derive(Debug)]
pub enum Delivery<S> {
    /// It arrives at this time.
    Arrives {
        /// In nanoseconds.
        at_ns: u64,
        /// The segment, to be delivered then.
        transit: Transit<S>,
    },
    /// It did not get through. The user has to call [`Flow::retry`] at this time, in nanoseconds,
    /// to retransmit the held segments.
    Retransmits {
        /// In nanoseconds.
        at_ns: u64,
    },
    /// It waits behind other segments of its flow that have to be retransmitted.
    Queued,
    /// It is lost: a reset is not retransmitted.
    Lost,
    /// Its sender gives up: the connection is reset at the sender. The flow holds no more segments.
    TimedOut(Transit<S>),
}

/// A retransmission timer that runs.
#[derive(Debug, Clone, Copy)]
struct Timer {
    since_ns: u64,
    at_ns: u64,
}

/// The state of one direction of a connection, whose segments carry `S`.
#[derive(Debug)]
pub struct Flow<S> {
    /// The arrival time of its last segment, in nanoseconds. Later segments must not overtake it.
    last_due_ns: u64,
    /// Segments that have not got through yet, in order.
    held: VecDeque<Transit<S>>,
    /// The retransmission timer; it runs if and only if segments are held.
    timer: Option<Timer>,
    sent: u64,
}

impl<S> Flow<S> {
    /// Sends a segment at `now_ns`.
    pub fn send<H: Ord>(
        &mut self,
        links: &mut Links<H>,
        hop: &Hop<'_, H>,
        (segment, kind): (S, Kind),
        now_ns: u64,
    ) -> Delivery<S> {
        self.sent += 1;
        let transit = Transit {
            segment,
            kind,
            number: self.sent,
            failures: 0,
            since_ns: now_ns,
        };
        if kind == Kind::Reset {
            // The connection is gone, and with it the data still to be sent.
            self.clear();
        }
        if !self.held.is_empty() {
            self.held.push_back(transit);
            return Delivery::Queued;
        }
        if links.gets_through(hop) {
            return self.depart(links, hop, transit, now_ns);
        }
        self.failed(transit, now_ns)
    }

    /// Handles a transmission that was lost or not acknowledged: the segment will be retransmitted.
    pub fn failed(&mut self, mut transit: Transit<S>, now_ns: u64) -> Delivery<S> {
        if transit.kind == Kind::Reset {
            return Delivery::Lost;
        }
        let phase = transit.phase();
        if now_ns.saturating_sub(transit.since_ns) >= phase.patience_ns() {
            self.clear();
            return Delivery::TimedOut(transit);
        }
        transit.failures += 1;
        let at_ns = now_ns.saturating_add(phase.wait_ns(transit.failures));
        self.hold(transit);
        if self.timer.is_some() {
            return Delivery::Queued;
        }
        self.timer = Some(Timer {
            since_ns: now_ns,
            at_ns,
        });
        Delivery::Retransmits { at_ns }
    }

    /// Retransmits the held segments, in order, until one does not get through; returns the outcome
    /// of each transmission. Does nothing if the timer no longer ends at `at_ns`.
    pub fn retry<H: Ord>(
        &mut self,
        links: &mut Links<H>,
        hop: &Hop<'_, H>,
        at_ns: u64,
        now_ns: u64,
    ) -> Vec<Delivery<S>> {
        let mut deliveries = Vec::new();
        if self.timer.is_none_or(|timer| timer.at_ns != at_ns) {
            return deliveries;
        }
        self.timer = None;
        while let Some(mut transit) = self.held.pop_front() {
            let is_next = !deliveries.is_empty();
            if is_next || transit.failures == 0 {
                transit.failures = 0;
                transit.since_ns = now_ns;
            }
            if !links.gets_through(hop) {
                deliveries.push(self.failed(transit, now_ns));
                break;
            }
            deliveries.push(self.depart(links, hop, transit, now_ns));
        }
        deliveries
    }

    /// Whether it holds a segment of the handshake.
    pub fn holds_opening(&self) -> bool {
        self.held
            .front()
            .is_some_and(|first| first.kind == Kind::Opening)
    }

    /// Drops the held segments, because their sender no longer has the connection.
    pub fn clear(&mut self) {
        self.held.clear();
        self.timer = None;
    }

    /// Drops the held segments of the handshake, because their sender has stopped connecting.
    pub fn stop_opening(&mut self) {
        self.held.retain(|held| held.kind != Kind::Opening);
        if self.held.is_empty() {
            self.timer = None;
        }
    }

    /// Extends the timers of a sender that was suspended from `since_ns` until `now_ns`. Returns
    /// the new end of the retransmission timer, in nanoseconds.
    pub fn resume_timers(&mut self, since_ns: u64, now_ns: u64) -> Option<u64> {
        let timer = self.timer.as_mut()?;
        let lost_ns = now_ns.saturating_sub(since_ns.max(timer.since_ns));
        timer.at_ns = timer.at_ns.saturating_add(lost_ns);
        for transit in &mut self.held {
            transit.since_ns = transit.since_ns.saturating_add(lost_ns).min(now_ns);
        }
        Some(timer.at_ns)
    }

    fn depart<H: Ord>(
        &mut self,
        links: &mut Links<H>,
        hop: &Hop<'_, H>,
        transit: Transit<S>,
        now_ns: u64,
    ) -> Delivery<S> {
        let due_ns = now_ns.saturating_add(links.delay_ns(hop));
        self.last_due_ns = self.last_due_ns.max(due_ns);
        Delivery::Arrives {
            at_ns: self.last_due_ns,
            transit,
        }
    }

    /// Holds a segment back, at its place.
    fn hold(&mut self, transit: Transit<S>) {
        let number = transit.number;
        let place = self.held.partition_point(|held| held.number < number);
        self.held.insert(place, transit);
    }
}

impl<S> Default for Flow<S> {
    fn default() -> Self {
        Self {
            last_due_ns: 0,
            held: VecDeque::new(),
            timer: None,
            sent: 0,
        }
    }
}

impl<S> Transit<S> {
    fn phase(&self) -> Phase {
        match self.kind {
            Kind::Opening => Phase::Opening,
            Kind::Data | Kind::Reset => Phase::Established,
        }
    }
}

#[cfg(test)]
mod tests {
    use locklab_values::dist::Dist;
    use locklab_values::random::Stream;
    use locklab_values::units::{NS_PER_MS as MS, NS_PER_S as S};

    use super::super::{LinkEffect, LinkRule, RuleId};
    use super::*;

    const HOP: Hop<'static, char> = Hop {
        from: &'a',
        to: &'b',
    };

    fn links() -> Links<char> {
        Links::new(Dist::Constant(3.0), 0.0, Stream::new(1, "network"))
    }

    fn cut(links: &mut Links<char>) -> RuleId {
        links.install(LinkRule {
            from: vec!['a'],
            to: vec!['b'],
            both_ways: false,
            effect: LinkEffect::Cut,
        })
    }

    /// The observable part of a delivery, with times in milliseconds.
    #[derive(Debug, PartialEq)]
    enum Summary {
        Arrives(u64, &'static str),
        Retransmits(u64),
        Queued,
        Lost,
        TimedOut(&'static str),
    }

    fn summary(delivery: Delivery<&'static str>) -> Summary {
        match delivery {
            Delivery::Arrives { at_ns, transit } => Summary::Arrives(at_ns / MS, transit.segment),
            Delivery::Retransmits { at_ns } => Summary::Retransmits(at_ns / MS),
            Delivery::Queued => Summary::Queued,
            Delivery::Lost => Summary::Lost,
            Delivery::TimedOut(transit) => Summary::TimedOut(transit.segment),
        }
    }

    struct Fixture {
        links: Links<char>,
        flow: Flow<&'static str>,
    }

    impl Fixture {
        fn new() -> Self {
            let (links, flow) = (links(), Flow::default());
            Self { links, flow }
        }

        fn delivery(
            &mut self,
            at_ms: u64,
            name: &'static str,
            kind: Kind,
        ) -> Delivery<&'static str> {
            self.flow
                .send(&mut self.links, &HOP, (name, kind), at_ms * MS)
        }

        fn data(&mut self, at_ms: u64, name: &'static str) -> Summary {
            summary(self.delivery(at_ms, name, Kind::Data))
        }

        /// Sends a segment that is on its way to a host that loses power.
        fn departed(&mut self, at_ms: u64, name: &'static str) -> Transit<&'static str> {
            match self.delivery(at_ms, name, Kind::Data) {
                Delivery::Arrives { transit, .. } => transit,
                delivery => panic!("it should have left: {delivery:?}"),
            }
        }

        fn retry(&mut self, at_ms: u64) -> Vec<Summary> {
            let deliveries = self
                .flow
                .retry(&mut self.links, &HOP, at_ms * MS, at_ms * MS);
            deliveries.into_iter().map(summary).collect()
        }
    }

    #[test]
    fn later_segments_wait_for_the_first_and_follow_it_in_order() {
        let mut fixture = Fixture::new();
        let cut = cut(&mut fixture.links);
        assert_eq!(fixture.data(0, "a"), Summary::Retransmits(200));
        assert_eq!(fixture.data(10, "b"), Summary::Queued);
        assert_eq!(fixture.retry(200), [Summary::Retransmits(400)]);
        fixture.links.lift(cut);
        assert_eq!(fixture.data(300, "c"), Summary::Queued);
        let all = ["a", "b", "c"].map(|name| Summary::Arrives(403, name));
        assert_eq!(fixture.retry(400), all);
        assert_eq!(fixture.data(500, "d"), Summary::Arrives(503, "d"));
    }

    #[test]
    fn sender_times_out_and_drops_queued_segments() {
        for (kind, last_ms) in [(Kind::Data, 924_800), (Kind::Opening, 131_000)] {
            let mut fixture = Fixture::new();
            cut(&mut fixture.links);
            let mut next = summary(fixture.delivery(0, "a", kind));
            fixture.data(1, "b");
            let mut at_ms = 0;
            while let Summary::Retransmits(ms) = next {
                at_ms = ms;
                next = fixture.retry(ms).pop().expect("the timer ends");
            }
            assert_eq!((at_ms, next), (last_ms, Summary::TimedOut("a")));
            assert_eq!(fixture.retry(at_ms), []);
        }
    }

    /// Segments in transit to a host that loses power are retransmitted in order.
    #[test]
    fn unreceived_segment_is_retransmitted_before_later_ones() {
        let mut fixture = Fixture::new();
        let first = fixture.departed(0, "a");
        fixture.links.silence('b');
        assert_eq!(fixture.data(1, "b"), Summary::Retransmits(201));
        assert_eq!(summary(fixture.flow.failed(first, 3 * MS)), Summary::Queued);
        fixture.links.unsilence(&'b');
        assert_eq!(
            fixture.retry(201),
            [Summary::Arrives(204, "a"), Summary::Arrives(204, "b")]
        );
    }

    /// Nothing has acknowledged it: Linux resets the timeout only when something does.
    #[test]
    fn unacknowledged_retransmission_does_not_reset_the_timeout() {
        let mut fixture = Fixture::new();
        let cut = cut(&mut fixture.links);
        fixture.data(0, "a");
        for (at_ms, next_ms) in [(200, 400), (400, 800), (800, 1_600)] {
            assert_eq!(fixture.retry(at_ms), [Summary::Retransmits(next_ms)]);
        }
        fixture.links.lift(cut);
        let mut deliveries = fixture
            .flow
            .retry(&mut fixture.links, &HOP, 1_600 * MS, 1_600 * MS);
        let Some(Delivery::Arrives { transit, .. }) = deliveries.pop() else {
            panic!("it should have left");
        };
        fixture.links.silence('b');
        assert_eq!(
            summary(fixture.flow.failed(transit, 1_603 * MS)),
            Summary::Retransmits(3_203)
        );
    }

    /// Two segments were lost. After a retransmission the first arrives and the second is lost
    /// again: it waits like a segment that has been transmitted once.
    #[test]
    fn timeouts_begin_afresh_behind_a_segment_that_arrives() {
        let mut fixture = Fixture::new();
        let (first, second) = (fixture.departed(0, "a"), fixture.departed(0, "b"));
        fixture.flow.failed(first, 3 * MS);
        fixture.flow.failed(second, 3 * MS);
        // A random stream in which the first of two transmissions survives.
        let survives = |seed: &u64| {
            let mut stream = Stream::new(*seed, "network");
            stream.chance(0.5) && !stream.chance(0.5)
        };
        let seed = (0..).find(survives).expect("one in four does");
        fixture.links = Links::new(Dist::Constant(3.0), 0.5, Stream::new(seed, "network"));
        let deliveries = [Summary::Arrives(206, "a"), Summary::Retransmits(403)];
        assert_eq!(fixture.retry(203), deliveries);
        cut(&mut fixture.links);
        assert_eq!(fixture.retry(403), [Summary::Retransmits(603)]);
        assert_eq!(fixture.retry(603), [Summary::Retransmits(1_003)]);
    }

    #[test]
    fn a_reset_is_sent_once_and_ends_the_flow() {
        let mut fixture = Fixture::new();
        cut(&mut fixture.links);
        fixture.data(0, "a");
        assert_eq!(
            summary(fixture.delivery(10, "reset", Kind::Reset)),
            Summary::Lost
        );
        assert_eq!(fixture.retry(200), []);
    }

    #[test]
    fn a_timer_that_stood_still_runs_on() {
        let mut fixture = Fixture::new();
        cut(&mut fixture.links);
        fixture.data(0, "a");
        assert_eq!(
            fixture.flow.resume_timers(150 * MS, 20 * S),
            Some(20_050 * MS)
        );
        assert_eq!(fixture.retry(200), []);
        assert_eq!(fixture.retry(20_050), [Summary::Retransmits(20_250)]);
    }

    #[test]
    fn sender_that_stops_connecting_sends_nothing_more() {
        let mut fixture = Fixture::new();
        cut(&mut fixture.links);
        fixture.delivery(0, "syn", Kind::Opening);
        assert!(fixture.flow.holds_opening());
        fixture.flow.stop_opening();
        assert!(!fixture.flow.holds_opening());
        assert_eq!(fixture.retry(1_000), []);
        assert_eq!(fixture.data(1_100, "a"), Summary::Retransmits(1_300));
        assert!(!fixture.flow.holds_opening());
    }
}

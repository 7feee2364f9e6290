//! A peer's clock beside ours, after Cristian ("Probabilistic clock synchronization", 1989).
//!
//! The peer reads its clock at some moment between our sending and our receiving. So the difference is
//! known within half a round trip, and the shortest round trip knows it best.

use serde::Serialize;

use super::reading::{Reading, signed_ms, signed_ns};

/// A peer's clock that ran up to this much faster or slower than ours has not been stepped, in parts
/// per million: what time servers' clients correct at most (`MAXFREQ` of NTP).
const MOST_DRIFT_PPM: i64 = 500;

/// Parts of which a rate counts some.
const PARTS: i64 = 1_000_000;

/// A step of the peer's clock is larger than this, beyond what the two round trips leave open.
const LEAST_STEP_NS: i64 = locklab_values::units::NS_PER_MS.cast_signed();

/// A question for the time, and its answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Told {
    /// Our clocks before it was sent.
    pub sent: Reading,
    /// Our clocks after the answer was received.
    pub received: Reading,
    /// The peer's wall clock, in nanoseconds since 1970.
    pub peer_ns: u64,
}

/// What is known of a peer's clock.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct PeerClock {
    /// How often it was asked.
    pub asked: usize,
    /// How far it is ahead of ours; negative: behind. By the shortest round trip.
    pub ahead_ms: f64,
    /// The error of that is at most this.
    pub within_ms: f64,
    /// How much faster it runs than ours in parts per million, with the error of that. It needs two
    /// readings that are a second apart.
    pub drift_ppm: Option<(f64, f64)>,
    /// Its steps; negative: back. Ours are no steps of it.
    pub steps_ms: Vec<f64>,
}

/// A difference of two clocks, within bounds, at a time.
#[derive(Clone, Copy)]
struct Bounds {
    at_ns: u64,
    low_ns: i64,
    high_ns: i64,
}

impl Bounds {
    fn width_ns(&self) -> i64 {
        self.high_ns - self.low_ns
    }

    /// The middle of the difference of two.
    fn until_ns(&self, later: Bounds) -> i64 {
        (later.low_ns - self.low_ns).midpoint(later.high_ns - self.high_ns)
    }
}

impl Told {
    /// Whether our wall clock was not stepped between the two readings. If it was, the answer says
    /// nothing of the difference, and may look exact.
    fn is_steady(&self) -> bool {
        let took_ns = signed_ns(self.received.boot_ns, self.sent.boot_ns);
        let by_wall_ns = signed_ns(self.received.wall_ns, self.sent.wall_ns);
        (by_wall_ns - took_ns).abs() <= LEAST_STEP_NS
    }

    /// How far the peer is ahead of one of our clocks.
    fn ahead_of(&self, clock_ns: fn(&Reading) -> u64) -> Bounds {
        // Redis tells whole microseconds, rounded down.
        let latest_ns = self.peer_ns + locklab_values::units::NS_PER_US;
        Bounds {
            at_ns: self.received.boot_ns,
            low_ns: signed_ns(self.peer_ns, clock_ns(&self.received)),
            high_ns: signed_ns(latest_ns, clock_ns(&self.sent)),
        }
    }
}

/// What these answers tell of the peer's clock; `None` if there is none.
pub fn peer_clock(told: &[Told]) -> Option<PeerClock> {
    // By our wall clock, how wrong one of the two is.
    let of_wall = told.iter().filter(|it| it.is_steady());
    let of_wall = of_wall.map(|it| it.ahead_of(|it| it.wall_ns));
    let best = of_wall.min_by_key(Bounds::width_ns)?;
    // By the clock that is never stepped, what the peer's clock does.
    let of_boot: Vec<Bounds> = told.iter().map(|it| it.ahead_of(|it| it.boot_ns)).collect();
    let steps_ms: Vec<f64> = of_boot
        .windows(2)
        .filter_map(|pair| step_ns(pair[0], pair[1]))
        .map(signed_ms)
        .collect();
    Some(PeerClock {
        asked: told.len(),
        ahead_ms: signed_ms(best.low_ns.midpoint(best.high_ns)),
        within_ms: signed_ms(best.width_ns()) / 2.0,
        drift_ppm: match steps_ms[..] {
            [] => drift_ppm(&of_boot),
            _ => None,
        },
        steps_ms,
    })
}

/// How far the peer's clock was stepped between two answers, if it was.
fn step_ns(before: Bounds, after: Bounds) -> Option<i64> {
    let drift_ns = signed_ns(after.at_ns, before.at_ns) * MOST_DRIFT_PPM / PARTS;
    let forward_ns = after.low_ns - before.high_ns;
    let back_ns = before.low_ns - after.high_ns;
    let is_step = forward_ns.max(back_ns) > LEAST_STEP_NS + drift_ns;
    is_step.then(|| before.until_ns(after))
}

/// The drift between the best answers of the first and of the last third.
fn drift_ppm(all: &[Bounds]) -> Option<(f64, f64)> {
    let third = all.len() / 3;
    let best = |some: &[Bounds]| some.iter().copied().min_by_key(Bounds::width_ns);
    let (one, other) = (best(&all[..third])?, best(&all[all.len() - third..])?);
    let between_ns = signed_ns(other.at_ns, one.at_ns);
    if between_ns < locklab_values::units::NS_PER_S.cast_signed() {
        return None;
    }
    let unsure_ns = (one.width_ns() + other.width_ns()) as f64 / 2.0;
    let per_million = 1e6 / between_ns as f64;
    let drift = one.until_ns(other) as f64 * per_million;
    Some((drift, unsure_ns * per_million))
}

#[cfg(test)]
mod tests {
    use super::*;
    use locklab_values::units::{NS_PER_MS, NS_PER_S};

    const WALL_NS: u64 = 1_800_000_000_000_000_000;

    fn reading(at_ns: u64, wall_step_ns: i64) -> Reading {
        Reading {
            monotonic_ns: at_ns,
            boot_ns: at_ns,
            wall_ns: (WALL_NS + at_ns).wrapping_add_signed(wall_step_ns),
            raw_ns: at_ns,
            unsure_ns: 0,
        }
    }

    /// Asked at a time; the way there and the way back take so many milliseconds each.
    fn told(at_ms: u64, there_ms: u64, back_ms: u64, ahead_ns: i64) -> Told {
        let at_ns = at_ms * NS_PER_MS;
        let read_ns = at_ns + there_ms * NS_PER_MS;
        Told {
            sent: reading(at_ns, 0),
            received: reading(read_ns + back_ms * NS_PER_MS, 0),
            peer_ns: (WALL_NS + read_ns).wrapping_add_signed(ahead_ns) / 1_000 * 1_000,
        }
    }

    const MS: i64 = NS_PER_MS.cast_signed();

    #[test]
    fn the_true_difference_is_within_half_a_round_trip() {
        for (there_ms, back_ms) in [(0, 10), (5, 5), (10, 0)] {
            for ahead_ms in [-300, 0, 7] {
                let clock = peer_clock(&[told(0, there_ms, back_ms, ahead_ms * MS)]);
                let clock = clock.expect("it was asked");
                let off_ms = (clock.ahead_ms - ahead_ms as f64).abs();
                assert!((5.0..5.002).contains(&clock.within_ms), "{clock:?}");
                assert!(
                    off_ms <= clock.within_ms + 1e-9,
                    "{there_ms} {back_ms}: {clock:?}"
                );
            }
        }
        assert_eq!(peer_clock(&[]), None);
    }

    #[test]
    fn the_shortest_round_trip_decides() {
        let clock = peer_clock(&[told(0, 80, 0, 0), told(100, 1, 1, 0), told(200, 0, 90, 0)]);
        let clock = clock.expect("it was asked");
        assert!(
            clock.within_ms < 1.002 && clock.ahead_ms.abs() < 0.002,
            "{clock:?}"
        );
    }

    #[test]
    fn a_step_of_the_peer_is_one_beyond_both_round_trips() {
        let steps = |ahead_ms: i64| {
            let asked = [told(0, 1, 1, 0), told(1000, 1, 1, ahead_ms * MS)];
            peer_clock(&asked).expect("it was asked").steps_ms
        };
        // The two answers leave 1 ms open each, the drift half a millisecond, and the least step is 1 ms.
        assert_eq!(steps(3), [0.0; 0]);
        assert_eq!(steps(4).len(), 1);
        for ahead_ms in [-100, 100] {
            let [step] = steps(ahead_ms)[..] else {
                panic!("one step of {ahead_ms}");
            };
            assert!((step - ahead_ms as f64).abs() < 2.01, "{step}");
            assert_eq!(step.is_sign_negative(), ahead_ms < 0);
        }
    }

    #[test]
    fn a_step_of_our_clock_is_none_of_the_peer() {
        let mut other = told(1000, 1, 1, 0);
        for reading in [&mut other.sent, &mut other.received] {
            reading.wall_ns += 5 * NS_PER_S;
        }
        let clock = peer_clock(&[told(0, 1, 1, 0), other]).expect("it was asked");
        assert_eq!(clock.steps_ms, [0.0; 0]);
    }

    #[test]
    fn an_answer_during_a_step_of_our_clock_says_nothing() {
        // It looks as if it had taken 0.1 ms.
        let mut stepped = told(0, 5, 5, 0);
        stepped.received.wall_ns -= 99 * NS_PER_MS / 10;
        assert_eq!(peer_clock(&[stepped]), None);
        let clock = peer_clock(&[stepped, told(100, 3, 3, 0)]).expect("it was asked");
        assert!(clock.ahead_ms.abs() <= clock.within_ms, "{clock:?}");
    }

    #[test]
    fn a_drift_is_known_within_bounds() {
        // 50 ppm are 50 µs a second.
        let asked: Vec<Told> = (0..90)
            .map(|second| told(1000 * second, 1, 1, 50_000 * second.cast_signed()))
            .collect();
        let clock = peer_clock(&asked).expect("it was asked");
        let (drift, within) = clock.drift_ppm.expect("a minute between the best");
        assert!((drift - 50.0).abs() <= within, "{drift} ± {within}");
        assert!(within < 40.0, "{within}");
        assert_eq!(clock.steps_ms, [0.0; 0]);
    }
}

//! What a server's answers tell: the latency of the network, and times without answers.

use serde::Serialize;

use super::beats::Stall;
use super::values::Values;
use locklab_values::units::fractional_ms_from_ns;

/// A request with its answer, on the monotonic clock.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RoundTrip {
    /// Before the request was sent.
    pub sent_ns: u64,
    /// After the answer was received.
    pub received_ns: u64,
}

/// What asking a server again and again came to.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Asked {
    /// The requests that were answered.
    pub answered: Vec<RoundTrip>,
    /// The times without an answer: from the first request that failed to the next that was answered.
    pub outages: Vec<RoundTrip>,
}

/// The latency of a server and of the network to it.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct Latency {
    /// One way: half of each round trip.
    pub one_way_ms: Values,
    /// Round trips that are left out, since the process that asked stood still meanwhile.
    pub left_out: usize,
    /// How long there was no answer, each time. Whether the network, the server or its machine failed
    /// is not known.
    pub outages_ms: Vec<f64>,
}

impl Asked {
    /// The latency, without the round trips during which this process stood still: they would count a
    /// pause a second time, as latency.
    pub fn latency(&self, stalls: &[Stall]) -> Latency {
        let length_ms = |it: &RoundTrip| fractional_ms_from_ns(it.received_ns - it.sent_ns);
        let is_ours = |it: &&RoundTrip| {
            // The stalls are in the order of time.
            let next = stalls.partition_point(|stall| stall.until_ns <= it.sent_ns);
            let next = stalls.get(next);
            !next.is_some_and(|stall| stall.meets(it.sent_ns, it.received_ns))
        };
        let ours = self.answered.iter().filter(is_ours);
        let one_way: Vec<f64> = ours.map(|it| length_ms(it) / 2.0).collect();
        Latency {
            left_out: self.answered.len() - one_way.len(),
            one_way_ms: Values::of(one_way),
            outages_ms: self.outages.iter().map(length_ms).collect(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use locklab_values::units::NS_PER_MS;

    fn trip(sent_ms: u64, received_ms: u64) -> RoundTrip {
        RoundTrip {
            sent_ns: sent_ms * NS_PER_MS,
            received_ns: received_ms * NS_PER_MS,
        }
    }

    fn stall(from_ms: u64, until_ms: u64) -> Stall {
        Stall {
            from_ns: from_ms * NS_PER_MS,
            until_ns: until_ms * NS_PER_MS,
            waited_ns: None,
        }
    }

    #[test]
    fn one_way_is_half_of_a_round_trip() {
        let asked = Asked {
            answered: vec![trip(0, 4), trip(10, 11)],
            outages: vec![trip(20, 50)],
        };
        let latency = asked.latency(&[]);
        assert_eq!(latency.one_way_ms.sorted_ms(), [0.5, 2.0]);
        assert_eq!((latency.left_out, latency.outages_ms), (0, vec![30.0]));
    }

    #[test]
    fn a_round_trip_in_which_we_stood_still_is_left_out() {
        let asked = Asked {
            answered: vec![
                trip(0, 10),
                trip(10, 30),
                trip(30, 32),
                trip(90, 99),
                trip(120, 121),
            ],
            outages: vec![],
        };
        let latency = asked.latency(&[stall(5, 8), stall(10, 30), stall(95, 200)]);
        assert_eq!(latency.one_way_ms.sorted_ms(), [1.0]);
        assert_eq!(latency.left_out, 4);
    }
}

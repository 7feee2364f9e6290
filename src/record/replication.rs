//! How far a replica is behind its master, which is what a failover loses.
//!
//! Offsets show it without writing anything, but no finer than they are asked for. A value that is
//! written and looked for shows it to within a round trip.

use serde::Serialize;

use super::answers::RoundTrip;
use super::values::Values;
use locklab_values::units::fractional_ms_from_ns;

/// The offset of a server in the stream of replication, as `INFO replication` says it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Offset {
    /// When it was asked for.
    pub asked: RoundTrip,
    /// Bytes of the stream that it has.
    pub bytes: u64,
}

/// A value that was written to the master.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Write {
    /// When the master said that it has it, on the monotonic clock.
    pub granted_ns: u64,
    /// When the replica said so; `None` if nobody waited any longer.
    pub seen_ns: Option<u64>,
}

/// How far the replica is behind.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct Lag {
    /// The most bytes that it lacked of what the master was known to have.
    pub most_bytes: u64,
    /// Each time that its offset was asked for, for how long at least it had lacked something.
    pub behind_ms: Values,
    /// From the master's reply to a write until the replica was seen to have it.
    pub visible_ms: Values,
    /// Writes that the replica was not seen to have.
    pub unseen: usize,
}

/// The lag, from offsets in the order of time, and from writes.
pub fn lag(master: &[Offset], replica: &[Offset], writes: &[Write]) -> Lag {
    let behind_ms = replica
        .iter()
        .map(|it| fractional_ms_from_ns(behind_ns(master, it)));
    let visible = writes.iter().filter_map(|write| {
        let seen_ns = write.seen_ns?;
        Some(fractional_ms_from_ns(
            seen_ns.saturating_sub(write.granted_ns),
        ))
    });
    Lag {
        most_bytes: replica
            .iter()
            .map(|it| lacks(master, it))
            .max()
            .unwrap_or(0),
        behind_ms: Values::of(behind_ms.collect()),
        visible_ms: Values::of(visible.collect()),
        unseen: writes
            .iter()
            .filter(|write| write.seen_ns.is_none())
            .count(),
    }
}

/// The bytes that the replica lacks of what the master had before the replica was asked.
fn lacks(master: &[Offset], replica: &Offset) -> u64 {
    let known = { master.iter() }.take_while(|it| it.asked.received_ns <= replica.asked.sent_ns);
    let most = known.map(|it| it.bytes).max().unwrap_or(0);
    most.saturating_sub(replica.bytes)
}

/// For how long the replica had lacked something, at least.
fn behind_ns(master: &[Offset], replica: &Offset) -> u64 {
    let ahead = master.iter().find(|it| it.bytes > replica.bytes);
    ahead.map_or(0, |it| {
        replica.asked.sent_ns.saturating_sub(it.asked.received_ns)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use locklab_values::units::NS_PER_MS;

    /// An answer at a time, after a millisecond.
    fn offset(received_ms: u64, bytes: u64) -> Offset {
        let received_ns = received_ms * NS_PER_MS;
        Offset {
            asked: RoundTrip {
                sent_ns: received_ns - NS_PER_MS,
                received_ns,
            },
            bytes,
        }
    }

    #[test]
    fn a_replica_is_behind_since_the_master_had_what_it_lacks() {
        let master = [
            offset(100, 10),
            offset(200, 20),
            offset(300, 30),
            offset(400, 30),
        ];
        let check = |replica, bytes, ms| {
            let lag = lag(&master, &[replica], &[]);
            assert_eq!(
                (lag.most_bytes, lag.behind_ms.sorted_ms()),
                (bytes, &[ms][..])
            );
        };
        check(offset(251, 20), 0, 0.0);
        check(offset(251, 15), 5, 50.0);
        check(offset(351, 15), 15, 150.0);
        // What it lacks came later than the question.
        check(offset(251, 25), 0, 0.0);
        check(offset(451, 30), 0, 0.0);
        check(offset(451, 31), 0, 0.0);
    }

    #[test]
    fn a_write_counts_from_the_masters_reply() {
        let write = |seen_ms: Option<u64>| Write {
            granted_ns: 10 * NS_PER_MS,
            seen_ns: seen_ms.map(|ms| ms * NS_PER_MS),
        };
        let lag = lag(&[], &[], &[write(Some(12)), write(None), write(Some(11))]);
        assert_eq!(lag.visible_ms.sorted_ms(), [1.0, 2.0]);
        assert_eq!(lag.unseen, 1);
    }
}

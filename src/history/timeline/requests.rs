//! How long a client requests the lock.

use super::{Event, Failpoint, Op, Record};
use crate::Outcome;

/// Per record, whether it is a failed attempt after which its client goes on requesting the lock. `host_of`
/// gives the number of each record's host.
pub(super) fn asks_again(records: &[Record], host_of: &[u32], hosts: usize) -> Vec<bool> {
    let mut again = vec![false; records.len()];
    let mut will_ask = vec![false; hosts];
    for (index, record) in records.iter().enumerate().rev() {
        let host = host_of[index] as usize;
        match &record.event {
            Event::Invoke {
                op: Op::Acquire, ..
            } => will_ask[host] = true,
            event if event.is_reached(Failpoint::Waiting) => will_ask[host] = true,
            event if event.is_reached(Failpoint::GivingUp) => will_ask[host] = false,
            Event::Complete {
                op: Op::Acquire,
                outcome,
                ..
            } => again[index] = *outcome != Outcome::Ok && will_ask[host],
            event if event.is_death() => will_ask[host] = false,
            _ => {}
        }
    }
    again
}

//! When something happened, by the clocks of the machine.

use crate::backend::machine::read_clock;
use crate::history::{ClockKind, Event, Name, Record};

/// Two readings that lie further apart than this do not tell what one clock said when
/// the other was read: the process lost the processor in between.
const APART_NS: u64 = 20_000;

/// How often the clocks are read at most.
const READINGS: u32 = 5;

/// `event` happened on `host` just now. The true time is the machine's monotonic clock,
/// until the bench knows when the run began.
pub(super) fn record(host: &Name, event: Event) -> Record {
    let (mono_ns, wall_ns) = read_both();
    Record {
        at_ns: mono_ns,
        host: host.clone(),
        wall_ns,
        mono_ns,
        event,
    }
}

fn read_both() -> (u64, u64) {
    let mut reading = 1;
    loop {
        let mono_ns = read_clock(ClockKind::Monotonic);
        let wall_ns = read_clock(ClockKind::Wall);
        let apart_ns = read_clock(ClockKind::Monotonic) - mono_ns;
        if apart_ns <= APART_NS || reading == READINGS {
            return (mono_ns, wall_ns);
        }
        reading += 1;
    }
}

//! Timestamps of events, by the clocks of the machine.

use crate::history::{ClockKind, Event, Name, Record};
use crate::platform::machine::read_clock;

/// The maximum distance between the readings of two clocks. If they are further apart, the
/// process was preempted in between, and the readings do not belong together.
const APART_NS: u64 = 20_000;

/// The maximum number of attempts to read the clocks.
const READINGS: u32 = 5;

/// A record of `event` on `host`, at the present time. Its true time is the machine's monotonic
/// clock, until the bench knows when the run began.
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

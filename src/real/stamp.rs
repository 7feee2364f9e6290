//! Timestamps of events, by the clocks of the machine.

use crate::real_env::{Clocks, read_clock};
use locklab_history::{ClockKind, Event, Name, Record};

/// The maximum distance between the readings of the clocks. If they are further apart, the
/// process was preempted in between, and the readings do not belong together.
const APART_NS: u64 = 20_000;

/// The maximum number of attempts to read the clocks.
const READINGS: u32 = 5;

/// Records `event` on `host`, which has these clocks, at the present time. Its true time is the
/// machine's monotonic clock, until the testbed knows when the run began.
pub(super) fn record(host: &Name, clocks: &Clocks, event: Event) -> Record {
    let mut reading = 1;
    loop {
        let at_ns = read_clock(ClockKind::Monotonic);
        let mono_ns = clocks.now_ns(ClockKind::Monotonic);
        let wall_ns = clocks.now_ns(ClockKind::Wall);
        let apart_ns = read_clock(ClockKind::Monotonic) - at_ns;
        if apart_ns <= APART_NS || reading == READINGS {
            return Record {
                at_ns,
                host: host.clone(),
                wall_ns,
                mono_ns,
                event,
            };
        }
        reading += 1;
    }
}

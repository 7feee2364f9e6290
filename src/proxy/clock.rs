//! True time of a real run.

use locklab_values::units::NS_PER_S;
use nix::time::{ClockId, clock_gettime};

/// The machine's `CLOCK_MONOTONIC`, in nanoseconds. All processes of a machine share it.
pub(crate) fn now_ns() -> u64 {
    let time = clock_gettime(ClockId::CLOCK_MONOTONIC).expect("every Unix has this clock");
    time.tv_sec() as u64 * NS_PER_S + time.tv_nsec() as u64
}

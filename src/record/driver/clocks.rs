//! Reads the clocks of this machine.

use nix::time::{ClockId, clock_gettime};

use crate::reading::Reading;
use locklab_values::units::NS_PER_S;

/// The clock that counts the time of a suspended machine, and the one that nothing corrects. Elsewhere
/// than on Linux the monotonic clock stands for both, and tells neither.
#[cfg(target_os = "linux")]
const BOOT_AND_RAW: [ClockId; 2] = [ClockId::CLOCK_BOOTTIME, ClockId::CLOCK_MONOTONIC_RAW];
#[cfg(not(target_os = "linux"))]
const BOOT_AND_RAW: [ClockId; 2] = [ClockId::CLOCK_MONOTONIC; 2];

/// Clocks that are read within this time are as good as read at once, in nanoseconds.
const AT_ONCE_NS: u64 = 20_000;

/// How often they are read again if the thread was interrupted between two.
const TRIES: usize = 5;

/// All clocks at nearly the same moment.
pub(super) fn read() -> Reading {
    let mut best = once();
    for _ in 1..TRIES {
        if best.unsure_ns <= AT_ONCE_NS {
            break;
        }
        let again = once();
        if again.unsure_ns < best.unsure_ns {
            best = again;
        }
    }
    best
}

fn once() -> Reading {
    let [boot, raw] = BOOT_AND_RAW;
    let before_ns = monotonic_ns();
    let boot_ns = clock_ns(boot);
    let wall_ns = clock_ns(ClockId::CLOCK_REALTIME);
    let raw_ns = clock_ns(raw);
    let monotonic_ns = monotonic_ns();
    Reading {
        monotonic_ns,
        boot_ns,
        wall_ns,
        raw_ns,
        unsure_ns: monotonic_ns - before_ns,
    }
}

/// The monotonic clock alone.
pub(super) fn monotonic_ns() -> u64 {
    clock_ns(ClockId::CLOCK_MONOTONIC)
}

fn clock_ns(clock: ClockId) -> u64 {
    let time = clock_gettime(clock).expect("the system has this clock");
    time.tv_sec().cast_unsigned() * NS_PER_S + time.tv_nsec().cast_unsigned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn clocks_that_go_on_are_read_within_bounds() {
        let (before, after) = (read(), read());
        assert!(before.monotonic_ns < after.monotonic_ns);
        assert!(before.boot_ns <= after.boot_ns && before.raw_ns <= after.raw_ns);
        assert!(after.wall_ns > 1_700_000_000 * NS_PER_S);
        assert!(after.unsure_ns > 0);
    }
}

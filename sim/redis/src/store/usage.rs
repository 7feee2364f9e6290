//! When and how often a key was accessed (`src/evict.c`).
//!
//! Redis keeps either the one or the other in 24 bits, whichever its policy needs; a node keeps
//! both. Its counter of accesses grows by chance, more slowly the larger it is; here it grows
//! after as many accesses as Redis needs on average.

/// The counter of a new key (`LFU_INIT_VAL`).
const NEW_KEY: u8 = 5;
/// `lfu-log-factor`.
const LOG_FACTOR: u32 = 10;
/// `lfu-decay-time`: the number of minutes without access after which the counter decreases by one.
const DECAY_MIN: i64 = 1;
/// The clock of accesses in seconds, and that of the counter in minutes, have 24 and 16 bits.
const CLOCK_S: i64 = 1 << 24;
const CLOCK_MIN: i64 = 1 << 16;

/// The accesses of a key.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Usage {
    /// The second of the last access.
    last_s: i64,
    /// A logarithm of the number of accesses.
    counter: u8,
    /// The accesses since the counter grew.
    since: u32,
}

impl Default for Usage {
    /// That of a key that was not accessed yet.
    fn default() -> Self {
        Usage {
            last_s: 0,
            counter: NEW_KEY,
            since: 0,
        }
    }
}

impl Usage {
    /// That of a key created now.
    pub(crate) fn new(now_ms: i64) -> Self {
        Usage {
            last_s: now_ms / 1000,
            ..Usage::default()
        }
    }

    /// Notes an access of the key.
    pub(crate) fn access(&mut self, now_ms: i64) {
        if now_ms / 1000 != self.last_s {
            self.counter = self.frequency(now_ms);
            self.last_s = now_ms / 1000;
        }
        self.since += 1;
        let above = u32::from(self.counter.saturating_sub(NEW_KEY));
        if self.since > above * LOG_FACTOR {
            self.counter = self.counter.saturating_add(1);
            self.since = 0;
        }
    }

    /// The time since the last access, in seconds. After a step back of the clock it is very long,
    /// as in Redis.
    pub(crate) fn idle_s(&self, now_ms: i64) -> i64 {
        (now_ms / 1000 - self.last_s).rem_euclid(CLOCK_S)
    }

    /// The counter, less its decay since the last access.
    pub(crate) fn frequency(&self, now_ms: i64) -> u8 {
        let minutes = now_ms / 60_000 - self.last_s / 60;
        let lost = minutes.rem_euclid(CLOCK_MIN) / DECAY_MIN;
        self.counter
            .saturating_sub(u8::try_from(lost).unwrap_or(u8::MAX))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lfu_counter_grows_ever_more_slowly_and_decays() {
        let mut usage = Usage::new(0);
        let mut grew_at = Vec::new();
        for access in 1..=100 {
            let before = usage.counter;
            usage.access(0);
            if usage.counter > before {
                grew_at.push(access);
            }
        }
        assert_eq!(grew_at, [1, 12, 33, 64]);
        assert_eq!(usage.frequency(59_999), 9);
        assert_eq!(usage.frequency(3 * 60_000), 6);
        assert_eq!(usage.frequency(1_000 * 60_000), 0);
    }

    #[test]
    fn a_clock_that_steps_back_makes_keys_look_idle() {
        let usage = Usage::new(10_000);
        assert_eq!(usage.idle_s(12_900), 2);
        assert_eq!(usage.idle_s(9_000), CLOCK_S - 1);
    }
}

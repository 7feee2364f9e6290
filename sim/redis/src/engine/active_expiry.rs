//! The active expiry cycle (`src/expire.c`): ten times a second the server looks
//! at some keys with a time to live, and deletes those whose time is over.
//!
//! Deleting a key that is expired changes what a client can see in few ways: its
//! notification and its invalidation come, and DBSIZE and its like count it no
//! longer. So a node wants to be woken for cycles only while somebody listens;
//! otherwise the cycles that should have been are made up for when it is asked to
//! count. One difference remains: a key that nobody looked at from its end until
//! the node's clock stepped back is there again, while a real server would have
//! deleted it in between. As soon as the node sees the clock step back it makes up
//! for the cycles until the last time that it saw.
//!
//! A cycle deletes every key whose time is over, in the order of their times. Redis
//! looks at samples of twenty until less than a tenth of one is over its time, for as
//! long as it may; here a cycle knows where to look, and takes no time.

use super::notify::deliver;
use super::propagate::{self, Unit};
use super::state::State;
use crate::store::changes::Class;

/// Where the cycle is.
pub(super) struct ActiveExpiry {
    /// What DEBUG SET-ACTIVE-EXPIRE switches.
    pub(super) enabled: bool,
    /// A time of the wall clock at which everything was due that the server does
    /// regularly: as if it had started then, a little after the epoch.
    phase_us: u64,
    /// The last tick that was done, or the first time that was seen.
    last_us: Option<u64>,
}

impl ActiveExpiry {
    /// Servers do not tick together: the seed of a start says when this one does. The
    /// number is far larger than any period, so it falls anywhere in each of them alike.
    pub(super) fn new(seed: u64) -> Self {
        ActiveExpiry {
            enabled: true,
            phase_us: seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 32,
            last_us: None,
        }
    }
}

impl State {
    /// The first tick of `serverCron` at or after a time, in microseconds.
    pub(super) fn tick_from(&self, us: u64) -> u64 {
        self.due_from(us, 1_000_000 / self.config.hz())
    }

    /// When something that is done every `period_us` is due at or after a time, both in
    /// microseconds.
    pub(super) fn due_from(&self, us: u64, period_us: u64) -> u64 {
        let phase_us = self.active_expiry.phase_us % period_us;
        match us.checked_sub(phase_us) {
            None => phase_us,
            Some(after) => after.div_ceil(period_us) * period_us + phase_us,
        }
    }

    /// When the node has to be woken for the next cycle that finds something, if
    /// anybody would notice.
    pub(super) fn next_noticed_cycle_us(&self) -> Option<u64> {
        let noticed = self.db.effects.wanted
            || (self.config.notify.includes(Class::Expired) && !self.pubsub.is_empty())
            || (self.db.changes.wanted && self.caches_in_use());
        noticed.then(|| self.next_cycle_us()).flatten()
    }

    /// When the next cycle finds something.
    pub(super) fn next_cycle_us(&self) -> Option<u64> {
        let may = self.active_expiry.enabled && self.repl.link().is_none();
        may.then(|| self.next_tick_with_work()).flatten()
    }

    /// Notices where the wall clock is.
    pub(super) fn see_time(&mut self, wall_us: u64) {
        let seen = self.seen_us.replace(wall_us);
        if let Some(seen_us) = seen.filter(|seen_us| *seen_us > wall_us) {
            self.run_due_cycles(seen_us);
            self.active_expiry.last_us = Some(wall_us);
        }
        self.active_expiry.last_us.get_or_insert(wall_us);
    }

    /// Does the cycles of the ticks until now that have not been done.
    pub(super) fn run_due_cycles(&mut self, wall_us: u64) {
        // A replica waits for its master's DEL, and nobody deletes during a pause.
        if self.active_expiry.enabled && self.repl.link().is_none() && self.paused().is_none() {
            while let Some(tick_us) = self.next_tick_with_work().filter(|us| *us <= wall_us) {
                self.active_expiry.last_us = Some(tick_us);
                self.cycle((tick_us / 1000) as i64);
            }
        }
        self.active_expiry.last_us = Some(wall_us);
    }

    fn next_tick_with_work(&self) -> Option<u64> {
        let expiry_ms = u64::try_from(self.db.earliest_expiry_ms()?).unwrap_or(0);
        let expired_us = expiry_ms.saturating_add(1).saturating_mul(1000);
        let after_last = self.active_expiry.last_us.map_or(0, |last_us| last_us + 1);
        // Not so late that the sum would overflow: nobody waits for that.
        let from = expired_us.max(after_last).min(u64::MAX / 2);
        Some(self.tick_from(from))
    }

    /// `activeExpireCycle`, the slow one.
    fn cycle(&mut self, now_ms: i64) {
        self.db.expire_overdue(now_ms);
        deliver(self);
        propagate::flush(self, Unit::Parts);
    }

    fn caches_in_use(&self) -> bool {
        self.clients
            .values()
            .any(|client| client.tracking.is_some())
    }
}

//! The active expiry cycle (`src/expire.c`): ten times a second the server samples keys with a
//! time to live, and deletes the expired ones.
//!
//! Deleting an expired key has few effects that a client can see: its notification and its
//! invalidation are sent, and DBSIZE and similar commands no longer count it. So a node is woken
//! for cycles only while a client listens; otherwise it catches up on missed cycles when it has
//! to count keys. One difference remains: if nothing accessed a key from its expiry until the
//! node's clock stepped back, the key exists again, while a real server would have deleted it in
//! between. When the node notices that the clock stepped back, it catches up on the cycles until
//! the last time that it saw.
//!
//! A cycle deletes every expired key, in the order of their expiry times. Redis takes samples of
//! twenty until less than a tenth of a sample is expired, within a time limit; here a cycle finds
//! the keys directly, and takes no time.

use super::notify::deliver;
use super::propagate::{self, Unit};
use super::state::State;
use crate::store::changes::Class;

impl State {
    /// The first tick of `serverCron` at or after a time, in microseconds.
    pub(super) fn tick_from(&self, us: u64) -> u64 {
        self.due_from(us, 1_000_000 / self.config.hz())
    }

    /// The first time at or after a given one when work with a period of `period_us` is due, both
    /// in microseconds.
    pub(super) fn due_from(&self, us: u64, period_us: u64) -> u64 {
        let phase_us = self.active_expiry.phase_us % period_us;
        match us.checked_sub(phase_us) {
            None => phase_us,
            Some(after) => after.div_ceil(period_us) * period_us + phase_us,
        }
    }

    /// When the node has to be woken for the next cycle that finds an expired key, if a client
    /// would notice.
    pub(super) fn next_noticed_cycle_us(&self) -> Option<u64> {
        let noticed = self.db.effects.wanted
            || (self.config.notify.includes(Class::Expired) && !self.pubsub.is_empty())
            || (self.db.changes.wanted && self.caches_in_use());
        noticed.then(|| self.next_cycle_us()).flatten()
    }

    /// When the next cycle finds an expired key.
    pub(super) fn next_cycle_us(&self) -> Option<u64> {
        let enabled = self.active_expiry.enabled;
        enabled.then(|| self.next_tick_with_work()).flatten()
    }

    /// Records the current wall-clock time.
    pub(super) fn see_time(&mut self, wall_us: u64) {
        self.started_us.get_or_insert(wall_us);
        let seen = self.seen_us.replace(wall_us);
        if let Some(seen_us) = seen.filter(|seen_us| *seen_us > wall_us) {
            self.run_due_cycles(seen_us);
            self.active_expiry.last_us = Some(wall_us);
        }
        self.active_expiry.last_us.get_or_insert(wall_us);
    }

    /// Runs the missed cycles of the ticks until now.
    pub(super) fn run_due_cycles(&mut self, wall_us: u64) {
        // A pause suspends expiry on a master.
        let may = self.repl.link().is_some() || self.paused().is_none();
        if self.active_expiry.enabled && may {
            while let Some(tick_us) = self.next_tick_with_work().filter(|us| *us <= wall_us) {
                self.active_expiry.last_us = Some(tick_us);
                self.cycle((tick_us / 1000) as i64);
            }
        }
        self.active_expiry.last_us = Some(wall_us);
    }

    fn next_tick_with_work(&self) -> Option<u64> {
        // A replica waits for its master's DEL, except for what its own clients have set.
        let expiry_ms = match self.repl.link() {
            Some(_) => self.db.earliest_own_expiry_ms()?,
            None => self.db.earliest_expiry_ms()?,
        };
        let expiry_ms = u64::try_from(expiry_ms).unwrap_or(0);
        let expired_us = expiry_ms.saturating_add(1).saturating_mul(1000);
        let after_last = self.active_expiry.last_us.map_or(0, |last_us| last_us + 1);
        // Limited so that the sum does not overflow: no one waits for times that late.
        let from = expired_us.max(after_last).min(u64::MAX / 2);
        Some(self.tick_from(from))
    }

    /// `activeExpireCycle`, the slow one.
    fn cycle(&mut self, now_ms: i64) {
        match self.repl.link() {
            Some(_) => self.db.expire_own(now_ms),
            None => self.db.expire_overdue(now_ms),
        }
        deliver(self);
        propagate::flush(self, Unit::Parts);
    }

    /// Whether any client is tracked.
    pub(super) fn caches_in_use(&self) -> bool {
        self.caches.tracked > 0
    }
}

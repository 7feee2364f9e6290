//! Does with the lock of the crate redlock what it is told, for `locklab score`; see README.md.

#[rustfmt::skip] // It comes from docs/score when the client is installed.
mod locklab_drill;

use locklab_drill::{Answer, Order, lease, orders, ready, urls};
use redlock::{Lock, RedLock};

/// Its default, the longest time between two attempts, in milliseconds.
const DELAY_MS: u32 = 200;

/// A lock belongs to its manager, which has the number of attempts: each order has a manager of its own.
fn manager(wait_ms: Option<u64>) -> &'static RedLock {
    let mut manager = RedLock::new(urls());
    if let Some(wait_ms) = wait_ms {
        // So many take about this time, if each is answered at once.
        manager.set_retry(1 + wait_ms as u32 / (DELAY_MS / 2), DELAY_MS);
    }
    Box::leak(Box::new(manager))
}

fn take(order: &Order, held: &mut Option<Lock<'_>>) -> Answer {
    let is_plain = order.word == "plain";
    let lease_ms = if is_plain {
        1000
    } else {
        lease().as_millis() as usize
    };
    let wait_ms = if order.word == "try" {
        Some(0)
    } else {
        order.wait_ms
    };
    let manager = manager(wait_ms);
    loop {
        match manager.lock(b"lock", lease_ms) {
            Ok(Some(lock)) => {
                let valid_ms = lock.validity_time as f64;
                *held = Some(lock);
                return Answer::Granted { valid_ms };
            }
            // As its example does, and as `acquire`.
            Ok(None) if wait_ms.is_none() => {}
            Ok(None) => return Answer::No,
            Err(error) => return Answer::error(error),
        }
    }
}

fn main() {
    let mut held: Option<Lock> = None;
    ready(&["lock", "try", "plain", "unlock", "again", "quorum"]);
    for order in orders() {
        order.answered(match (&*order.word, &held) {
            ("unlock", Some(lock)) => {
                lock.lock_manager.unlock(lock);
                Answer::Ok
            }
            _ => take(&order, &mut held),
        });
    }
}

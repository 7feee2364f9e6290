//! Does with the lock of the crate redsync what it is told, for `locklab score`; see README.md.

#[rustfmt::skip] // It comes from docs/score when the client is installed.
mod locklab_drill;

use std::time::{Duration, Instant};

use locklab_drill::{Answer, Order, lease, orders, ready, urls};
use redsync::{Lock, RedisInstance, Redsync, RedsyncBuilder, RedsyncError};

/// Its default, the mean time between two attempts, in milliseconds.
const DELAY_MS: u64 = 200;

/// A manager with its own number of attempts, three, or with so many as take about this time.
fn manager(wait_ms: Option<u64>) -> Redsync<RedisInstance> {
    let open = |url: String| RedisInstance::new(url).expect("it is a URL");
    let builder = RedsyncBuilder::new(urls().into_iter().map(open).collect());
    match wait_ms {
        Some(wait_ms) => builder.retry_count(1 + (wait_ms / DELAY_MS) as u32).build(),
        None => builder.build(),
    }
}

fn granted(lock: Result<Lock, RedsyncError>, held: &mut Option<Lock>) -> Answer {
    match lock {
        Ok(lock) => {
            let left = lock.expiry.saturating_duration_since(Instant::now());
            *held = Some(lock);
            Answer::Granted {
                valid_ms: left.as_secs_f64() * 1000.0,
            }
        }
        // What each server said is in it.
        Err(RedsyncError::LockRetriesExceeded(errors))
            if errors.iter().all(|it| *it == RedsyncError::ResourceLocked) =>
        {
            Answer::No
        }
        Err(error) => Answer::error(error),
    }
}

fn does(order: &Order, held: &mut Option<Lock>) -> Answer {
    match (&*order.word, &held) {
        ("plain", _) => granted(manager(None).lock("lock", Duration::from_secs(1)), held),
        ("extend", Some(lock)) => granted(manager(None).extend(lock, lease()), held),
        ("unlock", Some(lock)) => {
            let released = manager(None).unlock(lock);
            released.map_or_else(Answer::error, |()| Answer::Ok)
        }
        (word, _) => {
            let wait_ms = if word == "try" {
                Some(0)
            } else {
                order.wait_ms
            };
            granted(manager(wait_ms).lock("lock", lease()), held)
        }
    }
}

fn main() {
    let mut held = None;
    ready(&[
        "lock", "try", "plain", "extend", "unlock", "again", "quorum",
    ]);
    for order in orders() {
        order.answered(does(&order, &mut held));
    }
}

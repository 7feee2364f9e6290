//! Many runs on several threads, whose results stay in their order.

use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};

use locklab_runner::RunError;
use locklab_runner::pool::{lock, run_chunks};

use crate::error::RareError;

/// What `one` makes of each number, in their order, so that sums do not depend on the threads.
///
/// # Errors
///
/// If a run fails, or `stop` was set.
pub(crate) fn each<T: Send>(
    numbers: Range<u64>,
    threads: usize,
    stop: &AtomicBool,
    one: impl Fn(u64) -> Result<T, RunError> + Sync,
) -> Result<Vec<T>, RareError> {
    let made = Mutex::new(BTreeMap::new());
    let add = |_, numbers: Range<u64>, part: Vec<T>| {
        lock(&made).extend(numbers.zip(part));
    };
    let run = |_, number, part: &mut Vec<T>| -> Result<(), RunError> {
        part.push(one(number)?);
        Ok(())
    };
    run_chunks(&[numbers], threads, stop, run, add)?;
    if stop.load(Ordering::Relaxed) {
        return Err(RareError::Stopped);
    }
    let made = made.into_inner();
    let made = made.unwrap_or_else(std::sync::PoisonError::into_inner);
    Ok(made.into_values().collect())
}

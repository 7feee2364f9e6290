//! A thread pool for seeds.
//!
//! Workers take chunks of seeds when they are free, so that no thread waits for another, and
//! memory does not grow with the number of runs. A run that fails or panics ends the work and
//! is reported.

use std::any::Any;
use std::ops::Range;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread;

/// The maximum number of seeds in a chunk: a few milliseconds of work.
const CHUNK: u64 = 32;

/// If there is less work, each worker gets this many chunks, so that all end at about the same
/// time.
const CHUNKS_EACH: u64 = 8;

/// A run that has no result.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("run {seed} of job {job} {why}")]
pub struct Broken {
    /// The index of its job.
    pub job: usize,
    /// Its seed.
    pub seed: u64,
    /// The reason.
    pub why: Why,
}

/// Why a run has no result.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Why {
    /// It panicked with this message. That is a bug in Locklab, whatever the scenario.
    #[error("panicked: {0}")]
    Panicked(String),
    /// Its scenario cannot be run to the end, for this reason.
    #[error("failed: {0}")]
    Failed(String),
}

/// Calls `run` with the index of every range and each of its seeds, and after each chunk of
/// seeds calls `done` with what `run` has collected in it. Ends early when `stop` is set;
/// `done` is not called for an interrupted chunk. A run that fails after that counts as
/// interrupted: runs on real servers end with an error when they are stopped.
///
/// # Errors
///
/// If a run fails or panics; the other workers finish their current chunk.
pub fn run_chunks<Part: Default, E: ToString>(
    ranges: &[Range<u64>],
    threads: usize,
    stop: &AtomicBool,
    run: impl Fn(usize, u64, &mut Part) -> Result<(), E> + Sync,
    done: impl Fn(usize, Range<u64>, Part) + Sync,
) -> Result<(), Broken> {
    let chunks = Mutex::new(chunks(ranges, chunk_size(ranges, threads)));
    let broken = Mutex::new(None);
    let work = || {
        while lock(&broken).is_none() {
            let Some((job, seeds)) = lock(&chunks).next() else {
                return;
            };
            let mut part = Part::default();
            for seed in seeds.clone() {
                if stop.load(Ordering::Relaxed) {
                    return;
                }
                let caught = catch_unwind(AssertUnwindSafe(|| run(job, seed, &mut part)));
                let why = match caught {
                    Ok(Ok(())) => continue,
                    Ok(Err(_)) if stop.load(Ordering::Relaxed) => return,
                    Ok(Err(error)) => Why::Failed(error.to_string()),
                    Err(payload) => Why::Panicked(message(&*payload)),
                };
                lock(&broken).get_or_insert(Broken { job, seed, why });
                return;
            }
            done(job, seeds, part);
        }
    };
    thread::scope(|scope| {
        for _ in 1..threads {
            // If the system refuses a thread, the existing ones do its work.
            let _ = thread::Builder::new().spawn_scoped(scope, work);
        }
        work();
    });
    let broken = broken.into_inner();
    broken
        .unwrap_or_else(PoisonError::into_inner)
        .map_or(Ok(()), Err)
}

/// What `of` makes of each item, in the order of the items. A thread that is free takes the next one.
///
/// # Panics
///
/// If `of` does.
pub fn each<T: Sync, R: Send>(items: &[T], threads: usize, of: impl Fn(&T) -> R + Sync) -> Vec<R> {
    let next = AtomicUsize::new(0);
    let work = || {
        let mut made = Vec::new();
        loop {
            let index = next.fetch_add(1, Ordering::Relaxed);
            match items.get(index) {
                Some(item) => made.push((index, of(item))),
                None => return made,
            }
        }
    };
    let mut made = thread::scope(|scope| {
        let others = 1..threads.min(items.len());
        let others = others.map_while(|_| thread::Builder::new().spawn_scoped(scope, work).ok());
        let others: Vec<_> = others.collect();
        let mut made = work();
        for other in others {
            made.extend(other.join().unwrap_or_else(|panic| resume_unwind(panic)));
        }
        made
    });
    made.sort_unstable_by_key(|(index, _)| *index);
    made.into_iter().map(|(_, result)| result).collect()
}

fn chunk_size(ranges: &[Range<u64>], threads: usize) -> u64 {
    let lengths = ranges.iter().map(|seeds| seeds.end - seeds.start);
    let all = lengths.fold(0, u64::saturating_add);
    (all / (threads as u64 * CHUNKS_EACH)).clamp(1, CHUNK)
}

fn chunks(ranges: &[Range<u64>], size: u64) -> impl Iterator<Item = (usize, Range<u64>)> {
    ranges.iter().enumerate().flat_map(move |(job, seeds)| {
        let mut rest = seeds.clone();
        std::iter::from_fn(move || {
            let end = rest.end.min(rest.start.saturating_add(size));
            let chunk = rest.start..end;
            rest.start = end;
            (!chunk.is_empty()).then_some((job, chunk))
        })
    })
}

fn message(payload: &(dyn Any + Send)) -> String {
    let text = payload.downcast_ref::<&str>().map(|text| (*text).into());
    let string = || payload.downcast_ref::<String>().cloned();
    text.or_else(string).unwrap_or_else(|| "no message".into())
}

/// Locks a mutex, even if it is poisoned.
pub fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::RunError;

    /// Every seed of every range, in order of range and seed, as executed by `threads`.
    fn ran(ranges: &[Range<u64>], threads: usize) -> Vec<(usize, u64)> {
        let seen = Mutex::new(Vec::new());
        let result = run_chunks(
            ranges,
            threads,
            &AtomicBool::new(false),
            |job, seed, part: &mut Vec<(usize, u64)>| {
                part.push((job, seed));
                Ok::<(), RunError>(())
            },
            |_, _, part| lock(&seen).extend(part),
        );
        assert_eq!(result, Ok(()));
        let mut seen = lock(&seen).clone();
        seen.sort_unstable();
        seen
    }

    #[test]
    fn every_seed_is_run_once_on_any_number_of_threads() {
        let ranges = [5..6, 0..0, 10..10 + 3 * CHUNK + 1, u64::MAX - 2..u64::MAX];
        let all = ranges.iter().enumerate();
        let all: Vec<_> = all
            .flat_map(|(job, seeds)| seeds.clone().map(move |seed| (job, seed)))
            .collect();
        for threads in [1, 2, 7] {
            assert_eq!(ran(&ranges, threads), all, "{threads} threads");
        }
    }

    #[test]
    fn results_have_the_order_of_their_items_on_any_number_of_threads() {
        let items: Vec<u64> = (0..100).collect();
        // The first items take longest.
        let of = |item: &u64| {
            for n in 0..(100 - item) * 1000 {
                std::hint::black_box(n);
            }
            item * item
        };
        for threads in [1, 2, 7] {
            let squares = each(&items, threads, of);
            let expected: Vec<u64> = items.iter().map(|item| item * item).collect();
            assert_eq!(squares, expected, "{threads} threads");
        }
        assert!(each(&[], 3, |item: &u64| *item).is_empty());
    }

    #[test]
    fn a_run_that_panics_ends_the_work_and_is_named() {
        for threads in [1, 3] {
            // The ranges hold more seeds than could ever be run: this test ends because the
            // pool does.
            let result = run_chunks(
                &[0..10, 0..u64::MAX],
                threads,
                &AtomicBool::new(false),
                |job, seed, _: &mut ()| {
                    assert!((job, seed) != (1, 40), "forty");
                    Ok::<(), RunError>(())
                },
                |_, _, ()| {},
            );
            let expected = Broken {
                job: 1,
                seed: 40,
                why: Why::Panicked("forty".into()),
            };
            assert_eq!(result, Err(expected), "{threads} threads");
        }
    }

    #[test]
    fn a_run_that_fails_ends_the_work_too_and_is_no_panic() {
        let error = RunError::StandsStill { at_ns: 5 };
        for threads in [1, 3] {
            let result = run_chunks(
                &[0..0, 0..u64::MAX],
                threads,
                &AtomicBool::new(false),
                |_, seed, _: &mut ()| match seed {
                    40 => Err(error.clone()),
                    _ => Ok(()),
                },
                |_, _, ()| {},
            );
            let expected = Broken {
                job: 1,
                seed: 40,
                why: Why::Failed(error.to_string()),
            };
            assert_eq!(result, Err(expected), "{threads} threads");
        }
    }

    #[test]
    fn whoever_stops_the_work_has_what_was_done_by_then() {
        let stop = AtomicBool::new(false);
        let done = Mutex::new(0);
        let result = run_chunks(
            &[0..0, 0..u64::MAX],
            1,
            &stop,
            |_, seed, _: &mut ()| {
                stop.fetch_or(seed == 100, Ordering::Relaxed);
                Ok::<(), RunError>(())
            },
            |_, seeds, ()| *lock(&done) += seeds.end - seeds.start,
        );
        assert_eq!(result, Ok(()));
        // The chunk with seed 100 is not done.
        assert_eq!(*lock(&done), 3 * CHUNK);
    }

    #[test]
    fn a_run_that_was_stopped_is_no_error() {
        let stop = AtomicBool::new(false);
        let run = |_, seed, _: &mut ()| match seed {
            CHUNK => {
                stop.store(true, Ordering::Relaxed);
                Err("stopped")
            }
            _ => Ok(()),
        };
        let done = Mutex::new(0);
        let add = |_, seeds: Range<u64>, ()| *lock(&done) += seeds.end - seeds.start;
        let ran = run_chunks(&[0..0, 0..u64::MAX], 1, &stop, run, add);
        assert_eq!(ran, Ok(()));
        assert_eq!(*lock(&done), CHUNK);
    }
}

//! When a run was lost: how likely a property is violated, given what the run had drawn so far.
//!
//! Take a time t of the run, and all runs that are equal to this one before t and draw everything anew
//! from then on: delays, losses, the order of tasks, what clients and servers draw, and every fault that
//! had not begun, under the condition that it had not. Let p(t) be the probability that such a run
//! violates the property. Then p(0) is the rate of the scenario, and at the end of a run that violates the
//! property p is 1. If p is small before a step and large after it, that step lost the run.
//!
//! What was drawn before t stays, though nobody may have seen it yet: when a client starts, how long a
//! fault lasts that has begun, when a message arrives that is under way. The topology and the faults of
//! a campaign are those of the run.
//!
//! p is estimated from runs, at the times of steps: first at some, spread evenly, then between those that
//! differ most.

use std::sync::Mutex;
use std::sync::atomic::AtomicBool;

use locklab_check::{Ms, Property, Verdict};
use locklab_evidence::thousands;
use locklab_history::Name;
use locklab_model::fault::{SoFar, redraw};
use locklab_runner::judged::{JudgedRun, run_renewed, run_schedule};
use locklab_runner::pool::{Broken, lock, run_chunks};
use locklab_runner::simulate::Keep;
use locklab_runner::{Renewal, RunError};
use locklab_values::random::{Rng, Stream};
use locklab_vecmap::VecMap;

use crate::Subject;

/// The number of times at which p is estimated first, spread evenly over the steps.
const FIRST: usize = 17;

/// The largest number of times at which p is estimated.
pub const MOST_TIMES: usize = 65;

/// A step lost a run if the estimate rises there by more than this.
const RISE: f64 = 0.2;

/// There is no further estimate between two that differ by less than this.
const SAME: f64 = 0.02;

/// How likely a run was to violate a property, along its time.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Lost {
    /// The property.
    pub property: Property,
    /// How many runs each estimate is made from.
    pub runs: u64,
    /// In the order of time, from the beginning of the run.
    pub points: Vec<Point>,
    /// The faults of the run, with the times at which they began.
    pub faults: Vec<(u64, Name)>,
}

/// An estimate: the runs that are equal to this one before a time.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Point {
    /// True time in nanoseconds since the run began.
    pub at_ns: u64,
    /// The last step of the run at that time. What is drawn then is drawn anew.
    pub step: String,
    /// How many of the runs violate the property.
    pub violated: u64,
}

/// How the estimates are made.
#[derive(Clone, Copy)]
pub struct Estimate<'a> {
    /// The property.
    pub property: Property,
    /// Runs for each time.
    pub runs: u64,
    /// Threads to run on.
    pub threads: usize,
    /// Once it is set, no further estimate is made.
    pub stop: &'a AtomicBool,
    /// Is called with the number of runs that were just made.
    pub progress: &'a (dyn Fn(u64) + Sync),
}

/// Why there is no estimate.
#[derive(Debug, thiserror::Error)]
pub enum LostError {
    /// The run itself does not end.
    #[error(transparent)]
    Run(#[from] RunError),
    /// One of the others does not.
    #[error(transparent)]
    Broken(#[from] Broken),
}

impl Lost {
    /// Estimates when the run of `subject` was lost.
    ///
    /// # Errors
    ///
    /// If a run has no end.
    pub fn of(subject: &Subject, how: Estimate<'_>) -> Result<Lost, LostError> {
        let Subject {
            scenario,
            seed,
            schedule,
        } = subject;
        let run = run_schedule(scenario, *seed, schedule.clone(), Keep::STEPS)?;
        let course = Course::of(&run);
        let mut known: VecMap<usize, u64> = VecMap::new();
        while let Some(place) = next(&known, course.times.len(), how.runs) {
            let Some(violated) = course.violated(subject, how, place)? else {
                break;
            };
            known.insert(place, violated);
        }
        let point = |(place, violated): (usize, u64)| Point {
            at_ns: course.times[place].0,
            step: course.times[place].1.clone(),
            violated,
        };
        Ok(Lost {
            property: how.property,
            runs: how.runs,
            points: known.into_iter().map(point).collect(),
            faults: (course.began_ns.iter())
                .map(|(name, at_ns)| (*at_ns, (*name).into()))
                .collect(),
        })
    }

    /// The two successive times between which the estimate rises most.
    pub fn rise(&self) -> Option<[&Point; 2]> {
        let pairs = self.points.windows(2).map(|pair| [&pair[0], &pair[1]]);
        // Of equal rises the first.
        pairs
            .rev()
            .max_by_key(|[before, after]| after.violated.saturating_sub(before.violated))
    }

    /// When the run was lost, in a sentence.
    pub fn sentence(&self) -> String {
        let property = self.property.name();
        let Some([before, after]) = self.rise() else {
            return format!("{property}: nothing is known of when this run was lost");
        };
        let runs = thousands(self.runs);
        let violate = |point: &Point| match point.violated {
            all if all == self.runs => "all violate it".to_owned(),
            0 => "none violates it".to_owned(),
            1 => "1 violates it".to_owned(),
            some => format!("{} violate it", thousands(some)),
        };
        let at = |point: &Point| format!("{} (“{}”)", Ms(point.at_ns), point.step);
        if (after.violated.saturating_sub(before.violated)) as f64 <= RISE * self.runs as f64 {
            return format!(
                "{property}: no single step lost this run; of {runs} runs that draw everything anew, {}",
                violate(&self.points[0]),
            );
        }
        let between = before.at_ns..after.at_ns;
        let begin = { self.faults.iter() }.filter(|(at_ns, _)| between.contains(at_ns));
        let begin: Vec<&str> = begin.map(|(_, name)| &**name).collect();
        let begin = match begin.is_empty() {
            true => String::new(),
            false => format!(". In between, {} begins", begin.join(" and ")),
        };
        format!(
            "{property}: of {runs} runs that are equal to this one until {}, {}; of {runs} that are equal \
             until {}, {}{begin}",
            at(before),
            violate(before),
            at(after),
            violate(after),
        )
    }
}

/// A run with the times of its steps.
struct Course<'r> {
    run: &'r JudgedRun,
    /// Each time with the last step then.
    times: Vec<(u64, String)>,
    /// When each fault began.
    began_ns: VecMap<&'r str, u64>,
}

impl<'r> Course<'r> {
    fn of(run: &'r JudgedRun) -> Self {
        let steps = run.steps.iter().flat_map(|log| &log.steps);
        let mut times: Vec<(u64, String)> = vec![(0, "the run begins".to_owned())];
        for seen in steps {
            let step = seen.step.to_string();
            match times.last_mut() {
                Some((at_ns, last)) if *at_ns == seen.at_ns => *last = step,
                _ => times.push((seen.at_ns, step)),
            }
        }
        Self {
            run,
            times,
            began_ns: run.history.faults_began_ns(),
        }
    }

    /// How many of the runs that draw anew from the time at this place on violate the property; `None` if
    /// they were stopped.
    fn violated(
        &self,
        subject: &Subject,
        how: Estimate<'_>,
        place: usize,
    ) -> Result<Option<u64>, Broken> {
        let at_ns = self.times[place].0;
        let so_far = SoFar {
            schedule: &self.run.schedule,
            now_ns: at_ns,
            began_ns: &self.began_ns,
        };
        let one = |_, number: u64, violated: &mut u64| -> Result<(), RunError> {
            let seed = Stream::new(number, "lost").next_u64();
            let schedule = redraw(&subject.scenario.fault, so_far, seed);
            let renewal = Renewal { at_ns, seed };
            let run = run_renewed(&subject.scenario, subject.seed, &[renewal], schedule)?;
            let verdict = run.verdicts.get(&how.property);
            *violated += u64::from(matches!(verdict, Some(Verdict::Violated(_))));
            Ok(())
        };
        let sum = Mutex::new((0, 0));
        let add = |_, numbers: std::ops::Range<u64>, violated: u64| {
            let mut sum = lock(&sum);
            let made = numbers.end - numbers.start;
            sum.0 += made;
            sum.1 += violated;
            (how.progress)(made);
        };
        let numbers = 0..how.runs;
        run_chunks(&[numbers], how.threads, how.stop, one, add)?;
        let (made, violated) = *lock(&sum);
        Ok((made == how.runs).then_some(violated))
    }
}

/// The place of the next time to look at, of so many.
fn next(known: &VecMap<usize, u64>, times: usize, runs: u64) -> Option<usize> {
    if known.len() >= MOST_TIMES.min(times) {
        return None;
    }
    let evenly = FIRST.min(times);
    let mut spread = (0..evenly).map(|nth| nth * (times - 1) / (evenly - 1).max(1));
    if let Some(place) = spread.find(|place| !known.contains_key(place)) {
        return Some(place);
    }
    let pairs = known.iter().zip(known.iter().skip(1));
    let apart = pairs.filter(|((one, _), (other, _))| *other - *one > 1);
    let widest = apart.max_by_key(|((_, one), (_, other))| one.abs_diff(**other))?;
    let ((one, before), (other, after)) = widest;
    let differs = before.abs_diff(*after) as f64 >= SAME * runs as f64;
    differs.then_some(one + (other - one) / 2)
}

#[cfg(test)]
mod tests {
    use locklab_model::scenario::load;

    use super::*;

    fn estimate(runs: u64) -> Estimate<'static> {
        static STOP: AtomicBool = AtomicBool::new(false);
        Estimate {
            property: Property::Resource,
            runs,
            threads: 2,
            stop: &STOP,
            progress: &|_| (),
        }
    }

    /// A pause of exponential length after c1 has read. Before that step it is drawn anew, and violates
    /// the resource with the scenario's rate; afterwards it is what it is.
    #[test]
    fn a_run_is_lost_when_its_pause_begins() {
        let scenario = load("kleppmann/k1-exponential", &[]).expect("it ships");
        let violating = |seed: &u64| {
            let subject = Subject::of(&scenario, *seed);
            let run = run_schedule(
                &subject.scenario,
                *seed,
                subject.schedule.clone(),
                Keep::default(),
            );
            let verdicts = run.expect("it ends").verdicts;
            matches!(verdicts[&Property::Resource], Verdict::Violated(_))
        };
        let [lost, safe] = [true, false].map(|is_lost| {
            let seed = (0..).find(|seed| violating(seed) == is_lost).expect("one");
            Lost::of(&Subject::of(&scenario, seed), estimate(60)).expect("it ends")
        });
        for (run, last) in [(&lost, 60), (&safe, 0)] {
            let first = run.points.first().expect("the beginning");
            assert!((6..54).contains(&first.violated), "{first:?}");
            assert_eq!(run.points.last().expect("an end").violated, last);
        }
        let [before, after] = lost.rise().expect("it rises");
        assert_eq!(before.step, "c1 read", "{:?}", lost.points);
        assert!(after.violated > 57, "{after:?}");
        let sentence = lost.sentence();
        assert!(
            sentence.ends_with("all violate it. In between, gc begins"),
            "{sentence}"
        );
    }

    /// Without anything drawn anew the runs are the run itself.
    #[test]
    fn a_run_that_is_drawn_anew_after_its_end_is_the_same() {
        let scenario = load("kleppmann/k10", &[]).expect("it ships");
        let Subject {
            scenario,
            seed,
            schedule,
        } = Subject::of(&scenario, 3);
        let same = run_schedule(&scenario, seed, schedule.clone(), Keep::default());
        let same = same.expect("it ends");
        let renewed = |at_ns| {
            let renewal = Renewal { at_ns, seed: 7 };
            run_renewed(&scenario, seed, &[renewal], schedule.clone()).expect("it ends")
        };
        let end_ns = same.history.end_ns;
        assert_eq!(renewed(end_ns + 1).trace_hash, same.trace_hash);
        let half = renewed(end_ns / 2).history.records;
        let until_ns = |at_ns| half.partition_point(|record| record.at_ns < at_ns);
        let before = until_ns(end_ns / 2);
        assert_eq!(half[..before], same.history.records[..before]);
        assert_ne!(half, same.history.records);
    }
}

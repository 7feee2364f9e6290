//! What a heartbeat tells: pauses of the process, a suspended machine, and steps of the wall clock.
//!
//! A thread sleeps for a millisecond again and again, and reads the clocks each time it wakes, as
//! jHiccup does. A wake-up that is late by more than a threshold is a pause. Each pause is one event, so
//! there is nothing to correct for coordinated omission: no request waits that was never sent.
//!
//! Linux says for how long a thread was ready and had no processor, since others had it or the quota of its
//! control group was used up. A pause that is no such wait has another reason: a signal, a hypervisor, memory
//! that had to be fetched. Those are not told apart. A paused virtual machine may show no pause at all, if its clocks stood
//! still as well; it shows when its wall clock is set afterwards.

use serde::Serialize;

use super::events::Events;
use super::reading::{Reading, signed_ms, signed_ns};
use super::values::Values;
use locklab_values::units::{NS_PER_MS, fractional_ms_from_ns};

/// The time between two beats, in nanoseconds.
pub const BEAT_NS: u64 = NS_PER_MS;

/// The wall clock has the rate of the monotonic one, since Linux corrects both together: a difference
/// of more than this is a step, not a correction.
const LEAST_STEP_NS: u64 = NS_PER_MS;

/// A suspended machine stands still for longer than this.
const LEAST_SUSPEND_NS: u64 = NS_PER_MS;

/// A time during which the process stood still, on the monotonic clock.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Stall {
    /// The last beat before it.
    pub from_ns: u64,
    /// The first beat after it.
    pub until_ns: u64,
    /// For how long the thread waited for a processor in between, if that is known.
    pub waited_ns: Option<u64>,
}

impl Stall {
    /// How late the beat was that ended it. The process stood still for that long, and for at most one
    /// beat longer.
    pub fn late_ns(&self) -> u64 {
        (self.until_ns - self.from_ns).saturating_sub(BEAT_NS)
    }

    /// Whether the thread waited for a processor for most of it; `None` if that is not known.
    pub fn is_wait(&self) -> Option<bool> {
        Some(2 * self.waited_ns? > self.late_ns())
    }

    /// Whether the process stood still during a part of this time.
    pub fn meets(&self, from_ns: u64, until_ns: u64) -> bool {
        self.from_ns < until_ns && from_ns < self.until_ns
    }
}

/// The beats so far.
#[derive(Debug, Clone)]
pub struct Beats {
    threshold_ns: u64,
    first: Option<Reading>,
    last: Reading,
    last_waited_ns: Option<u64>,
    count: u64,
    longest_late_ns: u64,
    stalls: Vec<Stall>,
    suspends_ms: Vec<f64>,
    steps_ms: Vec<f64>,
}

/// What all beats came to.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Pulse {
    /// How many beats there were.
    pub beats: u64,
    /// Wake-ups that are late by more than this are pauses.
    pub threshold_ms: f64,
    /// The latest wake-up, a pause or not.
    pub longest_late_ms: f64,
    /// Times during which the process stood still.
    pub pauses: Events,
    /// How many of them were mostly a wait for a processor, if that is known of all.
    pub waits: Option<usize>,
    /// Times during which the whole machine was suspended.
    pub suspends: Events,
    /// Steps of the wall clock, in milliseconds; negative: back.
    pub steps_ms: Vec<f64>,
    /// How much faster the kernel lets its clocks run than its oscillator, in parts per million. It is
    /// how it corrects the oscillator, not an error.
    pub correction_ppm: Option<f64>,
}

impl Beats {
    /// No beats yet. A pause is longer than the threshold.
    pub fn new(threshold_ns: u64) -> Self {
        Beats {
            threshold_ns,
            first: None,
            last: Reading::default(),
            last_waited_ns: None,
            count: 0,
            longest_late_ns: 0,
            stalls: vec![],
            suspends_ms: vec![],
            steps_ms: vec![],
        }
    }

    /// Takes the next beat, and for how long the thread has waited for a processor since it began.
    pub fn add(&mut self, now: Reading, waited_ns: Option<u64>) {
        if self.first.is_none() {
            self.first = Some(now);
        } else {
            let between = waited_ns.zip(self.last_waited_ns);
            let waited_ns = between.map(|(now, before)| now.saturating_sub(before));
            self.compare(self.last, now, waited_ns);
            self.count += 1;
        }
        self.last = now;
        self.last_waited_ns = waited_ns;
    }

    fn compare(&mut self, before: Reading, now: Reading, waited_ns: Option<u64>) {
        let stall = Stall {
            from_ns: before.monotonic_ns,
            until_ns: now.monotonic_ns.max(before.monotonic_ns),
            waited_ns,
        };
        let late_ns = stall.late_ns();
        self.longest_late_ns = self.longest_late_ns.max(late_ns);
        if late_ns > self.threshold_ns {
            self.stalls.push(stall);
        }
        let unsure_ns = before.unsure_ns + now.unsure_ns;
        let awake_ns = signed_ns(now.monotonic_ns, before.monotonic_ns);
        let all_ns = signed_ns(now.boot_ns, before.boot_ns);
        let suspended_ns = all_ns - awake_ns;
        if suspended_ns > (LEAST_SUSPEND_NS + unsure_ns).cast_signed() {
            self.suspends_ms.push(signed_ms(suspended_ns));
        }
        let step_ns = signed_ns(now.wall_ns, before.wall_ns) - all_ns;
        if step_ns.unsigned_abs() > LEAST_STEP_NS + unsure_ns {
            self.steps_ms.push(signed_ms(step_ns));
        }
    }

    /// Times during which the process stood still.
    pub fn stalls(&self) -> &[Stall] {
        &self.stalls
    }

    /// What they come to.
    pub fn pulse(&self) -> Pulse {
        let first = self.first.unwrap_or(self.last);
        let late_ms = |stall: &Stall| fractional_ms_from_ns(stall.late_ns());
        let seconds = |ns: u64| fractional_ms_from_ns(ns) / 1e3;
        let awake_ns = self.last.monotonic_ns - first.monotonic_ns;
        let raw_ns = self.last.raw_ns.saturating_sub(first.raw_ns);
        Pulse {
            beats: self.count,
            threshold_ms: fractional_ms_from_ns(self.threshold_ns),
            longest_late_ms: fractional_ms_from_ns(self.longest_late_ns),
            pauses: Events {
                watched_s: seconds(awake_ns),
                durations_ms: Values::of(self.stalls.iter().map(late_ms).collect()),
            },
            waits: {
                let waits: Option<Vec<bool>> = self.stalls.iter().map(Stall::is_wait).collect();
                waits.map(|waits| waits.into_iter().filter(|is_wait| *is_wait).count())
            },
            suspends: Events {
                watched_s: seconds(self.last.boot_ns - first.boot_ns),
                durations_ms: Values::of(self.suspends_ms.clone()),
            },
            steps_ms: self.steps_ms.clone(),
            correction_ppm: (raw_ns > 0)
                .then(|| signed_ns(awake_ns, raw_ns) as f64 / raw_ns as f64 * 1e6),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const START: Reading = Reading {
        monotonic_ns: 7_000_000_000,
        boot_ns: 9_000_000_000,
        wall_ns: 1_800_000_000_000_000_000,
        raw_ns: 6_000_000_000,
        unsure_ns: 0,
    };

    /// A reading so many nanoseconds later, by all clocks.
    fn after(reading: Reading, ns: u64) -> Reading {
        Reading {
            monotonic_ns: reading.monotonic_ns + ns,
            boot_ns: reading.boot_ns + ns,
            wall_ns: reading.wall_ns + ns,
            raw_ns: reading.raw_ns + ns,
            unsure_ns: 0,
        }
    }

    /// What ten beats come to, of which the sixth is changed.
    fn pulse(change: impl FnOnce(Reading) -> Reading) -> (Beats, Pulse) {
        let mut beats = Beats::new(5 * NS_PER_MS);
        let mut reading = START;
        let mut change = Some(change);
        for beat in 0..10 {
            reading = after(reading, BEAT_NS);
            if beat == 5
                && let Some(change) = change.take()
            {
                reading = change(reading);
            }
            beats.add(reading, None);
        }
        let pulse = beats.pulse();
        (beats, pulse)
    }

    #[test]
    fn punctual_beats_are_no_events() {
        let (_, pulse) = pulse(|it| it);
        assert_eq!((pulse.beats, pulse.longest_late_ms), (9, 0.0));
        assert_eq!(pulse.pauses.count() + pulse.suspends.count(), 0);
        assert_eq!(pulse.steps_ms, [0.0; 0]);
        assert_eq!(pulse.correction_ppm, Some(0.0));
        assert!((pulse.pauses.watched_s - 0.009).abs() < 1e-12);
    }

    #[test]
    fn a_late_beat_is_a_pause_beyond_the_threshold_only() {
        let (_, short) = pulse(|it| after(it, 5 * NS_PER_MS));
        assert_eq!((short.pauses.count(), short.longest_late_ms), (0, 5.0));
        let (beats, long) = pulse(|it| after(it, 5 * NS_PER_MS + 1));
        assert_eq!(long.pauses.durations_ms.sorted_ms(), [5.000_001]);
        assert_eq!((long.suspends.count(), long.steps_ms.len()), (0, 0));
        let stall = beats.stalls()[0];
        assert!(stall.meets(stall.from_ns, stall.from_ns + 1));
        assert!(!stall.meets(stall.until_ns, stall.until_ns + 1));
        assert!(!stall.meets(0, stall.from_ns));
    }

    #[test]
    fn a_pause_without_a_processor_is_told_apart() {
        let waits = |all: [Option<u64>; 3]| {
            let mut beats = Beats::new(5 * NS_PER_MS);
            for (beat, waited_ms) in (0..).zip(all) {
                let reading = after(START, beat * 21 * NS_PER_MS);
                beats.add(reading, waited_ms.map(|ms| ms * NS_PER_MS));
            }
            let pulse = beats.pulse();
            assert_eq!(pulse.pauses.count(), 2);
            pulse.waits
        };
        assert_eq!(waits([Some(500), Some(511), Some(531)]), Some(2));
        assert_eq!(waits([Some(500), Some(510), Some(531)]), Some(1));
        assert_eq!(waits([Some(500), Some(500), Some(500)]), Some(0));
        assert_eq!(waits([Some(500), None, Some(500)]), None);
    }

    #[test]
    fn a_suspended_machine_is_no_pause_and_no_step() {
        let (_, pulse) = pulse(|it| Reading {
            boot_ns: it.boot_ns + 90 * NS_PER_MS,
            wall_ns: it.wall_ns + 90 * NS_PER_MS,
            ..it
        });
        assert_eq!(pulse.suspends.durations_ms.sorted_ms(), [90.0]);
        assert_eq!((pulse.pauses.count(), pulse.steps_ms.len()), (0, 0));
    }

    #[test]
    fn a_step_of_the_wall_clock_has_a_sign() {
        for step_ms in [-250_i64, 250] {
            let step_ns = step_ms * NS_PER_MS.cast_signed();
            let (_, pulse) = pulse(|it| Reading {
                wall_ns: it.wall_ns.wrapping_add_signed(step_ns),
                ..it
            });
            assert_eq!(pulse.steps_ms, [step_ms as f64]);
            assert_eq!(pulse.pauses.count() + pulse.suspends.count(), 0);
        }
    }

    /// The thread can be interrupted between reading one clock and the next.
    #[test]
    fn clocks_that_were_not_read_at_once_show_no_step() {
        let unsure = |unsure_ns| {
            let mut beats = Beats::new(5 * NS_PER_MS);
            let [before, between, later] = [0, 1, 2].map(|beat| after(START, beat * BEAT_NS));
            beats.add(before, None);
            let between = Reading {
                wall_ns: between.wall_ns + 20 * NS_PER_MS,
                unsure_ns,
                ..between
            };
            beats.add(between, None);
            beats.add(later, None);
            beats.pulse().steps_ms
        };
        assert_eq!(unsure(20 * NS_PER_MS), [0.0; 0]);
        assert_eq!(unsure(0), [20.0, -20.0]);
    }

    #[test]
    fn a_corrected_clock_has_a_rate_and_makes_no_step() {
        let mut beats = Beats::new(5 * NS_PER_MS);
        for beat in 0..=1000 {
            let reading = after(START, beat * BEAT_NS);
            let reading = Reading {
                raw_ns: reading.raw_ns - beat * 20,
                ..reading
            };
            beats.add(reading, None);
        }
        let pulse = beats.pulse();
        let ppm = pulse.correction_ppm.expect("a second has a rate");
        assert!((ppm - 20.0).abs() < 0.01, "{ppm}");
        assert_eq!(pulse.steps_ms, [0.0; 0]);
    }
}

//! The faults of a real run, placed after what its clients did, in place of times. Real clients are elsewhere at the
//! same time of another run, and a fault that strikes elsewhere does something else.

use locklab_history::{Failpoint, Fault, Moment, Schedule, Start, Step};
use locklab_values::units::NS_PER_MS;

use crate::Subject;

/// The delays of faults are multiples of this, in nanoseconds: no real run is repeated more precisely.
const PRECISION_NS: u64 = NS_PER_MS / 10;

/// What led to a violation, in true time in nanoseconds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Span {
    /// When the first client was granted the lock of those that the violation is about.
    pub granted_ns: u64,
    /// When it was violated.
    pub violated_ns: u64,
}

impl Subject {
    /// The same run up to a violation, with each fault that struck at a time placed after the last point that a client
    /// had come to by then. Faults that were over before the grant are left out, and what had begun before it begins
    /// at the last point before it: clients come to that sooner or later than in this run, and faults that are placed
    /// at different points drift apart on the way. `moments` are the points with their true times, in nanoseconds, in
    /// order. `None` if no fault struck at a time after one of them.
    pub fn restated(&self, moments: &[(u64, Moment)], span: Span) -> Option<Subject> {
        let fixed: Vec<(u64, Start)> = { moments.iter() }
            .filter(|(_, moment)| is_fixed(moment))
            .map(|(at_ns, moment)| (*at_ns, Start::at_step(Step::Failpoint(moment.clone()), 0)))
            .collect();
        let before = fixed.partition_point(|(at_ns, _)| *at_ns < span.granted_ns);
        let opening = before.checked_sub(1).map(|last| &fixed[last]);
        let restated = |fault: &Fault| match fault.start {
            Start::At { at_ns } => placed(fault, at_ns, &fixed, opening, span.violated_ns),
            _ => Some(fault.clone()),
        };
        let schedule = Schedule {
            faults: self.schedule.faults.iter().filter_map(restated).collect(),
        };
        let is_restated = |fault: &Fault| !self.schedule.faults.contains(fault);
        let is_any = schedule.faults.iter().any(is_restated);
        is_any.then(|| Subject {
            schedule,
            ..self.clone()
        })
    }
}

/// A fault that began at a time, placed after one of these points; `None` if it is left out. `opening` is the last
/// point before the grant.
fn placed(
    fault: &Fault,
    at_ns: u64,
    points: &[(u64, Start)],
    opening: Option<&(u64, Start)>,
    violated_ns: u64,
) -> Option<Fault> {
    if at_ns > violated_ns {
        return None;
    }
    let mut fault = fault.clone();
    // What has no end, as a clock that was stepped, is in force whenever it began.
    if let (Some(duration_ns), Some((opens_ns, start))) = (fault.duration_ns, opening)
        && at_ns < *opens_ns
    {
        let ends_ns = at_ns.saturating_add(duration_ns);
        fault.duration_ns = Some(round(ends_ns.checked_sub(*opens_ns)?));
        fault.start = start.clone();
        return Some(fault);
    }
    let passed = points.partition_point(|(passed_ns, _)| *passed_ns <= at_ns);
    if let Some((passed_ns, start)) = passed.checked_sub(1).map(|last| &points[last]) {
        fault.start = start.clone();
        if let Start::After { delay_ns, .. } = &mut fault.start {
            *delay_ns = round(at_ns - passed_ns);
        }
    }
    Some(fault)
}

fn round(ns: u64) -> u64 {
    ns / PRECISION_NS * PRECISION_NS
}

/// Whether it comes once in a round of every program.
fn is_fixed(moment: &Moment) -> bool {
    matches!(
        moment.point,
        Failpoint::Acquired
            | Failpoint::Read
            | Failpoint::Wrote
            | Failpoint::Releasing
            | Failpoint::Released
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use locklab_history::{Effect, HostFault};
    use locklab_model::scenario::{check, load};

    const MS: u64 = NS_PER_MS;

    /// A pause at so many milliseconds, for so many.
    fn pause(at_ms: u64, lasts_ms: Option<u64>) -> Fault {
        Fault {
            name: format!("at{at_ms}").into(),
            start: Start::At { at_ns: at_ms * MS },
            duration_ns: lasts_ms.map(|ms| ms * MS),
            effect: Effect::Hosts {
                fault: HostFault::Pause,
                hosts: vec!["c1".into()],
            },
        }
    }

    /// The faults of a run in which c1 was granted the lock at 210 ms, with the property violated at so many: name,
    /// placement, duration in milliseconds.
    fn restated(faults: Vec<Fault>, violated_ms: u64) -> Option<Vec<String>> {
        let scenario = load("kleppmann/k1", &["workload.rounds=9".into()]).expect("it ships");
        let subject = Subject {
            schedule: Schedule { faults },
            ..Subject::of(&scenario, 0)
        };
        let moment = |(ms, text): (u64, &str)| (ms * MS, text.parse().expect("a moment"));
        let moments = [
            (100, "c1 acquired"),
            (150, "c1 acquiring"),
            (200, "c2 released"),
            (210, "c1 acquired #2"),
        ];
        let span = Span {
            granted_ns: 210 * MS,
            violated_ns: violated_ms * MS,
        };
        let pinned = subject.restated(&moments.map(moment), span)?.pinned();
        assert_eq!(check(&pinned), Ok(()));
        let told = |(name, fault): (&String, &_)| {
            let written = serde_json::to_value(fault).expect("it is written");
            let keys = ["at_ms", "after", "delay_ms", "duration_ms"].iter();
            let keys = keys.filter(|key| !written[**key].is_null());
            let values: Vec<String> = keys.map(|key| format!("{key}={}", written[*key])).collect();
            format!("{name} {}", values.join(" "))
        };
        Some(pinned.fault.iter().map(told).collect())
    }

    #[test]
    fn faults_come_after_the_last_point_that_comes_once_in_a_round() {
        let faults = [50, 170, 205, 300, 301].map(|at_ms| pause(at_ms, None));
        let expected = [
            "at170 after=\"c1 acquired\" delay_ms=70.0",
            "at205 after=\"c2 released\" delay_ms=5.0",
            "at300 after=\"c1 acquired #2\" delay_ms=90.0",
            "at50 at_ms=50.0",
        ];
        let restated = restated(faults.into(), 300).expect("three have changed");
        assert_eq!(restated, expected);
    }

    #[test]
    fn of_what_came_before_the_grant_only_the_rest_remains() {
        let faults = vec![
            pause(110, Some(80)),
            pause(120, Some(500)),
            pause(220, Some(7)),
        ];
        let expected = [
            "at120 after=\"c2 released\" delay_ms=0.0 duration_ms=420.0",
            "at220 after=\"c1 acquired #2\" delay_ms=10.0 duration_ms=7.0",
        ];
        assert_eq!(restated(faults, 300).expect("they have changed"), expected);
    }

    #[test]
    fn a_run_without_faults_at_times_stays_as_it_is() {
        assert_eq!(restated(vec![pause(50, None)], 1000), None);
        assert_eq!(restated(vec![pause(500, Some(9))], 400), None);
    }
}

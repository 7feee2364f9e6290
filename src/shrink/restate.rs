//! The faults of a real run, placed after what its clients did, in place of times. Real clients are elsewhere at the
//! same time of another run, and a fault that strikes elsewhere does something else.

use locklab_history::{Failpoint, Fault, Moment, Schedule, Start};
use locklab_values::units::NS_PER_MS;

use crate::Subject;

/// The delays of faults are multiples of this, in nanoseconds: no real run is repeated more precisely.
const PRECISION_NS: u64 = NS_PER_MS / 10;

impl Subject {
    /// The same run up to `until_ns`: each of its faults that struck at a time is placed after the last point that a
    /// client had come to by then, and faults that came later are left out. `moments` are these points with their true
    /// times, in nanoseconds, in order. `None` if no fault struck at a time after one of them.
    pub fn restated(&self, moments: &[(u64, Moment)], until_ns: u64) -> Option<Subject> {
        let comes =
            |fault: &&Fault| !matches!(fault.start, Start::At { at_ns } if at_ns > until_ns);
        let restated = |fault: &Fault| Fault {
            start: after(&fault.start, moments),
            ..fault.clone()
        };
        let schedule = Schedule {
            faults: { self.schedule.faults.iter() }
                .filter(comes)
                .map(restated)
                .collect(),
        };
        let is_restated = |fault: &Fault| !self.schedule.faults.contains(fault);
        let is_any = schedule.faults.iter().any(is_restated);
        is_any.then(|| Subject {
            schedule,
            ..self.clone()
        })
    }
}

fn after(start: &Start, moments: &[(u64, Moment)]) -> Start {
    let Start::At { at_ns } = start else {
        return start.clone();
    };
    let before =
        { moments.iter().rev() }.find(|(passed_ns, moment)| passed_ns <= at_ns && is_fixed(moment));
    match before {
        None => start.clone(),
        Some((passed_ns, moment)) => Start::After {
            client: moment.client.clone(),
            point: moment.point,
            nth: moment.nth,
            delay_ns: (at_ns - passed_ns) / PRECISION_NS * PRECISION_NS,
        },
    }
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
    use std::collections::BTreeMap;

    const MS: u64 = NS_PER_MS;

    fn pause(name: &str, start: Start) -> Fault {
        Fault {
            name: name.into(),
            start,
            duration_ns: Some(500 * MS),
            effect: Effect::Hosts {
                fault: HostFault::Pause,
                hosts: vec!["c1".into()],
            },
        }
    }

    fn at(ms: u64) -> Start {
        Start::At { at_ns: ms * MS }
    }

    fn subject(faults: Vec<Fault>) -> Subject {
        let scenario = load("kleppmann/k1", &[]).expect("it ships");
        Subject {
            schedule: Schedule { faults },
            ..Subject::of(&scenario, 0)
        }
    }

    fn moments() -> Vec<(u64, Moment)> {
        let moment = |(ms, text): (u64, &str)| (ms * MS, text.parse().expect("a moment"));
        let moments = [
            (100, "c1 acquired"),
            (150, "c2 acquiring"),
            (200, "c1 released"),
            (210, "c2 acquired"),
        ];
        moments.map(moment).into()
    }

    #[test]
    fn faults_come_after_the_last_point_that_comes_once_in_a_round() {
        let acquired = Start::After {
            client: "c2".into(),
            point: Failpoint::Acquired,
            nth: 1,
            delay_ns: 0,
        };
        let faults = [at(50), at(170), at(205), acquired, at(300), at(301)];
        let faults = { ["a", "b", "c", "d", "e", "f"].iter().zip(faults) }
            .map(|(name, start)| pause(name, start));
        let restated = subject(faults.collect()).restated(&moments(), 300 * MS);
        let pinned = restated.expect("three have changed").pinned();
        assert_eq!(check(&pinned), Ok(()));
        let placed = |value: &serde_json::Value| {
            let keys = ["at_ms", "after", "delay_ms"];
            keys.map(|key| value.get(key).map_or(String::new(), ToString::to_string))
                .join(" ")
        };
        let written = serde_json::to_value(&pinned.fault).expect("it is written");
        let written: BTreeMap<&str, String> = { written.as_object().into_iter().flatten() }
            .map(|(name, fault)| (&**name, placed(fault)))
            .collect();
        let expected = [
            ("a", "50.0 null null"),
            ("b", "null \"c1 acquired\" 70.0"),
            ("c", "null \"c1 released\" 5.0"),
            ("d", "null \"c2 acquired\" 0.0"),
            ("e", "null \"c2 acquired\" 90.0"),
        ];
        assert_eq!(
            written,
            expected
                .map(|(name, placed)| (name, placed.to_owned()))
                .into()
        );
    }

    #[test]
    fn a_run_without_faults_at_times_stays_as_it_is() {
        assert!(
            subject(vec![pause("a", at(50))])
                .restated(&moments(), 1000 * MS)
                .is_none()
        );
        assert!(
            subject(vec![pause("a", at(500))])
                .restated(&moments(), 400 * MS)
                .is_none()
        );
    }
}

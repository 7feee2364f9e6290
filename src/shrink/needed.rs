//! Which of its faults a violating run needed: the same run without each fault in turn.

use std::sync::atomic::{AtomicBool, Ordering};

use serde::Serialize;

use crate::Subject;
use locklab_check::{Property, Verdict};
use locklab_history::{FaultKind, Name, Schedule};
use locklab_runner::simulate::Keep;
use locklab_runner::{RunError, judged};

/// A run without one of its faults.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Needed {
    /// The fault that was left out.
    pub fault: Name,
    /// Its kind.
    #[serde(serialize_with = "by_name")]
    pub kind: FaultKind,
    /// What the run without it says of the property.
    #[serde(flatten)]
    pub verdict: Verdict,
}

impl Needed {
    /// The verdict in a few words: `holds`, `still violated`, or why there is none.
    pub fn words(&self) -> String {
        match &self.verdict {
            Verdict::Holds => "holds".into(),
            Verdict::Violated(_) => "still violated".into(),
            Verdict::Inconclusive { why } => format!("not violated ({why})"),
        }
    }

    /// Whether the run did not violate the property without the fault.
    pub fn is_needed(&self) -> bool {
        !matches!(self.verdict, Verdict::Violated(_))
    }
}

fn by_name<S: serde::Serializer>(kind: &FaultKind, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(kind.name())
}

/// Runs the subject without each of its faults in turn, in the order of its schedule. With the same
/// seed everything else is drawn as before; but a message more or less shifts the delays of those
/// after it. Ends early when `stop` is set.
///
/// # Errors
///
/// If a run has no end.
pub fn needed(
    subject: &Subject,
    property: Property,
    stop: &AtomicBool,
) -> Result<Vec<Needed>, RunError> {
    let mut all = Vec::new();
    for (place, fault) in subject.schedule.faults.iter().enumerate() {
        if stop.load(Ordering::Relaxed) {
            break;
        }
        let mut schedule: Schedule = subject.schedule.clone();
        schedule.faults.remove(place);
        let run = judged::run_schedule(&subject.scenario, subject.seed, schedule, Keep::default())?;
        if let Some(verdict) = run.verdicts.get(&property) {
            all.push(Needed {
                fault: fault.name.clone(),
                kind: fault.kind(),
                verdict: verdict.clone(),
            });
        }
    }
    Ok(all)
}

#[cfg(test)]
mod tests {
    use super::*;
    use locklab_model::scenario::load;

    #[test]
    fn k10_needs_its_jump_and_the_partition_of_the_client_that_would_see_it() {
        let scenario = load("kleppmann/k10", &[]).expect("it ships");
        let subject = Subject::of(&scenario, 0);
        let stop = AtomicBool::new(false);
        let all = needed(&subject, Property::Lease, &stop).expect("it ends");
        let told: Vec<(&str, bool)> = all.iter().map(|it| (&*it.fault, it.is_needed())).collect();
        assert_eq!(told, [("cut-c1", true), ("cut-c2", false), ("jump", true)]);
    }
}

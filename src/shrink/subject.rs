//! What is shrunk: one run, as a scenario in which every fault is settled.

use locklab_check::Property;
use locklab_history::{Fault, Schedule};
use locklab_model::fault::FaultSpec;
use locklab_model::scenario::{Drawn, Scenario, SentinelOptions};
use locklab_runner::prediction::usual_property;
use locklab_runner::simulate::Keep;
use locklab_runner::{RunError, judged};
use locklab_vecmap::VecMap;

/// A run to shrink.
#[derive(Debug, Clone)]
pub struct Subject {
    /// The scenario as the seed has drawn it: without a campaign.
    pub scenario: Scenario,
    /// The seed of the run.
    pub seed: u64,
    /// Its faults.
    pub schedule: Schedule,
}

impl Subject {
    /// The run of a scenario with this seed.
    pub fn of(scenario: &Scenario, seed: u64) -> Subject {
        let Drawn { scenario, schedule } = scenario.drawn(seed);
        Subject {
            scenario: scenario.into_owned(),
            seed,
            schedule,
        }
    }

    /// The property for which the run is shrunk, unless the user names one; `None` if it violates nothing.
    ///
    /// # Errors
    ///
    /// If the run has no end.
    pub fn violated(&self) -> Result<Option<Property>, RunError> {
        let schedule = self.schedule.clone();
        let run = judged::run_schedule(&self.scenario, self.seed, schedule, Keep::default())?;
        Ok(usual_property(&self.scenario, &run.verdicts))
    }

    /// The scenario with the faults of the schedule in place of its own: the same run, in which no
    /// number of a fault is drawn. What is about many runs (claim, predictions, sweep) is left out.
    pub fn pinned(&self) -> Scenario {
        let sentinel = match self.scenario.topology.sentinels {
            0 => SentinelOptions::default(),
            _ => self.scenario.sentinel.clone(),
        };
        Scenario {
            sentinel,
            claim: None,
            source: None,
            about: String::new(),
            overrides: vec![],
            fault: pinned(&self.schedule),
            campaign: None,
            headline: None,
            expect: VecMap::new(),
            on_redis: None,
            sweep: None,
            ..self.scenario.clone()
        }
    }
}

/// The faults of a schedule as a scenario writes them. A repeated fault becomes several; their order
/// stays.
fn pinned(schedule: &Schedule) -> VecMap<String, FaultSpec> {
    let spec = |fault: &Fault| (name(&fault.name), FaultSpec::from(fault));
    schedule.faults.iter().map(spec).collect()
}

/// A name without `#`, which no scenario may have: `gc#7` becomes `gc-0007`, so that a tenth start
/// comes after the ninth.
fn name(name: &str) -> String {
    match name.rsplit_once('#') {
        Some((name, nth)) => format!("{name}-{nth:0>4}"),
        None => name.into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use locklab_history::Start;
    use locklab_model::fault::expand;
    use locklab_model::scenario::{check, load};

    #[test]
    fn pinned_scenario_is_the_same_run() {
        for name in [
            "kleppmann/k1-exponential",
            "redis-docs/r4",
            "problems/campaign",
        ] {
            let scenario = load(name, &["horizon_ms=21000".into()]).expect("it ships");
            let subject = Subject::of(&scenario, 3);
            let pinned = subject.pinned();
            assert_eq!(check(&pinned), Ok(()), "{name}");
            let again = judged::run(&pinned, 3, Keep::default()).expect("it ends");
            let before = judged::run(&scenario, 3, Keep::default()).expect("it ends");
            assert_eq!(again.trace_hash, before.trace_hash, "{name}");
            assert_eq!(again.verdicts, before.verdicts, "{name}");
        }
    }

    #[test]
    fn repeated_fault_is_pinned_in_its_order() {
        let scenario = load("costs/pauses", &[]).expect("it ships");
        let subject = Subject::of(&scenario, 1);
        assert!(subject.schedule.faults.len() > 10);
        let pinned = expand(&subject.pinned().fault, 2).faults;
        let effects = |faults: &[Fault]| -> Vec<(Start, Option<u64>)> {
            let of = |fault: &Fault| (fault.start.clone(), fault.duration_ns);
            faults.iter().map(of).collect()
        };
        assert_eq!(effects(&pinned), effects(&subject.schedule.faults));
    }
}

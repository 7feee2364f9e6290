//! The triggers of faults that take effect when a client reaches a failpoint, or at a step of the run.

use locklab_history::{Failpoint, Fault, Name, Schedule, Start, Step};
use locklab_vecmap::VecMap;

/// Counts the failpoints that clients reach, and finds the faults that are placed there.
#[derive(Debug, Default)]
pub struct Triggers {
    /// Per client and point: how often it was reached, and its faults.
    watched: VecMap<(Name, Failpoint), PointState>,
}

#[derive(Debug, Default)]
struct PointState {
    reached: u32,
    /// (nth, index of the fault in the schedule, delay in nanoseconds)
    faults: Vec<(u32, usize, u64)>,
}

/// A fault that is due.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DueFault {
    /// Its index in the schedule.
    pub fault: usize,
    /// The delay until it takes effect, in nanoseconds; 0: none.
    pub delay_ns: u64,
}

impl Triggers {
    /// Watches for the faults of `schedule` that are placed at points.
    pub fn new(schedule: &Schedule) -> Self {
        let mut watched: VecMap<_, PointState> = VecMap::new();
        for (index, fault) in schedule.faults.iter().enumerate() {
            if let Start::After {
                client,
                point,
                nth,
                delay_ns,
            } = &fault.start
            {
                let place = watched.entry((client.clone(), *point)).or_default();
                place.faults.push((*nth, index, *delay_ns));
            }
        }
        Self { watched }
    }

    /// Records that `client` has reached `point` once more; returns the faults that are due
    /// now.
    pub fn reached(&mut self, client: &Name, point: Failpoint) -> Vec<DueFault> {
        if self.watched.is_empty() {
            return Vec::new();
        }
        let Some(watched) = self.watched.get_mut(&(client.clone(), point)) else {
            return Vec::new();
        };
        watched.reached += 1;
        let now = watched.reached;
        let due = watched.faults.iter().filter(|(nth, ..)| *nth == now);
        due.map(|&(_, fault, delay_ns)| DueFault { fault, delay_ns })
            .collect()
    }
}

/// Finds the faults that are placed at steps.
#[derive(Debug, Default)]
pub struct StepTriggers(VecMap<Step, Vec<DueFault>>);

impl StepTriggers {
    /// The faults of `schedule` that are placed at steps.
    pub fn new(schedule: &Schedule) -> Self {
        let mut triggers = StepTriggers::default();
        for (fault, Fault { start, .. }) in schedule.faults.iter().enumerate() {
            if let Start::AtStep { step, delay_ns } = start {
                let delay_ns = *delay_ns;
                let due = triggers.0.entry(step.clone()).or_default();
                due.push(DueFault { fault, delay_ns });
            }
        }
        triggers
    }

    /// Whether no fault is placed at a step.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The faults that are due at this step. Each is due once, however often a backend asks: the proxy of a real
    /// run asks again about a message that it has held.
    pub fn take(&mut self, step: &Step) -> Vec<DueFault> {
        self.0.remove(step).unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use locklab_history::{Effect, HostFault};

    #[test]
    fn a_fault_strikes_the_nth_time_only() {
        let fault = Fault {
            name: "gc".into(),
            start: Start::After {
                client: "c1".into(),
                point: Failpoint::Read,
                nth: 2,
                delay_ns: 7,
            },
            duration_ns: None,
            effect: Effect::Hosts {
                fault: HostFault::Pause,
                hosts: vec!["c1".into()],
            },
        };
        let mut triggers = Triggers::new(&Schedule {
            faults: vec![fault],
        });
        let c1 = "c1".into();
        assert_eq!(triggers.reached(&c1, Failpoint::Read), []);
        assert_eq!(triggers.reached(&c1, Failpoint::Acquired), []);
        assert_eq!(
            triggers.reached(&c1, Failpoint::Read),
            [DueFault {
                fault: 0,
                delay_ns: 7
            }]
        );
        assert_eq!(triggers.reached(&c1, Failpoint::Read), []);
        assert_eq!(triggers.reached(&"c2".into(), Failpoint::Read), []);
    }
}

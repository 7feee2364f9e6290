//! What a lease costs when nothing else goes wrong: how long others wait after a holder has died, and the messages
//! that a grant takes.

use std::ops::Range;
use std::sync::Arc;

use locklab_evidence::Mean;
use locklab_history::{
    Effect, Event, Failpoint, Fault, History, HostFault, Message, Op, RESOURCE, Schedule, Start,
};
use locklab_runner::RunError;
use locklab_runner::batch::Part;
use locklab_runner::judged::run_schedule;
use locklab_runner::simulate::Keep;
use locklab_values::random::{Rng, Stream};
use locklab_values::units::{fractional_ms_from_ns, ns_from_fractional_ms};
use serde::{Deserialize, Serialize};

use crate::risk::model::arrival::Demand;
use crate::risk::model::grant::{Grants, Times};
use crate::risk::model::series::{Sampling, grants};
use crate::risk::model::setup::Setup;
use crate::risk::model::setup_error::SetupError;
use crate::risk::model::strike::RUN_IN_MS;

/// The first client, which holds the lock, and the second, which waits for it.
const HOLDER: &str = "c1";
const WAITER: &str = "c2";

/// So many runs suffice for means that vary little.
const MOST_RUNS: u64 = 200;

/// The runs that measure what a lease costs.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Cost {
    grants: Arc<Grants>,
    sampling: Sampling,
}

/// What the runs cost.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Costs {
    /// From the death of a holder to the next grant, in milliseconds. The holder dies at a random moment of its
    /// work, and another client waits.
    pub wait_ms: Mean,
    /// Messages between a client and the servers, from the request to the end of the release, if no other client
    /// asks. They include those that prolong the lease.
    pub messages: Mean,
    /// Runs that were made.
    runs: u64,
}

impl Part for Costs {
    fn join(&mut self, other: Self) {
        self.wait_ms.join(&other.wait_ms);
        self.messages.join(&other.messages);
        self.runs += other.runs;
    }

    fn why_not(&self, runs: u64) -> Option<String> {
        let counts = [self.wait_ms.count, self.messages.count];
        let is_possible = self.runs == runs && counts.iter().all(|count| *count <= runs);
        (!is_possible).then(|| format!("it has {} runs of {runs}", self.runs))
    }
}

impl Cost {
    /// Plans the runs.
    ///
    /// # Errors
    ///
    /// If the lock cannot be set up.
    pub fn plan(setup: &Setup, sampling: Sampling) -> Result<Cost, SetupError> {
        let contended = Setup {
            demand: Demand::Contended,
            ..setup.clone()
        };
        let sampling = Sampling {
            runs: sampling.runs.min(MOST_RUNS),
            ..sampling
        };
        Ok(Cost {
            grants: grants(&contended, sampling)?,
            sampling,
        })
    }

    /// The numbers of its runs.
    pub fn numbers(&self) -> Range<u64> {
        0..self.sampling.runs
    }

    /// Makes the runs of this number, one in which the holder dies and one without another client, and adds what
    /// they cost to the others.
    ///
    /// # Errors
    ///
    /// If a run has no result.
    pub fn add(&self, number: u64, costs: &mut Costs) -> Result<(), RunError> {
        let name = format!("risk/cost/{number}");
        let seed = Stream::new(self.sampling.seed, &name).next_u64();
        let mut stream = Stream::new(seed, "risk/work");
        let work_ms = { &self.grants.setup.work_ms }.at_tail_ms(1.0 - stream.uniform_f64());
        let dies_ms = work_ms * stream.uniform_f64();
        costs.runs += 1;
        let killed = self.history(seed, work_ms, Other::Waits { dies_ms })?;
        if let Some(wait_ms) = wait_ms(&killed) {
            costs.wait_ms.add(wait_ms);
        }
        if let Some(messages) = messages(&self.history(seed, work_ms, Other::Absent)?) {
            costs.messages.add(messages as f64);
        }
        Ok(())
    }

    fn history(&self, seed: u64, work_ms: f64, other: Other) -> Result<History, RunError> {
        let mut stream = Stream::new(seed, "risk/arrival");
        let arrival = self.grants.setup.demand.draw(work_ms, &mut stream);
        let times = Times {
            request_ms: self.grants.request_ms(RUN_IN_MS),
            work_ms,
            arrival_ms: arrival.at_ms,
            longest_ms: 0.0,
            // The wait for the next attempt is measured too.
            gap_ms: 0.0,
        };
        let mut scenario = self.grants.timed(&times, seed);
        let schedule = match other {
            Other::Waits { dies_ms } => dies(dies_ms),
            Other::Absent => {
                scenario.topology.clients = 1;
                scenario.workload.client.remove(WAITER);
                Schedule::default()
            }
        };
        Ok(run_schedule(&scenario, seed, schedule, Keep::MESSAGES)?.history)
    }
}

/// What the second client does.
enum Other {
    /// It waits, and the holder dies so long after its grant.
    Waits { dies_ms: f64 },
    /// There is none.
    Absent,
}

/// The holder dies so long after its grant, and does not come back.
fn dies(after_ms: f64) -> Schedule {
    Schedule {
        faults: vec![Fault {
            name: "dies".into(),
            start: Start::After {
                client: HOLDER.into(),
                point: Failpoint::Acquired,
                nth: 1,
                delay_ns: ns_from_fractional_ms(after_ms) as u64,
            },
            duration_ns: None,
            effect: Effect::Hosts {
                fault: HostFault::Kill,
                hosts: vec![HOLDER.into()],
            },
        }],
    }
}

/// From the death of the holder to the next grant, in milliseconds; `None` if either did not happen.
fn wait_ms(history: &History) -> Option<f64> {
    let mut records = history.records.iter();
    let died_ns = records.find(|it| it.event.is_death())?.at_ns;
    let grant = |event: &Event| matches!(event, Event::BeliefBegins { .. });
    let granted = records.find(|it| &*it.host == WAITER && grant(&it.event))?;
    Some(fractional_ms_from_ns(granted.at_ns - died_ns))
}

/// The messages between the client and the servers from its request to the end of its release; `None` if it never
/// had the lock.
fn messages(history: &History) -> Option<usize> {
    let invoked = |event: &Event| {
        matches!(
            event,
            Event::Invoke {
                op: Op::Acquire,
                ..
            }
        )
    };
    let released = |event: &Event| {
        matches!(
            event,
            Event::Complete {
                op: Op::Release,
                ..
            }
        )
    };
    let at_ns = |of: &dyn Fn(&Event) -> bool| {
        let mut records = history.records.iter();
        records.find(|it| of(&it.event)).map(|it| it.at_ns)
    };
    let during = at_ns(&invoked)?..=at_ns(&released)?;
    let is_the_clients = |message: &&Message| {
        let ends = [&*message.from, &*message.to];
        ends.contains(&HOLDER) && !ends.contains(&RESOURCE) && during.contains(&message.sent_ns)
    };
    Some(history.messages.iter().filter(is_the_clients).count())
}

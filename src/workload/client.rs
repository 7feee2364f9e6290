//! A client: takes the lock, reads the resource, works, writes, gives the lock back.

use std::time::Duration;

use locklab_sim::world::random::Stream;

use super::Observer;
use super::resource::{self, Refusal};
use crate::env::Env;
use crate::history::{ClockKind, Event, Name, Op, Outcome};
use crate::locks::{AcquireError, DynLock, Grant};
use crate::redis::{Client, Error};
use crate::scenario::{CheckBeforeWrite, Dist, Workload};

/// One client's program and what it works with.
pub struct LabClient<E: Env, O: Observer> {
    /// The client's name.
    pub name: Name,
    /// Its world.
    pub env: E,
    /// Who watches it.
    pub observer: O,
    /// The lock.
    pub lock: Box<dyn DynLock>,
    /// What to do.
    pub workload: Workload,
    /// Where the workload's own durations come from.
    pub random: Stream,
}

/// The lock as the client holds it now.
struct Holding {
    number: u32,
    grant: Grant,
}

impl<E: Env, O: Observer> LabClient<E, O> {
    /// Runs all rounds.
    pub async fn run(mut self) {
        let mut resource = Client::new(self.env.clone(), resource::HOST.into(), None);
        self.lock.connect().await;
        // If this fails, so will the first access, and say why.
        let _ = resource.connect().await;
        self.pass(self.workload.start_ms).await;
        for round in 0..self.workload.rounds {
            if round > 0 {
                self.pass(self.workload.think_ms).await;
            }
            if let Some(holding) = self.acquire().await {
                self.read_modify_write(&mut resource, &holding).await;
                self.release(&holding).await;
            }
        }
    }

    /// Attempts until one is granted, or patience is over.
    async fn acquire(&mut self) -> Option<Holding> {
        let started_ns = self.env.now_ns(ClockKind::Monotonic);
        loop {
            self.observer.reach("acquiring").await;
            let call = self.invoke(Op::Acquire);
            match self.lock.try_acquire().await {
                Ok(grant) => {
                    self.complete(call, Op::Acquire, Outcome::Ok, String::new());
                    let number = self.observer.next_grant();
                    self.observer.record(Event::BeliefBegins {
                        grant: number,
                        deadline: grant.deadline,
                        token: grant.fencing_token,
                    });
                    self.observer.reach("acquired").await;
                    return Some(Holding { number, grant });
                }
                Err(error) => {
                    let outcome = match &error {
                        AcquireError::Node(e) if e.may_have_happened() => Outcome::Unknown,
                        _ => Outcome::Failed,
                    };
                    self.complete(call, Op::Acquire, outcome, error.to_string());
                }
            }
            let tried_ns = self.env.now_ns(ClockKind::Monotonic) - started_ns;
            if self
                .workload
                .give_up_ms
                .is_some_and(|ms| tried_ns >= ms * 1_000_000)
            {
                return None;
            }
            let wait = self.lock.retry().draw(&self.env);
            self.env.sleep(wait).await;
        }
    }

    async fn read_modify_write(&mut self, resource: &mut Client<E>, holding: &Holding) {
        let showing = resource::Showing {
            client: self.name.clone(),
            grant: holding.number,
            token: holding.grant.fencing_token,
        };
        let call = self.invoke(Op::Read);
        let read = resource::read(resource, &showing).await;
        self.complete_access(call, Op::Read, &read);
        let Ok(version) = read else {
            return;
        };
        self.observer.reach("read").await;
        self.pass(self.workload.hold_ms).await;
        if self.workload.check == CheckBeforeWrite::Deadline {
            if self.is_over(&holding.grant) {
                return;
            }
            self.observer.record(Event::Reached {
                point: "checked".into(),
            });
            self.observer.reach("checked").await;
        }
        let call = self.invoke(Op::Write);
        let written = resource::write(resource, &showing, version).await;
        self.complete_access(call, Op::Write, &written);
        self.observer.reach("wrote").await;
    }

    async fn release(&mut self, holding: &Holding) {
        self.observer.reach("releasing").await;
        self.observer.record(Event::BeliefEnds {
            grant: holding.number,
        });
        let call = self.invoke(Op::Release);
        match self.lock.release(&holding.grant).await {
            Ok(removed) => {
                self.complete(call, Op::Release, Outcome::Ok, String::new());
                self.observer.record(Event::Released {
                    grant: holding.number,
                    removed,
                });
            }
            Err(error) => {
                self.complete(call, Op::Release, outcome_of(&error), error.to_string());
            }
        }
        self.observer.reach("released").await;
    }

    fn is_over(&self, grant: &Grant) -> bool {
        grant
            .deadline
            .is_some_and(|deadline| self.env.now_ns(deadline.clock) >= deadline.at_ns)
    }

    /// Lets a drawn time pass; none at all takes no step of the world.
    async fn pass(&mut self, time: Dist) {
        let time_ns = time.sample_ns(&mut self.random);
        if time_ns > 0 {
            self.env.sleep(Duration::from_nanos(time_ns)).await;
        }
    }

    fn invoke(&self, op: Op) -> u32 {
        let call = self.observer.next_call();
        self.observer.record(Event::Invoke { call, op });
        call
    }

    fn complete(&self, call: u32, op: Op, outcome: Outcome, detail: String) {
        self.observer.record(Event::Complete {
            call,
            op,
            outcome,
            detail,
        });
    }

    fn complete_access(&self, call: u32, op: Op, result: &Result<u64, Refusal>) {
        let (outcome, detail) = match result {
            Ok(version) => (Outcome::Ok, format!("version {version}")),
            Err(Refusal::Fenced) => (Outcome::Failed, "a higher token was seen".into()),
            Err(Refusal::Failed(error)) => (outcome_of(error), error.to_string()),
        };
        self.complete(call, op, outcome, detail);
    }
}

fn outcome_of(error: &Error) -> Outcome {
    if error.may_have_happened() {
        Outcome::Unknown
    } else {
        Outcome::Failed
    }
}

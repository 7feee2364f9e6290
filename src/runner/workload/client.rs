//! A client: takes the lock, reads the resource, works, writes, releases the lock.

use std::time::Duration;

use locklab_values::random::Stream;
use locklab_values::units::ns_from_ms;

use super::resource::{self, AccessError};
use locklab_env::Env;
use locklab_env::observe::Observer;
use locklab_env::redis::Client;
use locklab_history::{Event, Failpoint, Name, Op, Outcome, RESOURCE};
use locklab_locks::{Call, Guard, LockError, Locker, Owner};
use locklab_model::workload::{CheckBeforeWrite, Ending, Mode, Workload};
use locklab_values::dist::Dist;

/// One client's program, with its environment.
pub struct LabClient<E: Env, O: Observer> {
    /// The client's name.
    pub name: Name,
    /// Its environment.
    pub env: E,
    /// Its observer.
    pub observer: O,
    /// The lock.
    pub locker: Locker<E, O>,
    /// The workload.
    pub workload: Workload,
    /// The source of the workload's random durations.
    pub random: Stream,
}

impl<E: Env, O: Observer> LabClient<E, O> {
    /// Runs all rounds.
    pub async fn run(mut self) {
        if let Some(time) = self.workload.blocks_ms.clone() {
            self.pass(self.workload.start_ms.clone()).await;
            return self.block(time).await;
        }
        self.locker = self.locker.in_mode(match self.workload.mode {
            Mode::Write => locklab_locks::Mode::Exclusive,
            Mode::Read => locklab_locks::Mode::Shared,
        });
        let resource = Client::new(self.env.clone(), RESOURCE.into(), None);
        self.locker.connect().await;
        // If this fails, so does the first access, which reports the reason.
        let _ = resource.connect().await;
        self.pass(self.workload.start_ms.clone()).await;
        for round in 0..self.workload.rounds {
            if round > 0 {
                self.pass(self.workload.think_ms.clone()).await;
            }
            if let Some(guard) = self.acquire().await {
                self.hold(&resource, guard).await;
            }
        }
    }

    /// Occupies a connection to the first node with a blocking command that never gets a value.
    async fn block(&mut self, time: Dist) {
        let seconds = Duration::from_nanos(time.sample_ns(&mut self.random)).as_secs_f64();
        let node = Client::new(self.env.clone(), "n1".into(), None);
        // The result does not matter: the connection was occupied until then.
        let _ = node
            .call(&[b"BLPOP", b"nothing", seconds.to_string().as_bytes()])
            .await;
    }

    /// Tries until the lock is granted, or the client gives up.
    async fn acquire(&self) -> Option<Guard<E, O>> {
        match self.workload.give_up_ms {
            None => Some(self.locker.acquire(Owner::ONLY).await),
            Some(ms) => {
                let patience = Duration::from_millis(ms);
                self.locker.try_acquire(Owner::ONLY, patience).await.ok()
            }
        }
    }

    /// Does the work under the lock, and releases it.
    async fn hold(&mut self, resource: &Client<E>, mut guard: Guard<E, O>) {
        match self.workload.inner_ms.clone() {
            None => {
                let work_ms = self.workload.hold_ms.clone();
                self.read_modify_write(resource, &mut guard, work_ms).await;
            }
            Some(work_ms) => {
                // Like a function under the lock that calls another one which also takes it.
                self.pass(self.workload.hold_ms.clone()).await;
                if let Some(mut inner) = self.acquire().await {
                    self.read_modify_write(resource, &mut inner, work_ms).await;
                    // The history records the result.
                    let _ = inner.release().await;
                }
            }
        }
        match self.workload.ending {
            Ending::Release => drop(guard.release().await),
            Ending::Forget => drop(guard),
        }
    }

    async fn read_modify_write(
        &mut self,
        resource: &Client<E>,
        guard: &mut Guard<E, O>,
        work_ms: Dist,
    ) {
        let credentials = resource::Credentials {
            client: self.name.clone(),
            grant: guard.number(),
            token: guard.fencing_token(),
        };
        let call = Call::begin(&self.observer, Op::Read);
        let read = resource::read(resource, &credentials).await;
        complete_access(call, &read);
        let Ok(version) = read else {
            return;
        };
        self.observer.reach(Failpoint::Read).await;
        let worked = self.work(guard, work_ms).await;
        if self.workload.mode == Mode::Read {
            return;
        }
        let looks = self.workload.check == CheckBeforeWrite::Deadline;
        if worked.is_err() || looks && !guard.is_valid() {
            self.observer.record(Event::reached(Failpoint::Stopped));
            self.observer.reach(Failpoint::Stopped).await;
            return;
        }
        if looks {
            self.observer.record(Event::reached(Failpoint::Checked));
            self.observer.reach(Failpoint::Checked).await;
            self.pass(self.workload.after_check_ms.clone()).await;
        }
        let call = Call::begin(&self.observer, Op::Write);
        let written = resource::write(resource, &credentials, version).await;
        complete_access(call, &written);
        self.observer.reach(Failpoint::Wrote).await;
    }

    /// Sleeps for the time of the work, and extends the lease during it if the workload says so.
    /// Stops when the lock is lost.
    async fn work(&mut self, guard: &mut Guard<E, O>, time: Dist) -> Result<(), LockError> {
        let Some(every_ms) = self.workload.extend_every_ms else {
            self.pass(time).await;
            return Ok(());
        };
        let every_ns = ns_from_ms(every_ms);
        let mut left_ns = time.sample_ns(&mut self.random);
        while left_ns > every_ns {
            self.env.sleep(Duration::from_nanos(every_ns)).await;
            left_ns -= every_ns;
            if let Err(lost @ LockError::Lost(_)) = guard.extend().await {
                return Err(lost);
            }
        }
        self.env.sleep(Duration::from_nanos(left_ns)).await;
        Ok(())
    }

    /// Sleeps for a drawn time; a time of zero is no step in the simulator.
    async fn pass(&mut self, time: Dist) {
        let time_ns = time.sample_ns(&mut self.random);
        if time_ns > 0 {
            self.env.sleep(Duration::from_nanos(time_ns)).await;
        }
    }
}

fn complete_access<O: Observer>(call: Call<O>, result: &Result<u64, AccessError>) {
    let (outcome, detail) = match result {
        Ok(version) => (Outcome::Ok, format!("version {version}")),
        Err(AccessError::Fenced) => (Outcome::Failed, "a higher token was seen".into()),
        Err(AccessError::Failed(error)) => (error.outcome(), error.to_string()),
    };
    call.complete(outcome, detail);
}

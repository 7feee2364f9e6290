//! A client without a lock: adds elements to a set on the master that it knows, and records
//! which adds were acknowledged. At the end the first client reads the set.
//!
//! Each add is tried once. The element is named after its client and call, `c1:17`, so a
//! history need not record it.

use std::time::Duration;

use locklab_values::random::Stream;
use locklab_values::units::ns_from_ms;
use locklab_vecmap::VecMap;

use locklab_env::Env;
use locklab_env::observe::Observer;
use locklab_env::redis::{Client, Reply};
use locklab_history::{ClockKind, Event, Name, Op, Outcome};
use locklab_locks::Call;
use locklab_model::workload::Workload;
use locklab_values::dist::Dist;

/// The key of the set.
const SET: &[u8] = b"adds";

/// The pause between two attempts to read the set.
const READ_AGAIN_AFTER: Duration = Duration::from_secs(1);

/// One client's program, with its environment.
pub struct Adder<E: Env, O: Observer> {
    /// The client's name.
    pub name: Name,
    /// Its environment.
    pub env: E,
    /// Its observer.
    pub observer: O,
    /// The node that the set is on, or a master that sentinels know.
    pub master: Name,
    /// The workload.
    pub workload: Workload,
    /// The source of the workload's random durations.
    pub random: Stream,
    /// When the run began, by its monotonic clock.
    pub origin_ns: u64,
}

/// Whether a client reads the set at the end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FinalRead {
    /// It reads the set.
    Own,
    /// Another client reads it.
    Other,
}

impl FinalRead {
    /// The role of the client of this name: the first one reads.
    pub fn of(client: &Name) -> FinalRead {
        match &**client {
            "c1" => FinalRead::Own,
            _ => FinalRead::Other,
        }
    }
}

impl<E: Env, O: Observer> Adder<E, O> {
    /// Makes all its adds.
    pub async fn run(mut self, final_read: FinalRead) {
        let mut master = self.client();
        // If this fails, so does the first add, which reports the reason.
        let _ = master.connect().await;
        self.pass(self.workload.start_ms.clone()).await;
        for round in 0..self.workload.rounds {
            if round > 0 {
                self.pass(self.workload.think_ms.clone()).await;
            }
            self.add(&mut master).await;
        }
        if final_read == FinalRead::Own {
            self.read().await;
        }
    }

    async fn add(&self, master: &mut Client<E>) {
        let call = Call::begin(&self.observer, Op::Add);
        let element = format!("{}:{}", self.name, call.number());
        let command = [b"SADD", SET, element.as_bytes()];
        match master.ask(&command, Reply::flag).await {
            Ok(_) => call.complete(Outcome::Ok, String::new()),
            Err(error) => call.complete(error.outcome(), error.to_string()),
        }
    }

    /// Waits for the time to read the set, and retries the read until it succeeds.
    async fn read(&self) {
        let read_ns = ns_from_ms(self.workload.read_ms.unwrap_or(0));
        let now_ns = self.env.now_ns(ClockKind::Monotonic);
        let left_ns = (self.origin_ns + read_ns).saturating_sub(now_ns);
        self.env.sleep(Duration::from_nanos(left_ns)).await;
        loop {
            let call = Call::begin(&self.observer, Op::Members);
            // The master of the last add may have been demoted.
            let read = self.client().ask(&[b"SMEMBERS", SET], members).await;
            match read {
                Ok(members) => {
                    call.complete(Outcome::Ok, String::new());
                    self.observer.record(Event::Members { members });
                    return;
                }
                Err(error) => call.complete(error.outcome(), error.to_string()),
            }
            self.env.sleep(READ_AGAIN_AFTER).await;
        }
    }

    fn client(&self) -> Client<E> {
        let limit = self.workload.give_up_ms.map(Duration::from_millis);
        Client::new(self.env.clone(), self.master.clone(), limit)
    }

    /// Sleeps for a drawn time.
    async fn pass(&mut self, time: Dist) {
        let time_ns = time.sample_ns(&mut self.random);
        self.env.sleep(Duration::from_nanos(time_ns)).await;
    }
}

/// The calls that the elements of the set come from, by client.
fn members(reply: &Reply) -> Option<VecMap<Name, Vec<u32>>> {
    let Reply::Array(elements) = reply else {
        return None;
    };
    let mut members: VecMap<Name, Vec<u32>> = VecMap::new();
    for element in elements {
        let element = element.value()??;
        let (client, call) = element.split_once(':')?;
        let calls = members.entry(client.into()).or_default();
        calls.push(call.parse().ok()?);
    }
    members.values_mut().for_each(|calls| calls.sort_unstable());
    Some(members)
}

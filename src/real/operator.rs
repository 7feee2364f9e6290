//! Connections to servers without the proxy: those of clients that write other data, and of an
//! operator who enters commands.

use std::io;
use std::net::SocketAddr;
use std::sync::mpsc::Sender;
use std::thread::{self, JoinHandle};
use std::time::Duration;

use locklab_values::random::Stream;
use locklab_vecmap::VecMap;
use tokio::runtime::Builder;
use tokio::sync::mpsc::{self, UnboundedReceiver, UnboundedSender};
use tokio::task::{JoinHandle as Task, LocalSet, spawn_local};

use super::child::{ChildEvent, ProcessId};
use crate::real_env::RealEnv;
use locklab_history::Name;
use locklab_runner::workload::operator;
use locklab_runner::workload::other_writes;

/// A thread that does this until it is dropped.
pub(super) struct Operator {
    orders: Option<UnboundedSender<Order>>,
    thread: Option<JoinHandle<()>>,
}

/// The order.
pub(super) enum Order {
    /// Other clients write to this server from now on.
    Write {
        /// The server.
        server: Name,
        /// The time between two writes.
        every: Duration,
        /// The size of each value; absent: all writes are to one key.
        bytes: Option<u32>,
    },
    /// They no longer do: its process has ended.
    StopWriting {
        /// The server.
        server: Name,
    },
    /// The operator asks for a failover in these words.
    FailOver {
        /// At this server.
        server: Name,
        /// The command.
        words: &'static [&'static str],
        /// The fault of the schedule that this is; if the server replies OK, it has begun.
        fault: usize,
    },
    /// The operator enters this line.
    Enter {
        /// At this server.
        server: Name,
        /// The command.
        line: String,
        /// The fault of the schedule that this is; if it takes effect, it has begun.
        fault: usize,
    },
}

impl Operator {
    /// Creates an operator with these addresses that reports to `events`.
    pub(super) fn start(
        addresses: VecMap<Name, SocketAddr>,
        seed: u64,
        events: Sender<(ProcessId, ChildEvent)>,
    ) -> io::Result<Self> {
        let runtime = Builder::new_current_thread().enable_all().build()?;
        let (orders, received) = mpsc::unbounded_channel();
        let thread = thread::spawn(move || {
            let env = RealEnv::new(addresses, seed, "operator");
            LocalSet::new().block_on(&runtime, execute_orders(env, seed, received, events));
        });
        Ok(Self {
            orders: Some(orders),
            thread: Some(thread),
        })
    }

    /// Gives an order.
    pub(super) fn order(&self, order: Order) {
        if let Some(orders) = &self.orders {
            // The thread ends only with this value.
            let _ = orders.send(order);
        }
    }
}

impl Drop for Operator {
    fn drop(&mut self) {
        self.orders = None;
        if let Some(thread) = self.thread.take() {
            // A thread that panicked has already printed its message.
            let _ = thread.join();
        }
    }
}

async fn execute_orders(
    env: RealEnv,
    seed: u64,
    mut orders: UnboundedReceiver<Order>,
    events: Sender<(ProcessId, ChildEvent)>,
) {
    let mut writers: VecMap<Name, Task<()>> = VecMap::new();
    while let Some(order) = orders.recv().await {
        match order {
            Order::Write {
                server,
                every,
                bytes,
            } => {
                let mut random = Stream::new(seed, &format!("other-writes/{server}"));
                let first = Duration::from_nanos(random.below(every.as_nanos() as u64));
                let writing = other_writes::write(env.clone(), server.clone(), every, first, bytes);
                writers.insert(server, spawn_local(writing));
            }
            Order::StopWriting { server } => {
                if let Some(writer) = writers.remove(&server) {
                    writer.abort();
                }
            }
            Order::FailOver {
                server,
                words,
                fault,
            } => {
                let (env, tell) = (env.clone(), teller(&server, &events));
                spawn_local(async move {
                    if operator::asks(&env, &server, words).await {
                        tell(ChildEvent::Ordered(fault));
                    }
                });
            }
            Order::Enter {
                server,
                line,
                fault,
            } => {
                let (env, tell) = (env.clone(), teller(&server, &events));
                spawn_local(async move {
                    tell(match operator::enters(&env, &server, &line).await {
                        Ok(()) => ChildEvent::Ordered(fault),
                        Err(why) => ChildEvent::Refused(fault, why),
                    });
                });
            }
        }
    }
}

/// Tells what came of an order at this server.
fn teller(
    server: &Name,
    events: &Sender<(ProcessId, ChildEvent)>,
) -> impl FnOnce(ChildEvent) + use<> {
    let (host, events) = (server.clone(), events.clone());
    move |event| {
        // If the testbed is gone, the event is not needed.
        let _ = events.send((ProcessId { host, start: 0 }, event));
    }
}

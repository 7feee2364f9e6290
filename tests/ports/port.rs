//! A participant that is a lock of the catalogue, in a thread of its own.

use std::net::SocketAddr;
use std::sync::mpsc::channel;
use std::thread;
use std::time::{SystemTime, UNIX_EPOCH};

use locklab_env::Duration;
use locklab_env::observe::NoopObserver;
use locklab_history::Name;
use locklab_locks::{Guard, LockError, LockSpec, Locker, Mode, Owner};
use locklab_real::real_env::RealEnv;
use locklab_vecmap::VecMap;
use tokio::sync::mpsc::{UnboundedReceiver, unbounded_channel};
use tokio::task::LocalSet;

use crate::participant::{Order, Participant};

/// Starts the lock. Its thread ends, with all its tasks, when no more orders can come.
pub fn start(spec: &LockSpec, mode: Mode, servers: &[SocketAddr]) -> Participant {
    let (spec, servers) = (spec.clone(), servers.to_vec());
    let (order, orders) = unbounded_channel();
    let (sender, answers) = channel();
    thread::spawn(move || {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build();
        let answer = |answer: &str| drop(sender.send(answer.to_owned()));
        let serving = serve(&spec, mode, &servers, orders, answer);
        let runtime = runtime.expect("the machine has a runtime");
        LocalSet::new().block_on(&runtime, serving);
    });
    let participant = Participant {
        order: Box::new(move |word| {
            let _ = order.send(word);
        }),
        answers,
    };
    participant.get_ready();
    participant
}

async fn serve(
    spec: &LockSpec,
    mode: Mode,
    servers: &[SocketAddr],
    mut orders: UnboundedReceiver<Order>,
    answer: impl Fn(&str),
) {
    let named = servers.iter().zip(1..);
    let named = named.map(|(server, n)| (Name::from(format!("n{n}").as_str()), *server));
    let directory: VecMap<Name, SocketAddr> = named.collect();
    let nodes: Vec<Name> = directory.keys().cloned().collect();
    // Two participants must not draw the same values.
    let now = SystemTime::now().duration_since(UNIX_EPOCH);
    let seed = now.map_or(0, |now| now.as_nanos() as u64);
    let env = RealEnv::new(directory, seed, "c1");
    let locker = Locker::new(env.clone(), spec.build(env, &nodes), NoopObserver).in_mode(mode);
    locker.connect().await;
    answer("ready");
    let mut held: Vec<Guard<RealEnv, NoopObserver>> = Vec::new();
    while let Some(order) = orders.recv().await {
        let outcome = match order {
            Order::Lock => {
                held.push(locker.acquire(Owner::ONLY).await);
                "ok"
            }
            Order::Try => match locker.try_acquire(Owner::ONLY, Duration::ZERO).await {
                Ok(guard) => {
                    held.push(guard);
                    "ok"
                }
                Err(LockError::NotAcquired { .. }) => "no",
                Err(_) => "error",
            },
            Order::Extend => {
                let guard = held.last_mut().expect("it has the lock");
                word(guard.extend().await.is_ok())
            }
            Order::Unlock => {
                let guard = held.pop().expect("it has the lock");
                word(guard.release().await.is_ok())
            }
        };
        answer(outcome);
    }
}

fn word(is_ok: bool) -> &'static str {
    match is_ok {
        true => "ok",
        false => "error",
    }
}

//! Does with rslock's lock what it is told, for `locklab score`; see README.md.

#[path = "../locklab_drill.rs"]
#[rustfmt::skip] // It comes from docs/score when the client is installed.
mod locklab_drill;

use std::cell::RefCell;
use std::rc::Rc;
use std::thread;
use std::time::Duration;

use rslock::{Lock, LockError, LockManager};
use tokio::sync::mpsc::unbounded_channel;
use tokio::sync::oneshot::{self, Sender};
use tokio::task::{JoinHandle, LocalSet, spawn_local};

use locklab_drill::{Answer, Order, lease, lost, orders, ready, urls};

/// Its default, the longest time between two attempts.
const DELAY: Duration = Duration::from_millis(200);

/// So many take about this time, if each is answered at once.
fn attempts(wait_ms: u64) -> u32 {
    1 + (wait_ms / (DELAY.as_millis() as u64 / 2)) as u32
}

enum Held {
    Nothing,
    Lock(Lock),
    /// By `using`: what ends its routine, and its task.
    Using(Sender<()>, JoinHandle<()>),
}

struct Drill {
    manager: LockManager,
    held: RefCell<Held>,
}

impl Drill {
    fn granted(&self, lock: Result<Lock, LockError>) -> Answer {
        match lock {
            Ok(lock) => {
                let valid_ms = lock.validity_time as f64;
                self.held.replace(Held::Lock(lock));
                Answer::Granted { valid_ms }
            }
            // `Unavailable` says the same of a lock that another has, and of servers that do not answer.
            Err(error) => Answer::error(error),
        }
    }

    async fn does(self: Rc<Self>, order: &Order) -> Answer {
        match (&*order.word, order.wait_ms) {
            // `acquire` waits for ever, and `lock` has no limit in time, but a number of attempts.
            ("lock" | "again", None) => {
                self.granted(self.manager.acquire_no_guard("lock", lease()).await)
            }
            ("lock" | "again" | "try", wait_ms) => {
                let mut manager = self.manager.clone();
                manager.set_retry(attempts(wait_ms.unwrap_or(0)), DELAY);
                self.granted(manager.lock("lock", lease()).await)
            }
            ("plain", _) => {
                let lease = Duration::from_millis(1000);
                self.granted(self.manager.acquire_no_guard("lock", lease).await)
            }
            ("keep", _) => self.keep().await,
            _ => match (&*order.word, self.held.replace(Held::Nothing)) {
                ("extend", Held::Lock(lock)) => {
                    let extended = self.manager.extend(&lock, lease()).await;
                    self.held.replace(Held::Lock(lock));
                    self.granted(extended)
                }
                (_, Held::Lock(lock)) => {
                    self.manager.unlock(&lock).await;
                    Answer::Ok
                }
                (_, Held::Using(end, task)) => {
                    let _ = end.send(());
                    task.await.map_or_else(Answer::error, |()| Answer::Ok)
                }
                (_, Held::Nothing) => Answer::error("nothing is held"),
            },
        }
    }

    /// The routine of `using` waits until it is told to end.
    async fn keep(self: Rc<Self>) -> Answer {
        let (begins, has_begun) = oneshot::channel();
        let (end, ended) = oneshot::channel();
        let manager = self.manager.clone();
        let task = spawn_local(async move {
            let routine = async || {
                let _ = begins.send(());
                let _ = ended.await;
            };
            if manager.using(b"lock", lease(), routine).await.is_err() {
                lost("error");
            }
        });
        self.held.replace(Held::Using(end, task));
        has_begun.await.map_or_else(Answer::error, |()| Answer::Ok)
    }
}

#[tokio::main(flavor = "current_thread")]
async fn main() {
    let drill = Rc::new(Drill {
        manager: LockManager::new(urls()),
        held: RefCell::new(Held::Nothing),
    });
    ready(&[
        "lock", "try", "plain", "keep", "extend", "unlock", "again", "cancel", "block", "abandon",
        "quorum",
    ]);
    let (sender, mut receiver) = unbounded_channel();
    thread::spawn(move || orders().try_for_each(|order| sender.send(order)));
    let follow = async {
        let mut last: Option<(Order, JoinHandle<()>)> = None;
        while let Some(order) = receiver.recv().await {
            match &*order.word {
                // Its future is dropped.
                "cancel" => {
                    if let Some((order, task)) = last.take().filter(|(_, task)| !task.is_finished())
                    {
                        task.abort();
                        order.answered(Answer::error("cancelled"));
                    }
                }
                "abandon" => {
                    if let Held::Using(_, task) = drill.held.replace(Held::Nothing) {
                        task.abort();
                    }
                }
                "block" => thread::sleep(Duration::from_millis(order.ms.unwrap_or(0))),
                _ => {
                    let (drill, its) = (drill.clone(), order.clone());
                    let task = spawn_local(async move { its.answered(drill.does(&its).await) });
                    last = Some((order, task));
                    continue;
                }
            }
            order.answered(Answer::Ok);
        }
    };
    LocalSet::new().run_until(follow).await;
}

//! A lock of the catalogue as a drill.

use std::cell::RefCell;
use std::collections::VecDeque;
use std::io::{self, Write};
use std::net::SocketAddr;
use std::rc::Rc;
use std::time::{SystemTime, UNIX_EPOCH};

use locklab_env::observe::NoopObserver;
use locklab_env::{Duration, Env};
use locklab_history::Name;
use locklab_locks::{Guard, LockError, LockSpec, Locker, Need, Owner};
use locklab_values::units::NS_PER_MS;
use locklab_vecmap::VecMap;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};
use tokio::sync::mpsc::unbounded_channel;
use tokio::task::spawn_local;

use super::protocol::{Answer, Ended, Word};
use crate::child_protocol::Forms;
use crate::real_env::{Clocks, RealEnv};

type Held = Guard<RealEnv, NoopObserver>;

/// A lock of the catalogue: a table as in a scenario. The lease that it does not say is the one that is asked for.
#[derive(Debug, Clone, PartialEq)]
pub struct OwnLock(Map<String, Value>);

impl OwnLock {
    /// The lock of this table; `None` if there is none.
    pub fn of(table: Map<String, Value>) -> Option<OwnLock> {
        let own = OwnLock(table);
        own.asking(1000).is_some().then_some(own)
    }

    /// With this lease for this parameter, or what the table says of it; `None` if the lock has no such parameter.
    fn with(&self, lease: &str, lease_ms: u64) -> Option<LockSpec> {
        let mut table = self.0.clone();
        table.entry(lease).or_insert(lease_ms.into());
        serde_json::from_value(table.into()).ok()
    }

    /// As the table says.
    fn plain(&self) -> Option<LockSpec> {
        serde_json::from_value(self.0.clone().into()).ok()
    }

    /// With the lease that is asked for; one without a lease as it is. The catalogue calls a lease by one of these.
    fn asking(&self, lease_ms: u64) -> Option<LockSpec> {
        let found = ["ttl_ms", "lease_ms"].into_iter();
        let found = found.filter_map(|lease| self.with(lease, lease_ms)).next();
        found.or_else(|| self.plain())
    }

    /// Its forms for this lease.
    ///
    /// # Panics
    ///
    /// Never: [`OwnLock::of`] has tried it.
    pub(crate) fn forms(&self, lease_ms: u64) -> Forms {
        let renews = !self.0.contains_key("lease_ms");
        Forms {
            lock: self.asking(lease_ms).expect("it was tried"),
            plain: self.plain(),
            keep: self.with("watchdog_ms", lease_ms).filter(|_| renews),
        }
    }
}

/// What all locks of the catalogue can be ordered to do.
const CAN: [Word; 6] = [
    Word::Lock,
    Word::Try,
    Word::Unlock,
    Word::Again,
    Word::Cancel,
    Word::Limit,
];

/// An order, as it is read.
#[derive(Deserialize)]
struct Ordered {
    id: u32,
    #[serde(rename = "do")]
    word: Word,
    wait_ms: Option<u64>,
}

/// The forms of a lock, by the words that take it.
struct Lockers {
    lock: Locker<RealEnv, NoopObserver>,
    plain: Option<Locker<RealEnv, NoopObserver>>,
    keep: Option<Locker<RealEnv, NoopObserver>>,
}

impl Lockers {
    /// The form that this word takes.
    fn of(&self, word: Word) -> Option<&Locker<RealEnv, NoopObserver>> {
        match word {
            Word::Plain => self.plain.as_ref(),
            Word::Keep => self.keep.as_ref(),
            _ => Some(&self.lock),
        }
    }
}

/// Follows the orders on the standard input until it ends.
pub(crate) async fn follow(
    own: Forms,
    nodes: VecMap<Name, SocketAddr>,
    name: &Name,
    clocks: Clocks,
) -> io::Result<()> {
    let names: Vec<Name> = nodes.keys().cloned().collect();
    // Two processes must not draw the same values.
    let now = SystemTime::now().duration_since(UNIX_EPOCH);
    let seed = now.map_or(0, |now| now.as_nanos() as u64);
    let env = RealEnv::new(nodes, seed, name).with_clocks(clocks);
    let locker =
        |lock: &LockSpec| Locker::new(env.clone(), lock.build(env.clone(), &names), NoopObserver);
    let lockers = Rc::new(Lockers {
        lock: locker(&own.lock),
        plain: own.plain.as_ref().map(locker),
        keep: own.keep.as_ref().map(locker),
    });
    lockers.lock.connect().await;
    let held: Rc<RefCell<Vec<Held>>> = Rc::default();
    let held_by = own.lock.facts().held;
    let is_quorum = held_by.is_ok_and(|held| held.need == Need::Majority);
    // A lock that renews by itself has no call that does.
    let renews = match own.keep {
        Some(_) => vec![Word::Keep, Word::Abandon],
        None => vec![Word::Extend],
    };
    let can: Vec<Word> = { CAN.into_iter() }
        .chain(renews)
        .chain(own.plain.is_some().then_some(Word::Plain))
        .chain(is_quorum.then_some(Word::Quorum))
        .collect();
    say(&json!({ "event": "ready", "can": can }))?;
    let (sender, mut lines) = unbounded_channel();
    std::thread::spawn(move || {
        for line in io::stdin().lines().map_while(Result::ok) {
            if sender.send(line).is_err() {
                return;
            }
        }
    });
    let mut under_way = VecDeque::new();
    while let Some(line) = lines.recv().await {
        let Ok(order) = serde_json::from_str::<Ordered>(&line) else {
            continue;
        };
        let (env, lockers, held) = (env.clone(), lockers.clone(), held.clone());
        if order.word == Word::Cancel {
            let task: Option<(u32, tokio::task::JoinHandle<()>)> = under_way.pop_back();
            if let Some((id, task)) = task
                && !task.is_finished()
            {
                task.abort();
                say(&answer(id, Ended::Error, Some("cancelled")))?;
            }
            say(&answer(order.id, Ended::Ok, None))?;
            continue;
        }
        let id = order.id;
        let task = spawn_local(async move {
            let answer = does(&env, &lockers, &held, order).await;
            // If nobody reads, the experiment is over.
            let _ = say(&json!(answer));
        });
        under_way.push_back((id, task));
    }
    Ok(())
}

async fn does(
    env: &RealEnv,
    lockers: &Lockers,
    held: &RefCell<Vec<Held>>,
    order: Ordered,
) -> Answer {
    let id = order.id;
    match order.word {
        Word::Lock | Word::Try | Word::Again | Word::Plain | Word::Keep => {
            let Some(locker) = lockers.of(order.word) else {
                return answer(id, Ended::None, None);
            };
            let wait = match (order.word, order.wait_ms) {
                (Word::Try, _) => Some(Duration::ZERO),
                (_, wait_ms) => wait_ms.map(Duration::from_millis),
            };
            let guard = match wait {
                None => Ok(locker.acquire(Owner::ONLY).await),
                Some(wait) => locker.try_acquire(Owner::ONLY, wait).await,
            };
            let guard = match guard {
                Ok(guard) => guard,
                Err(error) => return failed(id, &error),
            };
            let valid_ms = guard.deadline().map(|deadline| {
                let now_ns = env.now_ns(deadline.clock);
                (deadline.at_ns as f64 - now_ns as f64) / NS_PER_MS as f64
            });
            let token = guard.fencing_token().map(|token| token as f64);
            held.borrow_mut().push(guard);
            Answer {
                valid_ms,
                token,
                ..answer(id, Ended::Ok, None)
            }
        }
        Word::Extend => {
            // Not borrowed while it waits.
            let Some(mut guard) = take(held) else {
                return answer(id, Ended::Error, Some("nothing is held"));
            };
            let extended = guard.extend().await;
            held.borrow_mut().push(guard);
            extended.map_or_else(|error| failed(id, &error), |()| answer(id, Ended::Ok, None))
        }
        Word::Unlock => match take(held) {
            None => answer(id, Ended::Error, Some("nothing is held")),
            Some(guard) => {
                let released = guard.release().await;
                released.map_or_else(|error| failed(id, &error), |_| answer(id, Ended::Ok, None))
            }
        },
        // A guard that is dropped releases nothing.
        Word::Abandon => {
            drop(take(held));
            answer(id, Ended::Ok, None)
        }
        Word::Block | Word::Cancel | Word::Limit | Word::Quorum => answer(id, Ended::None, None),
    }
}

fn take(held: &RefCell<Vec<Held>>) -> Option<Held> {
    held.borrow_mut().pop()
}

fn failed(id: u32, error: &LockError) -> Answer {
    let r = match error {
        LockError::NotAcquired { .. } => Ended::No,
        LockError::Unsupported(_) => Ended::None,
        LockError::Lost(_) | LockError::Unknown(_) | LockError::Node(_) => Ended::Error,
    };
    answer(id, r, Some(&error.to_string()))
}

fn answer(id: u32, r: Ended, class: Option<&str>) -> Answer {
    Answer {
        id,
        r,
        class: class.map(str::to_owned),
        valid_ms: None,
        token: None,
    }
}

fn say(line: &impl Serialize) -> io::Result<()> {
    let mut bytes = serde_json::to_vec(line)?;
    bytes.push(b'\n');
    let mut out = io::stdout().lock();
    out.write_all(&bytes)?;
    out.flush()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(table: Value) -> Option<OwnLock> {
        OwnLock::of(table.as_object().expect("a table").clone())
    }

    #[test]
    fn lock_has_forms_for_what_it_can() {
        let check = |table: Value, has_plain, keeps| {
            let forms = of(table).expect("it is in the catalogue").forms(1234);
            let asked = forms.lock.facts().lease_ms;
            let kept = forms.keep.map(|keep| keep.facts().lease_ms);
            assert_eq!(
                (asked, forms.plain.is_some(), kept),
                (Some(1234), has_plain, keeps)
            );
        };
        check(json!({ "name": "set-nx-px" }), false, None);
        check(json!({ "name": "redisson" }), true, Some(Some(1234)));
        // The user's lease is not renewed.
        check(json!({ "name": "redisson", "lease_ms": 1234 }), true, None);
        assert_eq!(of(json!({ "name": "unknown" })), None);
    }
}

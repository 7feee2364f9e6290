//! The service of the simulator beside a real ZooKeeper: both answer the client of the lock alike.
//!
//! With `LOCKLAB_LONG=1`, and if ZooKeeper is installed.

use std::cell::Cell;
use std::io;
use std::rc::Rc;
use std::time::Duration;

use locklab_env::{Coordination, Env};
use locklab_history::{ClockKind, Failpoint, Name};
use locklab_locks::{LockError, Mode, Owner, Request};
use locklab_real::real_env::RealEnv;
use locklab_testing::{ZooKeeper, why_no_zookeeper};
use locklab_vecmap::VecMap;

use crate::stage::{attempt, attempt_of, lock, on_servers};

const CONSENSUS: &str = "name = \"consensus\"\nsession_ms = 1000";
const SESSION: Duration = Duration::from_millis(1000);

/// Runs one generic `async fn(impl Env, Vec<Name>)` on three simulated members, and on a real one.
macro_rules! on_both {
    ($test:ident) => {
        on_servers(CONSENSUS, 3, $test);
        match why_no_zookeeper() {
            Some(why) => eprintln!("SKIPPED on ZooKeeper: {why}"),
            None => on_zookeeper($test),
        }
    };
}

fn on_zookeeper<Fut: Future<Output = ()>>(test: impl FnOnce(RealEnv, Vec<Name>) -> Fut) {
    let server = ZooKeeper::start(1000);
    let names: Vec<Name> = vec!["n1".into()];
    let addresses: VecMap<Name, _> = [(names[0].clone(), server.address())].into();
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .expect("a runtime starts");
    let local = tokio::task::LocalSet::new();
    local.block_on(&runtime, test(RealEnv::new(addresses, 1, "c1"), names));
}

#[test]
fn holders_take_turns() {
    on_both!(take_turns);
}

async fn take_turns(env: impl Env, names: Vec<Name>) {
    let one = lock(&env, &names, CONSENSUS);
    let other = lock(&env, &names, CONSENSUS);
    let grant = attempt(&one).await.expect("the lock is free");
    assert!(one.is_held(&grant).await.expect("an answer"));
    let refused = attempt(&other).await;
    assert!(
        matches!(refused, Err(LockError::NotAcquired { .. })),
        "{refused:?}"
    );
    let grant = one.extend(&grant).await.expect("it is still ours");
    assert_eq!(one.release(&grant).await.expect("it is ours"), 1);
    let lost = one.release(&grant).await;
    assert!(matches!(lost, Err(LockError::Lost(_))), "{lost:?}");
    let next = attempt(&other).await.expect("the lock is free again");
    assert!(!one.is_held(&grant).await.expect("an answer"));
    assert!(next.fencing_token > grant.fencing_token);
}

#[test]
fn waiter_is_woken_by_release() {
    on_both!(wake_waiter);
}

async fn wake_waiter(env: impl Env, names: Vec<Name>) {
    let lock = lock(&env, &names, CONSENSUS);
    let held = attempt_of(&lock, Owner(1)).await.expect("the lock is free");
    let request = Request {
        owner: Owner(2),
        wait: None,
        mode: Mode::Exclusive,
    };
    let refused = lock.attempt(request).await.expect_err("it is held");
    let start_ns = env.now_ns(ClockKind::Monotonic);
    let releasing = async {
        env.sleep(Duration::from_millis(200)).await;
        lock.release(&held).await.expect("it is ours");
    };
    tokio::join!(lock.wait(request, &refused), releasing);
    let waited = Duration::from_nanos(env.now_ns(ClockKind::Monotonic) - start_ns);
    // A wait without a notification ends with the session's timeout.
    assert!(
        waited >= Duration::from_millis(200) && waited < SESSION,
        "{waited:?}"
    );
    attempt_of(&lock, Owner(2)).await.expect("its turn");
}

#[test]
fn session_ends_with_its_client() {
    on_both!(end_session);
}

async fn end_session(env: impl Env, names: Vec<Name>) {
    let is_stopped = Rc::new(Cell::new(false));
    let stopping = Stopping {
        env: env.clone(),
        is_stopped: is_stopped.clone(),
    };
    let one = lock(&stopping, &names, CONSENSUS);
    let grant = attempt(&one).await.expect("the lock is free");
    // Pings keep it for longer than its timeout.
    env.sleep(SESSION * 2).await;
    assert!(one.is_held(&grant).await.expect("an answer"));
    is_stopped.set(true);
    let other = lock(&env, &names, CONSENSUS);
    assert!(attempt(&other).await.is_err(), "its session lives");
    env.sleep(SESSION * 2).await;
    let next = attempt(&other).await.expect("the session has ended");
    assert!(next.fencing_token > grant.fencing_token);
    assert!(!other.is_held(&grant).await.expect("an answer"));
}

/// The environment of a client whose timers stop, as if its process stood still.
#[derive(Clone)]
struct Stopping<E> {
    env: E,
    is_stopped: Rc<Cell<bool>>,
}

impl<E: Env> Env for Stopping<E> {
    type Stream = E::Stream;

    fn now_ns(&self, clock: ClockKind) -> u64 {
        self.env.now_ns(clock)
    }

    fn sleep(&self, duration: Duration) -> impl Future<Output = ()> + 'static {
        let (sleep, is_stopped) = (self.env.sleep(duration), self.is_stopped.clone());
        async move {
            sleep.await;
            if is_stopped.get() {
                std::future::pending().await
            }
        }
    }

    fn connect(&self, to: &Name) -> impl Future<Output = io::Result<Self::Stream>> + 'static {
        self.env.connect(to)
    }

    fn coordination(&self) -> Coordination {
        self.env.coordination()
    }

    fn spawn(&self, task: impl Future<Output = ()> + 'static) {
        self.env.spawn(task);
    }

    fn random(&self) -> u64 {
        self.env.random()
    }

    fn reach(&self, point: Failpoint) -> impl Future<Output = ()> {
        self.env.reach(point)
    }
}

//! `team-lock-watched`: the same lock with a watchdog, which renews the lease for as long as its
//! process lives, and with a fencing token, by which a resource refuses a holder that comes late.

use std::cell::RefCell;
use std::rc::Rc;
use std::time::Duration;

use locklab::env::Env;
use locklab::history::{Failpoint, Name, Topology};
use locklab::locks::{
    Algorithm, Bound, CatalogueEntry, DynLock, Facts, Grant, Held, KEY, Lock, LockError, Need,
    Request, Shape,
};
use locklab::redis::{Client, Reply, Script};
use serde::{Deserialize, Serialize};

use super::{COMPARE_AND_DELETE, RETRY_MS};

pub(crate) const ENTRY: CatalogueEntry = CatalogueEntry {
    name: "team-lock-watched",
    summary: "one node, a lease that a watchdog renews, and a fencing token",
    source: "our repository",
    parameters: &[("ttl_ms", "", "the lease, in milliseconds")],
    forms: &[("", "ttl_ms = LEASE")],
    libraries: &[],
    mutants: &[],
};

/// The keys under `[lock]` in a scenario.
#[derive(Debug, Clone, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Params {
    /// The lease, in milliseconds, which the watchdog renews every third of it.
    pub ttl_ms: u64,
}

impl Algorithm for Params {
    fn build<E: Env>(&self, env: E, nodes: &[Name]) -> Rc<dyn DynLock> {
        Rc::new(WatchedLock {
            node: Rc::new(Client::new(env.clone(), nodes[0].clone(), None)),
            env,
            params: self.clone(),
            held: Rc::default(),
        })
    }

    /// The last holder died just after a renewal: the same as without a watchdog.
    fn bound(&self, _: &Topology) -> Bound {
        Bound {
            by_clock_ms: self.ttl_ms + 1 + RETRY_MS,
            round_trips: 3,
            time_outs_ms: 0,
            reply_ms: None,
        }
    }

    fn facts(&self) -> Facts {
        Facts {
            lease_ms: Some(self.ttl_ms),
            tells_deadline: false,
            listens: false,
            held: Held::by(Need::Nodes(1), Shape::Text),
            keeps: &[],
        }
    }

    fn gives_tokens(&self) -> bool {
        true
    }
}

/// The lock as one process uses it.
struct WatchedLock<E: Env> {
    env: E,
    node: Rc<Client<E>>,
    params: Params,
    /// The token of the grant that this process has not released yet.
    held: Rc<RefCell<Option<String>>>,
}

/// The counter only grows, and outlives every lock.
const COUNTER: &str = "fencing-tokens";

static SET_AND_COUNT: Script = Script::new(
    || "if redis.call('SET', KEYS[1], ARGV[1], 'NX', 'PX', ARGV[2]) then return redis.call('INCR', KEYS[2]) end return 0",
);

static COMPARE_AND_RENEW: Script = Script::new(
    || "if redis.call('GET', KEYS[1]) == ARGV[1] then return redis.call('PEXPIRE', KEYS[1], ARGV[2]) end return 0",
);

impl<E: Env> WatchedLock<E> {
    /// Renews the lease until the lock is released, or lost.
    fn watch(&self, token: String) {
        let (env, node, held) = (self.env.clone(), self.node.clone(), self.held.clone());
        let ttl_ms = self.params.ttl_ms;
        *held.borrow_mut() = Some(token.clone());
        self.env.spawn(async move {
            loop {
                env.sleep(Duration::from_millis(ttl_ms / 3)).await;
                if held.borrow().as_ref() != Some(&token) {
                    return;
                }
                // Here a scenario can place a fault: after = "c1 renewing".
                env.reach(Failpoint::Renewing).await;
                let (token, ttl) = (token.as_bytes(), ttl_ms.to_string());
                let arguments = [token, ttl.as_bytes()];
                let renewed = COMPARE_AND_RENEW
                    .ask(&node, &[KEY.as_bytes()], &arguments, Reply::count)
                    .await;
                // An error may be over by the next renewal.
                if matches!(renewed, Ok(0)) {
                    return;
                }
            }
        });
    }
}

impl<E: Env> Lock for WatchedLock<E> {
    async fn connect(&self) {
        // If this fails, so does the first command, which says why.
        let _ = self.node.connect().await;
    }

    async fn attempt(&self, request: Request) -> Result<Grant, LockError> {
        let token = format!("{:016x}{:016x}", self.env.random(), self.env.random());
        let ttl = self.params.ttl_ms.to_string();
        let keys = [KEY.as_bytes(), COUNTER.as_bytes()];
        let arguments = [token.as_bytes(), ttl.as_bytes()];
        let number = SET_AND_COUNT
            .ask(&self.node, &keys, &arguments, Reply::count)
            .await?;
        if number == 0 {
            return Err(LockError::taken("somebody holds it"));
        }
        self.watch(token.clone());
        Ok(Grant {
            owner: request.owner,
            token,
            // The watchdog moves it for as long as the process lives, so the holder knows none.
            deadline: None,
            fencing_token: Some(u64::from(number)),
        })
    }

    async fn wait(&self, request: Request, _: &LockError) {
        request
            .pass(&self.env, Duration::from_millis(RETRY_MS))
            .await;
    }

    async fn release(&self, grant: &Grant) -> Result<u32, LockError> {
        self.held.borrow_mut().take();
        let token = grant.token.as_bytes();
        let deleted = COMPARE_AND_DELETE
            .ask(&self.node, &[KEY.as_bytes()], &[token], Reply::count)
            .await?;
        match deleted {
            0 => Err(LockError::Lost("the key had another value".into())),
            deleted => Ok(deleted),
        }
    }
}

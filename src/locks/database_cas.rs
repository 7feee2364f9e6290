//! `database-cas`: compare-and-set on a version column.
//!
//! - Acquire: read the row: owner, version, expiry, and the database's own time. If the row has
//!   no owner, or its time is over by the database's clock, update it *where the version is
//!   still the one read*, with this client as the owner, an expiry of now plus the TTL, and the
//!   next version. One row updated: acquired.
//! - Extend: the same update, where the version is this client's.
//! - Release: the same, with no owner.
//!
//! Only the database's clock matters, and the version increases with every grant, so it serves
//! as a fencing token. Runs on the simulator's database, and on PostgreSQL.

use std::rc::Rc;

use super::algorithm::{
    self, Algorithm, Bound, CONNECTING, CatalogueEntry, Facts, InvalidParams, NOT_ON_REDIS, Servers,
};
use super::lock::{DynLock, Grant, Lock, LockError, Request, Retry};
use super::one_node::deadline;
use super::{KEY, random_token};
use locklab_env::Env;
use locklab_env::redis::{Client, Error, Reply};
use locklab_history::Topology;
use locklab_history::{ClockKind, Deadline, Failpoint, Name};

/// The owner of a free lock.
const FREE: &[u8] = b"-";

/// `database-cas` as one process uses it.
pub struct DatabaseCas<E: Env> {
    env: E,
    database: Client<E>,
    params: Params,
}

/// The row of the lock, and the database's time.
struct Row {
    owner: Vec<u8>,
    version: u64,
    expires_ms: i64,
    now_ms: i64,
}

impl<E: Env> DatabaseCas<E> {
    async fn select(&self) -> Result<Option<Row>, Error> {
        let select = [b"SELECT", KEY.as_bytes()];
        self.database.ask(&select, row).await
    }

    /// The database's time, in milliseconds.
    async fn now_ms(&self) -> Result<i64, Error> {
        self.database.ask(&[b"NOW"], Reply::integer).await
    }

    /// Updates the row if it still has `version`; returns whether it had.
    async fn update(&self, owner: &[u8], version: u64, expires_ms: i64) -> Result<bool, Error> {
        let (version, expires_ms) = (version.to_string(), expires_ms.to_string());
        let update = [
            b"UPDATE",
            KEY.as_bytes(),
            owner,
            version.as_bytes(),
            expires_ms.as_bytes(),
        ];
        self.database.ask(&update, Reply::flag).await
    }

    /// Creates the row, for the first grant ever.
    async fn insert(&self, owner: &[u8]) -> Result<bool, Error> {
        let now_ms = self.now_ms().await?;
        let expires_ms = (now_ms + self.params.ttl_ms as i64).to_string();
        let insert = [b"INSERT", KEY.as_bytes(), owner, expires_ms.as_bytes()];
        match self.database.ask(&insert, Reply::flag).await {
            Err(Error::Refused { text, .. }) if text.starts_with("DUPLICATE") => Ok(false),
            inserted => inserted,
        }
    }

    fn deadline(&self, started_ns: u64) -> Option<Deadline> {
        deadline(ClockKind::Monotonic, started_ns, self.params.ttl_ms)
    }
}

impl<E: Env> Lock for DatabaseCas<E> {
    async fn connect(&self) {
        // If this fails, so does the first attempt, which reports the reason.
        let _ = self.database.connect().await;
    }

    async fn attempt(&self, request: Request) -> Result<Grant, LockError> {
        let token = random_token(&self.env);
        let started_ns = self.env.now_ns(ClockKind::Monotonic);
        let (won, version) = match self.select().await? {
            None => (self.insert(token.as_bytes()).await?, 1),
            Some(row) if row.owner == FREE || row.expires_ms <= row.now_ms => {
                let expires_ms = row.now_ms + self.params.ttl_ms as i64;
                let update = self.update(token.as_bytes(), row.version, expires_ms);
                (update.await?, row.version + 1)
            }
            Some(_) => return Err(LockError::taken("somebody owns the row")),
        };
        if !won {
            return Err(LockError::taken("somebody else was faster"));
        }
        Ok(Grant {
            owner: request.owner,
            token,
            deadline: self.deadline(started_ns),
            fencing_token: Some(version),
        })
    }

    async fn wait(&self, request: Request, _: &LockError) {
        self.params.retry().wait(&self.env, request).await;
    }

    async fn extend(&self, grant: &Grant) -> Result<Grant, LockError> {
        let started_ns = self.env.now_ns(ClockKind::Monotonic);
        let now_ms = self.now_ms().await?;
        let version = version_of(grant);
        let expires_ms = now_ms + self.params.ttl_ms as i64;
        let update = self.update(grant.token.as_bytes(), version, expires_ms);
        match update.await? {
            true => Ok(Grant {
                deadline: self.deadline(started_ns),
                fencing_token: Some(version + 1),
                ..grant.clone()
            }),
            false => Err(lost()),
        }
    }

    async fn release(&self, grant: &Grant) -> Result<u32, LockError> {
        self.env.reach(Failpoint::Deleting).await;
        match self.update(FREE, version_of(grant), 0).await? {
            true => Ok(1),
            false => Err(lost()),
        }
    }

    async fn is_held(&self, grant: &Grant) -> Result<bool, LockError> {
        let row = self.select().await?;
        Ok(row.is_some_and(|row| row.version == version_of(grant) && row.expires_ms > row.now_ms))
    }
}

/// The row, if there is one.
fn row(reply: &Reply) -> Option<Option<Row>> {
    let fields = match reply {
        Reply::Nil => return Some(None),
        Reply::Array(fields) => fields,
        _ => return None,
    };
    match &fields[..] {
        [Reply::Bulk(owner), version, expires_ms, now_ms] => Some(Some(Row {
            owner: owner.to_vec(),
            version: version.number()?,
            expires_ms: expires_ms.integer()?,
            now_ms: now_ms.integer()?,
        })),
        _ => None,
    }
}

/// The version that a grant wrote: its token. No row has version 0.
fn version_of(grant: &Grant) -> u64 {
    grant.fencing_token.unwrap_or(0)
}

fn lost() -> LockError {
    LockError::Lost("the row has another version".into())
}

params! {
    /// The parameters of `database-cas`.
    pub struct Params {
        /// The lease, in milliseconds.
        ttl_ms: u64 = required, "the lease";
        /// Wait before the next attempt, in milliseconds.
        retry_delay_ms: u64 = (super::RETRY_DELAY_MS => "200"), "wait before the next attempt";
        /// The maximum random addition, drawn for each wait, in milliseconds.
        retry_jitter_ms: u64 = (super::RETRY_JITTER_MS => "50"),
            "up to this much more, drawn anew each time";
    }
}

impl Params {
    fn retry(&self) -> Retry {
        Retry {
            delay_ms: self.retry_delay_ms,
            jitter_ms: self.retry_jitter_ms,
        }
    }
}

impl Algorithm for Params {
    fn facts(&self) -> Facts {
        Facts {
            lease_ms: Some(self.ttl_ms),
            tells_deadline: true,
            listens: false,
            held: Err(NOT_ON_REDIS),
            keeps: &["foreign-release", "resource"],
        }
    }

    fn build<E: Env>(&self, env: E, nodes: &[Name]) -> Rc<dyn DynLock> {
        Rc::new(DatabaseCas {
            database: Client::new(env.clone(), nodes[0].clone(), None),
            env,
            params: self.clone(),
        })
    }

    fn bound(&self, _: &Topology) -> Bound {
        // SELECT and UPDATE; the times in the row are in whole milliseconds.
        Bound {
            by_clock_ms: self.ttl_ms + 1 + self.retry().longest_ms(),
            round_trips: CONNECTING + 2 * 2,
            time_outs_ms: 0,
            reply_ms: None,
        }
    }

    fn check(&self, topology: &Topology) -> Result<(), InvalidParams> {
        algorithm::one_node(ENTRY.name, topology)?;
        algorithm::no_replicas(ENTRY.name, topology)?;
        algorithm::lease(self.ttl_ms)
    }

    fn gives_tokens(&self) -> bool {
        true
    }

    fn servers(&self) -> Servers {
        Servers::Database
    }
}

/// `database-cas` in the catalogue.
pub const ENTRY: CatalogueEntry = CatalogueEntry {
    name: "database-cas",
    summary: "compare-and-set on a version column, with a lease by the database's clock (baseline)",
    source: "texts on distributed locks: a database's optimistic lock",
    parameters: Params::PARAMETERS,
    forms: &[("", "ttl_ms = LEASE")],
    libraries: &[],
    mutants: &[],
};

//! `database-unique`: a row under a unique index, as described in texts on locks without Redis.
//!
//! - Acquire: insert a row with the lock's name. The unique index lets one insert
//!   succeed.
//! - Release: delete the row, if this client still owns it.
//!
//! There is no lease: a holder that dies leaves its row behind for ever. Runs on the simulator's
//! database, and on PostgreSQL.

use std::rc::Rc;

use super::algorithm::{
    self, Algorithm, Bound, CONNECTING, CatalogueEntry, Facts, InvalidParams, NOT_ON_REDIS, Servers,
};
use super::lock::{DynLock, Grant, Lock, LockError, Request, Retry};
use super::{KEY, random_token};
use locklab_env::Env;
use locklab_env::redis::{Client, Error, Reply};
use locklab_history::Topology;
use locklab_history::{Failpoint, Name};

/// `database-unique` as one process uses it.
pub struct DatabaseUnique<E: Env> {
    env: E,
    database: Client<E>,
    params: Params,
}

impl<E: Env> Lock for DatabaseUnique<E> {
    async fn connect(&self) {
        // If this fails, so does the first attempt, which reports the reason.
        let _ = self.database.connect().await;
    }

    async fn attempt(&self, request: Request) -> Result<Grant, LockError> {
        let token = random_token(&self.env);
        let insert = [b"INSERT", KEY.as_bytes(), token.as_bytes()];
        match self.database.ask(&insert, Reply::flag).await {
            Ok(true) => Ok(Grant {
                owner: request.owner,
                token,
                deadline: None,
                fencing_token: None,
            }),
            Ok(false) => Err(LockError::taken("no row was inserted")),
            Err(Error::Refused { text, .. }) if text.starts_with("DUPLICATE") => {
                Err(LockError::taken("there is a row of this name"))
            }
            Err(error) => Err(error.into()),
        }
    }

    async fn wait(&self, request: Request, _: &LockError) {
        self.params.retry().wait(&self.env, request).await;
    }

    /// There is no lease to extend; checks whether the row still exists.
    async fn extend(&self, grant: &Grant) -> Result<Grant, LockError> {
        match Lock::is_held(self, grant).await? {
            true => Ok(grant.clone()),
            false => Err(lost()),
        }
    }

    async fn release(&self, grant: &Grant) -> Result<u32, LockError> {
        self.env.reach(Failpoint::Deleting).await;
        let delete = [b"DELETE", KEY.as_bytes(), grant.token.as_bytes()];
        match self.database.ask(&delete, Reply::flag).await? {
            true => Ok(1),
            false => Err(lost()),
        }
    }

    async fn is_held(&self, grant: &Grant) -> Result<bool, LockError> {
        let select = [b"SELECT", KEY.as_bytes()];
        let owner = self.database.ask(&select, owner).await?;
        Ok(owner.as_ref() == Some(&grant.token))
    }
}

/// The owner of the row, if there is a row.
fn owner(reply: &Reply) -> Option<Option<String>> {
    match reply {
        Reply::Nil => Some(None),
        Reply::Array(fields) => match fields.first()? {
            owner @ Reply::Bulk(_) => owner.value(),
            _ => None,
        },
        _ => None,
    }
}

fn lost() -> LockError {
    LockError::Lost("the row is not ours any more".into())
}

params! {
    /// The parameters of `database-unique`.
    pub struct Params {
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
            lease_ms: None,
            tells_deadline: false,
            listens: false,
            held: Err(NOT_ON_REDIS),
            keeps: &["belief", "lease", "resource"],
        }
    }

    fn build<E: Env>(&self, env: E, nodes: &[Name]) -> Rc<dyn DynLock> {
        Rc::new(DatabaseUnique {
            database: Client::new(env.clone(), nodes[0].clone(), None),
            env,
            params: self.clone(),
        })
    }

    /// Counted from a release: without one no client gets the lock, however long it waits.
    fn bound(&self, _: &Topology) -> Bound {
        // DELETE, and INSERT for each attempt.
        Bound {
            by_clock_ms: self.retry().longest_ms(),
            round_trips: CONNECTING + 1 + 2,
            time_outs_ms: 0,
            reply_ms: None,
        }
    }

    fn check(&self, topology: &Topology) -> Result<(), InvalidParams> {
        algorithm::one_node(ENTRY.name, topology)?;
        algorithm::no_replicas(ENTRY.name, topology)
    }

    fn servers(&self) -> Servers {
        Servers::Database
    }
}

/// `database-unique` in the catalogue.
pub const ENTRY: CatalogueEntry = CatalogueEntry {
    name: "database-unique",
    summary: "a row under a unique index, deleted to release; no lease (baseline)",
    source: "texts on distributed locks that discard databases in favour of Redis",
    parameters: Params::PARAMETERS,
    forms: &[("", "")],
    libraries: &[],
    mutants: &[],
};

//! The lock that is asked about: a row of the matrix, perhaps with a replica.

use crate::problems::{Row, Setting, meant, rows};
use toml::Table;

use crate::risk::model::setup_error::SetupError;

/// What follows the name of a lock on a master with a replica: `set-nx-px+replica`.
const WITH_REPLICA: &str = "+replica";

/// What follows the name of a lock whose grants have tokens: `consensus (with token)`.
const WITH_TOKEN: &str = " (with token)";

/// One sentinel stands for whatever promotes a replica, since no cause strikes it. Three would take six times as
/// many messages.
const SENTINELS: u32 = 1;

/// A lock with its parameters, and its servers.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct LockRow {
    row: Row,
    term: Term,
    replicas: Replicas,
}

/// What a lock calls the time after which others get it from a holder that is gone.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Term {
    /// A lease, which ends unless its holder extends it.
    Lease,
    /// A lease that a watchdog renews at each third of it, as long as the holder's process runs.
    Watchdog,
    /// The session of a coordination service, which the client's pings prolong.
    Session,
}

impl Term {
    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            Term::Lease => "lease",
            Term::Watchdog => "watchdog",
            Term::Session => "session",
        }
    }
}

/// The replicas of the lock's node.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Replicas {
    None,
    /// One, and a sentinel that promotes it.
    One,
}

/// The name of a lock without what says that its node has a replica, which is before the form or behind it.
pub fn without_replica(name: &str) -> String {
    name.replacen(WITH_REPLICA, "", 1)
}

impl LockRow {
    /// Finds the row of this name: of a lock, which is its most common form, or of one of its forms.
    ///
    /// # Errors
    ///
    /// If there is none, or the lock has no lease.
    pub fn called(name: &str) -> Result<LockRow, SetupError> {
        let label = &*without_replica(name);
        let replicas = match label == name {
            true => Replicas::None,
            false => Replicas::One,
        };
        let all = rows();
        let called = |name: &str| {
            let by_label = all.iter().find(|row| row.label == name);
            by_label.or_else(|| all.iter().find(|row| row.entry.name == name))
        };
        // Where the plain form has tokens, there is no other of this name.
        let plain = label.strip_suffix(WITH_TOKEN).and_then(called);
        let found = called(label).or(plain.filter(|row| gives_tokens(row)));
        if found.is_none() && plain.is_some() {
            let with = all.iter().filter(|row| gives_tokens(row));
            let with: Vec<&str> = with.map(|row| &*row.label).collect();
            return Err(SetupError::Parameters {
                name: name.to_owned(),
                what: format!("it has no tokens; these have: {}", with.join(", ")),
            });
        }
        let row = found.ok_or_else(|| {
            let names: Vec<String> = all.iter().map(|row| row.label.clone()).collect();
            SetupError::Unknown {
                name: label.to_owned(),
                meant: meant(label, &names),
            }
        })?;
        let term = match row.lease_parameter() {
            Some("session_ms") => Term::Session,
            Some("watchdog_ms") => Term::Watchdog,
            Some(_) => Term::Lease,
            None => {
                return Err(SetupError::Parameters {
                    name: name.to_owned(),
                    what: "it has no lease, so a holder that dies keeps it for ever".into(),
                });
            }
        };
        Ok(LockRow {
            row: row.clone(),
            term,
            replicas,
        })
    }

    /// What its lease is called.
    pub fn term(&self) -> Term {
        self.term
    }

    /// Whether its servers talk to each other all the time, which takes long to simulate.
    pub fn has_talking_servers(&self) -> bool {
        self.replicas == Replicas::One || self.term == Term::Session
    }

    /// Its parameters in the catalogue.
    pub fn parameters(&self) -> &'static [locklab_locks::Parameter] {
        self.row.entry.parameters
    }

    /// The lock with this lease, as a scenario has it.
    pub fn table(&self, lease_ms: u64) -> Result<Table, String> {
        self.row.table(lease_ms)
    }

    /// How many replicas its node has, and how many sentinels there are.
    pub fn replicas_and_sentinels(&self) -> [u32; 2] {
        match self.replicas {
            Replicas::None => [0, 0],
            Replicas::One => [1, SENTINELS],
        }
    }
}

/// Whether the grants of a lock in this form have tokens.
fn gives_tokens(row: &Row) -> bool {
    let setting = Setting {
        lease_ms: 1000,
        parameters: Table::new(),
    };
    row.lock(&setting).is_ok_and(|lock| lock.gives_tokens())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_row_is_found_by_its_label_or_its_lock() {
        let found = |name: &str| {
            let row = LockRow::called(name).expect(name);
            (
                row.row.label.clone(),
                row.term,
                row.replicas_and_sentinels(),
            )
        };
        let redisson = ("redisson".to_owned(), Term::Watchdog, [0, 0]);
        assert_eq!(found("redisson"), redisson);
        let token = ("set-nx-px (with token)".to_owned(), Term::Lease, [1, 1]);
        assert_eq!(found("set-nx-px (with token)+replica"), token);
        assert_eq!(found("set-nx-px+replica (with token)"), token);
        assert_eq!(found("consensus").1, Term::Session);
        for with_tokens in [
            "consensus",
            "redlock-fenced",
            "database-cas",
            "redisson-fenced",
        ] {
            let named = format!("{with_tokens} (with token)");
            assert_eq!(found(&named), found(with_tokens));
        }
    }

    #[test]
    fn an_unknown_lock_and_one_without_a_lease_are_refused() {
        let told = |name: &str| LockRow::called(name).expect_err(name).to_string();
        assert!(told("redison").contains("did you mean \"redisson\"?"));
        assert!(told("xyzzy").contains("`locklab list locks` has their names"));
        assert!(told("Redis-py").contains("Redis-py is a library, and its lock is here set-nx-px"));
        assert!(told("setnx").contains("has no lease"));
        let without = told("redlock (with token)");
        assert!(
            without.contains("it has no tokens; these have: set-nx-px (with token), "),
            "{without}"
        );
    }
}

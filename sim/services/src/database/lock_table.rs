//! The table, and the effect of each statement on it.
//!
//! ```sql
//! CREATE TABLE locks (
//!     name       TEXT    NOT NULL UNIQUE,
//!     owner      TEXT    NOT NULL,
//!     version    INTEGER NOT NULL,
//!     expires_ms INTEGER NOT NULL
//! );
//! ```
//!
//! Every statement is a transaction. It finds its one row by the unique index and changes it
//! under the row's lock. So even under READ COMMITTED a statement sees what the one before it
//! committed, and a condition in its WHERE still holds when it changes the row.

use bytes::Bytes;
use locklab_vecmap::VecMap;

/// The rows, by the unique index.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(super) struct Table(VecMap<Bytes, Row>);

#[derive(Clone, PartialEq, Eq, Debug)]
struct Row {
    owner: Bytes,
    version: i64,
    expires_ms: i64,
}

/// One statement. See [`super::statement`] for its format.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum Statement {
    /// `INSERT INTO locks VALUES (:name, :owner, 1, :expires_ms)`
    Insert {
        name: Bytes,
        owner: Bytes,
        expires_ms: i64,
    },
    /// `DELETE FROM locks WHERE name = :name AND owner = :owner`
    Delete { name: Bytes, owner: Bytes },
    /// `SELECT owner, version, expires_ms FROM locks WHERE name = :name`
    Select { name: Bytes },
    /// `UPDATE locks SET owner = :owner, version = version + 1, expires_ms = :expires_ms
    /// WHERE name = :name AND version = :version`
    Update {
        name: Bytes,
        owner: Bytes,
        version: i64,
        expires_ms: i64,
    },
}

/// The result of a statement.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum Outcome {
    /// This number of rows was changed.
    Rows(u64),
    /// The unique index rejected the row.
    Duplicate,
    /// The row that was selected, if there is one.
    Row(Option<(Bytes, i64, i64)>),
}

impl Table {
    /// Executes a statement.
    pub(super) fn execute(&mut self, statement: &Statement) -> Outcome {
        match statement {
            Statement::Insert { name, .. } if self.0.contains_key(name) => Outcome::Duplicate,
            Statement::Insert {
                name,
                owner,
                expires_ms,
            } => {
                let row = Row {
                    owner: owner.clone(),
                    version: 1,
                    expires_ms: *expires_ms,
                };
                self.0.insert(name.clone(), row);
                Outcome::Rows(1)
            }
            Statement::Delete { name, owner } => {
                let is_theirs = self.0.get(name).is_some_and(|row| row.owner == *owner);
                if is_theirs {
                    self.0.remove(name);
                }
                Outcome::Rows(is_theirs.into())
            }
            Statement::Select { name } => {
                let row = self.0.get(name);
                let columns = |row: &Row| (row.owner.clone(), row.version, row.expires_ms);
                Outcome::Row(row.map(columns))
            }
            Statement::Update {
                name,
                owner,
                version,
                expires_ms,
            } => match self.0.get_mut(name) {
                Some(row) if row.version == *version => {
                    *row = Row {
                        owner: owner.clone(),
                        version: row.version.saturating_add(1),
                        expires_ms: *expires_ms,
                    };
                    Outcome::Rows(1)
                }
                _ => Outcome::Rows(0),
            },
        }
    }
}

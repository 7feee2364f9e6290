//! The table against SQLite: the same random statements on both.

use bytes::Bytes;
use proptest::prelude::*;
use rusqlite::{Connection, ErrorCode, OptionalExtension, params};

use super::lock_table::{Outcome, Statement, Table};

/// The table of [`super::table`], in SQLite.
const SCHEMA: &str = "CREATE TABLE locks (
    name       TEXT    NOT NULL UNIQUE,
    owner      TEXT    NOT NULL,
    version    INTEGER NOT NULL,
    expires_ms INTEGER NOT NULL
) STRICT";

/// Executes the statement as SQL.
fn in_sqlite(sqlite: &Connection, statement: &Statement) -> rusqlite::Result<Outcome> {
    let text = |word: &Bytes| String::from_utf8_lossy(word).into_owned();
    let rows = match statement {
        Statement::Insert {
            name,
            owner,
            expires_ms,
        } => sqlite.execute(
            "INSERT INTO locks VALUES (?1, ?2, 1, ?3)",
            params![text(name), text(owner), expires_ms],
        ),
        Statement::Delete { name, owner } => sqlite.execute(
            "DELETE FROM locks WHERE name = ?1 AND owner = ?2",
            params![text(name), text(owner)],
        ),
        Statement::Update {
            name,
            owner,
            version,
            expires_ms,
        } => sqlite.execute(
            "UPDATE locks SET owner = ?2, version = version + 1, expires_ms = ?4
             WHERE name = ?1 AND version = ?3",
            params![text(name), text(owner), version, expires_ms],
        ),
        Statement::Select { name } => {
            let row = sqlite.query_row(
                "SELECT owner, version, expires_ms FROM locks WHERE name = ?1",
                params![text(name)],
                |row| {
                    let owner: String = row.get(0)?;
                    Ok((owner.into(), row.get(1)?, row.get(2)?))
                },
            );
            return row.optional().map(Outcome::Row);
        }
    };
    match rows {
        Err(error) if error.sqlite_error_code() == Some(ErrorCode::ConstraintViolation) => {
            Ok(Outcome::Duplicate)
        }
        rows => rows.map(|rows| Outcome::Rows(rows as u64)),
    }
}

/// Few names, owners and versions, so that statements conflict.
fn statement() -> impl Strategy<Value = Statement> {
    let word = |words: &'static [&'static str]| {
        proptest::sample::select(words).prop_map(|word| Bytes::from_static(word.as_bytes()))
    };
    let names = move || word(&["a", "b"]);
    let owners = move || word(&["c1", "c2", ""]);
    prop_oneof![
        (names(), owners(), 0..3_i64).prop_map(|(name, owner, expires_ms)| Statement::Insert {
            name,
            owner,
            expires_ms
        }),
        (names(), owners()).prop_map(|(name, owner)| Statement::Delete { name, owner }),
        names().prop_map(|name| Statement::Select { name }),
        (names(), owners(), 0..5_i64, 0..3_i64).prop_map(|(name, owner, version, expires_ms)| {
            Statement::Update {
                name,
                owner,
                version,
                expires_ms,
            }
        }),
    ]
}

proptest! {
    #[test]
    fn statements_match_sqlite(
        statements in prop::collection::vec(statement(), 1..60)
    ) {
        let sqlite = Connection::open_in_memory().expect("SQLite opens");
        sqlite.execute(SCHEMA, []).expect("SQLite takes the schema");
        let mut table = Table::default();
        for statement in &statements {
            let expected = in_sqlite(&sqlite, statement).expect("SQLite executes it");
            prop_assert_eq!(table.execute(statement), expected, "{:?}", statement);
        }
    }
}

//! The format of statements and of their answers.
//!
//! | request | statement | answer |
//! |---|---|---|
//! | `INSERT name owner [expires_ms]` | `INSERT INTO locks VALUES (:name, :owner, 1, :expires_ms)`, with 0 where no time is given | 1, or the error `DUPLICATE` |
//! | `DELETE name owner` | `DELETE FROM locks WHERE name = :name AND owner = :owner` | rows: 0 or 1 |
//! | `SELECT name` | `SELECT owner, version, expires_ms, :now FROM locks WHERE name = :name` | these four, or nil |
//! | `UPDATE name owner version expires_ms` | `UPDATE locks SET owner = :owner, version = version + 1, expires_ms = :expires_ms WHERE name = :name AND version = :version` | rows: 0 or 1 |
//! | `NOW` | `SELECT :now` | the time |
//!
//! `:now` is the database's wall clock, in milliseconds since the Unix epoch. The database
//! ignores the values of `expires_ms`; only the clients interpret them.

use bytes::Bytes;
use redis_protocol::resp2::types::BytesFrame;

use super::lock_table::{Outcome, Statement};
use locklab_redis::resp::{bulk, command, error, integer};

/// A request.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum Request {
    Statement(Statement),
    Now,
}

/// Parses a request; `None` if it is invalid.
pub(super) fn parse(words: &[Bytes]) -> Option<Request> {
    let (name, arguments) = words.split_first()?;
    let statement = match (&name[..], arguments) {
        (b"NOW", []) => return Some(Request::Now),
        (b"INSERT", [name, owner, expires_ms @ ..]) => Statement::Insert {
            name: name.clone(),
            owner: owner.clone(),
            expires_ms: match expires_ms {
                [] => 0,
                [expires_ms] => number(expires_ms)?,
                _ => return None,
            },
        },
        (b"DELETE", [name, owner]) => Statement::Delete {
            name: name.clone(),
            owner: owner.clone(),
        },
        (b"SELECT", [name]) => Statement::Select { name: name.clone() },
        (b"UPDATE", [name, owner, version, expires_ms]) => Statement::Update {
            name: name.clone(),
            owner: owner.clone(),
            version: number(version)?,
            expires_ms: number(expires_ms)?,
        },
        _ => return None,
    };
    Some(Request::Statement(statement))
}

/// The journal entry of a statement that changed something: in the format that clients use.
pub(super) fn journal_entry(statement: &Statement) -> Bytes {
    let text = |number: &i64| number.to_string();
    match statement {
        Statement::Insert {
            name,
            owner,
            expires_ms,
        } => command(&[b"INSERT", name, owner, text(expires_ms).as_bytes()]),
        Statement::Delete { name, owner } => command(&[b"DELETE", name, owner]),
        Statement::Select { name } => command(&[b"SELECT", name]),
        Statement::Update {
            name,
            owner,
            version,
            expires_ms,
        } => {
            let (version, expires_ms) = (text(version), text(expires_ms));
            command(&[
                b"UPDATE",
                name,
                owner,
                version.as_bytes(),
                expires_ms.as_bytes(),
            ])
        }
    }
}

/// The answer to a client.
pub(super) fn answer(outcome: Outcome, now_ms: u64) -> BytesFrame {
    match outcome {
        Outcome::Rows(rows) => integer(rows),
        Outcome::Duplicate => error("DUPLICATE the unique index has this name"),
        Outcome::Row(None) => BytesFrame::Null,
        Outcome::Row(Some((owner, version, expires_ms))) => BytesFrame::Array(vec![
            bulk(owner),
            BytesFrame::Integer(version),
            BytesFrame::Integer(expires_ms),
            integer(now_ms),
        ]),
    }
}

fn number(word: &[u8]) -> Option<i64> {
    locklab_redis::resp::number(word)?.try_into().ok()
}

#[cfg(test)]
mod tests {
    use bytes::BytesMut;

    use super::*;
    use locklab_redis::resp::next_words;

    fn read(text: &str) -> Option<Request> {
        let words: Vec<Bytes> = text
            .split(' ')
            .map(|word| Bytes::copy_from_slice(word.as_bytes()))
            .collect();
        parse(&words)
    }

    #[test]
    fn the_journal_is_read_as_requests_are() {
        for text in ["INSERT a b 5", "DELETE a b", "SELECT a", "UPDATE a b 3 9"] {
            let Some(Request::Statement(statement)) = read(text) else {
                panic!("{text} is a statement");
            };
            let mut entry = BytesMut::from(&journal_entry(&statement)[..]);
            let words = next_words(&mut entry).ok().flatten().expect("whole");
            assert_eq!(parse(&words), Some(Request::Statement(statement)));
        }
    }

    #[test]
    fn invalid_statement_is_rejected() {
        for text in [
            "INSERT a",
            "INSERT a b c",
            "UPDATE a b x 1",
            "NOW 1",
            "DROP locks",
            "",
        ] {
            assert_eq!(read(text), None, "{text}");
        }
    }
}

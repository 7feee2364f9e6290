//! A statement of a lock as SQL, and the answer to it.

use bytes::Bytes;
use locklab_redis::resp::{bulk, error, integer};
use redis_protocol::resp2::types::BytesFrame;

use super::wire::Outcome;

/// The table, and what it is created with.
pub(crate) const CREATE: &str = "CREATE TABLE locks (name text NOT NULL UNIQUE, owner text NOT NULL, \
                                 version bigint NOT NULL, expires_ms bigint NOT NULL)\n";

/// The database's wall clock, in milliseconds since the Unix epoch.
const NOW: &str = "floor(extract(epoch FROM clock_timestamp()) * 1000)::bigint";

/// PostgreSQL's code of an error: a row with this key exists.
const UNIQUE_VIOLATION: &str = "23505";

/// A statement in SQL; `None` if it is not one of a lock.
pub(super) fn of(words: &[Bytes]) -> Option<String> {
    let words: Option<Vec<&str>> = { words.iter() }
        .map(|word| std::str::from_utf8(word).ok())
        .collect();
    Some(match words?[..] {
        ["NOW"] => format!("SELECT {NOW}"),
        ["SELECT", name] => {
            let name = text(name);
            format!("SELECT owner, version, expires_ms, {NOW} FROM locks WHERE name = {name}")
        }
        ["INSERT", name, owner, ref rest @ ..] => {
            let expires_ms = number(rest.first().unwrap_or(&"0"))?;
            let (name, owner) = (text(name), text(owner));
            format!("INSERT INTO locks VALUES ({name}, {owner}, 1, {expires_ms})")
        }
        ["DELETE", name, owner] => {
            let (name, owner) = (text(name), text(owner));
            format!("DELETE FROM locks WHERE name = {name} AND owner = {owner}")
        }
        ["UPDATE", name, owner, version, expires_ms] => {
            let (name, owner) = (text(name), text(owner));
            let (version, expires_ms) = (number(version)?, number(expires_ms)?);
            format!(
                "UPDATE locks SET owner = {owner}, version = version + 1, expires_ms = {expires_ms} \
                 WHERE name = {name} AND version = {version}"
            )
        }
        _ => return None,
    })
}

/// A text as SQL has it.
fn text(word: &str) -> String {
    format!("'{}'", word.replace('\'', "''"))
}

fn number(word: &str) -> Option<i64> {
    word.parse().ok()
}

/// What the lock is answered; `None` if the outcome is not one of its statements.
pub(super) fn answer(outcome: Outcome) -> Option<BytesFrame> {
    let integer_of = |field: &[u8]| {
        let number = std::str::from_utf8(field).ok()?.parse().ok()?;
        Some(BytesFrame::Integer(number))
    };
    Some(match outcome {
        Outcome::Refused { code, .. } if code == UNIQUE_VIOLATION => {
            error("DUPLICATE the unique index has this name")
        }
        Outcome::Refused { code, message } => error(format!("ERR {code} {message}")),
        Outcome::Changed(rows) => integer(rows),
        Outcome::Row(None) => BytesFrame::Null,
        Outcome::Row(Some(fields)) => match &fields[..] {
            [now] => integer_of(now)?,
            [owner, numbers @ ..] => {
                let numbers: Option<Vec<_>> = numbers.iter().map(|it| integer_of(it)).collect();
                let owner = bulk(owner.clone());
                BytesFrame::Array([owner].into_iter().chain(numbers?).collect())
            }
            [] => return None,
        },
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn statements_are_those_that_the_simulated_database_stands_for() {
        let check = |line: &str, expected: Option<&str>| {
            let words: Vec<Bytes> = { line.split(' ') }
                .map(|word| Bytes::copy_from_slice(word.as_bytes()))
                .collect();
            assert_eq!(of(&words).as_deref(), expected, "{line}");
        };
        check(
            "INSERT a it's 5",
            Some("INSERT INTO locks VALUES ('a', 'it''s', 1, 5)"),
        );
        check(
            "INSERT a b",
            Some("INSERT INTO locks VALUES ('a', 'b', 1, 0)"),
        );
        check(
            "DELETE a b",
            Some("DELETE FROM locks WHERE name = 'a' AND owner = 'b'"),
        );
        check(
            "UPDATE a b 3 9",
            Some(
                "UPDATE locks SET owner = 'b', version = version + 1, expires_ms = 9 \
                 WHERE name = 'a' AND version = 3",
            ),
        );
        for line in ["UPDATE a b 3 9;DROP", "DROP a", "INSERT a"] {
            check(line, None);
        }
    }

    #[test]
    fn answers() {
        let fields = |fields: &[&'static str]| {
            let fields = fields.iter().map(|it| Bytes::from_static(it.as_bytes()));
            Outcome::Row(Some(fields.collect()))
        };
        assert_eq!(answer(fields(&["7"])), Some(BytesFrame::Integer(7)));
        let row = [bulk("c1"), integer(2), integer(30), integer(40)];
        assert_eq!(
            answer(fields(&["c1", "2", "30", "40"])),
            Some(BytesFrame::Array(row.into()))
        );
        assert_eq!(answer(fields(&["c1", "x"])), None);
        let refused = |code: &str| {
            answer(Outcome::Refused {
                code: code.into(),
                message: "no".into(),
            })
        };
        assert_eq!(
            refused(UNIQUE_VIOLATION),
            Some(error("DUPLICATE the unique index has this name"))
        );
        assert_eq!(refused("53100"), Some(error("ERR 53100 no")));
    }
}

//! The drill protocol: what Locklab orders a program with a lock to do, and what that answers, a line of JSON each.
//!
//! `docs/score.md` describes it for those who write such a program.

use std::fmt;

use locklab_bounds::{Bounds, json};
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// What a drill can be ordered to do. A drill says at its start which of these its library has; what is missing
/// makes a cell *n/a*, never *no*.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Word {
    /// Take the lock for `LOCKLAB_LEASE_MS`, and wait for it; no longer than `wait_ms`, if that is there.
    Lock,
    /// Take it if it is free now.
    Try,
    /// Take it as the first example of the library's own README does, with the lease that this gives.
    Plain,
    /// Take it, and let the library itself renew the lease as long as it is held.
    Keep,
    /// Give the held lock a new lease.
    Extend,
    /// Release it.
    Unlock,
    /// Take it once more, in the same thread or task, by the same object; no longer than `wait_ms`.
    Again,
    /// Give up the call of `lock` that is under way: cancel its task, its context, its signal.
    Cancel,
    /// Let the loop or thread on which the library renews stand still for `ms` milliseconds.
    Block,
    /// End the task or thread that holds the lock, without a release; the process lives on.
    Abandon,
    /// No order: `lock` keeps `wait_ms`.
    Limit,
    /// No order: the lock is taken on a majority of the servers in `REDIS_URLS`.
    Quorum,
}

/// An order, as a drill reads it.
#[derive(Debug, Clone, Serialize)]
pub struct Order {
    /// Its number, which the answer repeats.
    pub id: u32,
    /// What to do.
    #[serde(rename = "do")]
    pub word: Word,
    /// The longest wait for the lock, in milliseconds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub wait_ms: Option<u64>,
    /// How long to stand still, in milliseconds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ms: Option<u64>,
}

/// How a call ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Ended {
    /// It did what it is for.
    Ok,
    /// It said no without an error: another has the lock.
    No,
    /// It failed with an error.
    Error,
    /// The library has no such call.
    None,
}

/// A line of a drill.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(untagged)]
pub enum Line {
    /// The answer to an order.
    Answer(Answer),
    /// It is ready.
    Ready(Ready),
    /// Something that nobody ordered.
    Told(Told),
}

impl Line {
    /// A line of the protocol; `None` for one of the program's own.
    pub fn read(line: &[u8]) -> Option<Line> {
        json::check(line, Bounds::EVENT).ok()?;
        serde_json::from_slice(line).ok()
    }
}

/// The answer to an order.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Answer {
    /// The number of the order.
    pub id: u32,
    /// How the call ended.
    pub r: Ended,
    /// The class of the error, or what else it said.
    #[serde(default)]
    pub class: Option<String>,
    /// How much longer the library lets its user rely on the lock, in milliseconds, if it says that.
    #[serde(default)]
    pub valid_ms: Option<f64>,
    /// The fencing token, if it gives one.
    #[serde(default)]
    pub token: Option<f64>,
}

/// The first line of a drill.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
pub struct Ready {
    /// `ready`.
    pub event: IsReady,
    /// What the library has a call for.
    pub can: Vec<Word>,
    /// The key of the lock, if others are made beside it.
    #[serde(default)]
    pub key: Option<String>,
}

/// The word `ready`.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum IsReady {
    /// It.
    #[default]
    Ready,
}

/// Something that nobody ordered.
#[derive(Debug, Clone, PartialEq, Deserialize)]
pub struct Told {
    /// `lost`: the library told its user that the lock is lost.
    pub event: String,
    /// How: `exception`, `signal`, `callback`, `flag`.
    #[serde(default)]
    pub how: Option<Value>,
}

impl fmt::Display for Word {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&text(self))
    }
}

impl fmt::Display for Ended {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&text(self))
    }
}

/// The word by which files and lines have a value that is one word.
fn text(value: &impl Serialize) -> String {
    match serde_json::to_value(value) {
        Ok(Value::String(word)) => word,
        _ => String::new(),
    }
}

#[cfg(test)]
mod tests {
    use locklab_testing::hostile;

    use super::*;

    fn read(line: &str) -> Option<Line> {
        Line::read(line.as_bytes())
    }

    #[test]
    fn hostile_lines_are_none_of_the_protocol() {
        for (name, bytes) in hostile::json() {
            assert_eq!(Line::read(&bytes), None, "{name}");
        }
        // Whole, and behind a key of the protocol.
        let nested = |depth| {
            let value = ["[".repeat(depth), "]".repeat(depth)].concat();
            read(&format!("{{\"event\":\"lost\",\"how\":{value}}}"))
        };
        assert!(nested(10).is_some());
        assert_eq!(nested(100), None);
    }

    #[test]
    fn lines_of_a_drill_are_told_apart() {
        let ready = Line::Ready(Ready {
            event: IsReady::Ready,
            can: vec![Word::Lock, Word::Unlock],
            key: None,
        });
        assert_eq!(
            read(r#"{"event":"ready","can":["lock","unlock"]}"#),
            Some(ready)
        );
        let answer = Line::Answer(Answer {
            id: 3,
            r: Ended::Error,
            class: Some("LockError".into()),
            valid_ms: None,
            token: None,
        });
        assert_eq!(
            read(r#"{"id":3,"r":"error","class":"LockError"}"#),
            Some(answer)
        );
        let lost = Line::Told(Told {
            event: "lost".into(),
            how: None,
        });
        assert_eq!(read(r#"{"event":"lost"}"#), Some(lost));
        assert_eq!(read(r#"{"id":3,"r":"maybe"}"#), None);
        assert_eq!(read("Traceback (most recent call last):"), None);
    }

    #[test]
    fn an_order_has_only_what_it_needs() {
        let order = Order {
            id: 1,
            word: Word::Lock,
            wait_ms: Some(1000),
            ms: None,
        };
        let line = serde_json::to_string(&order).expect("it has string keys");
        assert_eq!(line, r#"{"id":1,"do":"lock","wait_ms":1000}"#);
    }
}

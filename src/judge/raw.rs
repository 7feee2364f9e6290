//! The lines of a history as both formats have them, and the errors that point at one.

use std::borrow::Cow;
use std::fmt;
use std::path::{Path, PathBuf};

use serde::de::{Deserialize, Deserializer, Visitor};
use serde::{Deserialize as DeriveDeserialize, Serialize};

use crate::amount::{Amount, Unit};
use crate::models::ModelName;

/// The version of the schema that this build reads and writes.
pub const SCHEMA: u32 = 1;

/// The first line of a history: how to read the others, and what to judge them by.
#[derive(Debug, Clone, PartialEq, Eq, DeriveDeserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Header {
    /// The version of the schema; see `SCHEMA`.
    #[serde(rename = "lock-history")]
    pub version: u32,
    /// The kind of lock.
    pub model: ModelName,
    /// The unit of every time and duration.
    #[serde(default)]
    pub unit: Unit,
    /// How many permits a semaphore has.
    #[serde(default = "one", skip_serializing_if = "is_one")]
    pub permits: u32,
    /// On how many servers the lock's key can be stored. With more than one, a release may delete
    /// what is left of its own lock although another holds it, and `foreign-release` is not judged.
    #[serde(default = "one", skip_serializing_if = "is_one")]
    pub servers: u32,
}

impl Header {
    /// The header of a history that has none, such as Jepsen's.
    pub fn of(model: ModelName) -> Header {
        Header {
            version: SCHEMA,
            model,
            unit: Unit::Ns,
            permits: 1,
            servers: 1,
        }
    }
}

fn one() -> u32 {
    1
}

fn is_one(number: &u32) -> bool {
    *number == 1
}

/// What the user says of a history, in the place of what the file says.
#[derive(Debug, Clone, Copy, Default)]
pub struct Given {
    /// The kind of lock.
    pub model: Option<ModelName>,
    /// How many permits a semaphore has.
    pub permits: Option<u32>,
    /// What the first of two texts in a `:value` of Jepsen's is.
    pub pairs: Option<Pairs>,
}

impl Given {
    /// The header with what is given in the place of what it says. A model that is given knows nothing of the header's
    /// permits.
    ///
    /// # Errors
    ///
    /// If there are permits, and no semaphore.
    pub(crate) fn over(&self, header: Header) -> Result<Header, String> {
        let model = self.model.unwrap_or(header.model);
        let permits = match self
            .model
            .is_none_or(|given| given == header.model || given == ModelName::Semaphore)
        {
            true => header.permits,
            false => 1,
        };
        let permits = self.permits.unwrap_or(permits);
        if permits != 1 && model != ModelName::Semaphore {
            return Err(permits_without_semaphore(model));
        }
        Ok(Header {
            model,
            permits,
            ..header
        })
    }
}

/// Why permits are refused.
pub(crate) fn permits_without_semaphore(model: ModelName) -> String {
    format!("\"permits\" are a semaphore's, and the model is {model}; use semaphore")
}

/// What the first of two texts in a `:value` is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Pairs {
    /// The lock, as `jepsen.independent` writes it.
    Lock,
    /// No lock: a client, say, with an id.
    Value,
}

/// The phase of an operation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, DeriveDeserialize, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Type {
    /// The process calls it.
    Invoke,
    /// It returned, and took effect.
    Ok,
    /// It returned, and took no effect.
    Fail,
    /// Nothing is known of its effect: it may take effect at any later time, or never.
    Info,
}

/// An operation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, DeriveDeserialize, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum F {
    /// Take the lock.
    #[serde(alias = "lock")]
    Acquire,
    /// Release it.
    #[serde(alias = "unlock")]
    Release,
    /// Extend its lease.
    Extend,
    /// Read the protected resource.
    Read,
    /// Write it.
    Write,
    /// The process knows that it no longer holds this lock.
    Lost,
    /// The process died.
    Crash,
}

impl F {
    /// The name in files.
    pub fn name(self) -> &'static str {
        match self {
            F::Acquire => "acquire",
            F::Release => "release",
            F::Extend => "extend",
            F::Read => "read",
            F::Write => "write",
            F::Lost => "lost",
            F::Crash => "crash",
        }
    }
}

/// The clock that a deadline is on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, DeriveDeserialize, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum RawClock {
    /// The clock of `time`.
    Time,
    /// The process's wall clock, of which its lines have the reading as `wall`.
    Wall,
    /// The process's monotonic clock, of which its lines have the reading as `mono`.
    Mono,
}

/// One line. Both formats are read into this form.
#[derive(Debug, Clone, DeriveDeserialize)]
#[serde(deny_unknown_fields)]
pub struct RawEvent<'a> {
    /// The process, one thread of control.
    #[serde(borrow)]
    pub process: Text<'a>,
    /// The phase.
    #[serde(rename = "type")]
    pub kind: Type,
    /// The operation.
    pub f: F,
    /// When, on the clock that orders the history.
    #[serde(default)]
    pub time: Option<Amount>,
    /// The lock.
    #[serde(borrow, default)]
    pub key: Option<Text<'a>>,
    /// The identity under which the lock is held, if it is not the process.
    #[serde(borrow, default)]
    pub owner: Option<Text<'a>>,
    /// The fencing token.
    #[serde(default)]
    pub token: Option<u64>,
    /// When the grant ends.
    #[serde(default)]
    pub deadline: Option<Amount>,
    /// The clock of `deadline`.
    #[serde(default)]
    pub clock: Option<RawClock>,
    /// How long the grant lasts, from the time of this line.
    #[serde(default)]
    pub validity: Option<Amount>,
    /// Whether it is a reader's.
    #[serde(default)]
    pub shared: bool,
    /// How many permits.
    #[serde(default)]
    pub permits: Option<u32>,
    /// The reading of the process's wall clock.
    #[serde(default)]
    pub wall: Option<Amount>,
    /// The reading of the process's monotonic clock.
    #[serde(default)]
    pub mono: Option<Amount>,
    /// The resource's version: what a read returned, what a write made.
    #[serde(default)]
    pub version: Option<u64>,
    /// The version that a write was computed from.
    #[serde(default)]
    pub based_on: Option<u64>,
    /// Anything, for people; it is no unknown field.
    #[serde(borrow, default, rename = "note")]
    pub(crate) _note: Option<Text<'a>>,
}

/// A name: a string, or a whole number.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Text<'a>(pub Cow<'a, str>);

impl<'de: 'a, 'a> Deserialize<'de> for Text<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Name;
        impl<'de> Visitor<'de> for Name {
            type Value = Text<'de>;

            fn expecting(&self, f: &mut fmt::Formatter) -> fmt::Result {
                f.write_str("a name, in quotes, or a whole number")
            }

            fn visit_borrowed_str<E>(self, text: &'de str) -> Result<Self::Value, E> {
                Ok(Text(Cow::Borrowed(text)))
            }

            fn visit_str<E>(self, text: &str) -> Result<Self::Value, E> {
                Ok(Text(Cow::Owned(text.into())))
            }

            fn visit_u64<E>(self, number: u64) -> Result<Self::Value, E> {
                Ok(Text(Cow::Owned(number.to_string())))
            }

            fn visit_i64<E>(self, number: i64) -> Result<Self::Value, E> {
                Ok(Text(Cow::Owned(number.to_string())))
            }
        }
        deserializer.deserialize_any(Name)
    }
}

/// Why a history cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{}:{line}: {what}", path.display())]
pub struct InputError {
    /// The file.
    pub path: PathBuf,
    /// The line, counted from 1.
    pub line: u32,
    /// The reason, and what to write instead.
    pub what: String,
}

/// An error without its file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Bad {
    pub(crate) line: u32,
    pub(crate) what: String,
}

impl Bad {
    pub(crate) fn at(line: u32, what: impl Into<String>) -> Bad {
        let what = what.into();
        Bad { line, what }
    }

    pub(crate) fn of(self, path: &Path) -> InputError {
        InputError {
            path: path.into(),
            line: self.line,
            what: self.what,
        }
    }
}

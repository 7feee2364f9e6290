//! Watches a master and its replica: their offsets, and when a value that is written on one is on the
//! other.

use std::hash::{BuildHasher, RandomState};
use std::time::{Duration, Instant};

use redis_protocol::resp2::types::{BytesFrame, Resp2Frame as _};

use super::connection::{Answer, Connection};
use super::pace::{Pace, Until};
use super::{RecordError, Url};
use crate::replication::{Offset, Write};

/// How often offsets are asked for, and a value is written.
const PERIOD: Duration = Duration::from_millis(200);

/// How often the replica is asked whether it has a value.
const LOOK: Duration = Duration::from_micros(500);

/// After this time a value is not waited for any longer.
const LONGEST_WAIT: Duration = Duration::from_secs(5);

/// The key expires even if this process is killed, in milliseconds.
const LEASE_MS: &str = "60000";

/// A master and its replica.
#[derive(Debug)]
pub(super) struct Pair<'a> {
    master: Side<'a>,
    replica: Side<'a>,
    key: Option<&'a str>,
    /// What the values of this process begin with. Another recorder may have the same process id.
    token: String,
    /// The number of the value that was written last.
    written: u64,
}

#[derive(Debug)]
struct Side<'a> {
    url: &'a Url,
    /// `None` after it did not answer.
    connection: Option<Connection>,
}

/// What was seen.
#[derive(Debug, Default)]
pub(super) struct Offsets {
    pub(super) master: Vec<Offset>,
    pub(super) replica: Vec<Offset>,
    pub(super) writes: Vec<Write>,
}

impl<'a> Pair<'a> {
    /// Connects to both; if a key may be written, writes it for the first time.
    pub(super) fn connect(
        master: &'a Url,
        replica: &'a Url,
        key: Option<&'a str>,
    ) -> Result<Self, RecordError> {
        let [one, other] = [master, replica].map(|url| -> Result<_, RecordError> {
            let mut connection = Connection::open(url)?;
            let info = connection.require(url, "INFO", &["INFO", "replication"], "")?;
            let side = Side {
                url,
                connection: Some(connection),
            };
            Ok((side, info))
        });
        let ((master, of_master), (replica, of_replica)) = (one?, other?);
        let mut pair = Pair {
            master,
            replica,
            key,
            token: format!("locklab-record-{:016x}", RandomState::new().hash_one(0)),
            written: 0,
        };
        pair.check(&of_master, &of_replica)?;
        if let Some(key) = key {
            let value = pair.value();
            let words = ["SET", key, &value, "NX", "PX", LEASE_MS];
            let hint = "; --write-key needs a user who may write that key";
            let url = pair.master.url;
            // It was connected a moment ago.
            if let Some(connection) = &mut pair.master.connection
                && connection.require(url, "SET", &words, hint)? == BytesFrame::Null
            {
                return Err(RecordError::KeyExists(key.into()));
            }
        }
        Ok(pair)
    }

    fn check(&self, of_master: &BytesFrame, of_replica: &BytesFrame) -> Result<(), RecordError> {
        let not_a_pair = |why: String| RecordError::NotAPair {
            master: self.master.url.to_string(),
            replica: self.replica.url.to_string(),
            why,
        };
        for (side, info, expected) in [
            (&self.master, of_master, "master"),
            (&self.replica, of_replica, "slave"),
        ] {
            let role = field(info, "role").unwrap_or("unknown");
            if role != expected {
                return Err(not_a_pair(format!("the role of {} is `{role}`", side.url)));
            }
        }
        let [one, other] = [&self.master, &self.replica].map(|side| side.url.database);
        if self.key.is_some() && one != other {
            let why = format!("the key is in database {one}, and it is asked for database {other}");
            return Err(not_a_pair(why));
        }
        let history = |info| field(info, "master_replid");
        match history(of_master) == history(of_replica) {
            true => Ok(()),
            false => Err(not_a_pair(
                "it replicates another server, or has not begun".into(),
            )),
        }
    }

    fn value(&self) -> String {
        format!("{}-{}", self.token, self.written)
    }

    /// Watches until the end.
    pub(super) fn watch(mut self, until: Until<'_>) -> Offsets {
        let mut seen = Offsets::default();
        let mut pace = Pace::every(PERIOD);
        while !until.is_over() {
            seen.master.extend(self.master.offset("master_repl_offset"));
            seen.replica
                .extend(self.replica.offset("slave_repl_offset"));
            if let Some(key) = self.key {
                self.written += 1;
                let value = self.value();
                seen.writes.extend(self.write(key, &value, until));
            }
            pace.wait(&until);
        }
        seen
    }

    /// Writes a value, and waits until the replica has it. At the end nobody waits any longer, and
    /// nothing is known.
    fn write(&mut self, key: &str, value: &str, until: Until<'_>) -> Option<Write> {
        let written = self.master.ask(&["SET", key, value, "PX", LEASE_MS])?;
        let granted_ns = written.took.received_ns;
        let begun = Instant::now();
        loop {
            let found = self.replica.ask(&["GET", key])?;
            if found.frame.as_str() == Some(value) {
                let seen_ns = Some(found.took.received_ns);
                return Some(Write {
                    granted_ns,
                    seen_ns,
                });
            }
            if begun.elapsed() > LONGEST_WAIT {
                let seen_ns = None;
                return Some(Write {
                    granted_ns,
                    seen_ns,
                });
            }
            if until.is_over() {
                return None;
            }
            std::thread::sleep(LOOK);
        }
    }
}

/// Deletes the key, unless it has somebody else's value.
impl Drop for Pair<'_> {
    fn drop(&mut self) {
        let Some(key) = self.key else {
            return;
        };
        let found = self.master.ask(&["GET", key]);
        let found = found.as_ref().and_then(|answer| answer.frame.as_str());
        if found.is_some_and(|value| value.starts_with(&self.token)) {
            // If the master cannot be reached, the key expires.
            let _ = self.master.ask(&["DEL", key]);
        }
    }
}

impl Side<'_> {
    /// `None` if it does not answer; the next question connects again.
    fn ask(&mut self, words: &[&str]) -> Option<Answer> {
        if self.connection.is_none() {
            self.connection = Connection::open(self.url).ok();
        }
        let answer = self.connection.as_mut()?.ask(words);
        if answer.is_err() {
            self.connection = None;
        }
        let is_refused = |answer: &Answer| matches!(answer.frame, BytesFrame::Error(_));
        answer.ok().filter(|answer| !is_refused(answer))
    }

    fn offset(&mut self, name: &str) -> Option<Offset> {
        let answer = self.ask(&["INFO", "replication"])?;
        Some(Offset {
            asked: answer.took,
            bytes: field(&answer.frame, name)?.parse().ok()?,
        })
    }
}

/// A line `name:value` of `INFO`.
fn field<'f>(info: &'f BytesFrame, name: &str) -> Option<&'f str> {
    let mut lines = info.as_str()?.lines();
    lines.find_map(|line| line.strip_prefix(name)?.strip_prefix(':'))
}

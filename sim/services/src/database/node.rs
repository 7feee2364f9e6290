//! The interface of the database to its driver: bytes and a time go in, effects come out.

use bytes::{Bytes, BytesMut};
use locklab_vecmap::VecMap;

use super::lock_table::{Outcome, Statement, Table};
use super::statement::{self, Request};
use locklab_redis::resp::{self, error, integer, next_words};
use locklab_redis::{DiskWrite, Files};

/// A client's connection to the database. Never reused.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct ConnId(u64);

/// An action that the driver of a database must execute, in order.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Effect {
    /// Write to the database's disk, before sending anything that comes after this effect.
    Disk(DiskWrite),
    /// Answer a client.
    Reply {
        /// Its connection.
        conn: ConnId,
        /// A complete answer.
        bytes: Bytes,
    },
    /// Close a client's connection after sending what is pending on it. The database no longer
    /// knows it.
    Close {
        /// The connection.
        conn: ConnId,
    },
}

/// One database. Dropping it ends it: only its journal persists, from which it starts again.
#[derive(Default)]
pub struct Database {
    table: Table,
    clients: VecMap<ConnId, BytesMut>,
    next_conn: u64,
}

impl Database {
    /// Creates a database that starts with the contents of its disk.
    pub fn new(files: &Files) -> Self {
        let mut database = Database::default();
        let mut journal = BytesMut::from(&files.aof[..]);
        while let Ok(Some(words)) = next_words(&mut journal) {
            if let Some(Request::Statement(statement)) = statement::parse(&words) {
                database.table.execute(&statement);
            }
        }
        database
    }

    /// A client connected.
    pub fn accept(&mut self) -> ConnId {
        let conn = ConnId(self.next_conn);
        self.next_conn += 1;
        self.clients.insert(conn, BytesMut::new());
        conn
    }

    /// A client disconnected. Each of its statements was a transaction, so none is open.
    pub fn closed(&mut self, conn: ConnId) {
        self.clients.remove(&conn);
    }

    /// Bytes arrived from a client, at the database's wall-clock time `now_ms`, in milliseconds
    /// since the Unix epoch. Bytes on an unknown connection are ignored.
    ///
    /// The changes of a statement are to be durable before its client gets the answer (in PostgreSQL
    /// `synchronous_commit`, in MySQL `innodb_flush_log_at_trx_commit = 1`); a driver may write them later.
    pub fn receive(&mut self, conn: ConnId, bytes: &[u8], now_ms: u64, effects: &mut Vec<Effect>) {
        let Some(inbound) = self.clients.get_mut(&conn) else {
            return;
        };
        inbound.extend_from_slice(bytes);
        loop {
            let answer = match next_words(inbound) {
                Ok(None) => return,
                Ok(Some(words)) => match statement::parse(&words) {
                    Some(Request::Now) => integer(now_ms),
                    Some(Request::Statement(statement)) => {
                        let outcome = execute(&mut self.table, &statement, effects);
                        statement::answer(outcome, now_ms)
                    }
                    None => error("ERR this is no statement"),
                },
                Err(_) => {
                    self.clients.remove(&conn);
                    effects.push(Effect::Close { conn });
                    return;
                }
            };
            let bytes = resp::answer(&answer);
            effects.push(Effect::Reply { conn, bytes });
        }
    }
}

/// Executes a statement and makes its changes durable.
fn execute(table: &mut Table, statement: &Statement, effects: &mut Vec<Effect>) -> Outcome {
    let outcome = table.execute(statement);
    if matches!(outcome, Outcome::Rows(1..)) {
        let entry = statement::journal_entry(statement);
        effects.push(Effect::Disk(DiskWrite::Append(entry)));
        effects.push(Effect::Disk(DiskWrite::Fsync));
    }
    outcome
}

//! The requests that a member accepts, and their format.
//!
//! | request | answer |
//! |---|---|
//! | `SESSION timeout_ms` | the session's number |
//! | `PING session` | `PONG`: the session lives on for a whole timeout from when this was sent |
//! | `CREATE session request path EPHEMERAL [SEQUENTIAL]` | the node's path, and its number |
//! | `DELETE session request path` | 1; 0 if there was no such node |
//! | `CHILDREN path` | path and number of each node directly below, in order of paths |
//! | `WATCH session path` | `GONE`, as soon as there is no such node |
//! | `CLOSE session` | 1; the answer to a repeated one is `NOSESSION` |
//! | `STATUS` | pairs of name and value: the state of this member, leader or not |
//!
//! `request` is a number that ascends within a session. A repeated request with the same number
//! is answered again, but not executed again.
//!
//! | error | |
//! |---|---|
//! | `NOTLEADER [name]` | nothing was done; ask the member of that name, or any other |
//! | `NOSESSION` | the session has ended, and all its nodes with it |
//! | `EXISTS` | there is a node of that path |
//! | `STALE` | a later request of the session came before; this one was not carried out then and never will be |
//! | `ERR …` | no request |
//!
//! If a connection ends without an answer, it is unknown whether the request was executed.

use bytes::Bytes;
use redis_protocol::resp2::types::BytesFrame;

use super::command::{Command, Naming, Request as By, SessionId};
use super::raft::Request as Call;
use super::service::Outcome;
use super::wire;
use locklab_redis::resp::{bulk, error, integer, number};

/// A request.
pub(super) enum Request {
    /// A call of another member.
    Call(Call),
    /// A change, for the log.
    Change(Command),
    /// A query, which the leader answers from its state.
    Query(Query),
    Status,
}

/// A query of the state.
#[derive(Debug)]
pub(super) enum Query {
    Ping { session: SessionId },
    Children { path: Bytes },
    Watch { session: SessionId, path: Bytes },
}

/// Reads a request.
pub(super) fn parse(words: &[Bytes]) -> Result<Request, BytesFrame> {
    read(words).ok_or_else(|| {
        let name = words.first().map(|name| String::from_utf8_lossy(name));
        let name = name.unwrap_or_default().replace(['\r', '\n'], " ");
        error(format!("ERR this is no request: {name}"))
    })
}

fn read(words: &[Bytes]) -> Option<Request> {
    let (name, arguments) = words.split_first()?;
    let by = |session, request| {
        Some(By {
            session: number(session)?,
            number: number(request)?,
        })
    };
    Some(match (&name[..], arguments) {
        (b"VOTE" | b"APPEND", _) => Request::Call(wire::decode_call(words)?),
        (b"STATUS", []) => Request::Status,
        (b"SESSION", [timeout]) => Request::Change(Command::Open {
            timeout_ms: number(timeout)?,
        }),
        (b"CREATE", [session, request, path, mode @ ..]) => Request::Change(Command::Create {
            by: by(session, request)?,
            path: path.clone(),
            naming: match mode {
                [mode] if mode == "EPHEMERAL" => Naming::AsGiven,
                [mode, more] if mode == "EPHEMERAL" && more == "SEQUENTIAL" => Naming::Sequential,
                _ => return None,
            },
        }),
        (b"DELETE", [session, request, path]) => Request::Change(Command::Delete {
            by: by(session, request)?,
            path: path.clone(),
        }),
        (b"CLOSE", [session]) => Request::Change(Command::Close {
            session: number(session)?,
        }),
        (b"PING", [session]) => Request::Query(Query::Ping {
            session: number(session)?,
        }),
        (b"CHILDREN", [path]) => Request::Query(Query::Children { path: path.clone() }),
        (b"WATCH", [session, path]) => Request::Query(Query::Watch {
            session: number(session)?,
            path: path.clone(),
        }),
        _ => return None,
    })
}

impl Request {
    /// The session whose timeout this request restarts.
    pub(super) fn session(&self) -> Option<SessionId> {
        match self {
            Request::Change(Command::Create { by, .. } | Command::Delete { by, .. }) => {
                Some(by.session)
            }
            Request::Query(Query::Ping { session } | Query::Watch { session, .. }) => {
                Some(*session)
            }
            _ => None,
        }
    }
}

/// The answer to a change.
pub(super) fn answer(outcome: Outcome) -> BytesFrame {
    match outcome {
        Outcome::Opened(session) => integer(session),
        Outcome::Created { path, number } => BytesFrame::Array(vec![bulk(path), integer(number)]),
        Outcome::Deleted | Outcome::Closed => integer(1),
        Outcome::NoNode => integer(0),
        Outcome::NoSession => no_session(),
        Outcome::NodeExists => error("EXISTS there is a node of that path"),
        Outcome::Stale => error("STALE a later request of the session came before"),
    }
}

pub(super) fn no_session() -> BytesFrame {
    error("NOSESSION the session has ended")
}

/// The answer of a member that is not the leader.
pub(super) fn not_leader(leader: Option<&str>) -> BytesFrame {
    match leader {
        Some(leader) => error(format!("NOTLEADER {leader}")),
        None => error("NOTLEADER"),
    }
}

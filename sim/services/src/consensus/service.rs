//! The replicated state machine: sessions, and the nodes that end with them.
//!
//! Its state depends only on the log: it reads no clock, and the end of a session is an entry
//! like any other. So all members that have applied the same entries are in the same state.
//!
//! A node's number is the index of the entry that created it, as ZooKeeper's `czxid` is the
//! identifier of the creating transaction: it ascends over all nodes for ever, so it is a
//! fencing token. Two things are simpler than in ZooKeeper: this number also makes sequential
//! names unique, where ZooKeeper counts per parent; and a parent is a prefix that need not
//! exist.

use std::hash::{Hash, Hasher};

use bytes::Bytes;
use locklab_vecmap::VecMap;
use xxhash_rust::xxh3::Xxh3;

use super::command::{Command, Naming, Request, SessionId};

/// All sessions and nodes.
#[derive(PartialEq, Eq, Hash, Debug, Default)]
pub(super) struct Service {
    sessions: VecMap<SessionId, Session>,
    nodes: VecMap<Bytes, Node>,
}

#[derive(PartialEq, Eq, Hash, Debug)]
struct Session {
    timeout_ms: u64,
    /// The last numbered request, and its outcome.
    last: Option<(u64, Outcome)>,
}

#[derive(PartialEq, Eq, Hash, Debug)]
struct Node {
    number: u64,
    owner: SessionId,
}

/// The result of a command, as reported to its client.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(super) enum Outcome {
    Opened(SessionId),
    Created {
        path: Bytes,
        number: u64,
    },
    Deleted,
    Closed,
    NoSession,
    NoNode,
    NodeExists,
    /// A later request of the session was executed before this one, so this one never will be.
    Stale,
}

/// The changes made by a command.
#[derive(PartialEq, Eq, Debug)]
pub(super) struct Applied {
    pub(super) outcome: Outcome,
    /// Nodes that were deleted.
    pub(super) gone: Vec<Bytes>,
    /// The session that ended.
    pub(super) ended: Option<SessionId>,
}

impl Service {
    /// Executes the command of the entry at `index`.
    pub(super) fn apply(&mut self, index: u64, command: Command) -> Applied {
        let mut gone = Vec::new();
        let mut ended = None;
        let outcome = match command {
            Command::Open { timeout_ms } => {
                let last = None;
                self.sessions.insert(index, Session { timeout_ms, last });
                Outcome::Opened(index)
            }
            Command::Create { by, path, naming } => {
                self.once(by, |nodes| create(nodes, by.session, index, &path, naming))
            }
            Command::Delete { by, path } => self.once(by, |nodes| match nodes.remove(&path) {
                Some(_) => {
                    gone.push(path);
                    Outcome::Deleted
                }
                None => Outcome::NoNode,
            }),
            Command::Close { session } | Command::Expire { session } => {
                match self.sessions.remove(&session) {
                    Some(_) => {
                        ended = Some(session);
                        self.nodes.retain(|path, node| {
                            let ends = node.owner == session;
                            gone.extend(ends.then(|| path.clone()));
                            !ends
                        });
                        Outcome::Closed
                    }
                    None => Outcome::NoSession,
                }
            }
        };
        Applied {
            outcome,
            gone,
            ended,
        }
    }

    /// Executes a numbered request, or returns the outcome of its earlier execution.
    fn once(
        &mut self,
        by: Request,
        request: impl FnOnce(&mut VecMap<Bytes, Node>) -> Outcome,
    ) -> Outcome {
        let Some(session) = self.sessions.get_mut(&by.session) else {
            return Outcome::NoSession;
        };
        match &session.last {
            Some((number, outcome)) if *number == by.number => return outcome.clone(),
            Some((number, _)) if *number > by.number => return Outcome::Stale,
            _ => {}
        }
        let outcome = request(&mut self.nodes);
        session.last = Some((by.number, outcome.clone()));
        outcome
    }

    /// Every session, with its timeout in milliseconds.
    pub(super) fn sessions(&self) -> impl Iterator<Item = (SessionId, u64)> {
        self.sessions
            .iter()
            .map(|(id, session)| (*id, session.timeout_ms))
    }

    /// The timeout of a session, in milliseconds, if it has not ended.
    pub(super) fn timeout_ms(&self, session: SessionId) -> Option<u64> {
        self.sessions
            .get(&session)
            .map(|session| session.timeout_ms)
    }

    /// Whether there is a node with this path.
    pub(super) fn has(&self, path: &Bytes) -> bool {
        self.nodes.contains_key(path)
    }

    /// The nodes directly below a path, with their numbers, in order of their paths.
    pub(super) fn children(&self, path: &Bytes) -> Vec<(Bytes, u64)> {
        let prefix = Bytes::from([&path[..], b"/"].concat());
        self.nodes
            .range(prefix.clone()..)
            .take_while(|(path, _)| path.starts_with(&prefix))
            .filter(|(path, _)| !path[prefix.len()..].contains(&b'/'))
            .map(|(path, node)| (path.clone(), node.number))
            .collect()
    }

    /// A hash of the whole state.
    pub(super) fn digest(&self) -> u64 {
        let mut hasher = Xxh3::new();
        self.hash(&mut hasher);
        hasher.finish()
    }
}

fn create(
    nodes: &mut VecMap<Bytes, Node>,
    owner: SessionId,
    number: u64,
    path: &Bytes,
    naming: Naming,
) -> Outcome {
    let path = match naming {
        Naming::AsGiven => path.clone(),
        Naming::Sequential => [path, format!("{number:010}").as_bytes()].concat().into(),
    };
    if nodes.contains_key(&path) {
        return Outcome::NodeExists;
    }
    nodes.insert(path.clone(), Node { number, owner });
    Outcome::Created { path, number }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A service, and the index of its last entry.
    #[derive(Default)]
    struct Log(Service, u64);

    impl Log {
        fn apply(&mut self, command: Command) -> Applied {
            self.1 += 1;
            self.0.apply(self.1, command)
        }

        fn open(&mut self) -> SessionId {
            self.apply(Command::Open { timeout_ms: 1000 });
            self.1
        }

        fn create(&mut self, session: SessionId, number: u64, naming: Naming) -> Outcome {
            let by = Request { session, number };
            let path = Bytes::from_static(b"/lock/n");
            self.apply(Command::Create { by, path, naming }).outcome
        }

        fn delete(&mut self, session: SessionId, number: u64, path: &'static str) -> Applied {
            let by = Request { session, number };
            let path = path.into();
            self.apply(Command::Delete { by, path })
        }

        fn children(&self) -> Vec<(Bytes, u64)> {
            self.0.children(&"/lock".into())
        }
    }

    fn created(path: &'static str, number: u64) -> Outcome {
        let path = path.into();
        Outcome::Created { path, number }
    }

    #[test]
    fn a_request_that_is_sent_again_is_answered_and_not_repeated() {
        let mut log = Log::default();
        let session = log.open();
        let first = created("/lock/n0000000002", 2);
        assert_eq!(log.create(session, 1, Naming::Sequential), first);
        assert_eq!(log.create(session, 1, Naming::Sequential), first);
        assert_eq!(log.children().len(), 1);
        let path = "/lock/n0000000002";
        assert_eq!(log.delete(session, 2, path).outcome, Outcome::Deleted);
        assert_eq!(log.delete(session, 2, path).outcome, Outcome::Deleted);
        assert_eq!(log.create(session, 1, Naming::Sequential), Outcome::Stale);
        assert_eq!(log.children(), []);
    }

    #[test]
    fn ephemeral_nodes_end_with_their_session() {
        let mut log = Log::default();
        let (one, other) = (log.open(), log.open());
        log.create(one, 1, Naming::Sequential);
        log.create(other, 1, Naming::Sequential);
        log.create(one, 2, Naming::AsGiven);
        let applied = log.apply(Command::Expire { session: one });
        assert_eq!(applied.gone, ["/lock/n", "/lock/n0000000003"]);
        assert_eq!(applied.ended, Some(one));
        assert_eq!(log.children(), [("/lock/n0000000004".into(), 4)]);
        assert_eq!(log.create(one, 3, Naming::Sequential), Outcome::NoSession);
        let again = log.apply(Command::Close { session: one });
        assert_eq!(again.outcome, Outcome::NoSession);
    }

    #[test]
    fn plain_path_can_be_created_once() {
        let mut log = Log::default();
        let session = log.open();
        assert_eq!(
            log.create(session, 1, Naming::AsGiven),
            created("/lock/n", 2)
        );
        assert_eq!(log.create(session, 2, Naming::AsGiven), Outcome::NodeExists);
        assert_eq!(log.delete(session, 3, "/lock/x").outcome, Outcome::NoNode);
    }

    #[test]
    fn children_are_those_directly_below() {
        let mut log = Log::default();
        let session = log.open();
        for (number, path) in (1..).zip(["/lock", "/lock/a", "/lock/a/b", "/lock2/c", "/lock0"]) {
            let by = Request { session, number };
            let (path, naming) = (path.into(), Naming::AsGiven);
            log.apply(Command::Create { by, path, naming });
        }
        assert_eq!(log.children(), [("/lock/a".into(), 3)]);
    }
}

//! What a request did to the keyspace, as commands that have the same effect: what
//! replicas are sent and what the append-only file holds.

use bytes::Bytes;

/// What happened since it was last passed on; kept by the keyspace, whose own doing
/// some of it is.
#[derive(Default)]
pub(crate) struct Effects {
    /// Whether anybody is told. While nobody is, nothing is kept.
    pub(crate) wanted: bool,
    /// How often something changed since the server started (`server.dirty`, never
    /// set back).
    pub(crate) dirty: u64,
    pub(crate) ops: Vec<Op>,
    /// How the command that runs wants to be passed on, if not as it was sent.
    pub(crate) instead: Option<Vec<Bytes>>,
    /// Whom the script that runs, or ran last, wants told of its commands
    /// (`redis.set_repl`).
    pub(crate) script_targets: Targets,
}

/// One command to pass on.
pub(crate) struct Op {
    pub(crate) words: Vec<Bytes>,
    pub(crate) targets: Targets,
}

impl Op {
    /// Whether it belongs to no database: SELECT does not come before it.
    pub(crate) fn is_of_no_database(&self) -> bool {
        let name = self.words.first().map_or(&b""[..], |word| word);
        [&b"MULTI"[..], b"EXEC", b"PING", b"REPLCONF"].contains(&name)
    }
}

/// Who is told (`PROPAGATE_AOF`, `PROPAGATE_REPL`).
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub(crate) struct Targets {
    pub(crate) file: bool,
    pub(crate) replicas: bool,
}

impl Targets {
    pub(crate) const ALL: Targets = Targets {
        file: true,
        replicas: true,
    };
    /// Messages are not written to the file.
    pub(crate) const REPLICAS: Targets = Targets {
        file: false,
        replicas: true,
    };

    /// Those that are in both.
    pub(crate) fn and(self, other: Targets) -> Targets {
        Targets {
            file: self.file && other.file,
            replicas: self.replicas && other.replicas,
        }
    }
}

impl Default for Targets {
    fn default() -> Self {
        Targets::ALL
    }
}

impl Effects {
    /// A key's time was over, and it was deleted.
    pub(crate) fn expired(&mut self, key: &[u8]) {
        if self.wanted {
            let words = vec![Bytes::from_static(b"DEL"), Bytes::copy_from_slice(key)];
            let targets = Targets::ALL;
            self.ops.push(Op { words, targets });
        }
    }

    /// Forgets what was not passed on.
    pub(crate) fn clear(&mut self) {
        self.ops.clear();
        self.instead = None;
    }
}

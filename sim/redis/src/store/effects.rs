//! The effect of a request on the keyspace, as commands with the same effect: the content of
//! the replication stream and of the append-only file.

use bytes::Bytes;

/// The effects since they were last passed on. The keyspace keeps them, because it causes
/// some itself.
#[derive(Default)]
pub(crate) struct Effects {
    /// Whether there is a consumer. Without one, no effects are kept.
    pub(crate) wanted: bool,
    /// The number of changes since the server started (`server.dirty`, never reset).
    pub(crate) dirty: u64,
    ops: Vec<Op>,
    /// About the memory of `ops`.
    ops_bytes: usize,
    /// The commands to propagate instead of the running command, if not that command as it
    /// was sent.
    pub(crate) instead: Option<Vec<Bytes>>,
    /// The targets of the commands of the script that is running, or ran last
    /// (`redis.set_repl`).
    pub(crate) script_targets: Targets,
}

/// One command to propagate.
pub(crate) struct Op {
    /// The number of the database that has to be selected for it; none if any will do. MULTI has
    /// that of the first command of its unit.
    pub(crate) db: Option<usize>,
    pub(crate) words: Vec<Bytes>,
    pub(crate) targets: Targets,
}

/// The targets of propagation (`PROPAGATE_AOF`, `PROPAGATE_REPL`).
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
    /// Messages go to replicas and not to the file.
    pub(crate) const REPLICAS: Targets = Targets {
        file: false,
        replicas: true,
    };

    /// The intersection of both.
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

impl Op {
    /// About the memory that it takes.
    fn bytes(&self) -> usize {
        let words = self.words.iter();
        size_of::<Op>()
            + words
                .map(|word| size_of::<Bytes>() + word.len())
                .sum::<usize>()
    }
}

impl Effects {
    /// Records a command to propagate.
    pub(crate) fn push(&mut self, op: Op) {
        self.ops_bytes += op.bytes();
        self.ops.push(op);
    }

    /// Takes the recorded commands.
    pub(crate) fn take(&mut self) -> Vec<Op> {
        self.ops_bytes = 0;
        std::mem::take(&mut self.ops)
    }

    /// Whether no command is recorded.
    pub(crate) fn is_empty(&self) -> bool {
        self.ops.is_empty()
    }

    /// About the memory of the recorded commands, in bytes.
    pub(crate) fn bytes(&self) -> usize {
        self.ops_bytes
    }

    /// Records that a key of this database was deleted by the server itself.
    pub(crate) fn deleted(&mut self, db: usize, key: &[u8]) {
        if self.wanted {
            let words = vec![Bytes::from_static(b"DEL"), Bytes::copy_from_slice(key)];
            self.push(Op {
                db: Some(db),
                words,
                targets: Targets::ALL,
            });
        }
    }

    /// Discards the effects that were not passed on.
    pub(crate) fn clear(&mut self) {
        self.take();
        self.instead = None;
    }
}

//! The flags that a script declares (`scripts_flags_def` in `src/script.c`).

use locklab_vecmap::VecSet;

/// One flag.
#[derive(Copy, Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(in crate::engine) enum ScriptFlag {
    /// It calls no command that writes, so it may run where writes are rejected.
    NoWrites,
    /// It may run when memory is short.
    AllowOom,
    /// It may run on a replica that has lost its master.
    AllowStale,
    /// It may not run in a cluster, which a node never is.
    NoCluster,
    /// Its keys may belong to several slots of a cluster.
    AllowCrossSlotKeys,
}

/// The flags of one script.
pub(in crate::engine) type Flags = VecSet<ScriptFlag>;

const NAMES: [(&str, ScriptFlag); 5] = [
    ("no-writes", ScriptFlag::NoWrites),
    ("allow-oom", ScriptFlag::AllowOom),
    ("allow-stale", ScriptFlag::AllowStale),
    ("no-cluster", ScriptFlag::NoCluster),
    ("allow-cross-slot-keys", ScriptFlag::AllowCrossSlotKeys),
];

impl ScriptFlag {
    /// The flag with this name.
    pub(in crate::engine) fn named(name: &[u8]) -> Option<Self> {
        let mut known = NAMES.iter();
        let found = known.find(|(known, _)| known.as_bytes() == name);
        found.map(|(_, flag)| *flag)
    }
}

/// Whether a script may change the keyspace.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub(in crate::engine) enum Access {
    ReadWrite,
    /// EVAL_RO, EVALSHA_RO, or the script's own flag `no-writes`.
    ReadOnly,
}

//! Which client has read which key, for client-side caching.

use bytes::Bytes;
use indexmap::IndexMap;
use locklab_vecmap::VecSet;
use rustc_hash::FxBuildHasher;

/// The settings of CLIENT TRACKING ON for a client.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(in crate::engine) struct Tracking {
    pub(in crate::engine) mode: Mode,
    pub(in crate::engine) own_changes: OwnChanges,
    /// CLIENT CACHING was called for the next command.
    pub(in crate::engine) caching: bool,
}

/// The keys for which a client receives invalidations.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(in crate::engine) enum Mode {
    /// The keys that it read.
    Default,
    /// The keys that it read right after CLIENT CACHING YES.
    OptIn,
    /// The keys that it read, except right after CLIENT CACHING NO.
    OptOut,
}

/// Whether a client receives invalidations for its own changes.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub(in crate::engine) enum OwnChanges {
    Told,
    /// NOLOOP.
    Untold,
}

/// The clients to notify, and the pending invalidations.
#[derive(Default)]
pub(in crate::engine) struct Caches {
    /// How many clients are tracked.
    pub(in crate::engine) tracked: usize,
    /// The clients that read a key since it last changed.
    pub(in crate::engine) readers: IndexMap<Bytes, VecSet<u64>, FxBuildHasher>,
    /// How often in a row [`limit`] could not make the table small enough.
    pub(in crate::engine) futile: u32,
    /// When a tick of `serverCron` finds the table too large, in wall-clock microseconds.
    pub(in crate::engine) limit_us: Option<u64>,
    /// Invalidations for the client whose command is running, sent after its reply; `None` for
    /// all keys.
    pub(in crate::engine) own: Vec<Option<Bytes>>,
    /// The declared keys of the running EVAL.
    pub(in crate::engine) declared: Vec<Bytes>,
}

impl Caches {
    /// Notes that a client's settings were replaced.
    pub(in crate::engine) fn replaced(&mut self, old: Option<&Tracking>, new: Option<&Tracking>) {
        self.tracked -= usize::from(old.is_some());
        self.tracked += usize::from(new.is_some());
    }

    /// Notes the keys that the client of a starting script has declared.
    pub(in crate::engine) fn declare(&mut self, keys: Vec<&[u8]>) {
        self.declared = keys.into_iter().map(Bytes::copy_from_slice).collect();
    }
}

//! Which client has read which key, for client-side caching.

use bytes::Bytes;
use indexmap::IndexMap;
use locklab_vecmap::{VecMap, VecSet};
use rustc_hash::FxBuildHasher;

/// The settings of CLIENT TRACKING ON for a client.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(in crate::engine) struct Tracking {
    /// The client that receives the invalidations instead; 0 for none.
    pub(in crate::engine) redirect: u64,
    /// That client was disconnected when there was an invalidation to send.
    pub(in crate::engine) broken: bool,
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
    /// All keys with one of these prefixes.
    Broadcast(VecSet<Bytes>),
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
    /// How many of them subscribed to prefixes.
    pub(in crate::engine) broadcasting: usize,
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
    /// Keys that changed since the last broadcast, with the client that changed each last.
    pub(in crate::engine) changed: VecMap<Bytes, Option<u64>>,
}

impl Caches {
    /// Notes that a client's settings were replaced.
    pub(in crate::engine) fn replaced(&mut self, old: Option<&Tracking>, new: Option<&Tracking>) {
        let broadcasts = |it: &&Tracking| matches!(it.mode, Mode::Broadcast(_));
        self.tracked -= usize::from(old.is_some());
        self.broadcasting -= usize::from(old.filter(broadcasts).is_some());
        self.tracked += usize::from(new.is_some());
        self.broadcasting += usize::from(new.filter(broadcasts).is_some());
    }

    /// Notes the keys that the client of a starting script has declared.
    pub(in crate::engine) fn declare(&mut self, keys: Vec<&[u8]>) {
        self.declared = keys.into_iter().map(Bytes::copy_from_slice).collect();
    }
}

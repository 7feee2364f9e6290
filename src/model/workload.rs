//! The work of the clients, as a scenario describes it.
//!
//! Every client does the same, `rounds` times: take the lock, read the resource, work for a
//! while, write the resource, release the lock. With `kind = "adds"`, it instead adds one more
//! element to a set on the master, without any lock.

use locklab_vecmap::VecMap;
use serde::{Deserialize, Serialize};

use locklab_values::dist::Dist;

/// The work of every client, unless its own table overrides it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Workload {
    /// The content of a round.
    #[serde(skip_serializing_if = "WorkloadKind::is_default")]
    pub kind: WorkloadKind,
    /// How often each client takes the lock, or adds to the set.
    pub rounds: u32,
    /// Each client's own delay before its first attempt, in milliseconds.
    pub start_ms: Dist,
    /// The pause of a client between its rounds, in milliseconds.
    pub think_ms: Dist,
    /// The work between reading and writing the resource, in milliseconds.
    pub hold_ms: Dist,
    /// If given, a client that holds the lock works for `hold_ms` without touching the
    /// resource, then takes the lock a second time, like a function called by another one which
    /// already has it; reads, works for this many milliseconds, and writes; and releases the
    /// inner hold, then the outer one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub inner_ms: Option<Dist>,
    /// A holder extends its lease this often while it works between reading and writing, in
    /// milliseconds, and stops when it learns that the lock is lost; absent: it does not
    /// extend.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub extend_every_ms: Option<u64>,
    /// Whether a client takes the lock to write or only to read; single clients may differ.
    #[serde(skip_serializing_if = "Mode::is_write")]
    pub mode: Mode,
    /// How a client ends its hold.
    #[serde(skip_serializing_if = "Ending::is_release")]
    pub ending: Ending,
    /// An alternative program for a single client; see [`ClientOverride::blocks_ms`].
    #[serde(skip)]
    pub blocks_ms: Option<Dist>,
    /// A client stops trying this long after its first attempt, in milliseconds, and continues with
    /// its next round; 0: it tries once; absent: it never stops. For `adds`: the client adds
    /// each element only once, and waits this long for the reply.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub give_up_ms: Option<u64>,
    /// For `adds`: when the first client reads the set, in milliseconds of its own monotonic
    /// clock; the run ends with this read.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub read_ms: Option<u64>,
    /// A client's check before it writes.
    pub check: CheckBeforeWrite,
    /// The work that remains between that check and the write, in milliseconds; goes with
    /// `check = "deadline"`.
    #[serde(skip_serializing_if = "is_nothing")]
    pub after_check_ms: Dist,
    /// Overrides for single clients: `[workload.client.c2]`.
    #[serde(skip_serializing_if = "VecMap::is_empty")]
    pub client: VecMap<String, ClientOverride>,
}

impl Default for Workload {
    fn default() -> Self {
        Workload {
            kind: WorkloadKind::Lock,
            rounds: 1,
            start_ms: Dist::default(),
            think_ms: Dist::default(),
            hold_ms: Dist::default(),
            inner_ms: None,
            extend_every_ms: None,
            mode: Mode::Write,
            ending: Ending::Release,
            blocks_ms: None,
            give_up_ms: None,
            read_ms: None,
            check: CheckBeforeWrite::None,
            after_check_ms: Dist::default(),
            client: VecMap::new(),
        }
    }
}

impl Workload {
    /// The workload of one client, with its overrides applied.
    pub fn of(&self, client: &str) -> Workload {
        let own = self.client.get(client).cloned().unwrap_or_default();
        Workload {
            kind: self.kind,
            rounds: own.rounds.unwrap_or(self.rounds),
            start_ms: own.start_ms.unwrap_or_else(|| self.start_ms.clone()),
            think_ms: own.think_ms.unwrap_or_else(|| self.think_ms.clone()),
            hold_ms: own.hold_ms.unwrap_or_else(|| self.hold_ms.clone()),
            inner_ms: own.inner_ms.or_else(|| self.inner_ms.clone()),
            extend_every_ms: self.extend_every_ms,
            mode: own.mode.unwrap_or(self.mode),
            ending: own.ending.unwrap_or(self.ending),
            blocks_ms: own.blocks_ms,
            give_up_ms: own.give_up_ms.or(self.give_up_ms),
            read_ms: self.read_ms,
            check: self.check,
            after_check_ms: self.after_check_ms.clone(),
            client: VecMap::new(),
        }
    }
}

fn is_nothing(time: &Dist) -> bool {
    *time == Dist::default()
}

/// The work in each round.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum WorkloadKind {
    /// Take the lock, read the resource, work, write it, release the lock.
    #[default]
    Lock,
    /// Add an element to a set on the master, without any lock (claim J2).
    Adds,
}

impl WorkloadKind {
    fn is_default(&self) -> bool {
        *self == WorkloadKind::Lock
    }
}

/// A client's check before it writes.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum CheckBeforeWrite {
    /// Nothing.
    #[default]
    None,
    /// Its own clock: it does not write when its lease is over (claim K2).
    Deadline,
}

/// The mode in which a client uses the lock.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Mode {
    /// To read the resource and write it.
    #[default]
    Write,
    /// To read it only. A read-write lock admits several readers together.
    Read,
}

impl Mode {
    fn is_write(&self) -> bool {
        *self == Mode::Write
    }
}

/// How a client ends its hold of the lock.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Ending {
    /// It releases the lock.
    #[default]
    Release,
    /// It forgets the lock: the guard is dropped, and the process continues.
    Forget,
}

impl Ending {
    fn is_release(&self) -> bool {
        *self == Ending::Release
    }
}

/// The overrides of one client; an absent one leaves the common value.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct ClientOverride {
    /// See [`Workload::rounds`].
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rounds: Option<u32>,
    /// See [`Workload::start_ms`].
    #[serde(skip_serializing_if = "Option::is_none")]
    pub start_ms: Option<Dist>,
    /// See [`Workload::think_ms`].
    #[serde(skip_serializing_if = "Option::is_none")]
    pub think_ms: Option<Dist>,
    /// See [`Workload::hold_ms`].
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hold_ms: Option<Dist>,
    /// See [`Workload::inner_ms`].
    #[serde(skip_serializing_if = "Option::is_none")]
    pub inner_ms: Option<Dist>,
    /// See [`Workload::mode`].
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mode: Option<Mode>,
    /// See [`Workload::ending`].
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ending: Option<Ending>,
    /// See [`Workload::give_up_ms`].
    #[serde(skip_serializing_if = "Option::is_none")]
    pub give_up_ms: Option<u64>,
    /// This client does not take the lock at all: it occupies a connection to the first node
    /// with a command that blocks for this long (`BLPOP`), in milliseconds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub blocks_ms: Option<Dist>,
}

/// The resource that the lock protects: a register on a host of its own.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Resource {
    /// Which accesses it refuses because of their fencing token.
    pub fencing: Fencing,
}

/// Which accesses a resource refuses because of the tokens that it has seen before.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Fencing {
    /// None: it ignores tokens.
    #[default]
    None,
    /// Writes.
    Writes,
    /// Reads and writes.
    ReadsAndWrites,
    /// Tokens are compared for equality, not for order (antirez, claim A3): a read leaves its
    /// token at the resource, and a write is refused unless its token is still there.
    SameToken,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn client_table_overrides_the_workload() {
        let workload: Workload = toml::from_str(
            r#"
            rounds = 3
            hold_ms = 20
            check = "deadline"
            client.c2 = { hold_ms = 5, start_ms = { uniform = [1, 2] } }
            "#,
        )
        .expect("a workload");
        let second = workload.of("c2");
        assert_eq!(second.hold_ms, Dist::Constant(5.0));
        assert_eq!(second.start_ms, Dist::Uniform(1.0, 2.0));
        assert_eq!(second.rounds, 3);
        assert_eq!(second.check, CheckBeforeWrite::Deadline);
        assert_eq!(workload.of("c1").hold_ms, Dist::Constant(20.0));
        assert_eq!(workload.of("c1").start_ms, Dist::Constant(0.0));
    }
}

//! The models of locks: what a lock does, one call after the other.
//!
//! A model is three functions, as in porcupine: the state at first, the state after a call (or that the
//! call cannot be then), and whether two states are equal. One file per model.

mod fenced;
mod lease;
mod mutex;
mod owner;
mod read_write;
mod reentrant;
mod reentrant_fenced;
mod reentrant_read_write;
mod semaphore;

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

pub use self::fenced::Fenced;
pub use self::lease::Lease;
pub use self::mutex::Mutex;
pub use self::owner::Owner;
pub use self::read_write::ReadWrite;
pub use self::reentrant::Reentrant;
pub use self::reentrant_fenced::ReentrantFenced;
pub use self::reentrant_read_write::ReentrantReadWrite;
pub use self::semaphore::Semaphore;

/// What a call asks for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Act {
    /// To take the lock.
    Acquire,
    /// To release it.
    Release,
    /// To extend its lease.
    Extend,
}

/// What a lock does with one call after the other.
pub trait Model {
    /// The lock's state. `Ord` and `Eq` say which are equal.
    type State: Clone + Ord;

    /// The state before the first call.
    fn init(&self) -> Self::State;

    /// The state after the call took effect in this one; `None` if it cannot take effect then.
    fn step(&self, state: &Self::State, call: &Step) -> Option<Self::State>;

    /// Whether two calls of unknown outcome lead from every state to the same one, but for the times at which they
    /// can.
    fn is_alike(&self, one: &Step, other: &Step) -> bool {
        let what = |step: &Step| {
            let deadline_ns = (step.act == Act::Extend).then_some(step.deadline_ns);
            (
                step.act,
                step.holder,
                step.shared,
                step.permits,
                step.token,
                deadline_ns,
            )
        };
        what(one) == what(other)
    }
}

/// A call as a model sees it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Step {
    /// Who holds the lock by it.
    pub holder: u32,
    /// The operation.
    pub act: Act,
    /// Whether it returned, so that its token and its deadline are what the lock said.
    pub is_known: bool,
    /// Whether it is a reader's.
    pub shared: bool,
    /// How many permits.
    pub permits: u32,
    /// The fencing token.
    pub token: Option<u64>,
    /// True time until which nobody else may be granted the lock, in nanoseconds; `None`: without end.
    pub deadline_ns: Option<u64>,
    /// When it was called. It takes effect no earlier.
    pub invoked_ns: u64,
    /// When it returned; `u64::MAX` if never. It takes effect no later.
    pub returned_ns: u64,
}

/// The least token that the next grant may have after a grant with this token, if it was `least`
/// before; `None` if this token is too low. A grant whose token nobody knows raises nothing.
pub(crate) fn next_token(least: u64, token: Option<u64>) -> Option<u64> {
    match token {
        Some(token) if token < least => None,
        Some(token) => Some(token.saturating_add(1)),
        None => Some(least),
    }
}

/// Turns each entry into a variant of [`ModelName`].
macro_rules! models {
    ($($Model:ident = $name:literal, $about:literal;)*) => {
        /// The name of a model.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
        #[serde(rename_all = "kebab-case")]
        pub enum ModelName {
            $(#[doc = $about] $Model,)*
        }

        impl ModelName {
            /// Every model.
            pub const ALL: [ModelName; [$($name),*].len()] = [$(ModelName::$Model),*];

            /// The name in files and options.
            pub fn name(self) -> &'static str {
                match self {
                    $(ModelName::$Model => $name,)*
                }
            }

            /// The kind of lock, in a sentence.
            pub fn about(self) -> &'static str {
                match self {
                    $(ModelName::$Model => $about,)*
                }
            }
        }
    };
}

models! {
    Mutex = "mutex", "One holder; anybody may release it.";
    Owner = "owner", "One holder, who alone may release it.";
    Reentrant = "reentrant", "One holder, who may take it again, and releases it as often.";
    Semaphore = "semaphore", "As many permits as the header says, each returned by its holder.";
    ReadWrite = "read-write", "One writer, or readers (`shared`).";
    Fenced = "fenced", "One holder, and every grant has a higher token than all before.";
    ReentrantFenced = "reentrant-fenced", "As reentrant, and every new holder has a higher token than all before.";
    ReentrantReadWrite = "reentrant-read-write", "As read-write, and each may take it again; a writer may read too.";
    Lease = "lease", "One holder until its deadline, at or after which the lock may expire.";
    Renewal = "renewal", "As lease, and the holder can extend it.";
}

impl ModelName {
    /// Whether a grant ends at its deadline.
    pub fn has_lease(self) -> bool {
        matches!(
            self,
            ModelName::Lease | ModelName::Renewal | ModelName::Semaphore
        )
    }

    /// Whether only the holder may release the lock.
    pub fn knows_owners(self) -> bool {
        self != ModelName::Mutex
    }

    /// Whether several can hold the lock at once, to read.
    pub fn has_readers(self) -> bool {
        matches!(self, ModelName::ReadWrite | ModelName::ReentrantReadWrite)
    }

    /// Whether a holder can be granted the lock, for reading or not, while it holds it.
    pub fn is_held_again(self, shared: bool) -> bool {
        match self {
            ModelName::Reentrant
            | ModelName::ReentrantFenced
            | ModelName::ReentrantReadWrite
            | ModelName::Semaphore => true,
            ModelName::ReadWrite => shared,
            _ => false,
        }
    }

    /// Whether grants exclude one another, but for readers.
    pub fn is_exclusive(self) -> bool {
        self != ModelName::Semaphore
    }
}

impl fmt::Display for ModelName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

impl FromStr for ModelName {
    type Err = String;

    fn from_str(name: &str) -> Result<ModelName, String> {
        let found = ModelName::ALL
            .into_iter()
            .find(|model| model.name() == name);
        found.ok_or_else(|| {
            let known = ModelName::ALL.map(ModelName::name).join(", ");
            format!("unknown model \"{name}\"; there are {known}")
        })
    }
}

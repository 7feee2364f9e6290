//! Locks of other crates: a program that has some registers them, and scenarios may name them.

use std::fmt;
use std::rc::Rc;
use std::sync::{Arc, PoisonError, RwLock};

use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

use super::CATALOGUE;
use super::algorithm::{Algorithm, CatalogueEntry};
use super::lock::DynLock;
use locklab_env::any::AnyEnv;
use locklab_history::Name;

/// The registration of a lock of another crate.
#[derive(Debug, Clone, Copy)]
pub struct Registration {
    entry: CatalogueEntry,
    read: Read,
}

type Read = fn(&Value) -> Result<Arc<dyn AnyAlgorithm>, serde_json::Error>;

impl Registration {
    /// A registration whose parameters are of type `P`: a scenario's `[lock]` without `name`.
    pub const fn of<P>(entry: CatalogueEntry) -> Registration
    where
        P: Algorithm + DeserializeOwned + Send + Sync + 'static,
    {
        let read: Read = |parameters| Ok(Arc::new(P::deserialize(parameters)?));
        Registration { entry, read }
    }
}

static REGISTERED: RwLock<Vec<&'static Registration>> = RwLock::new(Vec::new());

/// Registers these locks, so that scenarios read from now on may name them. Registering a lock
/// again has no effect.
///
/// # Panics
///
/// If a lock of the catalogue, or another registered one, has the same name.
#[track_caller]
pub fn register(locks: &'static [Registration]) {
    let mut registered = REGISTERED.write().unwrap_or_else(PoisonError::into_inner);
    for lock in locks {
        let name = lock.entry.name;
        let same = registered.iter().find(|other| other.entry.name == name);
        if same.is_some_and(|same| std::ptr::eq(*same, lock)) {
            continue;
        }
        let is_taken = same.is_some() || CATALOGUE.iter().any(|entry| entry.name == name);
        assert!(!is_taken, "there are two locks called \"{name}\"");
        registered.push(lock);
    }
}

/// All locks: those of the catalogue, and those registered.
pub fn catalogue() -> Vec<&'static CatalogueEntry> {
    let registered = REGISTERED.read().unwrap_or_else(PoisonError::into_inner);
    let external = registered.iter().map(|lock| &lock.entry);
    CATALOGUE.iter().chain(external).collect()
}

/// Whether a lock of this name is registered; those of the catalogue are not.
pub fn is_registered(name: &str) -> bool {
    find(name).is_some()
}

fn find(name: &str) -> Option<&'static Registration> {
    let registered = REGISTERED.read().unwrap_or_else(PoisonError::into_inner);
    registered
        .iter()
        .copied()
        .find(|lock| lock.entry.name == name)
}

/// [`Algorithm`] with parameters of any type.
trait AnyAlgorithm: Send + Sync {
    fn rules(&self) -> &dyn Algorithm;
    fn build(&self, env: AnyEnv, nodes: &[Name]) -> Rc<dyn DynLock>;
}

impl<P: Algorithm + Send + Sync + 'static> AnyAlgorithm for P {
    fn rules(&self) -> &dyn Algorithm {
        self
    }

    fn build(&self, env: AnyEnv, nodes: &[Name]) -> Rc<dyn DynLock> {
        Algorithm::build(self, env, nodes)
    }
}

/// A registered lock with parameters.
#[derive(Clone, Serialize)]
#[serde(transparent)]
pub struct External {
    /// The table `[lock]`.
    table: Value,
    #[serde(skip)]
    registration: &'static Registration,
    #[serde(skip)]
    algorithm: Arc<dyn AnyAlgorithm>,
}

impl External {
    /// The lock that the table names, if it is registered.
    pub(super) fn read(table: &Value) -> Option<Result<External, serde_json::Error>> {
        let registration = find(table.get("name")?.as_str()?)?;
        let mut parameters = table.clone();
        if let Some(parameters) = parameters.as_object_mut() {
            parameters.remove("name");
        }
        let algorithm = (registration.read)(&parameters);
        Some(algorithm.map(|algorithm| External {
            table: table.clone(),
            registration,
            algorithm,
        }))
    }

    pub(super) fn rules(&self) -> &dyn Algorithm {
        self.algorithm.rules()
    }

    pub(super) fn entry(&self) -> &'static CatalogueEntry {
        &self.registration.entry
    }

    pub(super) fn build(&self, env: AnyEnv, nodes: &[Name]) -> Rc<dyn DynLock> {
        self.algorithm.build(env, nodes)
    }
}

impl PartialEq for External {
    fn eq(&self, other: &Self) -> bool {
        self.table == other.table
    }
}

impl fmt::Debug for External {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.table)
    }
}

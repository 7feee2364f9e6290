//! The locks: one file per algorithm, and what they share.
//!
//! A lock uses its environment through [`Env`] alone, so the same code runs in the simulator
//! and on real Redis.

use std::rc::Rc;

use serde::de::Error;
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::Value;

use locklab_env::Env;
use locklab_env::any::AnyEnv;
use locklab_history::Topology;
use locklab_history::{ClockKind, Name};

#[macro_use]
mod params;

mod algorithm;
mod external;
mod local_counts;
pub mod lock;
mod locker;
mod one_node;
mod scripts;

pub mod consensus;
pub mod database_cas;
pub mod database_unique;
pub mod getset;
pub mod getset_as_listed;
pub mod lease_guard;
pub mod redisson;
pub mod redlock;
pub mod redlock_fenced;
pub mod set_nx_px;
pub mod setnx;
pub mod setnx_expire;
pub mod setnx_expire_lua;
pub mod setnx_expire_repair;

pub use algorithm::{
    Algorithm, Bound, CatalogueEntry, Facts, Held, InvalidParams, Mutant, Need, Parameter, Servers,
    Shape,
};
pub use external::{External, Registration, catalogue, is_registered, register};
pub use lock::{DynLock, Grant, Lock, LockError, Mode, Owner, Request, Retry};
pub use locker::{Call, Guard, Locker};

/// The key that a lock uses on its nodes.
pub const KEY: &str = "lock";

/// The lock of a scenario, with its parameters: the table `[lock]`.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(untagged)]
pub enum LockSpec {
    /// One of the catalogue.
    Shipped(Shipped),
    /// One of another crate.
    External(External),
}

impl LockSpec {
    /// The lock as used by one process, on these nodes.
    pub fn build<E: Env>(&self, env: E, nodes: &[Name]) -> Rc<dyn DynLock> {
        match self {
            LockSpec::Shipped(lock) => lock.build(env, nodes),
            LockSpec::External(lock) => lock.build(AnyEnv::new(env), nodes),
        }
    }

    /// The properties derived from its parameters.
    fn rules(&self) -> &dyn Algorithm {
        match self {
            LockSpec::Shipped(lock) => lock.rules(),
            LockSpec::External(lock) => lock.rules(),
        }
    }

    /// Its catalogue entry.
    pub fn entry(&self) -> &'static CatalogueEntry {
        match self {
            LockSpec::Shipped(lock) => lock.entry(),
            LockSpec::External(lock) => lock.entry(),
        }
    }

    /// See [`Algorithm::bound`].
    pub fn bound(&self, topology: &Topology) -> Bound {
        self.rules().bound(topology)
    }

    /// See [`Algorithm::asks_resource`].
    pub fn asks_resource(&self) -> bool {
        self.rules().asks_resource()
    }

    /// See [`Algorithm::check`].
    ///
    /// # Errors
    /// The first invalid parameter.
    pub fn check(&self, topology: &Topology) -> Result<(), InvalidParams> {
        self.rules().check(topology)
    }

    /// See [`Algorithm::nodes`].
    pub fn nodes(&self) -> u32 {
        self.rules().nodes()
    }

    /// See [`Algorithm::servers`].
    pub fn servers(&self) -> Servers {
        self.rules().servers()
    }

    /// See [`Algorithm::gives_tokens`].
    pub fn gives_tokens(&self) -> bool {
        self.rules().gives_tokens()
    }

    /// See [`Algorithm::facts`].
    pub fn facts(&self) -> Facts {
        self.rules().facts()
    }
}

impl<'de> Deserialize<'de> for LockSpec {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let table = serde_json::Map::deserialize(deserializer)?;
        let name = table.get("name").and_then(Value::as_str).map(String::from);
        let table = Value::Object(table);
        let read = match (External::read(&table), name) {
            (Some(external), _) => external.map(LockSpec::External),
            (None, Some(name)) if CATALOGUE.iter().all(|entry| entry.name != name) => {
                let names = catalogue().into_iter();
                let names: Vec<String> = names.map(|entry| format!("`{}`", entry.name)).collect();
                let names = names.join(", ");
                return Err(D::Error::custom(format!(
                    "unknown variant `{name}`, expected one of {names}"
                )));
            }
            (None, _) => Shipped::deserialize(table).map(LockSpec::Shipped),
        };
        read.map_err(D::Error::custom)
    }
}

/// Turns each lock's module into a variant of [`Shipped`], whose name in kebab-case is the
/// lock's, and an entry of [`CATALOGUE`]. To add a lock, write its module, with a `Params` that
/// is an [`Algorithm`] and an `ENTRY`, and add its line here.
macro_rules! catalogue {
    ($($(#[$doc:meta])* $module:ident $(:: $inner:ident)* => $Variant:ident,)*) => {
        /// A lock of the catalogue, with its parameters.
        #[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
        #[serde(tag = "name", rename_all = "kebab-case")]
        pub enum Shipped {
            $($(#[$doc])* $Variant($module$(::$inner)*::Params),)*
        }

        impl Shipped {
            fn build<E: Env>(&self, env: E, nodes: &[Name]) -> Rc<dyn DynLock> {
                match self {
                    $(Shipped::$Variant(params) => params.build(env, nodes),)*
                }
            }

            fn rules(&self) -> &dyn Algorithm {
                match self {
                    $(Shipped::$Variant(params) => params,)*
                }
            }

            fn entry(&self) -> &'static CatalogueEntry {
                match self {
                    $(Shipped::$Variant(_) => &$module$(::$inner)*::ENTRY,)*
                }
            }
        }

        /// The locks of this crate.
        pub const CATALOGUE: &[CatalogueEntry] = &[$($module$(::$inner)*::ENTRY,)*];
    };
}

catalogue! {
    /// One node, `SETNX`; no lease.
    setnx => Setnx,
    /// One node, `SETNX` and then `EXPIRE`.
    setnx_expire => SetnxExpire,
    /// The same, where other clients give a lease to a lock that has none.
    setnx_expire_repair => SetnxExpireRepair,
    /// One node, `SETNX` and `EXPIRE` in one script.
    setnx_expire_lua => SetnxExpireLua,
    /// One node, `SET key token NX PX ttl`.
    set_nx_px => SetNxPx,
    /// One node, the time of expiry as the value, taken over with `GETSET`.
    getset => Getset,
    /// The same as a blog text lists its steps.
    getset_as_listed => GetsetAsListed,
    /// One node, the end of the lease as the value, compared with clocks of bounded error.
    lease_guard => LeaseGuard,
    /// N independent nodes, a majority of them, and a validity time.
    redlock => Redlock,
    /// The same, with a fencing token that the resource hands out.
    redlock_fenced => RedlockFenced,
    /// One node, a hash that counts holds, pub/sub and a watchdog: Redisson's.
    redisson => Redisson,
    /// `redisson` with a fencing token.
    redisson::fenced => RedissonFenced,
    /// `redisson` without a message on release.
    redisson::no_publish => RedissonNoPublish,
    /// `redisson` that retries instead of subscribing.
    redisson::spin => RedissonSpin,
    /// `redisson` with a queue.
    redisson::fair => RedissonFair,
    /// N independent nodes, Redisson's lock on all of them.
    redisson::multi => RedissonMulti,
    /// One node, several readers or one writer: Redisson's.
    redisson::read_write => RedissonReadWrite,
    /// N independent nodes, Redisson's lock on a majority of them.
    redisson::redlock => RedissonRedlock,
    /// A row under a unique index.
    database_unique => DatabaseUnique,
    /// Compare-and-set on a version column.
    database_cas => DatabaseCas,
    /// ZooKeeper's recipe on a replicated service.
    consensus => Consensus,
}

/// 128 random bits, as hexadecimal digits: the value that distinguishes one grant from another.
fn random_token(env: &impl Env) -> String {
    let mut token = String::with_capacity(32);
    // By hand: every attempt of most locks begins with a token, and `format!` takes thrice as long.
    for number in [env.random(), env.random()] {
        for shift in (0..64).step_by(4).rev() {
            let digit = (number >> shift) & 0xf;
            token.push(char::from(b"0123456789abcdef"[digit as usize]));
        }
    }
    token
}

/// Whether a parameter has its default of 0 and need not be written.
fn is_zero(number: &u32) -> bool {
    *number == 0
}

/// 200 ms: the wait between attempts in the Redlock clients for Ruby and Python.
const RETRY_DELAY_MS: u64 = 200;

/// 50 ms: the jitter of redlock-rb.
const RETRY_JITTER_MS: u64 = 50;

/// The clock that is never stepped: the right one for a lease.
const CLOCK: ClockKind = ClockKind::Monotonic;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_catalogue_form_parses_as_its_lock() {
        for entry in CATALOGUE {
            assert!(!entry.forms.is_empty(), "{} has no form", entry.name);
            for (form, parameters) in entry.forms {
                let parameters = parameters.replace("LEASE", "1000");
                let text = format!("name = \"{}\"\n{parameters}", entry.name);
                let spec: LockSpec =
                    toml::from_str(&text).unwrap_or_else(|e| panic!("{} {form}: {e}", entry.name));
                assert_eq!(spec.entry(), entry);
            }
        }
    }

    #[test]
    fn catalogue_defaults_match_parsed_defaults() {
        for entry in CATALOGUE {
            let is_required = |(name, default, _): &Parameter| {
                (*default == "required").then(|| format!("{name} = 1000\n"))
            };
            let required: String = entry.parameters.iter().filter_map(is_required).collect();
            let read = |more: &str| {
                let text = format!("name = \"{}\"\n{required}{more}", entry.name);
                toml::from_str::<LockSpec>(&text)
            };
            let taken = read("").expect("it has what it requires");
            for (name, shown, _) in entry.parameters {
                let written = [format!("{name} = {shown}"), format!("{name} = \"{shown}\"")];
                match written.iter().find_map(|written| read(written).ok()) {
                    _ if *shown == "required" => {}
                    Some(written) => assert_eq!(written, taken, "{}: {name}", entry.name),
                    // A parameter that is absent by default has no value to write.
                    None => assert!(["none", "N/2 + 1"].contains(shown), "{name} = {shown}"),
                }
            }
        }
    }
}

//! What a `client.toml` says of the ports of a library.

use locklab_locks::{LockSpec, Mode};
use serde::Deserialize;

use crate::root;

const FOLDERS: &str = "tests/clients";

/// A lock of a library, and the lock of the catalogue that is its port.
#[derive(Deserialize)]
pub struct Port {
    /// The library's name for it.
    pub title: String,
    /// The number of servers.
    pub nodes: usize,
    /// The command line of the program that does the exercises with the library.
    pub run: Vec<String>,
    /// The library's key of the lock that its program calls `lock`.
    #[serde(default = "lock")]
    pub key: String,
    /// What the library can do besides.
    #[serde(default)]
    pub can: Vec<Ability>,
    /// The shortest and the longest time between two attempts of a waiter, in milliseconds, as the
    /// library's source has it; absent: it waits for something else.
    pub retry_ms: Option<[u64; 2]>,
    /// Why the port waits otherwise between two attempts.
    pub other_retry: Option<String>,
    /// Why nobody waits for the lease of a holder that died.
    pub not_after_a_death: Option<String>,
    /// Why the library may renew the lease more often than the port.
    pub more_renewals: Option<String>,
    /// Phases of which only the answers are compared.
    #[serde(default)]
    pub by_chance: Vec<Chance>,
    /// Whether it is taken together with others.
    #[serde(default)]
    is_shared: bool,
    /// The table `[lock]` of a scenario.
    lock: toml::Table,
    /// Commands that are not compared.
    #[serde(default)]
    pub without: Vec<Without>,
    /// Requests that do the same in other ways.
    #[serde(default)]
    pub alike: Vec<Alike>,
    /// Differences with a reason.
    #[serde(default)]
    pub differences: Vec<Difference>,
}

/// What not every lock can do.
#[derive(Clone, Copy, Deserialize, Eq, PartialEq)]
#[serde(rename_all = "kebab-case")]
pub enum Ability {
    /// Its owner may take it once more.
    Reenter,
    /// It renews the lease by itself.
    Renew,
    /// Its holder may extend the lease.
    Extend,
}

/// A phase whose requests depend on who is a moment earlier.
#[derive(Deserialize)]
pub struct Chance {
    /// The title of the phase.
    pub phase: String,
    /// What depends on chance.
    pub reason: String,
}

/// Commands that one side sends for something that the other does not have.
#[derive(Deserialize)]
pub struct Without {
    /// A part of them, which nothing else has.
    pub text: String,
    /// Why they may be missing.
    pub reason: String,
}

/// A request of the library, and what the port sends instead, both with `v*` for each value.
#[derive(Deserialize)]
pub struct Alike {
    /// What the library sends.
    pub library: String,
    /// What the port sends.
    pub port: String,
    /// Why they do the same.
    pub reason: String,
}

/// The requests of one phase where library and port differ.
#[derive(Deserialize)]
pub struct Difference {
    /// The title of the phase.
    pub phase: String,
    /// What the library sends, and what its user is told.
    pub library: Vec<String>,
    /// What the port sends, and what its user is told.
    pub port: Vec<String>,
    /// Why they may differ.
    pub reason: String,
}

impl Port {
    /// The port, with its parameters.
    pub fn spec(&self) -> LockSpec {
        let spec = self.lock.clone().try_into();
        spec.unwrap_or_else(|error| panic!("{}: {error}", self.title))
    }

    /// The mode in which its exercises take it.
    pub fn mode(&self) -> Mode {
        match self.is_shared {
            true => Mode::Shared,
            false => Mode::Exclusive,
        }
    }

    /// The name of the port in the catalogue.
    pub fn lock_name(&self) -> &str {
        self.lock["name"].as_str().expect("a lock has a name")
    }

    /// A whole number among the parameters of the port.
    pub fn parameter(&self, name: &str) -> Option<u64> {
        let table = serde_json::to_value(self.spec()).expect("a lock is a table");
        table.get(name).and_then(serde_json::Value::as_u64)
    }
}

#[derive(Deserialize)]
struct Client {
    library: String,
    #[serde(default)]
    ports: Vec<Port>,
}

fn lock() -> String {
    "lock".to_owned()
}

fn client(name: &str) -> Client {
    let path = root().join(FOLDERS).join(name).join("client.toml");
    let text = std::fs::read_to_string(&path);
    let text = text.unwrap_or_else(|error| panic!("read {}: {error}", path.display()));
    toml::from_str(&text).unwrap_or_else(|error| panic!("in {}: {error}", path.display()))
}

/// The ports of the library in this folder of `tests/clients/`.
pub fn ports(name: &str) -> Vec<Port> {
    client(name).ports
}

/// The name of the library in this folder.
pub fn library(name: &str) -> String {
    client(name).library
}

/// The folders of all libraries, in alphabetical order.
pub fn names() -> Vec<String> {
    let folders = std::fs::read_dir(root().join(FOLDERS)).expect("it is in the tree");
    let folders = folders
        .flatten()
        .filter(|it| it.path().join("client.toml").is_file());
    let mut names: Vec<String> = folders
        .map(|it| it.file_name().to_string_lossy().into_owned())
        .collect();
    names.sort();
    names
}

//! The rows: every lock in every form.

use locklab_locks::{CatalogueEntry, LockSpec, catalogue};

/// The setting of all locks in one column of the matrix.
#[derive(Debug, Clone, PartialEq)]
pub struct Setting {
    /// The lease, in milliseconds.
    pub lease_ms: u64,
    /// Parameters for every lock that has them.
    pub parameters: toml::Table,
}

/// A lock in one of its forms.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Row {
    /// `redlock`, or `redlock (no elapsed check)`.
    pub label: String,
    /// The lock.
    pub entry: &'static CatalogueEntry,
    /// Its parameters in TOML, with `LEASE` for the lease.
    parameters: &'static str,
}

impl Row {
    /// The lock with this setting.
    ///
    /// # Errors
    ///
    /// If its parameters are invalid; a test ensures that they are valid.
    pub fn lock(&self, setting: &Setting) -> Result<LockSpec, String> {
        let parameters = self
            .parameters
            .replace("LEASE", &setting.lease_ms.to_string());
        let text = format!("name = \"{}\"\n{parameters}", self.entry.name);
        let lock = text.parse::<toml::Table>().and_then(|mut lock| {
            for (name, value) in &setting.parameters {
                if self
                    .entry
                    .parameters
                    .iter()
                    .any(|(known, ..)| known == name)
                {
                    lock.insert(name.clone(), value.clone());
                }
            }
            lock.try_into()
        });
        lock.map_err(|error| format!("{}: {error}", self.label))
    }

    /// Whether `name` selects this row: by its label, or by its lock's name, which selects all
    /// forms of the lock.
    pub fn is_called(&self, name: &str) -> bool {
        self.label == name || self.entry.name == name
    }
}

/// Every row, in the order of the catalogue.
pub fn rows() -> Vec<Row> {
    let of = |entry: &'static CatalogueEntry| {
        entry.forms.iter().map(move |(form, parameters)| Row {
            label: match *form {
                "" => entry.name.into(),
                form => format!("{} ({form})", entry.name),
            },
            entry,
            parameters,
        })
    };
    catalogue().into_iter().flat_map(of).collect()
}

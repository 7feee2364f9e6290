//! The rows: every lock in every form.

use std::borrow::Cow;

use locklab_locks::{CatalogueEntry, LockSpec, catalogue};

/// What stands for the lease, in milliseconds, in the parameters of a form.
const LEASE: &str = "LEASE";

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
        let wrong = |error: toml::de::Error| format!("{}: {error}", self.label);
        let mut lock = self.table(setting.lease_ms)?;
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
        lock.try_into().map_err(wrong)
    }

    /// The lock with this lease, as a scenario has it.
    ///
    /// # Errors
    ///
    /// If its parameters are no TOML; a test ensures that they are.
    pub fn table(&self, lease_ms: u64) -> Result<toml::Table, String> {
        let parameters = self.parameters.replace(LEASE, &lease_ms.to_string());
        let text = format!("name = \"{}\"\n{parameters}", self.entry.name);
        text.parse()
            .map_err(|error| format!("{}: {error}", self.label))
    }

    /// The parameter that is its lease; `None` for a lock without one.
    pub fn lease_parameter(&self) -> Option<&'static str> {
        let mut lines = self.parameters.lines();
        lines
            .find_map(|line| line.strip_suffix(LEASE)?.trim_end().strip_suffix('='))
            .map(str::trim_end)
    }

    /// Whether `name` selects this row: by its own name, or by its lock's, which selects all forms
    /// of the lock.
    pub fn is_called(&self, name: &str) -> bool {
        self.own_name() == name || self.entry.name == name
    }

    /// The name that selects this row alone: its label, or `redlock ()` for the plain form of a lock
    /// that has others.
    pub fn own_name(&self) -> Cow<'_, str> {
        match self.label == self.entry.name && self.entry.forms.len() > 1 {
            true => format!("{} ()", self.label).into(),
            false => self.label.as_str().into(),
        }
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_lock_has_its_lease_under_its_own_name() {
        let parameter = |label: &str| {
            let row = rows().into_iter().find(|row| row.label == label);
            row.expect(label).lease_parameter()
        };
        for (label, expected) in [
            ("set-nx-px (with token)", Some("ttl_ms")),
            ("redisson", Some("watchdog_ms")),
            ("redisson (lease given)", Some("lease_ms")),
            ("consensus", Some("session_ms")),
            ("setnx", None),
        ] {
            assert_eq!(parameter(label), expected, "{label}");
        }
    }

    #[test]
    fn each_row_has_a_name_that_selects_it_alone() {
        let all = rows();
        for row in &all {
            let name = row.own_name();
            let called: Vec<&Row> = all.iter().filter(|it| it.is_called(&name)).collect();
            assert_eq!(called, [row], "{name}");
        }
        let plain = all.iter().find(|row| row.label == "redlock");
        assert_eq!(plain.expect("it is a row").own_name(), "redlock ()");
        assert!(all.iter().any(|row| row.own_name() == "setnx"));
    }
}

//! Files of measured durations: `{ file = "pauses.txt" }`, wherever a distribution may stand.
//!
//! Such a table is replaced by `{ values = [ … ] }` before the scenario is interpreted. The file has one
//! number of milliseconds a line; what follows a `#` is a comment. Its path is relative to the folder of
//! the file that names it, and in an override to the working directory.

use std::fs;
use std::ops::Range;
use std::path::{Path, PathBuf};

use locklab_vecmap::VecMap;
use toml::Spanned;
use toml::de::{DeTable, DeValue};

use super::document::Document;
use super::error::{Place, ScenarioError};

/// The key that names a file.
const KEY: &str = "file";

/// The files that a document names: the text of each as a list in TOML, by the span of its name.
pub(super) struct Measured(VecMap<(usize, String), String>);

impl Measured {
    /// Reads all files that the document names.
    ///
    /// # Errors
    ///
    /// If one cannot be read, or has a line that is not a number.
    pub fn read(document: &Document<'_>) -> Result<Measured, ScenarioError> {
        let mut names = Vec::new();
        find(document.root.get_ref(), &mut names);
        let lists = names.into_iter().map(|(span, name)| {
            let folder = match document.is_override(&span) {
                true => None,
                false => Path::new(document.file).parent(),
            };
            let path = folder.unwrap_or(Path::new("")).join(&name);
            let text = fs::read_to_string(&path).map_err(|error| {
                document.error(
                    span.clone(),
                    format!("cannot read {}: {error}", path.display()),
                )
            })?;
            Ok(((span.start, name), list(&path, &text)?))
        });
        Ok(Measured(lists.collect::<Result<_, ScenarioError>>()?))
    }

    /// Replaces each name of a file by its values.
    pub fn put_into<'a>(&'a self, document: &mut Document<'a>) {
        self.put_into_table(document.root.get_mut());
    }

    fn put_into_table<'a>(&'a self, table: &mut DeTable<'a>) {
        if let Some((span, name)) = named(table)
            && let Some(list) = self.0.get(&(span.start, name))
            && let Ok(values) = DeValue::parse(list)
        {
            table.remove(KEY);
            let key = Spanned::new(span.clone(), "values".into());
            table.insert(key, Spanned::new(span, values.into_inner()));
            return;
        }
        for (_, value) in table.iter_mut() {
            self.put_into_value(value.get_mut());
        }
    }

    fn put_into_value<'a>(&'a self, value: &mut DeValue<'a>) {
        match value {
            DeValue::Table(table) => self.put_into_table(table),
            DeValue::Array(items) => {
                let items = items.iter_mut();
                items.for_each(|item| self.put_into_value(item.get_mut()));
            }
            _ => {}
        }
    }
}

/// The files that a table, or any table within it, names.
fn find(table: &DeTable<'_>, names: &mut Vec<(Range<usize>, String)>) {
    match named(table) {
        Some(name) => names.push(name),
        None => table
            .iter()
            .for_each(|(_, value)| find_in(value.get_ref(), names)),
    }
}

fn find_in(value: &DeValue<'_>, names: &mut Vec<(Range<usize>, String)>) {
    match value {
        DeValue::Table(table) => find(table, names),
        DeValue::Array(items) => items.iter().for_each(|item| find_in(item.get_ref(), names)),
        _ => {}
    }
}

/// The file that this table names, if that is all that it has.
fn named(table: &DeTable<'_>) -> Option<(Range<usize>, String)> {
    let value = table.get(KEY).filter(|_| table.len() == 1)?;
    let name = value.get_ref().as_str()?;
    Some((value.span(), name.to_owned()))
}

/// The numbers of a file, as a list in TOML.
fn list(path: &Path, text: &str) -> Result<String, ScenarioError> {
    let wrong = |line: usize, what: String| ScenarioError::Invalid {
        place: Place::File {
            file: PathBuf::from(path).display().to_string(),
            line,
            column: 1,
        },
        what,
    };
    let mut numbers = Vec::new();
    for (nth, line) in text.lines().enumerate() {
        let number = line.split('#').next().unwrap_or_default().trim();
        if number.is_empty() {
            continue;
        }
        match number.parse::<f64>() {
            Ok(ms) if ms.is_finite() && ms >= 0.0 => numbers.push(format!("{ms:?}")),
            _ => {
                let what =
                    format!("\"{number}\" is no duration; write one number of milliseconds a line");
                return Err(wrong(nth + 1, what));
            }
        }
    }
    match numbers.is_empty() {
        true => Err(wrong(
            1,
            "there is no number; write one number of milliseconds a line".into(),
        )),
        false => Ok(format!("[{}]", numbers.join(","))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scenario::{Scenario, parse};
    use locklab_values::dist::Dist;

    /// Reads a scenario that names a file of this content, in a folder of its own.
    fn scenario(folder: &str, content: &str) -> Result<Scenario, ScenarioError> {
        let folder = std::env::temp_dir().join(format!("locklab-{folder}-{}", std::process::id()));
        fs::create_dir_all(&folder).expect("a folder");
        fs::write(folder.join("pauses.txt"), content).expect("a file");
        let text = r#"
            title = "Measured"
            lock = { name = "set-nx-px", ttl_ms = 1000 }
            workload.hold_ms = { file = "pauses.txt" }
            network.latency_ms = { mixture = [[0.5, 1], [0.5, { file = "pauses.txt" }]] }
        "#;
        let file = folder.join("mine.toml");
        let read = parse(file.to_str().expect("UTF-8"), text, &[]);
        fs::remove_dir_all(&folder).expect("it was there");
        read
    }

    #[test]
    fn values_of_a_file_stand_where_it_is_named() {
        let read = scenario("measured", "# of Monday\n12.5\n\n 3  # short\n1e2\n").expect("sound");
        let values = Dist::Values(vec![3.0, 12.5, 100.0]);
        assert_eq!(read.workload.hold_ms, values);
        let mixture = Dist::Mixture(vec![(0.5, Dist::Constant(1.0)), (0.5, values)]);
        assert_eq!(read.network.latency_ms, mixture);
    }

    #[test]
    fn mistake_in_a_file_names_file_and_line() {
        let refused = |folder, content| {
            scenario(folder, content)
                .expect_err("a mistake")
                .to_string()
        };
        let told = refused("wrong", "1\n2 ms\n");
        assert!(
            told.contains("pauses.txt:2:1: \"2 ms\" is no duration"),
            "{told}"
        );
        let told = refused("negative", "-1\n");
        assert!(
            told.contains("pauses.txt:1:1: \"-1\" is no duration"),
            "{told}"
        );
        let told = refused("empty", "# nothing\n");
        assert!(
            told.contains("pauses.txt:1:1: there is no number"),
            "{told}"
        );
    }

    #[test]
    fn missing_file_is_named() {
        let text = "title = \"T\"\nlock = { name = \"set-nx-px\", ttl_ms = 1000 }\n";
        let sets = ["workload.hold_ms={ file = \"no-such.txt\" }".to_owned()];
        let told = parse("elsewhere/mine.toml", text, &sets)
            .expect_err("no such file")
            .to_string();
        assert!(
            told.contains("--set workload.hold_ms=") && told.contains("cannot read no-such.txt"),
            "{told}"
        );
    }
}

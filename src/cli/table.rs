//! Writes a table of results in all its formats.

use serde::Serialize;

use super::say::tell;
use super::store::Store;
use crate::report;
use crate::results::table::Table;

/// Writes `STEM.md`, `.csv` (of `list`), `.json` (of `data`), `.svg` and `.png`, and prints the
/// paths.
pub(super) fn write(
    store: &Store,
    stem: &str,
    table: &Table,
    list: &Table,
    data: &impl Serialize,
) -> anyhow::Result<()> {
    let svg = report::table::draw(table);
    let png = report::png(&svg)?;
    let files = [
        (
            "md",
            format!("# {}\n\n{}", table.title, table.markdown()).into_bytes(),
        ),
        ("csv", list.csv().into_bytes()),
        ("json", serde_json::to_vec_pretty(data)?),
        ("svg", svg.into_bytes()),
        ("png", png),
    ];
    tell!();
    for (ending, contents) in files {
        let path = store.write(&format!("{stem}.{ending}"), &contents)?;
        tell!("  {ending:<5}{}", path.display());
    }
    Ok(())
}

//! Writes a table of results in all its formats.

use serde::Serialize;

use super::pictures;
use super::say::tell;
use super::store::Store;
use locklab_report::Provenance;
use locklab_results::csv::Csv;
use locklab_results::table::Table;

/// Writes `STEM.md`, `.csv` (of `list`), `.json` (of `data`) and the picture, and prints the paths.
pub(super) fn write(
    store: &Store,
    stem: &str,
    table: &Table,
    list: &Csv,
    data: &impl Serialize,
    provenance: &Provenance,
) -> anyhow::Result<()> {
    let files = [
        (
            "md",
            format!("# {}\n\n{}", table.title, table.markdown()).into_bytes(),
        ),
        ("csv", list.text().into_bytes()),
        ("json", serde_json::to_vec_pretty(data)?),
    ];
    tell!();
    for (ending, contents) in files {
        let path = store.write(&format!("{stem}.{ending}"), &contents)?;
        tell!("  {ending:<5}{}", path.display());
    }
    let pictures = pictures::write(store, stem, locklab_report::table::draw(table), provenance)?;
    for (format, path) in store.formats.iter().zip(pictures) {
        tell!("  {:<5}{}", format.ending(), path.display());
    }
    Ok(())
}

//! The file with the results of a suite, check.json.

use std::fs;
use std::path::PathBuf;

use anyhow::Context;

use locklab_suite::Results;

/// The results in a file.
pub(super) fn read(path: &PathBuf) -> anyhow::Result<Results> {
    let text = fs::read_to_string(path);
    let text = text.with_context(|| format!("cannot read {}", path.display()))?;
    Results::read(&text).with_context(|| path.display().to_string())
}

//! Programs of a few lines.

use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

/// Makes an executable file of this script, whose first line names its interpreter.
pub fn script(file: &Path, text: &str) {
    fs::write(file, text).expect("it can be written");
    fs::set_permissions(file, Permissions::from_mode(0o755)).expect("it is ours");
}

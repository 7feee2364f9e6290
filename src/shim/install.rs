//! The library as a file, and the environment of a process that is to load it.

use std::ffi::OsString;
use std::net::Ipv4Addr;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf, absolute};
use std::{env, fs, io, process};

/// Compiled by `build.rs`; empty elsewhere than on Linux.
const LIBRARY: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/liblocklab_shim.so"));

const PRELOAD: &str = "LD_PRELOAD";

/// Puts the library into a folder and returns its path, for [`environment`]. If it is there, it
/// is left alone: processes may have loaded it.
///
/// # Errors
///
/// - `Unsupported` elsewhere than on Linux.
/// - `InvalidInput` if the path contains a space or a colon, which separate the libraries in
///   `LD_PRELOAD`; the loader would continue without ours.
/// - If the file cannot be written.
pub fn install(folder: &Path) -> io::Result<PathBuf> {
    if LIBRARY.is_empty() {
        let reason = "wrong clocks and power losses of real processes need Linux";
        return Err(io::Error::new(io::ErrorKind::Unsupported, reason));
    }
    let path = absolute(folder)?.join("liblocklab_shim.so");
    if path
        .as_os_str()
        .as_bytes()
        .iter()
        .any(|b| b" :".contains(b))
    {
        let reason = format!("{}: LD_PRELOAD takes no space and no colon", path.display());
        return Err(io::Error::new(io::ErrorKind::InvalidInput, reason));
    }
    if fs::read(&path).is_ok_and(|present| present == LIBRARY) {
        return Ok(path);
    }
    // Renamed, because to write into a library that is loaded would end those that use it.
    let part = path.with_extension(format!("so.{}", process::id()));
    fs::write(&part, LIBRARY)?;
    fs::rename(&part, &path)?;
    Ok(path)
}

/// The variables with which a process loads the library that [`install`] wrote.
///
/// `clock` is the file of its [`ClockFile`](crate::ClockFile); without it, its clocks are those of
/// the machine. `synced` is the log for [`lose_unsynced`](crate::power::lose_unsynced), which the
/// process creates or continues; without it, none is written. If the process cannot open a given
/// file, it ends immediately with exit status 127, unless [`failures_to`] says what to do instead.
///
/// The libraries in this process's own `LD_PRELOAD` are loaded after this one. All paths are made
/// absolute, since a server may change its folder. Children of the process inherit all of it.
pub fn environment(
    library: &Path,
    clock: Option<&Path>,
    synced: Option<&Path>,
) -> Vec<(OsString, OsString)> {
    let preload = before_others(in_full(library), env::var_os(PRELOAD));
    let files = [("LOCKLAB_CLOCK", clock), ("LOCKLAB_SYNCED", synced)];
    let files = files
        .into_iter()
        .filter_map(|(name, path)| Some((name.into(), in_full(path?))));
    [(PRELOAD.into(), preload)]
        .into_iter()
        .chain(files)
        .collect()
}

/// The variables, beside those of [`environment`], with which a process listens at `hidden` when it means to
/// listen at `known`, and connects from `known`. For IPv4 only.
pub fn behind_proxy(known: Ipv4Addr, hidden: Ipv4Addr) -> [(OsString, OsString); 2] {
    [("LOCKLAB_ADDRESS", known), ("LOCKLAB_LISTEN", hidden)]
        .map(|(name, address)| (name.into(), address.to_string().into()))
}

/// The variable, beside those of [`environment`], with which the processes of a server stay in one process group, and
/// what they share goes with them.
pub fn in_one_group() -> (OsString, OsString) {
    ("LOCKLAB_ONE_GROUP".into(), "1".into())
}

/// The variable, beside those of [`environment`], with which the connections of a process to loopback addresses
/// come from this one. For IPv4 only.
pub fn from_address(source: Ipv4Addr) -> (OsString, OsString) {
    ("LOCKLAB_SOURCE".into(), source.to_string().into())
}

/// The variable, beside those of [`environment`], of a process that is not ours to end: if it cannot suffer a fault, a line
/// in this file says why, and the process goes on. A file that exists means that its run shows nothing.
pub fn failures_to(file: &Path) -> (OsString, OsString) {
    ("LOCKLAB_FAILED".into(), in_full(file))
}

/// The list of libraries to load that has ours first.
fn before_others(mut ours: OsString, others: Option<OsString>) -> OsString {
    if let Some(others) = others.filter(|others| !others.is_empty()) {
        ours.push(":");
        ours.push(others);
    }
    ours
}

/// The path as it is if the current folder is not known.
fn in_full(path: &Path) -> OsString {
    absolute(path).unwrap_or_else(|_| path.into()).into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn libraries_that_were_to_be_loaded_are_loaded_behind_ours() {
        let check = |others: Option<&str>, expected| {
            let list = before_others("/a.so".into(), others.map(OsString::from));
            assert_eq!(list, expected);
        };
        check(None, "/a.so");
        check(Some(""), "/a.so");
        check(Some("/b.so:/c.so"), "/a.so:/b.so:/c.so");
    }
}

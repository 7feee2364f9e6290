//! A real PostgreSQL server: its files, its arguments, and what its log says.
//!
//! It refuses to run as root, and may then not even read the files of root: a run of root gives them to another user.
//! Its processes would each begin a session of their own; the preloaded library keeps them in one group, which is
//! stopped and killed as a whole ([`locklab_shim::in_one_group`]).
//!
//! After a power loss every file is cut to what was synced. PostgreSQL overwrites its log in place, so bytes of a
//! transaction that was not answered may survive. None that was answered is lost either way.

use std::ffi::OsString;
use std::fs::{self, File, Permissions};
use std::io::{self, Write};
use std::os::unix::fs::{PermissionsExt, chown};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::{Mutex, PoisonError};

use locklab_history::{Name, RESOURCE};
use locklab_model::scenario::Commit;
use locklab_proxy::Segment;
use locklab_runner::label;

use super::Programs;
use super::account::Account;
use super::addresses::Addresses;
use super::folder::Folder;
use super::postgres::wire::{self, DATABASE, USER};
use super::postgres::{Postgres, sql};

/// A new server's files, which every server of this process begins with: to make them takes a second of computing.
static NEW: Mutex<Option<Folder>> = Mutex::new(None);

/// Writes the files of a new server below `folder`, with the table of the locks. `log` is the file in which the
/// preloaded library notes what is synced.
pub(super) fn create(programs: &Programs, folder: &Path, log: &Path) -> io::Result<()> {
    let made = {
        let mut made = NEW.lock().unwrap_or_else(PoisonError::into_inner);
        if made.is_none() {
            let folder = Folder::new(programs).map_err(io::Error::other)?;
            initialise(&programs.postgres, &of_template(&folder)?)?;
            *made = Some(folder);
        }
        of_template(made.as_ref().ok_or(io::ErrorKind::NotFound)?)?
    };
    File::create(log)?;
    give(log)?;
    give(folder)?;
    let mut copy = command(Path::new("cp"), folder);
    finish(copy.arg("-a").arg(data(&made)).arg(data(folder)), "")
}

fn of_template(folder: &Folder) -> io::Result<PathBuf> {
    folder.of_host(&"n1".into())
}

fn initialise(postgres: &Postgres, folder: &Path) -> io::Result<()> {
    give(folder)?;
    let data = data(folder);
    let mut cluster = command(&postgres.program("initdb"), folder);
    cluster.args([
        "--username",
        USER,
        "--auth",
        "trust",
        "--no-sync",
        "--no-locale",
    ]);
    cluster.args(["--encoding", "UTF8", "--wal-segsize", "1", "--pgdata"]);
    finish(cluster.arg(&data), "")?;
    // Every host of a run has an address of its own.
    fs::write(data.join("pg_hba.conf"), "host all all 127.0.0.0/8 trust\n")?;
    let mut table = command(&postgres.program("postgres"), folder);
    table.args(["--single", "-D"]).arg(&data).arg(DATABASE);
    finish(&mut table, sql::CREATE)
}

/// Gives a file or a folder of a run to the user of the server, who also has to pass the run's folder.
fn give(path: &Path) -> io::Result<()> {
    let Some(account) = Account::unprivileged() else {
        return Ok(());
    };
    chown(path, Some(account.uid), Some(account.gid))?;
    let run = path.parent().unwrap_or(path);
    fs::set_permissions(run, Permissions::from_mode(0o711))
}

fn data(folder: &Path) -> PathBuf {
    folder.join("data")
}

/// A command of the server's user.
fn command(program: &Path, folder: &Path) -> Command {
    let mut command = Command::new(program);
    command.current_dir(folder);
    if let Some(account) = Account::unprivileged() {
        command.uid(account.uid).gid(account.gid);
    }
    command
}

/// Runs a program with this as its input.
fn finish(command: &mut Command, input: &str) -> io::Result<()> {
    let command = command.stdin(Stdio::piped()).stdout(Stdio::null());
    let mut child = command.stderr(Stdio::piped()).spawn()?;
    if let Some(mut stdin) = child.stdin.take() {
        stdin.write_all(input.as_bytes())?;
    }
    let output = child.wait_with_output()?;
    match output.status.success() {
        true => Ok(()),
        false => Err(io::Error::other(
            String::from_utf8_lossy(&output.stderr).into_owned(),
        )),
    }
}

/// The program and the arguments with which it serves at its hidden address.
pub(super) fn program(
    postgres: &Postgres,
    server: &Name,
    addresses: &Addresses,
    commit: Commit,
    folder: &Path,
) -> (PathBuf, Vec<String>) {
    let hidden = addresses.hidden(server);
    let mut arguments = vec![
        "-D".into(),
        data(folder).display().to_string(),
        "-h".into(),
        hidden.ip().to_string(),
        "-p".into(),
        hidden.port().to_string(),
    ];
    for setting in [
        "unix_socket_directories=",
        // No file outside its folder.
        "dynamic_shared_memory_type=mmap",
        "shared_buffers=4MB",
        // Otherwise a restart syncs each of a thousand files, which takes seconds.
        "recovery_init_sync_method=syncfs",
        // A table of one row needs no cleaning within a run, and no replica.
        "autovacuum=off",
        "max_wal_senders=0",
        "wal_level=minimal",
        "lc_messages=C",
    ] {
        arguments.extend(["-c".into(), setting.into()]);
    }
    if commit == Commit::Asynchronous {
        arguments.extend(["-c".into(), "synchronous_commit=off".into()]);
    }
    (postgres.program("postgres"), arguments)
}

/// The variable that keeps its processes together.
pub(super) fn environment() -> (OsString, OsString) {
    locklab_shim::in_one_group()
}

/// The label of a message in a diagram.
pub(super) fn label(segment: &Segment) -> String {
    match [&segment.from, &segment.to].contains(&&RESOURCE.into()) {
        true => label::of(&segment.payload),
        false => wire::label(&segment.payload, segment.from.starts_with('c')),
    }
}

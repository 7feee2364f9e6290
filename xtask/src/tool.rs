//! Programs that chores start: cargo and its subcommands, which are installed if they are
//! missing.

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::hash::{BuildHasher as _, RandomState};
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};
use std::{env, fs, thread};

use anyhow::{Context, Result, bail};
use locklab_testing::at_once;

/// The workspace without this program, whose tests are built apart. With it, dependencies of proc macros would be
/// some of a program too, which Cargo compiles otherwise: all crates would be compiled once for the tests, and once
/// more for the doc tests and the planted mistakes.
pub const PRODUCT: &str = "--workspace --exclude xtask";

/// A cargo command with these words, which may select a compiler.
pub fn cargo(line: &str) -> Command {
    let mut cargo = Command::new("cargo");
    cargo.args(line.split(' '));
    // The cargo that started this program set these variables for its own compiler; they
    // would override `+nightly`.
    cargo.env_remove("RUSTUP_TOOLCHAIN").env_remove("CARGO");
    cargo
}

/// A cargo command with these words in a copy of this workspace.
pub fn cargo_in(copy: &Path, line: &str) -> Result<Command> {
    let mut cargo = cargo(line);
    build_in(copy, &mut cargo)?;
    Ok(cargo)
}

/// Lets a command of cargo build in this copy of the workspace. It keeps what it compiles of the copy apart from
/// the workspace itself, and shares the dependencies. Otherwise both have the same file names, and each overwrites
/// the other's libraries: Cargo names a file by the place of its package within the workspace, and by the wrapper
/// of the compiler. This one does nothing.
pub fn build_in(copy: &Path, cargo: &mut Command) -> Result<()> {
    let workspace = env::current_dir().context("the folder of the workspace")?;
    cargo.current_dir(copy);
    cargo.env("CARGO_TARGET_DIR", workspace.join("target"));
    cargo.env("RUSTC_WORKSPACE_WRAPPER", "env");
    Ok(())
}

/// A command that gives way to others, where the system knows how. Tests that heed real time run
/// beside it.
pub fn patient(program: impl AsRef<OsStr>) -> Command {
    if !is_on_path("nice") {
        return Command::new(program);
    }
    let mut command = Command::new("nice");
    command.args(["-n", "10"]).arg(program);
    command
}

/// Installs a subcommand of cargo if it is missing.
pub fn install_subcommand(subcommand: &str) -> Result<()> {
    match works(cargo(&format!("{subcommand} --version"))) {
        true => Ok(()),
        false => perform(cargo(&format!("install cargo-{subcommand} --locked"))),
    }
}

/// Whether the standard library for a target is there. It is installed if that is possible.
pub fn has_target(target: &str) -> Result<bool> {
    let root = said(Command::new("rustc").args(["--print", "sysroot"]))?;
    let library = Path::new(root.trim()).join("lib/rustlib").join(target);
    let mut rustup = Command::new("rustup");
    rustup.args(["target", "add", target]);
    Ok(library.is_dir() || works(rustup) && library.is_dir())
}

/// This option of a compiler for each of these folders, and that of cargo: what it makes does not name a folder of the
/// machine.
pub fn unnamed(option: &str, folders: &[&Path]) -> Result<String> {
    let home =
        env::var("CARGO_HOME").or_else(|_| env::var("HOME").map(|home| format!("{home}/.cargo")));
    let home = PathBuf::from(home.context("find the folder of cargo")?);
    let all = folders.iter().copied().chain([&*home]);
    let options = all.map(|folder| format!("{option}={}=", folder.display()));
    Ok(options.collect::<Vec<_>>().join(" "))
}

/// Whether a command succeeds; its output is not shown.
pub fn works(mut command: Command) -> bool {
    let quiet = command.stdout(Stdio::null()).stderr(Stdio::null());
    quiet.status().is_ok_and(|status| status.success())
}

/// Runs a command.
pub fn perform(mut command: Command) -> Result<()> {
    let status = command
        .status()
        .with_context(|| format!("start {command:?}"))?;
    if !status.success() {
        bail!("{command:?}: {status}");
    }
    Ok(())
}

/// How a command ends; `None` if it takes longer than this, and is killed. Where a step waits for ever, CI ends
/// without a word.
pub fn ends_within(limit: Duration, command: &mut Command) -> Result<Option<ExitStatus>> {
    const LOOK_EVERY: Duration = Duration::from_millis(20);
    let start = Instant::now();
    let child = command.spawn();
    let mut child = child.with_context(|| format!("start {command:?}"))?;
    loop {
        if let Some(status) = child.try_wait()? {
            return Ok(Some(status));
        }
        if start.elapsed() > limit {
            child.kill()?;
            child.wait()?;
            return Ok(None);
        }
        thread::sleep(LOOK_EVERY);
    }
}

/// What the locklab of a profile prints. With few runs some predictions stay undecided, which is no failure:
/// exit code 3 is as good as 0.
pub fn locklab(profile: &str, arguments: &[&str]) -> Result<String> {
    let mut command = Command::new(format!("target/{profile}/locklab"));
    let output = command.args(arguments).output();
    let output = output.context("locklab did not start")?;
    if !matches!(output.status.code(), Some(0 | 3)) {
        let said = String::from_utf8_lossy(&output.stderr);
        bail!("{command:?}: {}\n{said}", output.status);
    }
    String::from_utf8(output.stdout).context("its results are not UTF-8")
}

/// Does this with each item, on a thread for each core and some beside; returns what it gives, in the items' order.
pub fn parallel<T: Sync, R: Send>(
    items: &[T],
    beside: usize,
    work: impl Fn(&T) -> R + Sync,
) -> Vec<R> {
    let cores = thread::available_parallelism().map_or(1, usize::from);
    at_once(cores + beside, items, work)
}

/// What a command prints.
pub fn said(command: &mut Command) -> Result<String> {
    let output = command.output();
    let output = output.with_context(|| format!("start {command:?}"))?;
    if !output.status.success() {
        let reason = String::from_utf8_lossy(&output.stderr);
        bail!("{command:?}: {}\n{}", output.status, reason.trim());
    }
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}

/// What git says to these words.
pub fn git(words: &[&str]) -> Result<String> {
    said(Command::new("git").args(words))
}

/// One of so many shares, from 0, by the first digits of a commit's id. Where a step of CI takes a share of a
/// whole, the same commit takes the same share, and many commits take all of them.
pub fn share(id: &str, of: u64) -> u64 {
    let digits = id.get(..15).unwrap_or_default();
    u64::from_str_radix(digits, 16).unwrap_or_default() % of
}

/// A different number at each call.
pub fn fresh_seed() -> u64 {
    // The standard library seeds its hashers with random numbers from the system.
    RandomState::new().hash_one(0)
}

/// The files below a folder, by their paths within it.
pub fn files_below(folder: &Path) -> Result<BTreeSet<PathBuf>> {
    let mut found = BTreeSet::new();
    let mut folders = vec![folder.to_owned()];
    while let Some(inner) = folders.pop() {
        for entry in fs::read_dir(&inner).with_context(|| inner.display().to_string())? {
            let path = entry?.path();
            match path.is_dir() {
                true => folders.push(path),
                false => drop(found.insert(path.strip_prefix(folder)?.to_owned())),
            }
        }
    }
    Ok(found)
}

/// Whether there is a program of this name.
pub fn is_on_path(program: &str) -> bool {
    let path = std::env::var_os("PATH").unwrap_or_default();
    is_in(program, std::env::split_paths(&path))
}

fn is_in(program: &str, mut folders: impl Iterator<Item = impl AsRef<Path>>) -> bool {
    folders.any(|folder| folder.as_ref().join(program).is_file())
}

/// Installs a program of the system. Each line is a command of a package manager; all those of the first that is there
/// are executed.
pub fn install(lines: &[&str]) -> Result<()> {
    let is_root = said(Command::new("id").arg("-u"))?.trim() == "0";
    for line in commands(lines, is_root, is_on_path)? {
        println!("{line}");
        let mut words = line.split(' ');
        let mut command = Command::new(words.next().unwrap_or_default());
        command.args(words).env("DEBIAN_FRONTEND", "noninteractive");
        perform(command)?;
    }
    Ok(())
}

fn commands(lines: &[&str], is_root: bool, is_there: fn(&str) -> bool) -> Result<Vec<String>> {
    let manager = |line: &str| line.split(' ').next().unwrap_or_default().to_owned();
    let found = lines
        .iter()
        .map(|line| manager(line))
        .find(|it| is_there(it));
    let found = found.context("there is no package manager to install it")?;
    // Brew installs for the user, and refuses root. `sudo -n` fails instead of asking for a password.
    let before = if is_root || found == "brew" {
        ""
    } else {
        "sudo -n "
    };
    let own = lines.iter().filter(|line| manager(line) == found);
    Ok(own.map(|line| format!("{before}{line}")).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_is_a_file_in_one_of_the_folders() {
        let here = [
            Path::new("/no-such-folder"),
            Path::new(env!("CARGO_MANIFEST_DIR")),
        ];
        assert!(is_in("Cargo.toml", here.iter()));
        assert!(!is_in("src", here.iter()));
        assert!(!is_in("locklab-no-such-program", here.iter()));
    }

    #[test]
    fn a_command_that_takes_too_long_is_ended() {
        let short = Duration::from_millis(50);
        let ends = |limit, line: &mut Command| ends_within(limit, line).expect("it starts");
        assert_eq!(ends(short, Command::new("sleep").arg("600")), None);
        let fails = ends(Duration::from_secs(600), &mut Command::new("false"));
        assert!(!fails.expect("it ends").success());
    }

    #[test]
    fn root_needs_no_sudo_and_brew_wants_none() {
        let lines = ["apt-get update", "apt-get install x", "brew install x"];
        let of = |is_root, is_there| commands(&lines, is_root, is_there).ok();
        let apt = |it: &str| it == "apt-get";
        assert_eq!(
            of(true, apt),
            Some(vec!["apt-get update".into(), "apt-get install x".into()])
        );
        let sudo = ["sudo -n apt-get update", "sudo -n apt-get install x"];
        assert_eq!(of(false, apt), Some(sudo.map(str::to_owned).into()));
        assert_eq!(
            of(false, |it| it == "brew"),
            Some(vec!["brew install x".into()])
        );
        assert_eq!(of(false, |_| false), None);
    }
    #[test]
    fn the_id_chooses_the_share() {
        assert_eq!(share("0000000000000030aaaa", 32), 3);
        assert_eq!(share("0000000000000230aaaa", 32), 3);
        assert_eq!(share("0000000000000230aaaa", 12), 11);
        assert_eq!(share("", 12), 0);
    }
}

//! `locklab new`: a crate with a lock of one's own, a drill that examines one, a worker to attack, a scenario, or claims,
//! to begin with.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, bail, ensure};
use clap::Args;

mod skeleton;

use self::skeleton::{Language, Skeleton};
use crate::options::Ask;
use locklab_lab::{Exit, made_by, output};
use locklab_locks::catalogue;

const EXAMPLES: &str = "\
Examples:
  locklab new my-lock            in the folder my-lock
  cd my-lock && cargo test       its scenarios, as tests
  cargo run -- list locks        every command of Locklab, with your lock
  locklab new my-drill --drill python
                                 a program that examines a lock library
  locklab new my-worker --attack node
                                 a program that uses a lock, a scenario that
                                 strikes it, and files for CI
  locklab new my-scenario --scenario
                                 a scenario: locklab run my-scenario.toml
  locklab new ours --claims      claims of your own, for locklab reproduce

The crate has a lock on one Redis node, one with a watchdog and a fencing
token, scenarios for both, and tests (docs/own-crate.md). A drill examines the
lock of a library, for `locklab score` (docs/score.md). A worker uses one under
`locklab attack` (docs/attack.md): put yours in its place.

Exit codes: 0 written; 1 the name or the folder cannot be used.";

#[derive(Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Options {
    /// The name of the crate, of its lock and of the folder; of a drill, a worker and of claims that of the folder, of
    /// a scenario that of the file
    #[arg(value_name = "NAME")]
    name: String,
    /// The folder of Locklab's sources that the crate depends on; by default the
    /// one that this program was built from
    #[arg(long, value_name = "DIR")]
    locklab: Option<PathBuf>,
    /// Write a drill in this language, not a crate
    #[arg(long, value_name = "LANGUAGE", value_enum, conflicts_with = "locklab")]
    drill: Option<Language>,
    /// Write a worker in this language, with a scenario and files for CI, not a crate
    #[arg(long, value_name = "LANGUAGE", value_enum, conflicts_with_all = ["locklab", "drill"])]
    attack: Option<Language>,
    /// Write a scenario, NAME.toml, not a crate
    #[arg(long, conflicts_with_all = ["locklab", "drill", "attack"])]
    scenario: bool,
    /// Write claims, and a scenario that shows one, not a crate
    #[arg(long, conflicts_with_all = ["locklab", "drill", "attack", "scenario"])]
    claims: bool,
}

/// A scenario to begin with, also for a worker.
const SCENARIO: &str = include_str!("new/scenario.toml");

/// A file of claims to begin with; its scenario is the one above, as `paused.toml`.
const CLAIMS: &str = include_str!("new/claims.toml");

/// A file of the crate in `docs/own-lock`.
macro_rules! file {
    ($path:literal) => {
        ($path, include_str!(concat!("../../docs/own-lock/", $path)))
    };
}

/// The files of the crate, by their paths within it.
const FILES: [(&str, &str); 10] = [
    file!(".gitignore"),
    file!("Cargo.toml"),
    file!("scenarios/fenced.toml"),
    file!("scenarios/outlived.toml"),
    file!("scenarios/paused.toml"),
    file!("scenarios/watched.toml"),
    file!("src/lib.rs"),
    file!("src/main.rs"),
    file!("src/watched.rs"),
    file!("tests/lock.rs"),
];

impl Ask for Options {
    fn answer(&self, _: &crate::options::Context) -> anyhow::Result<Exit> {
        let name = &self.name;
        check(name)?;
        let program = self.drill.or(self.attack);
        if program.is_none() && !self.scenario && !self.claims {
            check_new(name)?;
        }
        let scenario = format!("{name}.toml");
        let written = if self.scenario { &scenario } else { name };
        let folder = Path::new(written);
        ensure!(
            !folder.exists(),
            "{written} exists already; choose another name"
        );
        if self.scenario {
            write(folder, SCENARIO)?;
            output::print(&format!("\nNow: locklab run {scenario}"))?;
            return Ok(Exit::AsPredicted);
        }
        if self.claims {
            write(&folder.join("claims.toml"), CLAIMS)?;
            write(&folder.join("paused.toml"), SCENARIO)?;
            output::print(&format!(
                "\nNow: locklab reproduce --claims {name}/claims.toml"
            ))?;
            return Ok(Exit::AsPredicted);
        }
        if let Some(language) = self.drill {
            return begin(name, &language.drill(), "score");
        }
        if let Some(language) = self.attack {
            let worker = language.worker();
            write(&folder.join("scenarios/pause.toml"), SCENARIO)?;
            for (path, text) in worker.ci() {
                write(&folder.join(path), &text)?;
            }
            return begin(name, &worker, ATTACK);
        }
        let sources = sources(self.locklab.as_deref())?;
        for (path, text) in FILES {
            write(&folder.join(path), &named(text, name, &sources))?;
        }
        output::print(&format!("\nNow: cd {name} && cargo test"))?;
        Ok(Exit::AsPredicted)
    }
}

/// The command for a worker, up to its command line.
const ATTACK: &str = "attack --scenario scenarios/pause.toml --seeds 5";

/// Writes the files of a program, and says how it is installed, and used by this command.
fn begin(name: &str, program: &Skeleton, command: &str) -> anyhow::Result<Exit> {
    for (path, text) in program.files {
        write(&Path::new(name).join(path), text)?;
    }
    output::print(&format!(
        "\nNow: cd {name} && {}\nThen: locklab {command} -- {}",
        program.install, program.run
    ))?;
    Ok(Exit::AsPredicted)
}

/// Writes a file, and says so.
fn write(file: &Path, text: &str) -> anyhow::Result<()> {
    let written = file.parent().map_or(Ok(()), fs::create_dir_all);
    let written = written.and_then(|()| fs::write(file, text));
    written.with_context(|| format!("cannot write {}", file.display()))?;
    output::print(&format!("  {}", file.display()))
}

/// Refuses what cannot be the name of a crate or a folder.
fn check(name: &str) -> anyhow::Result<()> {
    let is_plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
    let begins = name.starts_with(|c: char| c.is_ascii_lowercase());
    ensure!(
        begins && name.chars().all(is_plain) && !name.ends_with('-'),
        "`{name}` cannot be this name; write small letters, digits and -, such as my-lock"
    );
    Ok(())
}

/// Refuses the names of Locklab's own crates and locks.
fn check_new(name: &str) -> anyhow::Result<()> {
    let is_locklab = name == "locklab" || name.starts_with("locklab-");
    let is_taken = catalogue().iter().any(|lock| lock.name == name);
    ensure!(
        !is_locklab && !is_taken,
        "{name} is a name of Locklab's own; choose another"
    );
    Ok(())
}

/// The folder of Locklab's sources, from the root.
fn sources(given: Option<&Path>) -> anyhow::Result<PathBuf> {
    let folder = given.unwrap_or(Path::new(made_by::SOURCES));
    let manifest = fs::read_to_string(folder.join("Cargo.toml")).unwrap_or_default();
    if !manifest.contains("name = \"locklab\"") {
        let folder = folder.display();
        bail!("{folder} does not have Locklab's sources; name their folder with --locklab DIR");
    }
    let folder = fs::canonicalize(folder);
    folder.context("cannot find the folder of Locklab's sources")
}

/// The text of a file for a crate of this name.
fn named(text: &str, name: &str, sources: &Path) -> String {
    let path = sources
        .to_string_lossy()
        .replace('\\', "\\\\")
        .replace('"', "\\\"");
    let capital = |word: &str| {
        let mut letters = word.chars();
        let first = letters.next().map(|first| first.to_ascii_uppercase());
        first.into_iter().chain(letters).collect::<String>()
    };
    text.replace("path = \"../..\"", &format!("path = \"{path}\""))
        .replace("own-lock", name)
        .replace("own_lock", &name.replace('-', "_"))
        .replace("team-lock", name)
        .replace(
            "TeamLock",
            &name.split('-').map(capital).collect::<String>(),
        )
}

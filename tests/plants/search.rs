//! Which strategy finds planted mistakes. `cargo xtask plants --search` runs this, built in a copy of the tree that
//! has the mistakes of the `*.toml` beside it, switched off.

use std::env;
use std::fs;
use std::io;
use std::path::Path;
use std::process::{Command, ExitCode};
use std::thread;

use anyhow::{Context, bail};
use locklab_experiments::museum::{Mistake, Mistakes, Request, STARTS};
use locklab_experiments::{Format, Program, Session, Store, conduct};

/// The environment variable that switches a mistake on.
const MISTAKE: &str = "LOCKLAB_PLANT";

/// The runs after which a start has found nothing, as in the museum.
const LIMIT: u64 = 2000;

const USAGE: &str = "plant-search LIST FOLDER, or plant-search LIST --answer MISTAKE WAY FIRST END";

fn main() -> ExitCode {
    match run() {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{error:#}");
            ExitCode::FAILURE
        }
    }
}

fn run() -> anyhow::Result<()> {
    let words: Vec<String> = env::args().skip(1).collect();
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    match words[..] {
        [list, "--answer", mistake, way, first, end] => plan(list, Some(mistake))?.answer(
            &Request {
                mistake: mistake.to_owned(),
                way: way.to_owned(),
                seeds: first.parse()?..end.parse()?,
            },
            io::stdout().lock(),
        ),
        [list, folder] => {
            let program = Program::started_with("cargo xtask plants --search");
            let store = Store::at(Path::new(folder), &Format::DEFAULT)?;
            let threads = thread::available_parallelism()?.get();
            conduct(&plan(list, None)?, &Session::new(program, store, threads))?;
            Ok(())
        }
        _ => bail!(USAGE),
    }
}

/// The searches for the mistakes of this file, or for one of them.
fn plan(list: &str, only: Option<&str>) -> anyhow::Result<Mistakes> {
    let text = fs::read_to_string(list).with_context(|| format!("read {list}"))?;
    let mut mistakes: Vec<Mistake> = serde_json::from_str(&text)?;
    mistakes.retain(|mistake| only.is_none_or(|only| mistake.name == only));
    Mistakes::plan(mistakes, STARTS, LIMIT, ask)
}

/// This program again, with the mistake.
fn ask(request: &Request) -> anyhow::Result<Command> {
    let list = env::args().nth(1).context(USAGE)?;
    let mut command = Command::new(env::current_exe()?);
    command.args([&list, "--answer", &request.mistake, &request.way]);
    command.args([request.seeds.start, request.seeds.end].map(|seed| seed.to_string()));
    command.env(MISTAKE, &request.mistake);
    Ok(command)
}

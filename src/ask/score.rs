//! `locklab score`: what a lock library does in the situations that lose locks, one experiment a cell.

use std::iter::repeat_n;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};

use anyhow::{Context as _, bail};
use clap::Args;
use locklab_lab::Exit;
use locklab_lab::data::document;
use locklab_lab::output::{Stdout, print};
use locklab_lab::progress::Progress;
use locklab_real::score::{
    Cell, Drill, Drilled, Experiment, OwnLock, Played, calls, cell, experiments, play,
};
use locklab_runner::pool::each;
use serde::Serialize;
use serde_json::json;

mod told;

use self::told::{badge, indented, junit, told};
use crate::options::number::whole;
use crate::options::server::Server;
use crate::options::{Ask, interrupt};

const EXAMPLES: &str = "\
Examples:
  locklab score -- python drill.py          every experiment
  locklab score O1 A1 -- node drill.mjs     two of them
  locklab score --show L6 -- ./drill        with what passed on the wire
  locklab score --list                      what is asked, and why
  locklab score --lock set-nx-px            a lock of the catalogue
  locklab score --junit score.xml -- ./drill
                                            for a CI service

The drill is a program of some thirty lines with the library: it takes,
renews and releases the lock when it is told to. docs/score.md has the
protocol. Each experiment has a redis-server of its own, and is repeated
three times.

Exit codes: 0 every must is kept; 1 usage; 2 one is not; 3 one varies, or did
not take place; 130 interrupted.";

#[derive(Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Options {
    /// Experiments, by their names; by default all
    #[arg(value_name = "ID")]
    ids: Vec<String>,
    /// The drill and its arguments
    #[arg(last = true, value_name = "COMMAND", conflicts_with_all = ["lock", "list"])]
    command: Vec<String>,
    /// Examine a lock of the catalogue: its name, or a table as in a scenario
    #[arg(long, value_name = "LOCK", conflicts_with = "list")]
    lock: Option<String>,
    /// List the experiments: what each asks, and why
    #[arg(long)]
    list: bool,
    /// Show what was seen and what passed on the wire
    #[arg(long)]
    show: bool,
    /// The lease that the drill is to ask for, in milliseconds
    #[arg(long, value_name = "MS", default_value_t = 2000, value_parser = whole::<u64>(500..=600_000))]
    lease: u64,
    /// How often each is repeated
    #[arg(long, value_name = "N", default_value_t = 3, value_parser = whole::<u32>(1..=99))]
    times: u32,
    /// Experiments at the same time
    #[arg(long, value_name = "N", default_value_t = 6, value_parser = whole::<u16>(1..=64))]
    at_once: u16,
    #[command(flatten)]
    server: Server,
    /// Also write the musts as JUnit XML, which CI services read
    #[arg(long, value_name = "FILE")]
    junit: Option<PathBuf>,
    /// Also write how many musts are kept as a badge, an endpoint of shields.io
    #[arg(long, value_name = "FILE")]
    badge: Option<PathBuf>,
    /// Print the results as JSON on standard output
    #[arg(long)]
    json: bool,
}

/// An experiment, and what its plays came to.
#[derive(Debug, Serialize)]
struct Entry<'e> {
    id: &'e str,
    title: &'e str,
    group: &'e str,
    must: bool,
    #[serde(flatten)]
    cell: Cell,
    plays: Vec<Played>,
}

impl Ask for Options {
    fn answer(&self, _: &crate::options::Context) -> anyhow::Result<Exit> {
        let chosen = chosen(&self.ids)?;
        if self.list {
            return self.lists(&chosen);
        }
        let drill = self.drill()?;
        let programs = self.server.programs()?;
        let version = locklab_real::version(&programs)?;
        locklab_real::adopt_orphans();
        let stop = interrupt::flag()?;
        let can = calls(&programs, &drill)?;
        let plays = chosen.len() as u64 * u64::from(self.times);
        let progress = Progress::new("playing", plays);
        let played = all(&chosen, self, stop, &|experiment| {
            let played = play(&programs, &drill, &can, experiment);
            progress.add(1);
            played.map_err(anyhow::Error::new)
        });
        progress.clear();
        let played = played?;
        if stop.load(Ordering::Relaxed) {
            return Ok(Exit::Interrupted);
        }
        let entry = |(experiment, plays): (&&'static Experiment, Vec<Played>)| Entry {
            id: &experiment.id,
            title: &experiment.title,
            group: &experiment.group,
            must: experiment.must,
            cell: cell(&plays),
            plays,
        };
        let entries: Vec<Entry> = chosen.iter().zip(played).map(entry).collect();
        for (file, text) in [
            (&self.junit, junit(&entries)),
            (&self.badge, badge(&entries)),
        ] {
            let Some(file) = file else { continue };
            let written = std::fs::write(file, text);
            written.with_context(|| format!("cannot write {}", file.display()))?;
        }
        Stdout::of(self.json).tell(&told(&entries, self.show))?;
        if self.json {
            let data = json!({ "redis": version, "lease_ms": self.lease, "experiments": entries });
            locklab_lab::output::print_json(&document("score", data))?;
        }
        Ok(exit(&entries))
    }
}

impl Options {
    fn drill(&self) -> anyhow::Result<Drill> {
        let is = match (&self.lock, self.command.split_first()) {
            (Some(lock), _) => Drilled::Lock(lock_named(lock)?),
            (None, Some((name, arguments))) => {
                crate::attack::find(name)?;
                Drilled::Program {
                    name: name.clone(),
                    arguments: arguments.to_vec(),
                }
            }
            (None, None) => bail!(
                "no drill is given: write it behind `--`, as in `locklab score -- python drill.py`; \
                 `locklab score --list` says what is asked"
            ),
        };
        Ok(Drill {
            is,
            lease_ms: self.lease,
        })
    }

    fn lists(&self, chosen: &[&'static Experiment]) -> anyhow::Result<Exit> {
        if self.json {
            let data = json!({ "experiments": chosen });
            locklab_lab::output::print_json(&document("score", data))?;
            return Ok(Exit::AsPredicted);
        }
        let mut text = String::new();
        for experiment in chosen {
            let must = if experiment.must { "  (must)" } else { "" };
            text += &format!(
                "{}  {}{must}\n{}\n",
                experiment.id,
                experiment.title,
                indented(&format!("{} {}", experiment.asks, experiment.why))
            );
        }
        print(text.trim_end())?;
        Ok(Exit::AsPredicted)
    }
}

/// The experiments of these names; all, if none is given.
fn chosen(ids: &[String]) -> anyhow::Result<Vec<&'static Experiment>> {
    let all = experiments();
    if ids.is_empty() {
        return Ok(all.iter().collect());
    }
    let find = |id: &String| {
        let found = all.iter().find(|it| it.id.eq_ignore_ascii_case(id));
        found.with_context(|| {
            let known: Vec<&str> = all.iter().map(|it| &*it.id).collect();
            format!(
                "no experiment is called {id}; there are {}",
                known.join(", ")
            )
        })
    };
    ids.iter().map(find).collect()
}

/// A lock of the catalogue: a name, or a table.
fn lock_named(text: &str) -> anyhow::Result<OwnLock> {
    let table: toml::Table = match text.trim_start().starts_with('{') {
        true => {
            let document: toml::Table = toml::from_str(&format!("lock = {text}"))?;
            let table = document.get("lock").and_then(toml::Value::as_table);
            table.cloned().context("a lock is a table")?
        }
        false => [("name".to_owned(), text.into())].into_iter().collect(),
    };
    OwnLock::of(table.try_into()?)
        .with_context(|| format!("`{text}` is no lock of the catalogue; see `locklab list locks`"))
}

/// Plays each of them so many times, several at a time; an error ends it. What comes after `stop` is left out.
fn all(
    chosen: &[&'static Experiment],
    options: &Options,
    stop: &AtomicBool,
    play: &(dyn Fn(&Experiment) -> anyhow::Result<Played> + Sync),
) -> anyhow::Result<Vec<Vec<Played>>> {
    let times = options.times as usize;
    let jobs: Vec<&Experiment> = { chosen.iter() }
        .flat_map(|experiment| repeat_n(*experiment, times))
        .collect();
    let failed = AtomicBool::new(false);
    let results = each(&jobs, options.at_once.into(), |experiment| {
        if stop.load(Ordering::Relaxed) || failed.load(Ordering::Relaxed) {
            return Ok(None);
        }
        let played = play(experiment);
        failed.fetch_or(played.is_err(), Ordering::Relaxed);
        played.map(Some)
    });
    let played: Vec<Option<Played>> = results.into_iter().collect::<anyhow::Result<_>>()?;
    let mut played = played.into_iter();
    let of_one = |_| played.by_ref().take(times).flatten().collect();
    Ok(chosen.iter().map(of_one).collect())
}

fn exit(entries: &[Entry]) -> Exit {
    let musts = || entries.iter().filter(|entry| entry.must);
    if musts().any(|entry| entry.cell.is_bad()) {
        return Exit::Differs;
    }
    match musts().all(|entry| entry.cell.is_decided()) {
        true => Exit::AsPredicted,
        false => Exit::Inconclusive,
    }
}

//! The scorecard of real lock libraries: installs those in `tests/clients/` that have a drill, plays the experiments of
//! `locklab score` with each, and with the locks of the catalogue that are their ports, and writes `reports/scorecard/`. It
//! knows no library: a folder's `client.toml` says all.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Mutex;
use std::thread;

use anyhow::{Context, Result, bail};
use clap::Args;
use serde_json::Value;

use self::publish::Published;
use self::row::{Part, Row};
use crate::clients::{Client, LOCKLAB, folders, install, read};

mod ports;
mod publish;
mod row;

/// What was seen of each row.
const RESULTS: &str = "target/scorecard";

/// How many libraries at the same time: most of an experiment is waiting.
const AT_ONCE: usize = 2;

/// The options of the chore.
#[derive(Args)]
pub struct Options {
    /// Play also what has results
    #[arg(long)]
    again: bool,
    /// Keep nothing that is published: play all that has no result in target/scorecard
    #[arg(long)]
    anew: bool,
    /// Play only this experiment; may be given several times
    #[arg(long, value_name = "ID")]
    cell: Vec<String>,
    /// Only these folders of `tests/clients/`
    names: Vec<String>,
}

/// Plays what has no result yet, and publishes all that there is.
/// Fails if a name is unknown, a `client.toml` is invalid, a result cannot be read, or a port differs from its library
/// without a reason.
pub fn run(options: &Options) -> Result<()> {
    let names = folders(Path::new(""))?;
    if let Some(name) = options.names.iter().find(|name| !names.contains(name)) {
        bail!("unknown client `{name}`; there are {}", names.join(", "));
    }
    if !Path::new(LOCKLAB).is_file() {
        crate::release::build()?;
    }
    std::fs::create_dir_all(RESULTS)?;
    let published = match options.anew {
        true => Published::default(),
        false => Published::read(Path::new(""))?,
    };
    let experiments = publish::experiments()?;
    let mut clients = Vec::new();
    for name in names {
        let client = read(Path::new(""), &name)?;
        let parts = row::parts(&name, &client)?;
        clients.push((name, client, parts));
    }
    let is_meant = |name: &String| options.names.is_empty() || options.names.contains(name);
    let chosen = clients.iter().filter(|(name, ..)| is_meant(name));
    let queue = Mutex::new(chosen.collect::<Vec<_>>().into_iter());
    let left_out = Mutex::new(BTreeMap::new());
    thread::scope(|scope| {
        for _ in 0..AT_ONCE {
            scope.spawn(|| {
                loop {
                    let next = queue.lock().ok().and_then(|mut queue| queue.next());
                    let Some((name, client, parts)) = next else {
                        return;
                    };
                    let missing = |part: &Part| missing(part, &experiments, &published, options);
                    if let Err(reason) = play(name, client, parts, missing) {
                        eprintln!("{name}: not run: {reason:#}");
                        let is_published = parts.iter().any(|it| published.row(&it.row).is_some());
                        let left_out = left_out.lock().ok().filter(|_| !is_published);
                        if let Some(mut left_out) = left_out {
                            left_out.insert(name.clone(), format!("{reason:#}"));
                        }
                    }
                }
            });
        }
    });
    let mut rows: Vec<Row> = Vec::new();
    for part in clients.into_iter().flat_map(|(_, _, parts)| parts) {
        let (earlier, seen) = (published.row(&part.row), kept(&part)?);
        let row = part.row.with(earlier, seen.as_ref(), &ids(&experiments))?;
        rows.extend(Some(row).filter(|row| !row.cells.is_empty()));
    }
    publish::write(
        &rows,
        &experiments,
        &left_out.into_inner().unwrap_or_default(),
    )?;
    let unexplained = ports::unexplained(&rows, Path::new(""))?;
    if !unexplained.is_empty() {
        bail!(
            "ports and libraries; see `differs` in client.toml:\n{}",
            unexplained.join("\n")
        );
    }
    Ok(())
}

/// The names of the experiments.
fn ids(experiments: &Value) -> Vec<String> {
    let all = experiments.as_array().into_iter().flatten();
    all.filter_map(|it| Some(it["id"].as_str()?.to_owned()))
        .collect()
}

/// The experiments that are to be played with this.
fn missing(
    part: &Part,
    experiments: &Value,
    published: &Published,
    options: &Options,
) -> Result<Vec<String>> {
    let mut ids = ids(experiments);
    ids.retain(|id| options.cell.is_empty() || options.cell.contains(id));
    if !options.again {
        let known = part.row.clone();
        let known = known.with(published.row(&part.row), kept(part)?.as_ref(), &ids)?;
        ids.retain(|id| known.cells.iter().all(|cell| cell.id != *id));
    }
    Ok(ids)
}

/// Plays what is missing of a library and its ports.
fn play(
    name: &str,
    client: &Client,
    parts: &[Part],
    missing: impl Fn(&Part) -> Result<Vec<String>>,
) -> Result<()> {
    let mut is_installed = false;
    // What needs no installation is first.
    let ports = parts.iter().filter(|part| part.row.port_of.is_some());
    let libraries = parts.iter().filter(|part| part.row.port_of.is_none());
    for part in ports.chain(libraries) {
        let ids = missing(part)?;
        if ids.is_empty() {
            continue;
        }
        if !is_installed && part.row.port_of.is_none() {
            install(name, client)?;
            is_installed = true;
        }
        eprintln!("{name}: {}: {}", part.row.title, ids.join(" "));
        let mut command = Command::new(LOCKLAB);
        command
            .args(["score", "--json"])
            .args(ids)
            .args(&part.arguments);
        let output = command.stdin(Stdio::null()).output()?;
        if !matches!(output.status.code(), Some(0 | 2 | 3)) {
            let told = String::from_utf8_lossy(&output.stderr).into_owned();
            let error = told.lines().find(|line| line.starts_with("error"));
            bail!("locklab score: {}", error.unwrap_or(&told));
        }
        let mut seen: Value = serde_json::from_slice(&output.stdout).context("no JSON")?;
        if let Some(earlier) = kept(part)? {
            row::keep_others(&mut seen, &earlier);
        }
        std::fs::write(file(part), serde_json::to_vec(&seen)?)?;
    }
    Ok(())
}

/// The file that keeps what this version did.
fn file(part: &Part) -> PathBuf {
    let file = format!("{}-{}.json", part.row.name, part.row.version);
    Path::new(RESULTS).join(file)
}

/// What is kept of a row, as `locklab score` printed it.
fn kept(part: &Part) -> Result<Option<Value>> {
    let file = file(part);
    match std::fs::read(&file) {
        Err(_) => Ok(None),
        Ok(text) => serde_json::from_slice(&text).with_context(|| format!("in {}", file.display())),
    }
}

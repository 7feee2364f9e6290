//! The table of real client libraries: installs those in `tests/clients/`, attacks each with faults, repeats what
//! broke it, and writes `reports/clients/`. Old versions with reported bugs ([`bugs`]) have no row, but have to break. It
//! knows no library: a folder's `client.toml` says all.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use anyhow::{Context, Result, bail};
use clap::Args;
use serde::{Deserialize, Serialize};

use self::attack::{start, told};
use self::bugs::Bug;
use self::columns::{Column, DRAWN, Table};
use crate::tool::{files_below, is_on_path};
use locklab_values::shell::quoted;

mod attack;
mod bugs;
mod columns;
mod ports;
mod table;

pub(crate) const LOCKLAB: &str = "target/ci/locklab";
const FOLDERS: &str = "tests/clients";

/// How often the command that breaks a lock is run again.
const REPEATS: u64 = 10;

/// What the table names if it is violated, the worst first.
const PROPERTIES: [&str; 6] = [
    "lease",
    "lost-update",
    "stale-write",
    "resource",
    "belief",
    "token-regression",
];

/// A library, as the `client.toml` in its folder describes it.
#[derive(Deserialize)]
pub(crate) struct Client {
    pub(crate) library: String,
    pub(crate) version: String,
    pub(crate) language: String,
    /// Programs that have to be on the `PATH`.
    programs: Vec<String>,
    /// Commands of its ecosystem, run in a copy of its folder.
    install: Vec<Vec<String>>,
    /// The places in that copy for the files of these names from `docs/attack/` or `docs/score/`.
    #[serde(default)]
    helpers: Vec<PathBuf>,
    /// Its locks, for the table.
    #[serde(default)]
    locks: Vec<Lock>,
    /// Its rows of the scorecard.
    #[serde(default)]
    pub(crate) drills: Vec<Drill>,
    /// Bugs that it has, beside versions without them.
    #[serde(default)]
    bugs: Vec<Bug>,
    /// Its locks that have a port in the catalogue, which `tests/ports/` reads.
    #[serde(default)]
    pub(crate) ports: Vec<Port>,
}

impl Client {
    /// Its locks in a table.
    fn locks_of(&self, table: Table) -> impl Iterator<Item = &Lock> {
        (self.locks.iter()).filter(move |lock| lock.table == table)
    }
}

/// A lock of the catalogue that is the port of a library's.
#[derive(Deserialize)]
pub(crate) struct Port {
    /// The library's name for it.
    pub(crate) title: String,
    /// The table `[lock]` of a scenario.
    pub(crate) lock: toml::Table,
}

/// One lock of a library: a row of the table.
#[derive(Deserialize)]
struct Lock {
    title: String,
    #[serde(default)]
    table: Table,
    nodes: u64,
    deadline: Deadline,
    /// Further options of `locklab attack`.
    #[serde(default)]
    options: Vec<String>,
    /// Further options in one scenario, by its name.
    #[serde(default)]
    only: BTreeMap<String, Vec<String>>,
    /// The kinds of fault that are drawn, if not all: the clocks of some languages cannot be wrong.
    #[serde(default)]
    drawn: Vec<String>,
    /// The command line of the worker.
    run: Vec<String>,
}

/// A row of the scorecard: a lock of a library, with settings.
#[derive(Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Drill {
    /// The lock, and the settings that are not the library's own defaults.
    pub(crate) title: String,
    /// The client of Redis below, with its version, where that is another library.
    #[serde(default)]
    pub(crate) client: Option<String>,
    /// What a reader has to know of the row.
    #[serde(default)]
    pub(crate) note: Option<String>,
    /// The lease that is asked for, in milliseconds, where the usual one is impossible.
    #[serde(default)]
    pub(crate) lease: Option<u64>,
    /// How many experiments at the same time, where the usual number is too much.
    #[serde(default)]
    pub(crate) at_once: Option<u16>,
    /// The title of its port, which has a row beside it.
    #[serde(default)]
    pub(crate) port: Option<String>,
    /// Parameters of the port that show only when a server is ill, and replace those of the comparison of requests.
    #[serde(default)]
    pub(crate) settings: toml::Table,
    /// Why the port has another verdict, by the experiment.
    #[serde(default)]
    pub(crate) differs: BTreeMap<String, String>,
    /// The command line of the drill.
    pub(crate) run: Vec<String>,
}

impl Drill {
    /// What `locklab score` is given for it.
    pub(crate) fn options(&self) -> Vec<String> {
        let lease = self
            .lease
            .map(|lease| ["--lease".to_owned(), lease.to_string()]);
        let at_once = self
            .at_once
            .map(|at_once| ["--at-once".to_owned(), at_once.to_string()]);
        lease.into_iter().chain(at_once).flatten().collect()
    }
}

/// Where the time comes from until which a holder may rely on the lock.
#[derive(Clone, Copy, Deserialize, Serialize)]
#[serde(rename_all = "kebab-case")]
enum Deadline {
    /// The library says it.
    Told,
    /// The user knows the lease, and counts it from before the request.
    Derived,
    /// The library renews the lease: its user has the lock until told otherwise.
    None,
}

/// The options of the chore.
#[derive(Args)]
pub struct Options {
    /// Compare the requests of the libraries with those of the catalogue's locks that are their ports: each difference
    /// needs a reason in client.toml
    #[arg(long)]
    ports: bool,
    /// Attack also those locks that have results
    #[arg(long)]
    again: bool,
    /// Attack the locks in a Redis Cluster, and write their table
    #[arg(long)]
    cluster: bool,
    /// Strike the locks with what breaks servers in production, and write their table
    #[arg(long, conflicts_with = "cluster")]
    production: bool,
    /// The seeds of attack/drawn
    #[arg(long)]
    drawn: Option<u64>,
    names: Vec<String>,
}

/// What was seen of a lock: a row of the table.
#[derive(Deserialize, Serialize)]
struct Row {
    library: String,
    version: String,
    language: String,
    title: String,
    nodes: u64,
    deadline: Deadline,
    scenarios: Vec<Seen>,
}

/// What a lock did in one scenario, named by its column.
#[derive(Clone, Deserialize, Serialize)]
struct Seen {
    scenario: String,
    /// The seeds that were asked for; results of earlier times do not say it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    seeds: Option<u64>,
    /// The servers, with their version; results of earlier times do not say it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    server: Option<String>,
    runs: u64,
    /// In how many of them the lease could have been violated.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    tried: Option<u64>,
    violated: Vec<Violated>,
    /// The repetitions of the worst; none if nothing was violated.
    again: Option<Again>,
}

/// In how many runs a property was violated.
#[derive(Clone, Deserialize, Serialize)]
struct Violated {
    property: String,
    runs: u64,
    /// The runs that say whether it is.
    of: u64,
    seed: u64,
}

/// A command that breaks a lock, and how often it did.
#[derive(Clone, Deserialize, Serialize)]
struct Again {
    property: String,
    command: String,
    times: u64,
    of: u64,
}

/// Installs and attacks the libraries, and writes the table of all that have results; or compares them with
/// their ports.
/// Fails if a name is unknown, a `client.toml` is invalid, or the table cannot be written; or if a library and its
/// port differ without a reason.
pub fn run(options: &Options) -> Result<()> {
    let names = folders(Path::new(""))?;
    if let Some(name) = options.names.iter().find(|name| !names.contains(name)) {
        bail!("unknown client `{name}`; there are {}", names.join(", "));
    }
    let mut chosen = BTreeMap::new();
    for name in &names {
        if options.names.is_empty() || options.names.contains(name) {
            chosen.insert(name, read(Path::new(""), name)?);
        }
    }
    if options.ports {
        return ports::compare(&chosen);
    }
    if !Path::new(LOCKLAB).is_file() {
        crate::release::build()?;
    }
    let table = match (options.cluster, options.production) {
        (true, _) => Table::Cluster,
        (false, true) => Table::Production,
        (false, false) => Table::Apart,
    };
    // A folder without locks has no row, and the table stays as it is.
    if (chosen.values()).any(|client| client.locks_of(table).next().is_some()) {
        attack_locks(&names, &chosen, table, options)?;
    }
    if table != Table::Apart {
        return Ok(());
    }
    for (name, client) in &chosen {
        attack_bugs(name, client)?;
    }
    Ok(())
}

/// Attacks the locks of these libraries, and writes the table of all.
fn attack_locks(
    names: &[String],
    chosen: &BTreeMap<&String, Client>,
    table: Table,
    options: &Options,
) -> Result<()> {
    let mut left_out = BTreeMap::new();
    // Every lock has a first result before any has a second, and the table has all that there is: the chore
    // may be interrupted, and goes on from the table.
    for column in table.columns() {
        for (&name, client) in chosen {
            if !left_out.contains_key(name)
                && let Err(reason) = attack_all(names, (name, client), table, column, options)
            {
                eprintln!("{name}: left out: {reason:#}");
                left_out.insert(name.clone(), format!("{reason:#}"));
            }
        }
    }
    publish(names, table, &left_out, &table::read(table)?)
}

/// Attacks the versions of a library that have a bug, and those that do not, if they can be installed.
fn attack_bugs(name: &str, client: &Client) -> Result<()> {
    if client.bugs.is_empty() {
        return Ok(());
    }
    match install(name, client) {
        Ok(()) => bugs::attack(name, client),
        Err(reason) => {
            eprintln!("{name}: left out: {reason:#}");
            Ok(())
        }
    }
}

/// Writes the table of all that these rows say, which is also where it is kept.
fn publish(
    names: &[String],
    table: Table,
    left_out: &BTreeMap<String, String>,
    known: &[Row],
) -> Result<()> {
    let mut rows = Vec::new();
    for name in names {
        let client = read(Path::new(""), name)?;
        for lock in client.locks_of(table) {
            let columns = table.columns().iter();
            let scenarios =
                columns.filter_map(|column| seen(known, &client, lock, column).cloned());
            rows.push(row(&client, lock, scenarios.collect()));
        }
    }
    table::write(&rows, table, left_out)
}

fn row(client: &Client, lock: &Lock, scenarios: Vec<Seen>) -> Row {
    Row {
        library: client.library.clone(),
        version: client.version.clone(),
        language: client.language.clone(),
        title: lock.title.clone(),
        nodes: lock.nodes,
        deadline: lock.deadline,
        scenarios,
    }
}

/// What is known of this version of a lock in a column, by the last of its rows that says it.
fn seen<'r>(rows: &'r [Row], client: &Client, lock: &Lock, column: &Column) -> Option<&'r Seen> {
    let is_it = |row: &&Row| {
        (&row.library, &row.version, &row.title) == (&client.library, &client.version, &lock.title)
    };
    let rows = rows.iter().rev().filter(is_it);
    let mut seen = rows.flat_map(|row| &row.scenarios);
    seen.find(|it| it.scenario == column.name)
}

/// The names of the folders, in alphabetical order.
pub(crate) fn folders(root: &Path) -> Result<Vec<String>> {
    let files = files_below(&root.join(FOLDERS))?.into_iter();
    let names = files.filter(|file| file.ends_with("client.toml"));
    let names = names.filter_map(|file| Some(file.parent()?.to_str()?.to_owned()));
    Ok(names.collect())
}

pub(crate) fn read(root: &Path, name: &str) -> Result<Client> {
    let path = root.join(FOLDERS).join(name).join("client.toml");
    let text =
        std::fs::read_to_string(&path).with_context(|| format!("read {}", path.display()))?;
    toml::from_str(&text).with_context(|| format!("in {}", path.display()))
}

/// Where the table has the scenario that repeats the worst of a lock, if it takes one of its own.
fn published(name: &str, lock: &Lock, column: &Column) -> PathBuf {
    let title = short(&lock.title);
    let file = match column.name {
        DRAWN => format!("{name}-{title}.toml"),
        other => format!("{name}-{title}-{}.toml", short(other)),
    };
    Path::new(table::AGAIN).join(file)
}

pub(crate) fn short(text: &str) -> String {
    text.chars().filter(char::is_ascii_alphanumeric).collect()
}

/// Attacks each lock of a library that has no result of so many seeds, or all that are to be done again.
fn attack_all(
    names: &[String],
    (name, client): (&str, &Client),
    table: Table,
    column: &Column,
    options: &Options,
) -> Result<()> {
    let drawn = options.drawn.filter(|_| column.scenario == DRAWN);
    let seeds = drawn.unwrap_or(column.seeds);
    let known = table::read(table)?;
    let missing = |lock: &&Lock| {
        let seen = seen(&known, client, lock, column);
        let enough = seen.is_some_and(|seen| seen.seeds.unwrap_or(seen.runs) >= seeds);
        options.again || !enough
    };
    let locks: Vec<&Lock> = client.locks_of(table).filter(missing).collect();
    if locks.is_empty() {
        return Ok(());
    }
    install(name, client)?;
    for lock in locks {
        eprintln!("{name}: {}, {}", lock.title, column.name);
        let seen = attack(name, lock, column, seeds)?;
        // Another chore may have written it meanwhile.
        let mut known = table::read(table)?;
        known.push(row(client, lock, vec![seen]));
        publish(names, table, &BTreeMap::new(), &known)?;
    }
    Ok(())
}

/// Copies the folder below `target/clients/`, and runs its install commands there.
pub(crate) fn install(name: &str, client: &Client) -> Result<()> {
    if let Some(program) = client.programs.iter().find(|program| !is_on_path(program)) {
        bail!("there is no `{program}` on the PATH");
    }
    let folder = Path::new("target/clients").join(name);
    copy(&Path::new(FOLDERS).join(name), &folder)?;
    for helper in &client.helpers {
        let to = folder.join(helper);
        std::fs::create_dir_all(to.parent().expect("it is in a folder"))?;
        let own = helper.file_name().context("a helper has no file name")?;
        let from = ["docs/attack", "docs/score"].map(|folder| Path::new(folder).join(own));
        let from = from.iter().find(|from| from.is_file());
        std::fs::copy(
            from.with_context(|| format!("no helper is called {own:?}"))?,
            to,
        )?;
    }
    for words in &client.install {
        let [program, arguments @ ..] = &words[..] else {
            bail!("an install command is empty");
        };
        let mut command = Command::new(program);
        command.args(arguments).current_dir(&folder);
        let output = command.stdin(Stdio::null()).output();
        let output = output.with_context(|| format!("start {}", words.join(" ")))?;
        if !output.status.success() {
            let told = String::from_utf8_lossy(&output.stderr).into_owned();
            let last = told.lines().last().unwrap_or_default();
            bail!("`{}` failed: {last}", words.join(" "));
        }
    }
    Ok(())
}

fn copy(from: &Path, to: &Path) -> Result<()> {
    for file in files_below(from)? {
        let to = to.join(&file);
        std::fs::create_dir_all(to.parent().expect("it is in a folder"))?;
        std::fs::copy(from.join(file), to)?;
    }
    Ok(())
}

/// Runs one scenario, and what broke the lock in it ten times more. If that is a scenario of its own, it is published.
fn attack(name: &str, lock: &Lock, column: &Column, seeds: u64) -> Result<Seen> {
    let scenario = column.scenario;
    let mut command = Command::new(LOCKLAB);
    command.args(["attack", "--scenario", scenario]);
    if lock.nodes > 1 && lock.table != Table::Cluster {
        command.args(["--nodes", &lock.nodes.to_string()]);
    }
    if scenario == DRAWN && !lock.drawn.is_empty() {
        let kinds = serde_json::to_string(&lock.drawn)?;
        command.args(["--set", &format!("campaign.faults={kinds}")]);
    }
    command.args(column.sets.iter().flat_map(|set| ["--set", set]));
    command.args(lock.only.get(scenario).into_iter().flatten());
    { command.args(&lock.options) }.args(["--seeds", &format!("0..{seeds}")]);
    let result = told(start(command, name, &lock.run)?)?;
    let file = published(name, lock, column);
    if file.is_file() {
        std::fs::remove_file(&file)?;
    }
    let (mut violated, again) = (result.violated(), &result.again);
    violated.retain(|it| PROPERTIES.contains(&it.property.as_str()));
    let worst = { PROPERTIES.iter() }.find_map(|it| violated.iter().find(|v| v.property == *it));
    let again = match worst {
        Some(worst) => {
            let words = again.get(&worst.property);
            let words = words.context("no command repeats the violation")?;
            let mut shown = words.clone();
            // `attack --scenario FILE …`
            if words[2].ends_with(".toml") {
                std::fs::create_dir_all(table::AGAIN)?;
                std::fs::copy(&words[2], &file)?;
                shown[2] = file.display().to_string();
            }
            Some(repeat(name, &worst.property, words, &shown)?)
        }
        None => None,
    };
    let lease = result.properties.iter().find(|it| it.property == "lease");
    Ok(Seen {
        scenario: column.name.to_owned(),
        seeds: Some(seeds),
        server: result.server.clone(),
        runs: result.runs,
        tried: lease.map(|it| result.runs - it.inconclusive),
        violated,
        again,
    })
}

/// Runs the command that broke a lock again, five at a time.
fn repeat(name: &str, property: &str, words: &[String], shown: &[String]) -> Result<Again> {
    let own = words.iter().position(|word| word == "--");
    let (ours, program) = words.split_at(own.context("a command without a program")?);
    let (mut times, mut of) = (0, 0);
    for half in [0..REPEATS / 2, REPEATS / 2..REPEATS] {
        let started = half.map(|turn| {
            let mut command = Command::new(LOCKLAB);
            command.args(ours);
            start(command, &format!("{name}-{turn}"), &program[1..])
        });
        // A run that the machine was too slow for ends with an error, and does not count.
        for started in started.collect::<Result<Vec<Child>>>()? {
            let Ok(result) = told(started) else {
                continue;
            };
            of += 1;
            let violated = result.violated();
            times += u64::from(violated.iter().any(|it| it.property == property));
        }
    }
    let words: Vec<String> = shown.iter().map(|word| quoted(word)).collect();
    Ok(Again {
        property: property.to_owned(),
        command: format!("locklab {}", words.join(" ")),
        times,
        of,
    })
}

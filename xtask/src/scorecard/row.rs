//! A row of the scorecard, what plays it, and its cells: of what is played now, else of what was published before.

use std::process::Command;

use anyhow::{Context, Result};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::clients::{Client, Drill, Port, short};

/// What all ports do otherwise: the experiment, the verdicts of library and port. [`DEADLINE`] says why.
pub const OF_ALL: [[&str; 3]; 2] = [
    ["T1", "tells none", "yes"],
    ["A3", "accepts", "says that it is over"],
];

const DEADLINE: &str = "the simulator needs a deadline, which the library leaves to its user";

/// The most messages of a play that are published.
const MESSAGES: usize = 12;

/// A row: a lock of a library, with settings, or the port of one.
#[derive(Clone, Serialize, Deserialize)]
pub struct Row {
    /// The folder in `tests/clients/`, and the title: a name for links.
    pub name: String,
    pub library: String,
    pub version: String,
    pub language: String,
    pub title: String,
    pub client: Option<String>,
    pub note: Option<String>,
    redis: String,
    lease_ms: u64,
    /// The command that plays it again.
    pub command: String,
    /// The digest of the drill, or of the catalogue.
    drill: String,
    /// The name of the row whose lock it is a port of.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub port_of: Option<String>,
    pub cells: Vec<Cell>,
}

/// What `locklab score` says of an experiment, without most of what passed.
#[derive(Clone, Serialize, Deserialize)]
pub struct Cell {
    pub id: String,
    title: String,
    group: String,
    pub must: bool,
    pub verdict: Value,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub range: Option<Value>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub varies: Vec<String>,
    plays: Vec<Value>,
    /// The verdict in words, and what is seen at first sight.
    #[serde(default)]
    pub says: String,
    #[serde(default)]
    pub sign: String,
}

/// What plays a row.
pub struct Part {
    /// The row, without cells.
    pub row: Row,
    /// What `locklab score` is given.
    pub arguments: Vec<String>,
}

/// The rows of a library, and of its ports beside them.
/// Fails if a drill names a port that is not described.
pub fn parts(name: &str, client: &Client) -> Result<Vec<Part>> {
    let mut parts = Vec::new();
    for drill in &client.drills {
        let arguments = [&drill.options(), &["--".to_owned()][..], &drill.run].concat();
        let row = row(name, client, drill, &arguments)?;
        let port = drill.port.as_ref().map(|title| {
            let found = client.ports.iter().find(|port| port.title == *title);
            let found = found.with_context(|| format!("{name}: no port is called `{title}`"))?;
            of_port(&row, drill, found)
        });
        parts.push(Part { row, arguments });
        parts.extend(port.transpose()?);
    }
    Ok(parts)
}

fn row(name: &str, client: &Client, drill: &Drill, arguments: &[String]) -> Result<Row> {
    Ok(Row {
        name: format!("{name}-{}", short(&drill.title)),
        library: client.library.clone(),
        version: client.version.clone(),
        language: client.language.clone(),
        title: drill.title.clone(),
        client: drill.client.clone(),
        note: drill.note.clone(),
        redis: String::new(),
        lease_ms: 0,
        command: format!("locklab score {}", arguments.join(" ")),
        drill: digest(&format!("tests/clients/{name}"))?,
        port_of: None,
        cells: vec![],
    })
}

/// The port of the lock in this row, with the lease that the experiments ask for.
fn of_port(row: &Row, drill: &Drill, port: &Port) -> Result<Part> {
    let mut lock = port.lock.clone();
    lock.extend(drill.settings.clone());
    for lease in ["ttl_ms", "lease_ms", "watchdog_ms"] {
        lock.remove(lease);
    }
    let called = lock["name"].as_str().unwrap_or_default().to_owned();
    // Words and whole numbers are written alike in JSON.
    let settings = lock.iter().map(|(key, value)| {
        let value = serde_json::to_string(value)?;
        Ok(format!("{key} = {value}"))
    });
    let settings = settings.collect::<Result<Vec<_>>>()?.join(", ");
    let lock = format!("{{ {settings} }}");
    let reasons = drill
        .differs
        .iter()
        .map(|(id, why)| format!(" {id}: {why}."));
    let options = drill.options();
    let given = [&["--lock".to_owned(), lock.clone()], &options[..]].concat();
    let command = format!("locklab score --lock '{lock}' {}", options.join(" "));
    Ok(Part {
        row: Row {
            name: format!("{}-port", row.name),
            title: format!("{}: its port in the simulator, {called}", row.title),
            language: "Rust".to_owned(),
            client: None,
            note: Some(format!(
                "A lock of the catalogue, which stands for this library in scenarios. T1, A3: {DEADLINE}.{}",
                reasons.collect::<String>()
            )),
            command: command.trim_end().to_owned(),
            drill: digest("src/locks")?,
            port_of: Some(row.name.clone()),
            ..row.clone()
        },
        arguments: given,
    })
}

/// The digest of the files of a folder: `git rev-parse HEAD:FOLDER`.
fn digest(folder: &str) -> Result<String> {
    let mut git = Command::new("git");
    let output = git
        .args(["rev-parse", &format!("HEAD:{folder}")])
        .output()?;
    Ok(String::from_utf8(output.stdout)?.trim().to_owned())
}

/// Adds to what `locklab score` printed those experiments of an earlier call that it has not.
pub fn keep_others(seen: &mut Value, earlier: &Value) {
    let entries = |seen: &Value| seen["experiments"].as_array().cloned().unwrap_or_default();
    let mut all = entries(seen);
    for entry in entries(earlier) {
        if all.iter().all(|it| it["id"] != entry["id"]) {
            all.push(entry);
        }
    }
    seen["experiments"] = all.into();
}

impl Row {
    /// With the cells of these experiments: those that `locklab score` printed, else those of the earlier row.
    pub fn with(self, earlier: Option<&Row>, seen: Option<&Value>, ids: &[String]) -> Result<Row> {
        let mut row = self;
        if let Some(earlier) = earlier {
            (row.redis, row.lease_ms) = (earlier.redis.clone(), earlier.lease_ms);
            row.drill.clone_from(&earlier.drill);
        }
        let mut played: Vec<Cell> = Vec::new();
        if let Some(seen) = seen {
            played = serde_json::from_value(seen["experiments"].clone())?;
            seen["redis"]
                .as_str()
                .unwrap_or_default()
                .clone_into(&mut row.redis);
            row.lease_ms = seen["lease_ms"].as_u64().context("no lease")?;
        }
        let played: Vec<Cell> = played.into_iter().map(Cell::cut).collect();
        let known = |id: &String| {
            let fresh = played.iter().find(|cell| cell.id == *id);
            fresh.or_else(|| earlier?.cell(id)).cloned()
        };
        row.cells = ids.iter().filter_map(known).collect();
        Ok(row)
    }

    pub fn heading(&self) -> String {
        format!("{} {}, {}", self.library, self.version, self.title)
    }

    /// The cell of an experiment.
    pub fn cell(&self, id: &str) -> Option<&Cell> {
        self.cells.iter().find(|cell| cell.id == id)
    }

    /// How many musts have a ✓, of those that apply.
    pub fn musts(&self) -> (usize, usize) {
        let applies = |cell: &&Cell| cell.must && !cell.is_missing();
        let musts = self.cells.iter().filter(applies);
        let kept = musts.clone().filter(|cell| cell.sign == "✓");
        (kept.count(), musts.count())
    }
}

impl Cell {
    /// With the last play alone that came to what the cell says, and its first messages.
    fn cut(mut self) -> Cell {
        let kind = self.verdict["kind"].clone();
        let deciding = { self.plays.iter() }.rposition(|play| play["verdict"]["kind"] == kind);
        let shown = deciding.or(self.plays.len().checked_sub(1));
        self.plays = { shown.into_iter() }
            .map(|place| self.plays.swap_remove(place))
            .collect();
        for play in &mut self.plays {
            if let Some(wire) = play["wire"].as_array_mut() {
                wire.truncate(MESSAGES);
            }
        }
        (self.says, self.sign) = (self.words(), self.look().to_owned());
        self
    }

    pub fn kind(&self) -> &str {
        self.verdict["kind"].as_str().unwrap_or_default()
    }

    pub fn is_missing(&self) -> bool {
        self.kind() == "not-applicable"
    }

    /// What is seen at first sight: only of a must.
    fn look(&self) -> &'static str {
        match (
            self.must,
            self.varies.is_empty(),
            self.verdict["good"].as_bool(),
        ) {
            (true, true, Some(true)) => "✓",
            (true, true, Some(false)) => "✗",
            _ if self.kind() == "undecided" || !self.varies.is_empty() => "?",
            _ => "",
        }
    }

    /// The verdict without its number; `None` if it varies or there is none.
    pub fn decided(&self) -> Option<&str> {
        match self.varies.is_empty() {
            true => self.verdict["is"].as_str(),
            false => None,
        }
    }

    /// The verdict in words.
    fn words(&self) -> String {
        if !self.varies.is_empty() {
            return format!("varies: {}", self.varies.join(", "));
        }
        match self.kind() {
            "not-applicable" => "n/a".into(),
            "undecided" => "not decided".into(),
            _ => {
                let is = self.verdict["is"].as_str().unwrap_or_default();
                let unit = self.verdict["unit"].as_str().unwrap_or_default();
                match self.verdict["value"].as_f64() {
                    None => is.into(),
                    Some(value) => format!("{is}, {value:.0} {unit}"),
                }
            }
        }
    }
}

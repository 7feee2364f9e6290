//! `locklab list`: the available locks, faults, properties, scenarios and environments.

use anyhow::{Context, ensure};
use clap::{Args, ValueEnum};
use serde_json::{Value, json};

use self::sheet::Sheet;
use crate::options::Ask;
use crate::problems::{Row, lock, lock_completer, rows};
use crate::run::options::On;
use locklab_check::Property;
use locklab_history::{Failpoint, FaultKind};
use locklab_lab::Exit;
use locklab_lab::layout::{self, fold};
use locklab_lab::output::{self, print_json};
use locklab_locks::{LockSpec, catalogue};
use locklab_model::fault;
use locklab_model::scenario::{self, SHIPPED};
use locklab_real::{Postgres, ZooKeeper};

mod sheet;

#[derive(Args)]
pub(crate) struct Options {
    /// What to list
    #[arg(value_enum)]
    what: What,
    /// Of locks: the data sheet of this one, with what was published of it
    #[arg(value_name = "LOCK", add = lock_completer())]
    lock: Option<String>,
    /// Only scenarios that run there
    #[arg(long, value_enum, value_name = "WHERE")]
    on: Option<On>,
    /// Print it as JSON
    #[arg(long)]
    json: bool,
}

#[derive(Clone, Copy, ValueEnum)]
enum What {
    /// The locks and their parameters
    Locks,
    /// The faults, and what they can strike after
    Faults,
    /// The properties that a run is judged by
    Properties,
    /// The scenarios that ship
    Scenarios,
    /// The environments of `locklab study risk`
    Environments,
}

impl Ask for Options {
    fn answer(&self, _: &crate::options::Context) -> anyhow::Result<Exit> {
        ensure!(
            self.on.is_none() || matches!(self.what, What::Scenarios),
            "--on is for scenarios: locklab list scenarios --on redis"
        );
        ensure!(
            self.lock.is_none() || matches!(self.what, What::Locks),
            "a name is for locks: locklab list locks redlock"
        );
        let (text, data) = match self.what {
            What::Locks => match &self.lock {
                Some(name) => sheet(name)?,
                None => locks(),
            },
            What::Faults => faults(),
            What::Properties => properties(),
            What::Scenarios => scenarios(self.on)?,
            What::Environments => crate::risk::options::environments()?,
        };
        if self.json {
            print_json(&data)?;
        } else {
            output::print(&text)?;
        }
        Ok(Exit::AsPredicted)
    }
}

/// The data sheet of a lock; that of one of its forms is the lock's.
fn sheet(name: &str) -> anyhow::Result<(String, Value)> {
    let name = lock(name).map_err(anyhow::Error::msg)?;
    let forms = rows();
    let form = forms.iter().find(|row| row.is_called(&name));
    let form = form.context("each name is that of a form")?;
    let sheet = Sheet::of(form.entry).map_err(anyhow::Error::msg)?;
    Ok((sheet.text(), sheet.json()))
}

fn locks() -> (String, Value) {
    let mut text = String::new();
    let catalogue = catalogue();
    for lock in &catalogue {
        let (name, summary, source) = (lock.name, lock.summary, lock.source);
        text += &fold(&format!("{name}: {summary}\n  ({source})\n"));
        let parameters = lock.parameters.iter();
        let parameters = parameters.map(|(name, default, meaning)| [*name, default, meaning]);
        text += &table(parameters);
        text += "\n";
    }
    let data = catalogue.iter().map(|lock| {
        let mut data = json!(lock);
        data["keeps"] = rows()
            .iter()
            .filter(|row| row.entry == *lock)
            .filter_map(kept)
            .collect();
        data
    });
    (text, data.collect())
}

/// A form of a lock, and the properties that no fault makes it violate.
fn kept(row: &Row) -> Option<(String, Value)> {
    let lock: LockSpec = row.table(1000).ok()?.try_into().ok()?;
    let keeps = lock.facts().keeps;
    (!keeps.is_empty()).then(|| (row.label.clone(), json!(keeps)))
}

fn faults() -> (String, Value) {
    let mut text = String::from("Kinds of faults, in a table [fault.NAME]:\n");
    let described = |kind: &FaultKind| (kind.name(), fault::keys(*kind), kind.meaning());
    let kinds: Vec<_> = FaultKind::ALL.iter().map(described).collect();
    text += &table(
        kinds
            .iter()
            .map(|(name, keys, meaning)| [*name, keys, meaning]),
    );
    text += "\nFailpoints of a client, for after = \"c1 acquired\":\n";
    let described = |point: &Failpoint| (point.name(), point.meaning());
    let points: Vec<_> = Failpoint::ALL.iter().map(described).collect();
    text += &table(points.iter().map(|(name, meaning)| [*name, meaning]));
    text += "\nOn real servers, for after = \"c1 holds\":\n";
    text += &table(
        fault::ON_THE_WIRE
            .iter()
            .map(|(what, meaning)| [*what, meaning]),
    );
    let data = json!({ "kinds": kinds, "points": points, "on_the_wire": fault::ON_THE_WIRE });
    (text, data)
}

fn properties() -> (String, Value) {
    let mut text = String::new();
    let mut data = Vec::new();
    for property in Property::ALL {
        let (name, what, source) = (property.name(), property.describes(), property.source());
        text += &fold(&format!("{name}\n  {what}\n  {source}\n\n"));
        data.push(json!({ "name": name, "describes": what, "source": source }));
    }
    (text, json!(data))
}

fn scenarios(on: Option<On>) -> anyhow::Result<(String, Value)> {
    let mut shown = Vec::new();
    let mut data = Vec::new();
    for (name, _) in SHIPPED {
        let scenario = scenario::load(name, &[]).context("a shipped scenario")?;
        let claim = scenario.claim.as_deref().unwrap_or("");
        let on_redis = locklab_real::why_not(&scenario).is_none();
        if on == Some(On::Redis) && !on_redis {
            continue;
        }
        let others = locklab_real::other_servers(&scenario);
        let mark = match (on_redis, others) {
            (true, Some(_)) => "+",
            (true, None) => "*",
            (false, _) => " ",
        };
        shown.push([name, claim, mark, &scenario.title].map(String::from));
        data.push(json!({
            "name": name,
            "claim": scenario.claim,
            "title": scenario.title,
            "source": scenario.source,
            "about": scenario.about,
            "expect": scenario.expect,
            "on_redis": on_redis,
            "servers": others.unwrap_or("Redis"),
        }));
    }
    let mut text = layout::list(&shown);
    text += "\n\n* also on real Redis: locklab run NAME --on redis\
             \n+ also on real ZooKeeper or PostgreSQL, with the same option\n";
    if on == Some(On::Redis) {
        // Said only here, since the list of scenarios does not depend on the machine.
        for version in [ZooKeeper::find().version(), Postgres::find().version()] {
            text += &match version {
                Ok(version) => format!("  ({version} is installed)\n"),
                Err(missing) => format!("  (here Locklab {missing})\n"),
            };
        }
    }
    Ok((text, json!(data)))
}

/// Rows of fields, in lines.
fn table<'a, const FIELDS: usize>(rows: impl Iterator<Item = [&'a str; FIELDS]>) -> String {
    let rows: Vec<[String; FIELDS]> = rows.map(|row| row.map(String::from)).collect();
    match rows[..] {
        [] => String::new(),
        _ => layout::list(&rows) + "\n",
    }
}

//! The data sheet of a lock: what it says of itself, and what was published of it. Nothing is run.

use locklab_lab::layout;
use locklab_locks::{CatalogueEntry, LockSpec, Servers};
use locklab_model::scenario;
use serde_json::{Map, Value, json};

use crate::museum::exhibits::{Exhibit, Museum};
use crate::problems::{Plan, Row, rows};
use crate::published::{self, COST, LIVENESS, MATRIX, RISK};
use crate::risk::words::figures;

/// A heading, and the rows below it.
type Part = (String, Vec<[String; 2]>);

/// The sheet of a lock, in the form that is most common.
pub(super) struct Sheet {
    entry: &'static CatalogueEntry,
    parts: Vec<Part>,
}

impl Sheet {
    /// The sheet of this lock.
    ///
    /// # Errors
    ///
    /// If its parameters are invalid; a test makes all sheets.
    pub(super) fn of(entry: &'static CatalogueEntry) -> Result<Sheet, String> {
        let all = rows();
        let row = all.iter().find(|row| row.entry == entry);
        let row = row.ok_or_else(|| format!("{} has no form", entry.name))?;
        let lock: LockSpec = row
            .table(LEASE_MS)?
            .try_into()
            .map_err(|e| format!("{e}"))?;
        let name = entry.name;
        let mut parts = vec![("What it is".to_owned(), guarantee(&lock))];
        let [survived, not] = problems(row);
        let command = format!("`locklab study matrix --lock {name}`");
        parts.push((format!("It survives ({command}, 200 runs each)"), survived));
        parts.push(("It does not survive (share of the runs)".to_owned(), not));
        parts.push((
            "How often, with work of half a second once a minute (reports/risk)".to_owned(),
            rates(row),
        ));
        parts.push((
            format!("What it costs (`locklab study cost --lock {name}`)"),
            costs(row),
        ));
        let libraries = entry.libraries.iter();
        let libraries = libraries.map(|library| [(*library).to_owned(), String::new()]);
        parts.push((
            "Libraries that send the same to the server (tests/ports)".to_owned(),
            libraries.collect(),
        ));
        parts.push((
            "Reported bugs of its kind (`locklab study museum NAME`)".to_owned(),
            bugs(entry),
        ));
        let is_default = |set: &str| {
            let mut parameters = entry.parameters.iter();
            parameters.any(|(name, default, _)| set == format!("{name}={default}"))
        };
        let mistakes = entry.mutants.iter().filter(|(set, _)| !is_default(set));
        let mistakes = mistakes.map(|(set, why)| [(*set).to_owned(), (*why).to_owned()]);
        parts.push(("Settings that are mistakes".to_owned(), mistakes.collect()));
        let parameters = entry.parameters.iter();
        let parameters = parameters
            .map(|(name, default, meaning)| [format!("{name} = {default}"), (*meaning).to_owned()]);
        parts.push(("Parameters".to_owned(), parameters.collect()));
        parts.retain(|(_, rows)| !rows.is_empty());
        Ok(Sheet { entry, parts })
    }

    /// For a terminal.
    pub(super) fn text(&self) -> String {
        let CatalogueEntry {
            name,
            summary,
            source,
            ..
        } = self.entry;
        let mut text = layout::fold(&format!("{name}: {summary}\n  ({source})"));
        for (heading, rows) in &self.parts {
            text += &format!("\n\n{}\n{}", layout::fold(heading), layout::rows(rows));
        }
        text
    }

    /// For the book.
    #[cfg(test)]
    fn markdown(&self) -> String {
        let CatalogueEntry {
            name,
            summary,
            source,
            ..
        } = self.entry;
        let mut text = format!("\n## {name}\n\n{summary} ({source}).\n");
        for (heading, rows) in &self.parts {
            text += &format!("\n**{heading}**\n\n");
            for [what, more] in rows {
                let more = match more.is_empty() {
                    true => String::new(),
                    false => format!(": {more}"),
                };
                text += &format!("- {what}{more}\n");
            }
        }
        text
    }

    pub(super) fn json(&self) -> Value {
        let parts = self.parts.iter().map(|(heading, rows)| {
            let rows = rows.iter().map(|[what, more]| json!([what, more]));
            (heading.clone(), rows.collect())
        });
        let parts: Map<String, Value> = parts.collect();
        json!({ "name": self.entry.name, "summary": self.entry.summary, "source": self.entry.source, "sheet": parts })
    }
}

/// Stands in a sheet for a lease that its user sets.
const LEASE_MS: u64 = 10_000;

/// What a lock says of itself.
fn guarantee(lock: &LockSpec) -> Vec<[String; 2]> {
    let facts = lock.facts();
    let servers = match (lock.servers(), lock.nodes()) {
        (Servers::Redis, 1) => "one Redis".to_owned(),
        (Servers::Redis, nodes) => format!("{nodes} independent Redis"),
        (Servers::Database, _) => "a database".to_owned(),
        (Servers::Consensus, nodes) => format!("a coordination service of {nodes} servers"),
    };
    let lease = match (facts.lease_ms, facts.tells_deadline) {
        (None, _) => "none: a holder that dies keeps it for ever",
        (Some(_), true) => "yes, and its user is told until when it lasts",
        (Some(_), false) => "yes, and its user is not told until when it lasts",
    };
    let tokens = match lock.gives_tokens() {
        true => "yes",
        false => "no",
    };
    let keeps = match facts.keeps.is_empty() {
        true => "no property".to_owned(),
        false => facts.keeps.join(", "),
    };
    [
        ["servers", &servers],
        ["lease", lease],
        ["fencing tokens", tokens],
        ["keeps under any fault", &keeps],
    ]
    .map(|row| row.map(String::from))
    .into()
}

/// The problems that the published runs show it to survive, and those that they do not.
fn problems(row: &Row) -> [Vec<[String; 2]>; 2] {
    let mut found = [vec![], vec![]];
    for problem in Plan::shipped().problems {
        let of_it = |it: &published::Row| it["row"] == row.label && it["problem"] == problem.name;
        let Some(cell) = published::rows(MATRIX).find(of_it) else {
            continue;
        };
        let Ok(scenario) = scenario::load(&problem.scenario, &[]) else {
            continue;
        };
        let what = format!("{}: {}", scenario.title, problem.property);
        let shown = format!("`{}`", problem.scenario);
        match survives(&cell) {
            Some(true) => found[0].push([what, shown]),
            Some(false) => {
                let share = format!("{} of {}, {shown}", cell["violated"], cell["runs"]);
                found[1].push([what, share]);
            }
            None => {}
        }
    }
    found
}

/// Whether a lock survives a problem; `None` where the problem cannot arise, or the runs show nothing.
fn survives(cell: &published::Row) -> Option<bool> {
    match &*cell["observed"] {
        "holds" => Some(true),
        "violated" => Some(false),
        _ => None,
    }
}

/// Violations a year, in each environment.
fn rates(row: &Row) -> Vec<[String; 2]> {
    let all = RISK.iter().flat_map(|table| published::rows(table));
    let of_it = all.filter(|it| it["lock"] == row.label && it["lease_ms"] == LEASE_MS.to_string());
    let told = of_it.map(|it| {
        let number = |name: &str| it[name].parse().map_or_else(|_| "–".into(), figures);
        let what = match &*it["property"] {
            "lease" => "two rely on it",
            _ => "corrupted",
        };
        let often = match &*it["low"] {
            "" => format!("none seen (≤ {} a year)", number("not_excluded")),
            _ => format!(
                "{} a year ({}–{})",
                number("per_year"),
                number("low"),
                number("high")
            ),
        };
        [
            format!("{}, {} 10 s, {what}", it["environment"], it["term"]),
            often,
        ]
    });
    told.collect()
}

/// What it costs.
fn costs(row: &Row) -> Vec<[String; 2]> {
    let all = published::rows(COST).chain(published::rows(LIVENESS));
    let of_it = all.filter(|it| it["row"] == row.label && !it["value"].is_empty());
    let told = of_it.map(|it| {
        let value = it["value"].parse().map_or_else(|_| "–".into(), figures);
        [it["title"].clone(), value]
    });
    told.collect()
}

/// The mechanisms that were reported of such locks.
fn bugs(entry: &CatalogueEntry) -> Vec<[String; 2]> {
    let museum = Museum::shipped();
    let is_of_it = |exhibit: &&Exhibit| {
        let named = format!("name = \"{}\"", entry.name);
        exhibit
            .sets
            .iter()
            .any(|set| set.starts_with("lock=") && set.contains(&named))
    };
    let told = museum.exhibits.iter().filter(is_of_it).map(|exhibit| {
        let reported = museum.bugs_of(exhibit).count();
        let more = format!(
            "{} Mended by: {}. Reported: {reported}",
            exhibit.what, exhibit.mended_by
        );
        [format!("`{}`", exhibit.name), more]
    });
    told.collect()
}

#[cfg(test)]
mod tests {
    use std::{env, fs};

    use locklab_locks::CATALOGUE;

    use super::*;

    fn sheet(name: &str) -> String {
        let entry = CATALOGUE.iter().find(|entry| entry.name == name);
        let entry = entry.expect(name);
        Sheet::of(entry).expect("it is valid").markdown()
    }

    #[test]
    fn sheet_says_what_was_published() {
        let text = sheet("set-nx-px");
        for expected in [
            "- The holder outlives its lease and does not notice: resource: 200 of 200, `problems/outlives`",
            "- A holder crashes: deadlock: `problems/crash`",
            "- servers: one Redis",
            "- acquire alone, median ms: 6\n",
            "- jvm-on-vms, lease 10 s, corrupted: 1.7 a year (0.76–3.2)",
            "- release=del: a release deletes whoever holds the lock",
            "- redis-py\n",
            "- `unconditional-release`: The release deletes the key",
        ] {
            assert!(text.contains(expected), "{expected}: {text}");
        }
        assert!(!text.contains("wait_replicas=0"), "{text}");
        assert!(sheet("setnx").contains("- lease: none: a holder that dies keeps it for ever"));
        assert!(sheet("redlock").contains("- servers: 5 independent Redis"));
    }

    #[test]
    fn runs_that_show_nothing_are_not_survived() {
        let cell = |observed: &str| {
            let text = format!("observed,violated\n{observed},0\n");
            published::rows(&text).next().expect("a row")
        };
        let survived = ["holds", "inconclusive", ""].map(|observed| survives(&cell(observed)));
        assert_eq!(survived, [Some(true), None, None]);
    }

    #[test]
    fn book_has_the_sheet_of_every_lock() {
        let sheets = CATALOGUE.iter().map(|entry| sheet(entry.name));
        let text = format!("{HEAD}{}", sheets.collect::<String>());
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/locks.md");
        if env::var_os("LOCKLAB_BLESS").is_some() {
            fs::write(path, &text).expect("the book can be written");
        }
        let found = fs::read_to_string(path).expect("it is in the book");
        assert!(
            found == text,
            "docs/locks.md is out of date: run this test with LOCKLAB_BLESS=1"
        );
    }

    const HEAD: &str = "\
# Data sheets of the locks

Written from what the locks say of themselves, and from the published results, by a test (`LOCKLAB_BLESS=1 cargo test -p
locklab-ask --lib list::sheet`). `locklab list locks NAME` prints a sheet. Each is of the most common form of the lock;
[Choosing a lock](choosing.md) has the way through them.
";
}
